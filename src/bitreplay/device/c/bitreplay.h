/* bitreplay on a device: classify, learn and forget classes from packed bits, in integers.
 *
 * C99, <stdint.h> and <string.h>. No heap, no recursion, no floating point, no static state: everything that changes is
 * in the caller's buffers. Every function gives the same answers as `bitreplay.device` in Python, bit for bit, on every
 * machine.
 *
 *
 * OVERVIEW
 *
 *     features --bitreplay_binarize_*--> bits --bitreplay_predict--> label       Bayes: classes can be learned
 *     image    --bitreplay_embed------>  bits --bitreplay_head_predict--> label  closed form or linear: fixed classes
 *
 * `bitreplay export c` writes this library together with model.h and model.c: constants for the linker to put into
 * flash. A complete program:
 *
 *     #include "model.h"
 *
 *     static uint32_t words[MODEL_MEMORY_WORDS];
 *     BITREPLAY_SCRATCH(scratch, MODEL_SAMPLES, MODEL_PROTOTYPES, MODEL_FEATURES);
 *
 *     bitreplay_memory memory;
 *     bitreplay_open(&model_layout, &memory, words, MODEL_MEMORY_WORDS);          an empty memory
 *     bitreplay_copy(&model_memory, &memory);                                     the classes it was shipped with
 *     bitreplay_binarize_u8(&model_thresholds, features, bits);
 *     bitreplay_predict(&model_layout, &memory, bits, &label, &score);
 *     bitreplay_enrol(&model_layout, &memory, 42, samples, n_samples, &scratch);  a new class
 *     bitreplay_forget(&model_layout, &memory, 3);                                an old one
 *
 *
 * BITS
 *
 * An embedding of D bits is BITREPLAY_WORDS(D) words of 32 bits: bit j is bit j % 32 of word j / 32, counted from the
 * lowest. The padding of the last word must be 0. Samples to be enrolled are stored one after another in this form.
 *
 *
 * ANSWERS
 *
 * Every function returns a bitreplay_status. Anything other than BITREPLAY_OK means that the call was refused and that
 * memory and results are unchanged; only scratch may have been written.
 *
 *
 * SIZES
 *
 * All sizes are constant expressions below. D is the number of bits of an embedding, q that of a stored value, K the
 * number of prototypes of a class, n that of its samples.
 */
#ifndef BITREPLAY_H
#define BITREPLAY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BITREPLAY_VERSION 1 /* of the layout of blocks */

/* Words of an embedding, of a class in the memory, and of a memory of this many classes. */
#define BITREPLAY_WORDS(D) (((D) + 31u) / 32u)
#define BITREPLAY_CLASS_WORDS(D, q, K) (3u + ((K) + 1u) / 2u + (K) * (q) * BITREPLAY_WORDS(D))
#define BITREPLAY_MEMORY_WORDS(classes, D, q, K) ((classes) * BITREPLAY_CLASS_WORDS(D, q, K))

/* Bytes of the block for a memory of this many words: the size of a slot in flash. */
#define BITREPLAY_BLOCK_BYTES(words) (4u * ((words) + 9u))

/* Elements of the three buffers that bitreplay_enrol works in, and their total bytes. */
#define BITREPLAY_COUNTS(K, D) ((D) + 3u * (K))
#define BITREPLAY_SHARES(n, K) ((n) * (K))
#define BITREPLAY_LEVELS(K, D) ((K) * (D))
#define BITREPLAY_SCRATCH_BYTES(n, K, D)                                                                               \
    (4u * BITREPLAY_COUNTS(K, D) + 2u * BITREPLAY_SHARES(n, K) + BITREPLAY_LEVELS(K, D))

#define BITREPLAY_MOST_SAMPLES 65535u /* of one class */

typedef enum {
    BITREPLAY_OK = 0,
    BITREPLAY_BAD_ARGUMENT = 1,  /* no samples, too many, a null pointer, a layout out of range */
    BITREPLAY_BAD_BITS = 2,      /* bits are set beyond the last feature */
    BITREPLAY_FULL = 3,          /* no room for the class, or for the classes of the block */
    BITREPLAY_TOO_SMALL = 4,     /* a buffer of the caller is too small */
    BITREPLAY_KNOWN_CLASS = 5,   /* forget it first */
    BITREPLAY_UNKNOWN_CLASS = 6, /* there is no class with this label */
    BITREPLAY_EMPTY = 7,         /* the memory holds no classes */
    BITREPLAY_READ_ONLY = 8,     /* the memory is in flash: copy it */
    BITREPLAY_DAMAGED = 9,       /* a truncated or altered block, or none at all */
    BITREPLAY_OTHER_VERSION = 10,/* a block of a layout that this library does not know */
    BITREPLAY_OTHER_BITS = 11,   /* a block for other bits: D, q or the fingerprint differ */
    BITREPLAY_NOT_WRITTEN = 12   /* the caller's function could not write */
} bitreplay_status;

/* ------------------------------------------------------------------ the memory, and Bayes
 *
 * A class is a mixture of up to K prototypes, each a probability per bit in q bits. The score of a class is that of its
 * best prototype: 4096 times the logarithm of the probability of the bits. Nothing besides the memory is stored, so a
 * class is learned when its prototypes are added, and forgotten when they are removed.
 */
typedef struct {
    uint16_t features;              /* D, 1 to 65535 */
    uint16_t min_count;             /* minimum number of samples of a prototype, 1 to 65535 */
    uint8_t bits;                   /* q, 1 to 8 */
    uint8_t prototypes;             /* maximum K of an enrolled class, 1 to 255 */
    uint8_t starts;                 /* of EM, 1 to 32 */
    uint8_t warm_up;                /* steps of each start */
    uint8_t steps;                  /* maximum number of steps of the best start, 1 to 255 */
    uint32_t fingerprint;           /* of how embeddings are made; stored in blocks */
    const int16_t *log_probability; /* 2^q entries: 4096 times the logarithm of the value of a code */
} bitreplay_layout;

/* Classes in the order they were learned, one record after another. A record is the label, the number of samples,
 * the number of prototypes, their mixing weights (16 bits each), and q planes of D bits for every prototype, the
 * highest bits first. Do not change the fields; `used` and `classes` may be read. */
typedef struct {
    const uint32_t *words;
    uint32_t *room; /* the same words if they are writable; NULL for a memory in flash */
    uint32_t capacity;
    uint32_t used;
    uint32_t classes;
} bitreplay_memory;

/* Make an empty memory of `capacity` words at `words`. Refuses a layout that is out of range. */
bitreplay_status bitreplay_open(const bitreplay_layout *layout, bitreplay_memory *memory, uint32_t *words,
                                uint32_t capacity);

/* Replace the classes of a memory by those of another, in flash or not. */
bitreplay_status bitreplay_copy(const bitreplay_memory *from, bitreplay_memory *to);

/* The label of the class at a position, 0 being the one learned first. */
bitreplay_status bitreplay_label(const bitreplay_layout *layout, const bitreplay_memory *memory, uint32_t position,
                                 uint32_t *label);

/* The score of every class, in the order they were learned; `n_scores` is the size of the array. Scores of memories of
 * one layout can be compared: shipped classes may stay in flash, with learned ones in RAM. */
bitreplay_status bitreplay_scores(const bitreplay_layout *layout, const bitreplay_memory *memory, const uint32_t *bits,
                                  int32_t *scores, uint32_t n_scores);

/* The label with the best score, and the score; ties go to the class learned first. `score` may be NULL. */
bitreplay_status bitreplay_predict(const bitreplay_layout *layout, const bitreplay_memory *memory, const uint32_t *bits,
                                   uint32_t *label, int32_t *score);

/* Buffers for bitreplay_enrol, of the sizes given above; `n_*` are the numbers of their elements. */
typedef struct {
    uint32_t *counts;
    uint16_t *shares;
    uint8_t *levels;
    uint32_t n_counts;
    uint32_t n_shares;
    uint32_t n_levels;
} bitreplay_scratch;

/* Declares static buffers for classes of up to n samples, and a bitreplay_scratch of this name. */
#define BITREPLAY_SCRATCH(name, n, K, D)                                                                               \
    static uint32_t name##_counts[BITREPLAY_COUNTS(K, D)];                                                             \
    static uint16_t name##_shares[BITREPLAY_SHARES(n, K)];                                                             \
    static uint8_t name##_levels[BITREPLAY_LEVELS(K, D)];                                                              \
    static const bitreplay_scratch name = {                                                                            \
        name##_counts,          name##_shares,          name##_levels,                                                 \
        BITREPLAY_COUNTS(K, D), BITREPLAY_SHARES(n, K), BITREPLAY_LEVELS(K, D)}

/* Learn a class from its embeddings: min(K, max(1, n / min_count)) prototypes, fitted by EM in integers; a single one
 * is the mean. Not random, and bounded: at most starts * (warm_up + 1) + warm_up + steps + K steps of n K D additions.
 * `samples` are n_samples times BITREPLAY_WORDS(D) words. */
bitreplay_status bitreplay_enrol(const bitreplay_layout *layout, bitreplay_memory *memory, uint32_t label,
                                 const uint32_t *samples, uint32_t n_samples, const bitreplay_scratch *scratch);

/* Forget a class: its record is removed, those after it move up, and the words after them are set to 0. */
bitreplay_status bitreplay_forget(const bitreplay_layout *layout, bitreplay_memory *memory, uint32_t label);

/* ------------------------------------------------------------------ blocks in flash
 *
 * A block is a memory as bytes: 8 header words (the letters "brmb", version, length in bytes, sequence number, D, q,
 * fingerprint, number of classes), the records, and a CRC-32 of everything before it; words are little-endian. A
 * truncated or altered block is refused.
 *
 * Keep two slots of MODEL_BLOCK_BYTES each, in different sectors. bitreplay_load_newest says which one to write next,
 * and with which sequence number: erase it, then store; only then is the other one the older. If power fails in
 * between, the previous block remains the newest.
 */

/* Writes `n_bytes` at `offset` from the beginning of the block; returns 0 on success. Offsets increase without gaps
 * in steps of 64 bytes; the last may be shorter. */
typedef int (*bitreplay_write)(void *context, uint32_t offset, const uint8_t *bytes, uint32_t n_bytes);

/* Write the memory as a block of BITREPLAY_BLOCK_BYTES(memory->used) bytes. */
bitreplay_status bitreplay_store(const bitreplay_layout *layout, const bitreplay_memory *memory, uint32_t sequence,
                                 bitreplay_write write, void *context);

/* Replace the classes of the memory by those of a block. `n_bytes` may be larger than the block: the size of its slot.
 * Nothing is read beyond them, and nothing is changed before everything is checked. `sequence` may be NULL. */
bitreplay_status bitreplay_load(const bitreplay_layout *layout, bitreplay_memory *memory, const uint8_t *block,
                                uint32_t n_bytes, uint32_t *sequence);

typedef struct {
    uint32_t slot;     /* where to store next: 0 or 1 */
    uint32_t sequence; /* and with which number */
} bitreplay_next;

/* Load the newer of two slots of `n_bytes` each that holds a block, and say where the next one goes. `next` is set
 * in any case; if neither slot holds a block of this layout, the answer is BITREPLAY_DAMAGED and the memory stays. */
bitreplay_status bitreplay_load_newest(const bitreplay_layout *layout, bitreplay_memory *memory, const uint8_t *slot_0,
                                       const uint8_t *slot_1, uint32_t n_bytes, bitreplay_next *next);

/* ------------------------------------------------------------------ features to bits
 *
 * Thermometers: bit p * i + j is set where feature i is greater than its threshold j. Thresholds are wider than
 * features, so that a bit can be set, or unset, for all of them. `stride` is p, or 0 if all features share p
 * thresholds.
 */
typedef struct {
    uint16_t inputs;    /* d */
    uint16_t per_input; /* p; d * p = D */
    uint16_t stride;
    const int16_t *values;
} bitreplay_thresholds_8;

typedef struct {
    uint16_t inputs;
    uint16_t per_input;
    uint16_t stride;
    const int32_t *values;
} bitreplay_thresholds_16;

bitreplay_status bitreplay_binarize_u8(const bitreplay_thresholds_8 *thresholds, const uint8_t *features,
                                       uint32_t *bits);
bitreplay_status bitreplay_binarize_s8(const bitreplay_thresholds_8 *thresholds, const int8_t *features,
                                       uint32_t *bits);
bitreplay_status bitreplay_binarize_s16(const bitreplay_thresholds_16 *thresholds, const int16_t *features,
                                        uint32_t *bits);

#ifdef BITREPLAY_FLOAT /* for devices with floating point; NaN sets no bit */
typedef struct {
    uint16_t inputs;
    uint16_t per_input;
    uint16_t stride;
    const float *values;
} bitreplay_thresholds_float;

bitreplay_status bitreplay_binarize_float(const bitreplay_thresholds_float *thresholds, const float *features,
                                          uint32_t *bits);
#endif

/* ------------------------------------------------------------------ heads with weights
 *
 * Computed elsewhere, for fixed classes: the closed form, its linear part, or a linear classifier. Weights are integers
 * of 2 to 8 bits, in planes like the prototypes, with a scale per row. A class has one row whose product with the bits
 * is added to its score, and `squares` rows whose products are squared first.
 */
typedef struct {
    uint16_t features;      /* D */
    uint16_t classes;
    uint8_t squares;        /* 0 for a linear head */
    uint8_t weight_bits;    /* 2 to 8 */
    uint8_t shift;          /* right shift of products before they are squared */
    uint8_t score_shift;    /* and scores, so that they fit into 32 bits */
    const uint32_t *planes; /* row by row: weight_bits planes of D bits, the sign first (two's complement) */
    const int32_t *biases;  /* of each row, in units of its weights */
    const int32_t *scales;  /* of each row */
} bitreplay_head;

/* The score of every class; `n_scores` is the size of the array. Compare scores of one embedding only: a part common to
 * all classes is left out. */
bitreplay_status bitreplay_head_scores(const bitreplay_head *head, const uint32_t *bits, int32_t *scores,
                                       uint32_t n_scores);

/* The class with the best score, 0 being the first, and the score; `score` may be NULL. */
bitreplay_status bitreplay_head_predict(const bitreplay_head *head, const uint32_t *bits, uint32_t *label,
                                        int32_t *score);

/* ------------------------------------------------------------------ the fully binary network
 *
 * Pixels in, an embedding out. Layers are convolutions of bits, a dense layer being one as large as its input; a bit is
 * set where the number of differing bits is at most the channel's limit, or exceeds it where `flips` is set.
 * Maps are stored row by row, the channels of a position packed into words.
 */
typedef struct {
    uint16_t height, width; /* of the input map */
    uint16_t channels;      /* of the input map: bits per position */
    uint16_t outputs;       /* output channels */
    uint16_t groups;
    uint8_t size, stride, padding; /* of the kernel; padding is +1 */
    uint8_t pool;                  /* 1: the best of 2 x 2 positions */
    const uint32_t *weights;       /* of each output: size * size * channels / groups bits, channels fastest */
    const int16_t *limits;         /* of each output */
    const uint32_t *flips;         /* a bit per output */
} bitreplay_layer;

typedef struct {
    const bitreplay_layer *layers;
    uint8_t n_layers;
    uint8_t colours;
    uint8_t levels;               /* thermometer bits per colour: the first layer has colours * levels channels */
    const uint8_t *pixel_levels;  /* 256 entries: how many of them a pixel sets */
    uint32_t scratch_words;       /* what bitreplay_embed needs: maps of two layers, and four patches */
    uint32_t map_words;           /* the part of it for the maps */
} bitreplay_network;

/* The embedding of an image of height * width * colours bytes, colours fastest; `n_scratch` are words. */
bitreplay_status bitreplay_embed(const bitreplay_network *network, const uint8_t *image, uint32_t *scratch,
                                 uint32_t n_scratch, uint32_t *bits);

#ifdef __cplusplus
}
#endif
#endif
