"""A self-test for an exported model: inputs, and Python's answers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits, pack
from bitreplay.device._memory import DeviceMemory
from bitreplay.device._model import DeviceModel
from bitreplay.device._records import words_of
from bitreplay.device._render import array
from bitreplay.device._sizes import memory_words
from bitreplay.device._status import DeviceError, Status
from bitreplay.device._thresholds import IntegerThresholds

VECTORS = 16
IMAGES = 2
MOST_ENROLLED = 40

TEMPLATE = """/* Does this device give the answers that Python gave? {name}_selftest() returns 0 if so, else the
 * number of the first check that failed. Needs no input and no output; leave it out of the product. */
#include "{name}.h"

int {name}_selftest(void);

{arrays}
/* The CRC-32 of a block as it is written. */
static int add_to_crc(void *context, uint32_t offset, const uint8_t *bytes, uint32_t n_bytes)
{{
    uint32_t *crc = context;
    uint32_t i, bit;
    (void)offset;
    for (i = 0; i < n_bytes; i++) {{
        *crc ^= bytes[i];
        for (bit = 0; bit < 8u; bit++)
            *crc = *crc & 1u ? *crc >> 1 ^ 0xEDB88320u : *crc >> 1;
    }}
    return 0;
}}

static uint32_t words[{big}_MEMORY_WORDS];
BITREPLAY_SCRATCH(scratch, {big}_SAMPLES, {big}_PROTOTYPES, {big}_FEATURES);
{buffers}
int {name}_selftest(void)
{{
    bitreplay_memory memory;
    uint32_t i, label, crc = 0xFFFFFFFFu;
    int32_t score;
    if (bitreplay_open(&{name}_layout, &memory, words, {big}_MEMORY_WORDS) != BITREPLAY_OK)
        return 1;
    if (bitreplay_copy(&{name}_memory, &memory) != {copied})
        return 2;
    if (bitreplay_enrol(&{name}_layout, &memory, {label}u, enrolled[0], {n_enrolled}u, &scratch) != {status})
        return 3;
    if (bitreplay_store(&{name}_layout, &memory, 1, add_to_crc, &crc) != BITREPLAY_OK || ~crc != 0x{crc:08X}u)
        return 4;
    for (i = 0; i < {vectors}u; i++) {{
        if (bitreplay_predict(&{name}_layout, &{tested}, vectors[i], &label, &score) != BITREPLAY_OK)
            return 5;
        if (label != bayes_labels[i] || score != bayes_scores[i])
            return 6;
    }}
{checks}    return 0;
}}
"""

HEAD_CHECK = """    for (i = 0; i < {vectors}u; i++) {{
        if (bitreplay_head_predict(&{name}_head, vectors[i], &label, &score) != BITREPLAY_OK)
            return 7;
        if (label != head_labels[i] || score != head_scores[i])
            return 8;
    }}
"""

FEATURES_CHECK = """    for (i = 0; i < {vectors}u; i++) {{
        if (bitreplay_binarize_{kind}(&{name}_thresholds, features[i], found) != BITREPLAY_OK)
            return 9;
        for (label = 0; label < {big}_WORDS; label++) {{
            if (found[label] != feature_bits[i][label])
                return 10;
        }}
    }}
"""

NETWORK_CHECK = """    for (i = 0; i < {images}u; i++) {{
        if (bitreplay_embed(&{name}_network, images[i], maps, {big}_NETWORK_SCRATCH_WORDS, found) != BITREPLAY_OK)
            return 11;
        for (label = 0; label < {big}_WORDS; label++) {{
            if (found[label] != image_bits[i][label])
                return 12;
        }}
    }}
"""


@dataclass(frozen=True)
class Embeddings:
    """Images, and Python's bits for them."""

    images: npt.NDArray[np.uint8]
    bits: PackedBits


def selftest_source(model: DeviceModel, name: str, room: int, samples: int, embeddings: Embeddings | None) -> str:
    """The self-test as C. Inputs are random, from a fixed seed; half of the bits are like those of the classes."""
    rng = np.random.default_rng(0)
    layout = model.memory.layout
    memory = DeviceMemory(layout, memory_words(model, room))
    copied = _status_of(lambda: memory.load(model.memory.to_block()))  # FULL where RAM has less room
    chances = rng.random((3, layout.features))
    n = min(samples, MOST_ENROLLED)
    enrolled = pack(rng.random((n, layout.features)) < chances[np.arange(n) % 3])
    status = _status_of(lambda: memory.enrol(len(model.memory), enrolled))

    tested = model.memory if len(model.memory) else memory
    likely = np.stack([tested.records[i % len(tested)].codes[0] for i in range(VECTORS // 2)]) / layout.top
    chances = np.concatenate([likely, np.full_like(likely, 0.5)])
    bits = pack(rng.random(chances.shape) < chances)
    arrays = [
        array("enrolled", words_of(enrolled)),
        array("vectors", words_of(bits)),
        array("bayes_labels", tested.predict(bits)),
        array("bayes_scores", tested.scores(bits).max(axis=1)),
    ]
    checks, buffers = [], []
    if model.head is not None:
        arrays += [
            array("head_labels", model.head.predict(bits)),
            array("head_scores", model.head.scores(bits).max(axis=1)),
        ]
        checks.append(HEAD_CHECK)
    if model.thresholds is not None:
        features = _features(model.thresholds, rng)
        arrays += [array("features", features), array("feature_bits", words_of(model.thresholds.pack(features)))]
        kind = {"uint8": "u8", "int8": "s8", "int16": "s16", "float32": "float"}[model.thresholds.feature_type]
        checks.append(FEATURES_CHECK.replace("{kind}", kind))
    if embeddings is not None:
        arrays += [
            array("images", embeddings.images.reshape(IMAGES, -1)),
            array("image_bits", words_of(embeddings.bits)),
        ]
        checks.append(NETWORK_CHECK)
        buffers.append("static uint32_t maps[{big}_NETWORK_SCRATCH_WORDS];\n")
    if model.thresholds is not None or embeddings is not None:
        buffers.append("static uint32_t found[{big}_WORDS];\n")
    names: dict[str, Any] = {"name": name, "big": name.upper(), "vectors": VECTORS, "images": IMAGES}
    return TEMPLATE.format(
        **names,
        arrays="\n".join(arrays),
        checks="".join(check.format(**names) for check in checks),
        buffers="".join(buffer.format(**names) for buffer in buffers),
        label=len(model.memory),
        n_enrolled=n,
        copied=f"BITREPLAY_{copied.name}",
        status=f"BITREPLAY_{status.name}",
        tested=f"{name}_memory" if len(model.memory) else "memory",
        crc=zlib.crc32(memory.to_block(1)),
    )


def _status_of(call: Callable[[], object]) -> Status:
    """What the device will answer to the same call."""
    try:
        call()
    except DeviceError as error:
        return error.status
    return Status.OK


def _features(thresholds: IntegerThresholds, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Features on, just above and far from thresholds."""
    shape = VECTORS, thresholds.inputs
    if thresholds.feature_type == "float32":
        offsets = rng.standard_normal(shape).astype(np.float32) * rng.integers(0, 2, shape)
        return np.asarray(thresholds.values[:, 0] + offsets, dtype=np.float32)
    limits = np.iinfo(thresholds.feature_type)
    near = thresholds.values[:, 0].astype(np.int64) + rng.integers(-1, 3, shape)
    far = rng.integers(limits.min, limits.max + 1, shape)
    return np.where(rng.random(shape) < 0.5, near, far).clip(limits.min, limits.max).astype(limits.dtype)
