/* board.h on a machine with an operating system: the script comes from standard input, nothing is counted. */
#include "board/board.h"

#include <stdio.h>
#include <stdlib.h>

void board_print(const char *text)
{
    fputs(text, stdout);
}

void board_print_number(uint32_t number)
{
    printf("%lu", (unsigned long)number);
}

void board_exit(int code)
{
    exit(code);
}

uint32_t board_ticks(void)
{
    return 0;
}

uint32_t board_instructions(uint32_t ticks_before, uint32_t ticks_after)
{
    return ticks_after - ticks_before;
}

uint32_t board_stack_bytes(void)
{
    return 0;
}

int32_t board_open(void)
{
    return 0;
}

int board_read(int32_t file, void *bytes, uint32_t n_bytes)
{
    (void)file;
    return fread(bytes, 1, n_bytes, stdin) != n_bytes;
}
