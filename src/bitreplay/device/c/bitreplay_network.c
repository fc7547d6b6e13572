/* The fully binary network: pixels to an embedding with exclusive or, counting and comparing.
 *
 * Each place of a layer's output is computed from a patch: the bits under the kernel, packed without gaps, +1 where it
 * stands over the edge. Weights lie in the same order, so the number of differing bits is a run over words.
 */
#include "bitreplay_internal.h"

#define PLACES 4u /* that are pooled */

/* Set `n` bits from bit `at` on. */
static void set_run(uint32_t *words, uint32_t at, uint32_t n)
{
    while (n > 0) {
        const uint32_t low = at % 32u, room = 32u - low, now = n < room ? n : room;
        words[at / 32u] |= (now == 32u ? 0xFFFFFFFFu : ((uint32_t)1 << now) - 1u) << low;
        at += now;
        n -= now;
    }
}

/* Put `n` bits from bit `from` of `source` behind bit `at` of `words`, which are still 0. */
static void put_bits(uint32_t *words, uint32_t at, const uint32_t *source, uint32_t from, uint32_t n)
{
    while (n > 0) {
        const uint32_t low = at % 32u, begin = from % 32u;
        uint32_t room = 32u - (low > begin ? low : begin), now = n < room ? n : room;
        uint32_t bits = source[from / 32u] >> begin;
        if (now < 32u)
            bits &= ((uint32_t)1 << now) - 1u;
        words[at / 32u] |= bits << low;
        at += now;
        from += now;
        n -= now;
    }
}

DEFINE_COUNT(differing, ^)

/* Gather the bits under the kernel at (y, x) for a group. The first layer reads an image, the others a map. */
static void gather(const bitreplay_network *network, const bitreplay_layer *layer, const uint8_t *image,
                   const uint32_t *map, uint32_t group, uint32_t y, uint32_t x, uint32_t *patch, uint32_t patch_words)
{
    const uint32_t channels = (uint32_t)layer->channels / layer->groups;
    const uint32_t place_words = BITREPLAY_WORDS(layer->channels);
    uint32_t at = 0, row, column, colour;
    memset(patch, 0, (size_t)patch_words * 4u);
    for (row = y; row < y + layer->size; row++) {
        for (column = x; column < x + layer->size; column++, at += channels) {
            /* Counted from the edge of the padding; a place before the map wraps to a large number. */
            const uint32_t there = row - layer->padding, across = column - layer->padding;
            const uint32_t place = there * layer->width + across;
            if (there >= layer->height || across >= layer->width) {
                set_run(patch, at, channels);
            } else if (image == NULL) {
                put_bits(patch, at, map + (size_t)place * place_words, group * channels, channels);
            } else {
                for (colour = 0; colour < network->colours; colour++) {
                    const uint8_t pixel = image[(size_t)place * network->colours + colour];
                    set_run(patch, at + colour * network->levels, network->pixel_levels[pixel]);
                }
            }
        }
    }
}

static void run_layer(const bitreplay_network *network, const bitreplay_layer *layer, const uint8_t *image,
                      const uint32_t *map, uint32_t *patches, uint32_t *out)
{
    const uint32_t pool = layer->pool ? 2u : 1u, outputs = (uint32_t)layer->outputs / layer->groups;
    const uint32_t fan_in = (uint32_t)layer->size * layer->size * (layer->channels / layer->groups);
    const uint32_t n_words = BITREPLAY_WORDS(fan_in), out_words = BITREPLAY_WORDS(layer->outputs);
    const uint32_t height = ((layer->height + 2u * layer->padding - layer->size) / layer->stride + 1u) / pool;
    const uint32_t width = ((layer->width + 2u * layer->padding - layer->size) / layer->stride + 1u) / pool;
    uint32_t y, x, group, o, place, w;
    for (y = 0; y < height; y++) {
        for (x = 0; x < width; x++, out += out_words) {
            memset(out, 0, (size_t)out_words * 4u);
            for (group = 0; group < layer->groups; group++) {
                for (place = 0; place < pool * pool; place++)
                    gather(network, layer, image, map, group, (pool * y + place / pool) * layer->stride,
                           (pool * x + place % pool) * layer->stride, patches + place * n_words, n_words);
                for (o = group * outputs; o < (group + 1u) * outputs; o++) {
                    const uint32_t *weights = layer->weights + (size_t)o * n_words;
                    uint32_t least = differing(weights, patches, n_words);
                    for (place = 1; place < pool * pool; place++) { /* the largest sum differs in the fewest bits */
                        const uint32_t count = differing(weights, patches + place * n_words, n_words);
                        if (count < least)
                            least = count;
                    }
                    if ((int32_t)least <= layer->limits[o])
                        out[o / 32u] |= (uint32_t)1 << (o % 32u);
                }
            }
            for (w = 0; w < out_words; w++)
                out[w] ^= layer->flips[w];
        }
    }
}

static uint32_t map_words(const bitreplay_layer *layer)
{
    return (uint32_t)layer->height * layer->width * BITREPLAY_WORDS(layer->channels);
}

bitreplay_status bitreplay_embed(const bitreplay_network *network, const uint8_t *image, uint32_t *scratch,
                                 uint32_t n_scratch, uint32_t *bits)
{
    uint32_t i;
    uint32_t *map = NULL;
    if (network == NULL || image == NULL || scratch == NULL || bits == NULL)
        return BITREPLAY_BAD_ARGUMENT;
    if (n_scratch < network->scratch_words)
        return BITREPLAY_TOO_SMALL;
    for (i = 0; i < network->n_layers; i++) {
        const bitreplay_layer *layer = network->layers + i;
        uint32_t *out = bits;
        /* Maps lie at the two ends of the scratch in turn: what a layer reads and writes fits side by side. */
        if (i + 1u < network->n_layers)
            out = i % 2u == 0 ? scratch : scratch + network->map_words - map_words(layer + 1);
        run_layer(network, layer, i == 0 ? image : NULL, map, scratch + network->map_words, out);
        map = out;
    }
    return BITREPLAY_OK;
}
