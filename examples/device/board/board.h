/* The little that a program needs of a board: words to the console, files of the host, a counter of instructions.
 *
 * This one is the emulated Cortex-M of `qemu-system-arm -machine mps2-an386` (M4) or mps2-an500 (M7), through ARM
 * semihosting. On real hardware, write these functions anew: a UART, and the cycle counter DWT->CYCCNT.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void board_print(const char *text);
void board_print_number(uint32_t number);

/* Ends the program; 0 means success. Does not return. */
void board_exit(int code);

/* Instructions since some beginning, modulo 2^32 * 5 / 8: a difference is right if it is below 2.6e9. Exact to one or
 * two with `-icount shift=6`. */
uint32_t board_ticks(void);
uint32_t board_instructions(uint32_t ticks_before, uint32_t ticks_after);

/* How far the stack has reached since reset. */
uint32_t board_stack_bytes(void);

/* Opens a file of the host for reading, by the name on the emulator's command line; -1 if there is none. */
int32_t board_open(void);

/* Reads exactly `n_bytes`; returns 0 if there were so many. */
int board_read(int32_t file, void *bytes, uint32_t n_bytes);

#endif
