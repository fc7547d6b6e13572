/* Learns handwritten digits one after the other on a microcontroller, from raw pixels, and forgets one again.
 *
 * The device is shipped empty. Python has done the same with `bitreplay.device`; every answer and the whole memory are
 * compared with its own.
 */
#include "board/board.h"
#include "digits_data.h"
#include "model.h"

#include <stddef.h>
#include <string.h>

static uint32_t words[MODEL_MEMORY_WORDS];
static uint32_t samples[MODEL_SAMPLES][MODEL_WORDS];
BITREPLAY_SCRATCH(scratch, MODEL_SAMPLES, MODEL_PROTOTYPES, MODEL_FEATURES);

/* Two slots at the end of the flash; the emulator's can be written like RAM, and needs no erasing. */
extern uint8_t slot_0[], slot_1[];

static int write_slot(void *context, uint32_t offset, const uint8_t *bytes, uint32_t n_bytes)
{
    memcpy((uint8_t *)context + offset, bytes, n_bytes);
    return 0;
}

static void require(int holds, const char *what)
{
    if (!holds) {
        board_print("FAILED: ");
        board_print(what);
        board_print("\n");
        board_exit(1);
    }
}

static void print_share(uint32_t right, uint32_t of)
{
    const uint32_t hundredths = (right * 10000u + of / 2u) / of;
    board_print_number(hundredths / 100u);
    board_print(hundredths % 100u < 10u ? ".0" : ".");
    board_print_number(hundredths % 100u);
    board_print(" %");
}

/* The share of right answers on the held-out digits among the first `classes`; each must be Python's. */
static void evaluate(const bitreplay_memory *memory, uint32_t classes)
{
    uint32_t i, right = 0, all = 0, before, bits[MODEL_WORDS], label, instructions = 0;
    for (i = 0; i < TEST_DIGITS; i++) {
        if (test_labels[i] >= classes)
            continue;
        require(bitreplay_binarize_u8(&model_thresholds, test_pixels[i], bits) == BITREPLAY_OK, "binarize");
        before = board_ticks();
        require(bitreplay_predict(&model_layout, memory, bits, &label, NULL) == BITREPLAY_OK, "predict");
        instructions += board_instructions(before, board_ticks()) / 16u;
        require(label == expected_labels[classes - 1][i], "the answer is Python's");
        right += label == test_labels[i];
        all++;
    }
    print_share(right, all);
    board_print(" of ");
    board_print_number(all);
    board_print(" held-out digits right, ");
    board_print_number(instructions / all * 16u);
    board_print(" instructions each\n");
}

int main(void)
{
    bitreplay_memory memory;
    bitreplay_next next;
    uint32_t digit, i, n, before, after, crc_label;
    require(bitreplay_open(&model_layout, &memory, words, MODEL_MEMORY_WORDS) == BITREPLAY_OK, "open");
    for (digit = 0, i = 0; digit < DIGITS; digit++) {
        for (n = 0; i < TRAIN_DIGITS && train_labels[i] == digit; n++, i++)
            require(bitreplay_binarize_u8(&model_thresholds, train_pixels[i], samples[n]) == BITREPLAY_OK, "binarize");
        before = board_ticks();
        require(bitreplay_enrol(&model_layout, &memory, digit, samples[0], n, &scratch) == BITREPLAY_OK, "enrol");
        after = board_ticks();
        board_print("learned ");
        board_print_number(digit);
        board_print(" from ");
        board_print_number(n);
        board_print(" samples in ");
        board_print_number(board_instructions(before, after));
        board_print(" instructions: ");
        evaluate(&memory, digit + 1u);
    }
    require(memory.used == sizeof expected_words / 4u && memcmp(words, expected_words, sizeof expected_words) == 0,
            "the memory is Python's, word for word");

    /* Power off and on: the memory comes back from flash; and from the older slot where the newer was cut off. */
    memset(slot_0, 0xFF, MODEL_BLOCK_BYTES);
    memset(slot_1, 0xFF, MODEL_BLOCK_BYTES);
    require(bitreplay_load_newest(&model_layout, &memory, slot_0, slot_1, MODEL_BLOCK_BYTES, &next) ==
                BITREPLAY_DAMAGED, "empty flash holds no block");
    require(next.slot == 0 && bitreplay_store(&model_layout, &memory, next.sequence, write_slot, slot_0) == BITREPLAY_OK,
            "store");
    require(bitreplay_load_newest(&model_layout, &memory, slot_0, slot_1, MODEL_BLOCK_BYTES, &next) == BITREPLAY_OK,
            "load");
    require(bitreplay_forget(&model_layout, &memory, 3) == BITREPLAY_OK && memory.classes == DIGITS - 1u, "forget");
    require(next.slot == 1 && bitreplay_store(&model_layout, &memory, next.sequence, write_slot, slot_1) == BITREPLAY_OK,
            "store");
    require(bitreplay_load_newest(&model_layout, &memory, slot_0, slot_1, MODEL_BLOCK_BYTES, &next) == BITREPLAY_OK &&
                memory.classes == DIGITS - 1u, "the newer block counts");
    memset(slot_1 + 1000, 0xFF, MODEL_BLOCK_BYTES - 1000u);
    require(bitreplay_load_newest(&model_layout, &memory, slot_0, slot_1, MODEL_BLOCK_BYTES, &next) == BITREPLAY_OK &&
                memory.classes == DIGITS && next.slot == 1, "cut off, the older one does");
    require(memcmp(words, expected_words, sizeof expected_words) == 0, "the memory is as it was");
    require(bitreplay_label(&model_layout, &memory, 3, &crc_label) == BITREPLAY_OK && crc_label == 3, "label");
    board_print("stored, forgotten, cut off and recovered; ");
    board_print_number(board_stack_bytes());
    board_print(" bytes of stack\n");
    return 0;
}
