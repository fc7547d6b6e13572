/* Features to bits: every feature against its thresholds. */
#include "bitreplay_internal.h"

#define DEFINE_BINARIZE(name, thresholds_type, feature_type)                                                           \
    bitreplay_status name(const thresholds_type *thresholds, const feature_type *features, uint32_t *bits)             \
    {                                                                                                                  \
        uint32_t i, j, at = 0, word = 0;                                                                               \
        if (thresholds == NULL || features == NULL || bits == NULL)                                                    \
            return BITREPLAY_BAD_ARGUMENT;                                                                             \
        for (i = 0; i < thresholds->inputs; i++) {                                                                     \
            for (j = 0; j < thresholds->per_input; j++, at++) {                                                        \
                if (features[i] > thresholds->values[i * thresholds->stride + j])                                      \
                    word |= (uint32_t)1 << (at % 32u);                                                                 \
                if (at % 32u == 31u) {                                                                                 \
                    bits[at / 32u] = word;                                                                             \
                    word = 0;                                                                                          \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        if (at % 32u != 0)                                                                                             \
            bits[at / 32u] = word;                                                                                     \
        return BITREPLAY_OK;                                                                                           \
    }

DEFINE_BINARIZE(bitreplay_binarize_u8, bitreplay_thresholds_8, uint8_t)
DEFINE_BINARIZE(bitreplay_binarize_s8, bitreplay_thresholds_8, int8_t)
DEFINE_BINARIZE(bitreplay_binarize_s16, bitreplay_thresholds_16, int16_t)
#ifdef BITREPLAY_FLOAT
DEFINE_BINARIZE(bitreplay_binarize_float, bitreplay_thresholds_float, float)
#endif
