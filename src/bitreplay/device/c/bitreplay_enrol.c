/* Learning: a class's samples become prototypes, by EM in integers.
 *
 * Responsibilities are Q15, prototypes a byte per value while they are fitted. What can grow:
 *   masses and counts   n 2^15 <= 65535 * 2^15 < 2^31
 *   scores              D * 16024 + 90900 <= 65535 * 16024 + 90900 < 2^31, 16024 being the largest entry of the tables
 *   objective           n 2^31 < 2^47
 */
#include "bitreplay_internal.h"

#define ONE 32768u /* Q15 */
#define LEVELS 255u
#define CARDS 5u /* samples that a prototype starts from */
#define WHOLE_NATS 11u
#define LARGEST_ENTRY 16024u /* of the tables of EM */

REQUIRE(masses_of_31_bits, BITREPLAY_MOST_SAMPLES * ONE <= (uint32_t)INT32_MAX);
REQUIRE(sums_of_31_bits, MOST_FEATURES * LARGEST_ENTRY + 90900u <= (uint32_t)INT32_MAX);
REQUIRE(means_of_32_bits, 0xFFFFFFu * LEVELS <= UINT32_MAX - 0x7FFFFFu);
REQUIRE(starts_of_32_bits, 255u * CARDS * MOST_STARTS <= UINT32_MAX / BITREPLAY_MOST_SAMPLES);
REQUIRE(mixing_weights_of_32_bits, 65535u * 65535u <= UINT32_MAX - 32767u);

/* EM on its way. Masses, the sums of the shares' columns, offsets and scores, one of each per prototype, lie behind the
 * counts of the bits. */
typedef struct {
    const bitreplay_layout *layout;
    const uint32_t *samples;
    const bitreplay_scratch *scratch;
    uint32_t n, k, n_words;
    uint32_t *masses;
    int32_t *offsets, *scores;
} fit;

static void add_up(fit *f)
{
    const uint16_t *share = f->scratch->shares;
    uint32_t i, k;
    memset(f->masses, 0, (size_t)f->k * 4u);
    for (i = 0; i < f->n; i++) {
        for (k = 0; k < f->k; k++)
            f->masses[k] += *share++;
    }
}

/* Write to `counts`, bit by bit, how much of prototype k's samples has it set. */
static void count(const fit *f, uint32_t k)
{
    uint32_t *counts = f->scratch->counts;
    const uint32_t features = f->layout->features;
    uint32_t i, w, j;
    memset(counts, 0, (size_t)features * 4u);
    for (i = 0; i < f->n; i++) {
        const uint32_t share = f->scratch->shares[i * f->k + k];
        const uint32_t *sample = f->samples + (size_t)i * f->n_words;
        if (share == 0)
            continue;
        for (w = 0; w < f->n_words; w++) {
            uint32_t word = sample[w];
            for (j = 32u * w; word != 0; j++, word >>= 1) {
                if (word & 1u)
                    counts[j] += share;
            }
        }
    }
}

/* A mean as an integer from 0 to `top` <= 255. Shifted so that the mass has at most 24 bits, all fits into 32. */
static uint32_t mean(uint32_t counted, uint32_t mass, uint32_t shift, uint32_t top)
{
    const uint32_t m = mass >> shift;
    return ((counted >> shift) * top + m / 2u) / m;
}

static uint32_t mean_shift(uint32_t mass)
{
    const uint32_t zeros = leading_zeros(mass);
    return zeros < 8u ? 8u - zeros : 0u;
}

/* The M-step: a byte for every value of every prototype. */
static void fit_levels(fit *f)
{
    const uint32_t features = f->layout->features;
    uint8_t *level = f->scratch->levels;
    uint32_t k, j;
    add_up(f);
    for (k = 0; k < f->k; k++) {
        const uint32_t mass = f->masses[k] == 0 ? 1u : f->masses[k], shift = mean_shift(mass);
        count(f, k);
        for (j = 0; j < features; j++)
            *level++ = (uint8_t)mean(f->scratch->counts[j], mass, shift, LEVELS);
    }
}

/* The sum of a prototype's log-odds over the set bits of a sample. */
static int32_t odds_of(const uint8_t *levels, const uint32_t *sample, uint32_t n_words)
{
    int32_t sum = 0;
    uint32_t w;
    for (w = 0; w < n_words; w++) {
        const uint8_t *level = levels + 32u * w;
        uint32_t word = sample[w];
        for (; word != 0; word >>= 1, level++) {
            if (word & 1u)
                sum += bitreplay_em_log_odds[*level];
        }
    }
    return sum;
}

static uint32_t largest(const uint16_t *shares, uint32_t k)
{
    uint32_t best = 0, i;
    for (i = 1; i < k; i++) {
        if (shares[i] > shares[best])
            best = i;
    }
    return best;
}

/* The E-step: new shares under the present levels and masses. Returns the sum of the best scores, and how many samples
 * have gone over to another prototype. */
static int64_t share_out(fit *f, uint32_t *moved)
{
    const uint32_t features = f->layout->features, n = f->n, n_k = f->k;
    int32_t *scores = f->scores;
    int64_t objective = 0;
    uint32_t i, j, k;
    for (k = 0; k < n_k; k++) {
        const uint8_t *level = f->scratch->levels + (size_t)k * features;
        int32_t offset = bitreplay_logarithm(f->masses[k] == 0 ? 1u : f->masses[k]) - bitreplay_logarithm(n * ONE);
        for (j = 0; j < features; j++)
            offset += bitreplay_em_logarithms[level[j]];
        f->offsets[k] = offset;
    }
    *moved = 0;
    for (i = 0; i < n; i++) {
        uint16_t *share = f->scratch->shares + (size_t)i * n_k;
        const uint32_t *sample = f->samples + (size_t)i * f->n_words;
        uint32_t best = 0, owner = largest(share, n_k), total = 0, given = 0;
        for (k = 0; k < n_k; k++) {
            scores[k] = f->offsets[k] + odds_of(f->scratch->levels + (size_t)k * features, sample, f->n_words);
            if (scores[k] > scores[best])
                best = k;
        }
        for (k = 0; k < n_k; k++) { /* exp of each gap; at most 255 * 2^15 together */
            const uint32_t gap = (uint32_t)(scores[best] - scores[k]);
            uint32_t part = 0;
            if (gap < WHOLE_NATS << 12)
                part = (uint32_t)bitreplay_exp_whole[gap >> 12] * bitreplay_exp_parts[gap >> 6 & 63u] >> 15;
            share[k] = (uint16_t)part;
            total += part;
        }
        for (k = 0; k < n_k; k++) {
            if (share[k] != 0) {
                share[k] = (uint16_t)(((uint32_t)share[k] << 15) / total);
                given += share[k];
            }
        }
        share[best] = (uint16_t)(share[best] + (ONE - given)); /* what rounding took */
        *moved += largest(share, n_k) != owner;
        objective += scores[best];
    }
    return objective;
}

static int64_t em_step(fit *f, uint32_t *moved)
{
    fit_levels(f);
    return share_out(f, moved);
}

/* Give every prototype that rests on too few samples each second sample of the heaviest one. */
static int reseed(fit *f)
{
    const uint32_t least = (uint32_t)f->layout->min_count * ONE;
    int found = 0;
    uint32_t i, j, k;
    add_up(f);
    for (k = 0; k < f->k; k++) {
        uint32_t donor = 0, seen = 0;
        if (f->masses[k] >= least)
            continue;
        for (j = 1; j < f->k; j++) {
            if (f->masses[j] > f->masses[donor])
                donor = j;
        }
        for (i = 0; i < f->n; i++) {
            uint16_t *share = f->scratch->shares + (size_t)i * f->k;
            if (share[donor] > ONE / 2u && seen++ % 2u == 1u) {
                share[k] = (uint16_t)(share[k] + share[donor]);
                share[donor] = 0;
            }
        }
        add_up(f);
        found = 1;
    }
    return found;
}

/* A start, five samples for each prototype, and its first steps. */
static void warm_up(fit *f, uint32_t start)
{
    const uint32_t starts = f->layout->starts;
    uint32_t card, step, moved;
    memset(f->scratch->shares, 0, (size_t)f->n * f->k * 2u);
    for (card = 0; card < f->k * CARDS; card++) {
        const uint32_t i = (card * starts + start) * f->n / (f->k * CARDS * starts);
        f->scratch->shares[(size_t)i * f->k + card / CARDS] = ONE;
    }
    for (step = 0; step < f->layout->warm_up; step++) {
        (void)em_step(f, &moved);
        (void)reseed(f);
    }
}

static uint32_t lightest(const fit *f)
{
    uint32_t k, found = 0;
    for (k = 1; k < f->k; k++) {
        if (f->masses[k] < f->masses[found])
            found = k;
    }
    return found;
}

/* Merge prototypes away that rest on too few samples: the others get these. */
static void merge_away(fit *f)
{
    const uint32_t features = f->layout->features, least = (uint32_t)f->layout->min_count * ONE;
    uint32_t k, moved;
    add_up(f);
    while (f->k > 1u && f->masses[k = lightest(f)] < least) {
        uint8_t *level = f->scratch->levels + (size_t)k * features;
        fit_levels(f);
        f->k--;
        memmove(level, level + features, (size_t)(f->k - k) * features);
        memmove(f->masses + k, f->masses + k + 1u, (size_t)(f->k - k) * 4u);
        (void)share_out(f, &moved); /* writes shares of the new width; who has moved means nothing */
        add_up(f);
    }
}

static void run(fit *f)
{
    uint32_t start, step, best = 0, moved;
    int64_t best_objective = 0;
    if (f->layout->starts > 1u) {
        for (start = 0; start < f->layout->starts; start++) {
            int64_t objective;
            warm_up(f, start);
            objective = em_step(f, &moved);
            if (start == 0 || objective > best_objective) {
                best = start;
                best_objective = objective;
            }
        }
    }
    warm_up(f, best); /* again: cheaper than room for two */
    for (step = 0; step < f->layout->steps; step++) {
        (void)em_step(f, &moved);
        if (step + 1u < f->layout->steps && reseed(f))
            continue;
        if (moved == 0)
            break;
    }
    merge_away(f);
}

/* Write the record of the fitted class; the masses are those of the shares. */
static void write_record(const fit *f, uint32_t *record, uint32_t label)
{
    const uint32_t features = f->layout->features, q = f->layout->bits, top = (1u << q) - 1u;
    uint32_t *planes = record + RECORD_HEAD + (f->k + 1u) / 2u;
    uint32_t heaviest = 0, shift, k, j, p;
    memset(record, 0, (size_t)record_words(f->layout, f->k) * 4u);
    record[0] = label;
    record[1] = f->n;
    record[2] = f->k;
    for (k = 0; k < f->k; k++) {
        if (f->masses[k] > heaviest)
            heaviest = f->masses[k];
    }
    shift = 16u - leading_zeros(heaviest); /* it has at least the 16 bits of ONE; 65535 * 65535 + 32767 < 2^32 */
    for (k = 0; k < f->k; k++, planes += q * f->n_words) {
        const uint32_t mass = f->masses[k], bits_off = mean_shift(mass);
        uint32_t weight = ((mass >> shift) * 65535u + (heaviest >> shift) / 2u) / (heaviest >> shift);
        if (weight == 0)
            weight = 1;
        record[RECORD_HEAD + k / 2u] |= weight << (16u * (k % 2u));
        count(f, k);
        for (j = 0; j < features; j++) {
            const uint32_t code = mean(f->scratch->counts[j], mass, bits_off, top);
            for (p = 0; p < q; p++)
                planes[p * f->n_words + j / 32u] |= (code >> (q - 1u - p) & 1u) << (j % 32u);
        }
    }
}

bitreplay_status bitreplay_enrol(const bitreplay_layout *layout, bitreplay_memory *memory, uint32_t label,
                                 const uint32_t *samples, uint32_t n_samples, const bitreplay_scratch *scratch)
{
    fit f;
    uint32_t i, needed;
    if (layout == NULL || memory == NULL || samples == NULL || scratch == NULL || n_samples < 1u ||
        n_samples > BITREPLAY_MOST_SAMPLES)
        return BITREPLAY_BAD_ARGUMENT;
    if (scratch->counts == NULL || scratch->shares == NULL || scratch->levels == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (memory->room == NULL)
        return BITREPLAY_READ_ONLY;
    f.layout = layout;
    f.samples = samples;
    f.scratch = scratch;
    f.n = n_samples;
    f.n_words = BITREPLAY_WORDS(layout->features);
    f.k = n_samples / layout->min_count;
    if (f.k > layout->prototypes)
        f.k = layout->prototypes;
    if (f.k == 0)
        f.k = 1;
    for (i = 0; i < n_samples; i++) {
        if (!padding_is_zero(samples + (size_t)i * f.n_words, layout->features))
            return BITREPLAY_BAD_BITS;
    }
    if (bitreplay_find(layout, memory, label) < memory->used)
        return BITREPLAY_KNOWN_CLASS;
    needed = record_words(layout, f.k);
    if (needed > memory->capacity - memory->used)
        return BITREPLAY_FULL;
    if (scratch->n_counts < BITREPLAY_COUNTS(f.k, layout->features) || scratch->n_shares < f.n * f.k ||
        scratch->n_levels < f.k * layout->features)
        return BITREPLAY_TOO_SMALL;
    f.masses = scratch->counts + layout->features;
    f.offsets = (int32_t *)(f.masses + f.k);
    f.scores = f.offsets + f.k;
    if (f.k == 1u) { /* the mean */
        for (i = 0; i < f.n; i++)
            scratch->shares[i] = ONE;
        add_up(&f);
    } else {
        run(&f);
    }
    write_record(&f, memory->room + memory->used, label);
    memory->used += record_words(layout, f.k);
    memory->classes += 1u;
    return BITREPLAY_OK;
}
