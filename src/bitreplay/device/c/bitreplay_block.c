/* Blocks: a memory as bytes in flash, and back. Nothing that a block says is believed before it was checked. */
#include "bitreplay_internal.h"

#define MAGIC 0x626D7262u /* "brmb" */
#define HEAD 8u           /* words before the records */
#define CHUNK 16u         /* words written at once */

/* CRC-32 of IEEE 802.3, four bits at a time. */
static uint32_t crc_of(uint32_t crc, const uint8_t *bytes, uint32_t n_bytes)
{
    static const uint32_t table[16] = {0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
                                       0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
                                       0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu};
    uint32_t i;
    crc = ~crc;
    for (i = 0; i < n_bytes; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15u];
        crc = crc >> 4 ^ table[crc & 15u];
    }
    return ~crc;
}

static uint32_t get_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put_word(uint8_t *bytes, uint32_t word)
{
    bytes[0] = (uint8_t)(word & 0xFFu);
    bytes[1] = (uint8_t)(word >> 8 & 0xFFu);
    bytes[2] = (uint8_t)(word >> 16 & 0xFFu);
    bytes[3] = (uint8_t)(word >> 24);
}

bitreplay_status bitreplay_store(const bitreplay_layout *layout, const bitreplay_memory *memory, uint32_t sequence,
                                 bitreplay_write write, void *context)
{
    uint8_t bytes[4u * CHUNK];
    uint32_t n_words, i, crc = 0, filled = 0, offset = 0;
    if (layout == NULL || memory == NULL || write == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (memory->used > UINT32_MAX / 4u - HEAD - 1u)
        return BITREPLAY_TOO_SMALL; /* for the length in bytes, which has 32 bits */
    n_words = HEAD + memory->used + 1u;
    for (i = 0; i < n_words; i++) {
        uint32_t word;
        switch (i) {
        case 0: word = MAGIC; break;
        case 1: word = BITREPLAY_VERSION; break;
        case 2: word = 4u * n_words; break;
        case 3: word = sequence; break;
        case 4: word = layout->features; break;
        case 5: word = layout->bits; break;
        case 6: word = layout->fingerprint; break;
        case 7: word = memory->classes; break;
        default: word = i + 1u < n_words ? memory->words[i - HEAD] : crc; break;
        }
        put_word(bytes + filled, word);
        crc = crc_of(crc, bytes + filled, 4u);
        filled += 4u;
        if (filled == sizeof bytes || i + 1u == n_words) {
            if (write(context, offset, bytes, filled) != 0)
                return BITREPLAY_NOT_WRITTEN;
            offset += filled;
            filled = 0;
        }
    }
    return BITREPLAY_OK;
}

/* Whether `n_words` words are exactly `classes` records, as this library would write them. */
static int are_records(const bitreplay_layout *layout, const uint8_t *bytes, uint32_t n_words, uint32_t classes)
{
    const uint32_t plane = BITREPLAY_WORDS(layout->features), used_bits = layout->features % 32u;
    uint32_t at = 0, c, i;
    for (c = 0; c < classes; c++) {
        uint32_t k, size, before;
        if (n_words - at < RECORD_HEAD || get_word(bytes + 4u * (at + 1u)) == 0)
            return 0;
        k = get_word(bytes + 4u * (at + 2u));
        if (k < 1u || k > 0xFFFFu)
            return 0;
        size = record_words(layout, k);
        if (n_words - at < size)
            return 0;
        for (i = 0; i < k + k % 2u; i++) { /* every weight is at least 1, and what fills up their last word is 0 */
            const uint32_t weight = get_word(bytes + 4u * (at + RECORD_HEAD + i / 2u)) >> (16u * (i % 2u)) & 0xFFFFu;
            if ((weight == 0) != (i == k))
                return 0;
        }
        if (used_bits != 0) { /* bits beyond D are 0 */
            const uint32_t first = at + RECORD_HEAD + (k + 1u) / 2u;
            for (i = 1; i <= k * layout->bits; i++) {
                if (get_word(bytes + 4u * (first + i * plane - 1u)) >> used_bits != 0)
                    return 0;
            }
        }
        for (before = 0; before < at; before += record_words(layout, get_word(bytes + 4u * (before + 2u)))) {
            if (get_word(bytes + 4u * before) == get_word(bytes + 4u * at))
                return 0; /* a label stands for one class */
        }
        at += size;
    }
    return at == n_words;
}

/* Check a block in all respects; if it is one, `words` are those of its records. */
static bitreplay_status check_block(const bitreplay_layout *layout, const uint8_t *block, uint32_t n_bytes,
                                    uint32_t *words)
{
    uint32_t length;
    if (n_bytes < 4u * HEAD || get_word(block) != MAGIC)
        return BITREPLAY_DAMAGED;
    if (get_word(block + 4) != BITREPLAY_VERSION)
        return BITREPLAY_OTHER_VERSION;
    length = get_word(block + 8);
    if (length > n_bytes || length % 4u != 0 || length < 4u * (HEAD + 1u))
        return BITREPLAY_DAMAGED;
    if (crc_of(0, block, length - 4u) != get_word(block + length - 4u))
        return BITREPLAY_DAMAGED;
    if (get_word(block + 16) != layout->features || get_word(block + 20) != layout->bits ||
        get_word(block + 24) != layout->fingerprint)
        return BITREPLAY_OTHER_BITS;
    *words = length / 4u - HEAD - 1u;
    return are_records(layout, block + 4u * HEAD, *words, get_word(block + 28)) ? BITREPLAY_OK : BITREPLAY_DAMAGED;
}

bitreplay_status bitreplay_load(const bitreplay_layout *layout, bitreplay_memory *memory, const uint8_t *block,
                                uint32_t n_bytes, uint32_t *sequence)
{
    uint32_t words = 0, i;
    bitreplay_status status;
    if (layout == NULL || memory == NULL || block == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (memory->room == NULL)
        return BITREPLAY_READ_ONLY;
    status = check_block(layout, block, n_bytes, &words);
    if (status != BITREPLAY_OK)
        return status;
    if (words > memory->capacity)
        return BITREPLAY_FULL;
    for (i = 0; i < words; i++)
        memory->room[i] = get_word(block + 4u * (HEAD + i));
    memory->used = words;
    memory->classes = get_word(block + 28);
    if (sequence != NULL)
        *sequence = get_word(block + 12);
    return BITREPLAY_OK;
}

bitreplay_status bitreplay_load_newest(const bitreplay_layout *layout, bitreplay_memory *memory, const uint8_t *slot_0,
                                       const uint8_t *slot_1, uint32_t n_bytes, bitreplay_next *next)
{
    const uint8_t *slots[2];
    uint32_t words = 0, newest, numbers[2] = {0, 0};
    int found[2], i;
    bitreplay_status status;
    if (layout == NULL || memory == NULL || slot_0 == NULL || slot_1 == NULL || next == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    slots[0] = slot_0;
    slots[1] = slot_1;
    for (i = 0; i < 2; i++) {
        found[i] = check_block(layout, slots[i], n_bytes, &words) == BITREPLAY_OK;
        if (found[i])
            numbers[i] = get_word(slots[i] + 12);
    }
    next->slot = 0;
    next->sequence = 1;
    if (!found[0] && !found[1])
        return BITREPLAY_DAMAGED;
    /* Numbers may run over: of two, the newer is less than 2^31 ahead. */
    newest = found[1] && (!found[0] || (numbers[1] - numbers[0] - 1u) < 0x7FFFFFFFu) ? 1u : 0u;
    status = bitreplay_load(layout, memory, slots[newest], n_bytes, NULL);
    next->slot = 1u - newest;
    next->sequence = numbers[newest] + 1u;
    return status;
}
