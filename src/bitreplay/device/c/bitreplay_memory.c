/* The memory, and decisions by Bayes: scores straight from the stored codes. */
#include "bitreplay_internal.h"

static int in_range(const bitreplay_layout *layout)
{
    return layout->features >= 1 && layout->bits >= 1 && layout->bits <= 8 && layout->prototypes >= 1 &&
           layout->starts >= 1 && layout->starts <= MOST_STARTS && layout->steps >= 1 && layout->min_count >= 1 &&
           layout->log_probability != NULL;
}

bitreplay_status bitreplay_open(const bitreplay_layout *layout, bitreplay_memory *memory, uint32_t *words,
                                uint32_t capacity)
{
    if (layout == NULL || memory == NULL || words == NULL || !in_range(layout))
        return BITREPLAY_BAD_ARGUMENT;
    memory->words = words;
    memory->room = words;
    memory->capacity = capacity;
    memory->used = 0;
    memory->classes = 0;
    return BITREPLAY_OK;
}

bitreplay_status bitreplay_copy(const bitreplay_memory *from, bitreplay_memory *to)
{
    if (from == NULL || to == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (to->room == NULL)
        return BITREPLAY_READ_ONLY;
    if (from->used > to->capacity)
        return BITREPLAY_FULL;
    memmove(to->room, from->words, (size_t)from->used * 4u);
    to->used = from->used;
    to->classes = from->classes;
    return BITREPLAY_OK;
}

uint32_t bitreplay_find(const bitreplay_layout *layout, const bitreplay_memory *memory, uint32_t label)
{
    uint32_t at = 0;
    while (at < memory->used && memory->words[at] != label)
        at += record_words(layout, memory->words[at + 2]);
    return at;
}

bitreplay_status bitreplay_label(const bitreplay_layout *layout, const bitreplay_memory *memory, uint32_t position,
                                 uint32_t *label)
{
    uint32_t at = 0;
    if (layout == NULL || memory == NULL || label == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (position >= memory->classes)
        return BITREPLAY_UNKNOWN_CLASS;
    while (position-- > 0)
        at += record_words(layout, memory->words[at + 2]);
    *label = memory->words[at];
    return BITREPLAY_OK;
}

bitreplay_status bitreplay_forget(const bitreplay_layout *layout, bitreplay_memory *memory, uint32_t label)
{
    uint32_t at, size;
    if (layout == NULL || memory == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (memory->room == NULL)
        return BITREPLAY_READ_ONLY;
    at = bitreplay_find(layout, memory, label);
    if (at == memory->used)
        return BITREPLAY_UNKNOWN_CLASS;
    size = record_words(layout, memory->words[at + 2]);
    memory->used -= size;
    memory->classes -= 1;
    memmove(memory->room + at, memory->room + at + size, (size_t)(memory->used - at) * 4u);
    memset(memory->room + memory->used, 0, (size_t)size * 4u);
    return BITREPLAY_OK;
}

/* ------------------------------------------------------------------ scores
 *
 * Of a bit z and a code v, which stands for mu = v / M with M = 2^q - 1, the probability is mu if z is set, else
 * 1 - mu, which is what M - v stands for: v with all its bits turned. So x = ~(v ^ z), plane by plane, is the code
 * whose logarithm the table T holds, and the score is the sum of T[x] over all bits.
 *
 * For up to four planes that sum is one of counts. T as a polynomial of the planes' bits a, b, c, ...,
 * T[x] = t_0 + t_a a + t_b b + t_ab ab + ..., needs the number of set bits of a, b, a & b, ... only. The coefficient of
 * a product of planes is the sum of T over the subsets of these planes, with a minus sign where an odd number of them
 * is left out. What fills up the last word has z = v = 0, so x = M, and is taken off again.
 *
 * All of it is exact: sums are modulo 2^32, and the result lies within 65535 * 32767 + 90900 < 2^31: entries of the
 * table are above -32768, and a mixing weight's logarithm is at most the second summand.
 */

#define MOST_MIXING_LOGARITHM 90900u /* 4096 ln(65535 * 65535), rounded up */
REQUIRE(scores_of_32_bits, MOST_FEATURES * 32767u + MOST_MIXING_LOGARITHM <= (uint32_t)INT32_MAX);

#define COUNTED_PLANES 4u

/* What all prototypes share. */
typedef struct {
    const bitreplay_layout *layout;
    const uint32_t *bits;
    uint32_t n_words;
    uint32_t constant; /* what does not depend on the prototype */
    uint32_t coefficients[1u << COUNTED_PLANES];
} question;

static uint32_t entry(const bitreplay_layout *layout, uint32_t code)
{
    const int32_t value = layout->log_probability[code];
    return (uint32_t)value;
}

static void prepare(question *asked, const bitreplay_layout *layout, const uint32_t *bits)
{
    const uint32_t codes = 1u << layout->bits;
    uint32_t set, subset;
    asked->layout = layout;
    asked->bits = bits;
    asked->n_words = BITREPLAY_WORDS(layout->features);
    asked->constant = 0u - (32u * asked->n_words - layout->features) * entry(layout, codes - 1u);
    if (layout->bits > COUNTED_PLANES)
        return;
    for (set = 0; set < codes; set++) {
        asked->coefficients[set] = 0;
        for (subset = 0; subset <= set; subset++) {
            if ((subset & set) == subset) {
                const uint32_t value = entry(layout, subset);
                asked->coefficients[set] += bit_count(set ^ subset) % 2u ? 0u - value : value;
            }
        }
    }
    asked->constant += 32u * asked->n_words * asked->coefficients[0];
}

/* Two planes, three products. Bits are counted in the bytes of a word, which hold those of 31 words: 31 * 8 < 256. */
static uint32_t sum_of_two(const question *asked, const uint32_t *planes)
{
    const uint32_t n_words = asked->n_words, *bits = asked->bits, *t = asked->coefficients;
    const uint32_t *second = planes + n_words;
    uint32_t sum = 0, i, end;
    for (i = 0; i < n_words;) {
        uint32_t a = 0, b = 0, ab = 0;
        for (end = n_words - i < 31u ? n_words : i + 31u; i < end; i++) {
            const uint32_t z = ~bits[i], x = planes[i] ^ z, y = second[i] ^ z;
            a += byte_counts(x);
            b += byte_counts(y);
            ab += byte_counts(x & y);
        }
        sum += byte_sum(a) * t[2] + byte_sum(b) * t[1] + byte_sum(ab) * t[3];
    }
    return sum;
}

/* Three planes, seven products: q = 3 is what memories have by default. */
static uint32_t sum_of_three(const question *asked, const uint32_t *planes)
{
    const uint32_t n_words = asked->n_words, *bits = asked->bits, *t = asked->coefficients;
    const uint32_t *second = planes + n_words, *third = second + n_words;
    uint32_t sum = 0, i, end;
    for (i = 0; i < n_words;) {
        uint32_t a = 0, b = 0, c = 0, ab = 0, ac = 0, bc = 0, abc = 0;
        for (end = n_words - i < 31u ? n_words : i + 31u; i < end; i++) {
            const uint32_t z = ~bits[i];
            const uint32_t x = planes[i] ^ z, y = second[i] ^ z, w = third[i] ^ z;
            a += byte_counts(x);
            ab += byte_counts(x & y);
            b += byte_counts(y);
            abc += byte_counts(x & y & w);
            bc += byte_counts(y & w);
            ac += byte_counts(x & w);
            c += byte_counts(w);
        }
        sum += byte_sum(a) * t[4] + byte_sum(b) * t[2] + byte_sum(c) * t[1] + byte_sum(ab) * t[6] +
               byte_sum(ac) * t[5] + byte_sum(bc) * t[3] + byte_sum(abc) * t[7];
    }
    return sum;
}

/* Up to four planes, product by product: shorter than a loop for each number of planes, and slower. */
static uint32_t sum_of_products(const question *asked, const uint32_t *planes)
{
    const uint32_t n_words = asked->n_words, q = asked->layout->bits;
    uint32_t sum = 0, set, i, p;
    for (set = 1; set < 1u << q; set++) {
        uint32_t count = 0;
        for (i = 0; i < n_words; i++) {
            uint32_t product = 0xFFFFFFFFu;
            for (p = 0; p < q; p++) {
                if (set >> (q - 1u - p) & 1u)
                    product &= ~(planes[p * n_words + i] ^ asked->bits[i]);
            }
            count += bit_count(product);
        }
        sum += count * asked->coefficients[set];
    }
    return sum;
}

/* Any number of planes, bit by bit. */
static uint32_t sum_of_entries(const question *asked, const uint32_t *planes)
{
    const uint32_t n_words = asked->n_words, q = asked->layout->bits;
    uint32_t sum = 0, i, j, p, x[8];
    for (i = 0; i < n_words; i++) {
        for (p = 0; p < q; p++)
            x[p] = ~(planes[p * n_words + i] ^ asked->bits[i]);
        for (j = 0; j < 32u; j++) {
            uint32_t code = 0;
            for (p = 0; p < q; p++)
                code = code << 1 | (x[p] >> j & 1u);
            sum += entry(asked->layout, code);
        }
    }
    return sum;
}

/* The score of the best prototype of a record. */
static int32_t class_score(const question *asked, const uint32_t *record)
{
    const uint32_t q = asked->layout->bits, k = record[2];
    const uint32_t *weights = record + RECORD_HEAD, *planes = weights + (k + 1u) / 2u;
    uint32_t total = 0, i; /* at most 65535 * 65535 < 2^32 */
    int32_t best = INT32_MIN, all;
    for (i = 0; i < k; i++)
        total += weights[i / 2u] >> (16u * (i % 2u)) & 0xFFFFu;
    all = bitreplay_logarithm(total);
    for (i = 0; i < k; i++, planes += q * asked->n_words) {
        const uint32_t weight = weights[i / 2u] >> (16u * (i % 2u)) & 0xFFFFu;
        const uint32_t sum = q == 3u               ? sum_of_three(asked, planes)
                             : q == 2u             ? sum_of_two(asked, planes)
                             : q <= COUNTED_PLANES ? sum_of_products(asked, planes)
                                                   : sum_of_entries(asked, planes);
        const int32_t score = as_signed(asked->constant + sum) + bitreplay_logarithm(weight) - all;
        if (score > best)
            best = score;
    }
    return best;
}

static bitreplay_status check(const bitreplay_layout *layout, const bitreplay_memory *memory, const uint32_t *bits)
{
    if (layout == NULL || memory == NULL || bits == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (!padding_is_zero(bits, layout->features))
        return BITREPLAY_BAD_BITS;
    return memory->classes == 0 ? BITREPLAY_EMPTY : BITREPLAY_OK;
}

bitreplay_status bitreplay_scores(const bitreplay_layout *layout, const bitreplay_memory *memory, const uint32_t *bits,
                                  int32_t *scores, uint32_t n_scores)
{
    question asked;
    uint32_t at = 0, position;
    bitreplay_status status = check(layout, memory, bits);
    if (status != BITREPLAY_OK)
        return status;
    if (scores == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (n_scores < memory->classes)
        return BITREPLAY_TOO_SMALL;
    prepare(&asked, layout, bits);
    for (position = 0; position < memory->classes; position++) {
        scores[position] = class_score(&asked, memory->words + at);
        at += record_words(layout, memory->words[at + 2]);
    }
    return BITREPLAY_OK;
}

bitreplay_status bitreplay_predict(const bitreplay_layout *layout, const bitreplay_memory *memory, const uint32_t *bits,
                                   uint32_t *label, int32_t *score)
{
    question asked;
    uint32_t at;
    int32_t best = INT32_MIN;
    bitreplay_status status = check(layout, memory, bits);
    if (status != BITREPLAY_OK)
        return status;
    if (label == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    prepare(&asked, layout, bits);
    for (at = 0; at < memory->used; at += record_words(layout, memory->words[at + 2])) {
        const int32_t found = class_score(&asked, memory->words + at);
        if (at == 0 || found > best) {
            best = found;
            *label = memory->words[at];
        }
    }
    if (score != NULL)
        *score = best;
    return BITREPLAY_OK;
}
