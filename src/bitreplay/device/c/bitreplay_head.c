/* Heads with weights: the closed form, its linear part, linear classifiers.
 *
 * What can grow, all checked when the head is exported:
 *   sums of weights     65535 * 128 < 2^23; with the bias below 2^31
 *   products            2^31 * 2^31 = 2^62
 *   shifted products    below 2^24, so that squares are below 2^48 and 256 of them below 2^56
 */
#include "bitreplay_internal.h"

REQUIRE(sums_of_weights_of_23_bits, MOST_FEATURES * 128u < 1u << 23);

DEFINE_COUNT(common, &)

/* The sum of a row's weights over the set bits. */
static int32_t row_sum(const uint32_t *planes, const uint32_t *bits, uint32_t n_words, uint32_t weight_bits)
{
    uint32_t sum = 0, p;
    for (p = 0; p < weight_bits; p++, planes += n_words) {
        const uint32_t count = common(planes, bits, n_words);
        sum = 2u * sum + (p == 0 ? 0u - count : count); /* the first plane is the sign, which counts negative */
    }
    return as_signed(sum);
}

static int64_t row_product(const bitreplay_head *head, uint32_t row, const uint32_t *bits)
{
    const uint32_t n_words = BITREPLAY_WORDS(head->features);
    const uint32_t *planes = head->planes + (size_t)row * head->weight_bits * n_words;
    return (int64_t)(row_sum(planes, bits, n_words, head->weight_bits) + head->biases[row]) * head->scales[row];
}

static int32_t class_score(const bitreplay_head *head, uint32_t position, const uint32_t *bits)
{
    uint32_t row = position * (head->squares + 1u), i;
    int64_t score = row_product(head, row, bits);
    for (i = 0; i < head->squares; i++) {
        const int64_t part = shift_down(row_product(head, ++row, bits), head->shift);
        score += part * part;
    }
    return (int32_t)shift_down(score, head->score_shift);
}

static bitreplay_status check(const bitreplay_head *head, const uint32_t *bits)
{
    if (head == NULL || bits == NULL || head->weight_bits < 2u || head->weight_bits > 8u)
        return BITREPLAY_BAD_ARGUMENT;
    if (!padding_is_zero(bits, head->features))
        return BITREPLAY_BAD_BITS;
    return head->classes == 0 ? BITREPLAY_EMPTY : BITREPLAY_OK;
}

bitreplay_status bitreplay_head_scores(const bitreplay_head *head, const uint32_t *bits, int32_t *scores,
                                       uint32_t n_scores)
{
    uint32_t position;
    bitreplay_status status = check(head, bits);
    if (status != BITREPLAY_OK)
        return status;
    if (scores == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (n_scores < head->classes)
        return BITREPLAY_TOO_SMALL;
    for (position = 0; position < head->classes; position++)
        scores[position] = class_score(head, position, bits);
    return BITREPLAY_OK;
}

bitreplay_status bitreplay_head_predict(const bitreplay_head *head, const uint32_t *bits, uint32_t *label,
                                        int32_t *score)
{
    uint32_t position;
    int32_t best = INT32_MIN;
    bitreplay_status status = check(head, bits);
    if (status != BITREPLAY_OK)
        return status;
    if (label == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    for (position = 0; position < head->classes; position++) {
        const int32_t found = class_score(head, position, bits);
        if (position == 0 || found > best) {
            best = found;
            *label = position;
        }
    }
    if (score != NULL)
        *score = best;
    return BITREPLAY_OK;
}
