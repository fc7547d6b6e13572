/* What the files of the library share. Not for programs. */
#ifndef BITREPLAY_INTERNAL_H
#define BITREPLAY_INTERNAL_H

#include "bitreplay.h"

#include <string.h>

/* Fails to compile where a bound does not hold that the arithmetic rests on. */
#define REQUIRE(name, holds) typedef char bitreplay_requires_##name[(holds) ? 1 : -1]

/* Sizes are computed in `unsigned`: 16 bits would be too few, and with 64 a word would become a signed number. */
REQUIRE(an_int_of_32_bits, sizeof(int) == sizeof(int32_t));

#define MOST_FEATURES 65535u
#define MOST_STARTS 32u

/* Words before the mixing weights of a record. */
#define RECORD_HEAD 3u

/* How many bits of a word are set, in eight sums of at most 4, one per four bits. */
static inline uint32_t nibble_counts(uint32_t x)
{
    x -= (x >> 1) & 0x55555555u;
    return (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
}

/* The same in four sums of at most 8, one per byte. */
static inline uint32_t byte_counts(uint32_t x)
{
    x = nibble_counts(x);
    return (x + (x >> 4)) & 0x0F0F0F0Fu;
}

/* The sum of four bytes. */
static inline uint32_t byte_sum(uint32_t x)
{
    x = (x & 0x00FF00FFu) + ((x >> 8) & 0x00FF00FFu);
    return (x + (x >> 16)) & 0xFFFFu;
}

/* How many bits of a word are set. */
static inline uint32_t bit_count(uint32_t x)
{
#if defined(__GNUC__) && (defined(__POPCNT__) || defined(__aarch64__) || defined(__riscv_zbb))
    return (uint32_t)__builtin_popcount(x);
#else
    return (byte_counts(x) * 0x01010101u) >> 24;
#endif
}

/* The number of set bits of all `one[i] op other[i]`. Three words are added bit by bit first, to a sum of two binary
 * digits, so that two words are counted instead of three. Bytes hold the counts of ten such: 10 * 24 < 256. */
#define DEFINE_COUNT(name, op)                                                                                         \
    static inline uint32_t name(const uint32_t *one, const uint32_t *other, uint32_t n)                                \
    {                                                                                                                  \
        uint32_t count = 0, threes, bytes;                                                                             \
        while (n >= 3u) {                                                                                              \
            threes = n < 30u ? n / 3u : 10u;                                                                           \
            n -= 3u * threes;                                                                                          \
            for (bytes = 0; threes > 0; threes--, one += 3, other += 3) {                                              \
                const uint32_t x = one[0] op other[0], y = one[1] op other[1], z = one[2] op other[2], u = x ^ y;      \
                const uint32_t sums = nibble_counts(u ^ z) + 2u * nibble_counts((x & y) | (u & z));                    \
                bytes += (sums & 0x0F0F0F0Fu) + ((sums >> 4) & 0x0F0F0F0Fu);                                           \
            }                                                                                                          \
            count += byte_sum(bytes);                                                                                  \
        }                                                                                                              \
        for (; n > 0; n--)                                                                                             \
            count += bit_count(*one++ op *other++);                                                                    \
        return count;                                                                                                  \
    }

/* Zeros before the highest set bit, of which there should be one: 0 counts as 1. */
static inline uint32_t leading_zeros(uint32_t x)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_clz(x | 1u);
#else
    uint32_t zeros = 0;
    for (x |= 1u; x < 0x80000000u; x <<= 1)
        zeros++;
    return zeros;
#endif
}

/* A number modulo 2^32 as the signed one that is meant; C99 leaves the cast to the machine. */
static inline int32_t as_signed(uint32_t x)
{
    return x <= (uint32_t)INT32_MAX ? (int32_t)x : -(int32_t)~x - 1;
}

/* x / 2^shift, rounded down; C99 leaves the shift of a negative number to the machine. */
static inline int64_t shift_down(int64_t x, unsigned shift)
{
    return x >= 0 ? x >> shift : -1 - ((-1 - x) >> shift);
}

/* Whether what fills up the last word of an embedding is 0. */
static inline int padding_is_zero(const uint32_t *bits, uint32_t features)
{
    return features % 32u == 0 || bits[features / 32u] >> (features % 32u) == 0;
}

/* Words of a record of `prototypes` prototypes: at most 3 + 2^15 + 65535 * 8 * 2048 < 2^31. */
static inline uint32_t record_words(const bitreplay_layout *layout, uint32_t prototypes)
{
    return BITREPLAY_CLASS_WORDS(layout->features, layout->bits, prototypes);
}

/* 4096 times the natural logarithm of x >= 1, to within 2. */
int32_t bitreplay_logarithm(uint32_t x);

/* Where the record of a label begins, or `used` if there is none. */
uint32_t bitreplay_find(const bitreplay_layout *layout, const bitreplay_memory *memory, uint32_t label);

/* Tables of EM: of 1 - mu and of mu / (1 - mu), by the level of mu; 2^15 exp(-i) and 2^15 exp(-(i + 1/2) / 64). */
extern const int16_t bitreplay_em_logarithms[256];
extern const int16_t bitreplay_em_log_odds[256];
extern const uint16_t bitreplay_exp_whole[11];
extern const uint16_t bitreplay_exp_parts[64];

#endif
