/* The emulated board: reset, console and files through semihosting, a timer that counts instructions. */
#include "board.h"

#include <stddef.h>
#include <string.h>

/* ------------------------------------------------------------------ reset */

int main(void);
void reset(void);
extern uint32_t stack_top, data_load, data_begin, data_end, bss_begin, bss_end;

static void fault(void)
{
    board_print("fault\n");
    board_exit(3);
}

/* What the processor finds at address 0: where the stack begins, and what to do on reset and on faults. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {&stack_top, {reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault}};

#define STACK_FILL 0xC5C5C5C5u

void reset(void)
{
    uint32_t *word;
    memcpy(&data_begin, &data_load, (size_t)((char *)&data_end - (char *)&data_begin));
    memset(&bss_begin, 0, (size_t)((char *)&bss_end - (char *)&bss_begin));
    for (word = &bss_end; word < (uint32_t *)__builtin_frame_address(0) - 64; word++)
        *word = STACK_FILL; /* to see later how far the stack has reached */
    board_exit(main());
}

uint32_t board_stack_bytes(void)
{
    const uint32_t *word = &bss_end;
    while (*word == STACK_FILL)
        word++;
    return (uint32_t)((const char *)&stack_top - (const char *)word);
}

/* ------------------------------------------------------------------ semihosting */

enum { SYS_OPEN = 0x01, SYS_WRITE0 = 0x04, SYS_READ = 0x06, SYS_GET_CMDLINE = 0x15, SYS_EXIT_EXTENDED = 0x20 };

static int32_t host(int32_t operation, const void *argument)
{
    register int32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_print(const char *text)
{
    (void)host(SYS_WRITE0, text);
}

void board_print_number(uint32_t number)
{
    char digits[11];
    char *digit = digits + 10;
    *digit = '\0';
    do {
        *--digit = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0);
    board_print(digit);
}

void board_exit(int code)
{
    uint32_t parameters[2];
    parameters[0] = 0x20026u; /* the application has ended */
    parameters[1] = (uint32_t)code;
    (void)host(SYS_EXIT_EXTENDED, parameters);
    for (;;) {
    }
}

int32_t board_open(void)
{
    static char name[512];
    const void *line[2];
    const void *file[3];
    const char *path;
    line[0] = name;
    line[1] = (const void *)(sizeof name - 1u);
    if (host(SYS_GET_CMDLINE, line) != 0)
        return -1;
    path = strrchr(name, ' '); /* what stands behind the program's name */
    if (path == NULL)
        return -1;
    path++;
    file[0] = path;
    file[1] = (const void *)1; /* to read, as it is */
    file[2] = (const void *)strlen(path);
    return host(SYS_OPEN, file);
}

int board_read(int32_t file, void *bytes, uint32_t n_bytes)
{
    const void *parameters[3];
    parameters[0] = (const void *)file;
    parameters[1] = bytes;
    parameters[2] = (const void *)n_bytes;
    return n_bytes == 0 ? 0 : (int)host(SYS_READ, parameters); /* returns how many are missing */
}

/* ------------------------------------------------------------------ instructions
 *
 * With `-icount shift=6` an instruction takes 64 ns of the emulator's time, and the board's timer ticks every 40 ns.
 */

typedef struct {
    volatile uint32_t control, value, reload;
} timer;

#define TIMER ((timer *)0x40000000u)

uint32_t board_ticks(void)
{
    if (TIMER->control == 0) {
        TIMER->reload = 0xFFFFFFFFu;
        TIMER->value = 0xFFFFFFFFu;
        TIMER->control = 1;
    }
    return 0xFFFFFFFFu - TIMER->value;
}

uint32_t board_instructions(uint32_t ticks_before, uint32_t ticks_after)
{
    return (uint32_t)((uint64_t)(ticks_after - ticks_before) * 5u / 8u);
}
