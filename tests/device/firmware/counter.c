/* Runs 1,002 and 10,020 instructions, and prints how many were counted. */
#include "board/board.h"

/* With the call and the return, 1,002. */
__attribute__((noinline)) static void thousand(void)
{
    __asm__ volatile(".rept 1000\n nop\n .endr");
}

static void show(uint32_t before, uint32_t after)
{
    board_print_number(board_instructions(before, after));
    board_print(" instructions\n");
}

int main(void)
{
    uint32_t before = board_ticks(); /* starts the timer */
    before = board_ticks();
    thousand();
    show(before, board_ticks());
    before = board_ticks();
    thousand(), thousand(), thousand(), thousand(), thousand();
    thousand(), thousand(), thousand(), thousand(), thousand();
    show(before, board_ticks());
    return 0;
}
