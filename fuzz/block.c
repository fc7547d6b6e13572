/* Fuzzes the reader of blocks: no input may crash it, make it read beyond the block, or leave half a memory.
 *
 * The first byte of an input chooses a layout, and whether length and checksum are put right, so that what stands
 * behind the checksum is reached; the second one, whether the rest is one block or two slots. libFuzzer gives buffers of exact
 * size, and AddressSanitizer finds the first byte that is read beyond them.
 */
#include "bitreplay.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 600u

static const int16_t table[16] = {-9000, -8000, -7000, -6000, -5000, -4000, -3000, -2000,
                                  -900,  -800,  -700,  -600,  -500,  -400,  -300,  -200};
static const bitreplay_layout layouts[4] = {
    {37, 1, 2, 3, 1, 1, 1, 0x12345678u, table}, /* bits that fill no whole word */
    {64, 1, 3, 2, 1, 1, 1, 0, table},           /* and some that do */
    {1, 1, 1, 1, 1, 1, 1, 0, table},
    {33, 1, 4, 2, 1, 1, 1, 7, table},
};

static uint32_t crc_of(const uint8_t *bytes, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    size_t i;
    int bit;
    for (i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (bit = 0; bit < 8; bit++)
            crc = crc & 1u ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

static void put_word(uint8_t *bytes, uint32_t word)
{
    int i;
    for (i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> (8 * i));
}

static void require(int holds)
{
    if (!holds)
        abort();
}

/* Make magic, version, length, layout and checksum those of a block of this size. */
static void repair(const bitreplay_layout *layout, uint8_t *block, size_t size)
{
    if (size < 36u || size % 4u != 0)
        return;
    memcpy(block, "brmb", 4);
    put_word(block + 4, BITREPLAY_VERSION);
    put_word(block + 8, (uint32_t)size);
    put_word(block + 16, layout->features);
    put_word(block + 20, layout->bits);
    put_word(block + 24, layout->fingerprint);
    put_word(block + size - 4u, crc_of(block, size - 4u));
}

typedef struct {
    uint8_t bytes[BITREPLAY_BLOCK_BYTES(WORDS)];
    uint32_t used;
} sink;

static int write_to(void *context, uint32_t offset, const uint8_t *bytes, uint32_t n_bytes)
{
    sink *to = context;
    require(offset == to->used && n_bytes <= sizeof to->bytes - offset);
    memcpy(to->bytes + offset, bytes, n_bytes);
    to->used += n_bytes;
    return 0;
}

/* A memory that was accepted can be used to the last class, and is written as it was read. */
static void use(const bitreplay_layout *layout, bitreplay_memory *memory, const uint8_t *block)
{
    static sink written;
    static int32_t scores[WORDS];
    uint32_t bits[2] = {0, 0}, label, sequence = 0;
    int i;
    if (block != NULL) {
        for (i = 0; i < 4; i++)
            sequence |= (uint32_t)block[12 + i] << (8 * i);
        written.used = 0;
        require(bitreplay_store(layout, memory, sequence, write_to, &written) == BITREPLAY_OK);
        require(memcmp(written.bytes, block, written.used) == 0);
    }
    while (memory->classes > 0) {
        require(bitreplay_scores(layout, memory, bits, scores, WORDS) == BITREPLAY_OK);
        require(bitreplay_predict(layout, memory, bits, &label, NULL) == BITREPLAY_OK);
        require(bitreplay_label(layout, memory, memory->classes - 1u, &label) == BITREPLAY_OK);
        require(bitreplay_forget(layout, memory, label) == BITREPLAY_OK);
    }
    require(memory->used == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bitreplay_layout *layout;
    bitreplay_memory memory;
    bitreplay_next next;
    uint32_t words[WORDS];
    uint8_t *copy;
    size_t n;
    if (size < 2u)
        return 0;
    layout = layouts + data[0] % 4u;
    n = size - 2u;
    copy = malloc(n == 0 ? 1 : n);
    if (copy == NULL)
        return 0;
    memcpy(copy, data + 2, n);
    memset(words, 0xA5, sizeof words);
    require(bitreplay_open(layout, &memory, words, data[0] & 128u ? 20u : WORDS) == BITREPLAY_OK);
    if (data[1] % 2u == 0) {
        if (data[0] & 64u)
            repair(layout, copy, n);
        if (bitreplay_load(layout, &memory, copy, (uint32_t)n, NULL) == BITREPLAY_OK)
            use(layout, &memory, copy);
        else
            require(memory.used == 0 && words[0] == 0xA5A5A5A5u);
    } else {
        const size_t half = n / 8u * 4u;
        if (data[0] & 64u) {
            repair(layout, copy, half);
            repair(layout, copy + half, half);
        }
        if (bitreplay_load_newest(layout, &memory, copy, copy + half, (uint32_t)half, &next) == BITREPLAY_OK)
            use(layout, &memory, NULL);
        require(next.slot <= 1u);
    }
    free(copy);
    return 0;
}
