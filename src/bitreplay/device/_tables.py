"""The files with a model's numbers: `model_sizes.h`, `model.h` and `model.c`."""

from __future__ import annotations

from bitreplay.device._model import DeviceModel
from bitreplay.device._network import DeviceNetwork
from bitreplay.device._render import array, comment, text
from bitreplay.device._sizes import memory_words

C_TYPES = {"uint8": "bitreplay_thresholds_8", "int8": "bitreplay_thresholds_8", "int16": "bitreplay_thresholds_16"}
FLOAT_TYPE = "bitreplay_thresholds_float"
VALUES = {"uint8": "int16", "int8": "int16", "int16": "int32", "float32": "float32"}


def model_sizes(model: DeviceModel, name: str, room: int, samples: int) -> str:
    """Sizes as plain numbers, which a linker script can read too."""
    layout = model.memory.layout
    d, k = layout.features, layout.prototypes
    words = memory_words(model, room)
    numbers = {
        "CLASSES": (len(model.memory), "shipped"),
        "ROOM": (room, "classes that the memory in RAM has room for"),
        "SAMPLES": (samples, "of a class that is enrolled, at most"),
        "FEATURES": (d, "D, bits of an embedding"),
        "WORDS": (layout.words, "of an embedding"),
        "BITS": (layout.bits, "q"),
        "PROTOTYPES": (k, "K of a class that is enrolled, at most"),
        "MEMORY_WORDS": (words, "of the memory in RAM"),
        "MEMORY_BYTES": (4 * words, ""),
        "BLOCK_BYTES": (4 * (words + 9), "of a slot in flash; two are needed"),
        "SCRATCH_BYTES": (4 * (d + 3 * k) + 2 * samples * k + k * d, "of the scratch to enrol a class"),
    }
    if model.thresholds is not None:
        numbers["INPUTS"] = (model.thresholds.inputs, f"features, {model.thresholds.feature_type}")
    if model.network is not None:
        first = model.network.layers[0]
        numbers["IMAGE_BYTES"] = (first.height * first.width * model.network.colours, "height * width * colours")
        numbers["NETWORK_SCRATCH_WORDS"] = (model.network.scratch_words, "for bitreplay_embed")
    big = name.upper()
    lines = [
        f"#define {big}_{key} {number}" + (f" /* {note} */" if note else "") for key, (number, note) in numbers.items()
    ]
    return (
        "/* Sizes of the model as plain numbers, for C and for linker scripts that go through the preprocessor. */\n"
        f"#ifndef {big}_SIZES_H\n#define {big}_SIZES_H\n\n" + "\n".join(lines) + "\n\n#endif\n"
    )


def model_header(model: DeviceModel, name: str) -> str:
    """What the model offers to a program."""
    big = name.upper()
    lines = [
        f"/* The model: constants in {name}.c. Written by `bitreplay export c`; bitreplay.h says how to use it.",
        " *",
        " * Classes:" if model.labels else " * It has no class yet.",
        *(f" *   {number} {comment(str(label))}" for number, label in enumerate(model.labels)),
        " */",
        f"#ifndef {big}_H",
        f"#define {big}_H",
        "",
    ]
    floats = model.thresholds is not None and model.thresholds.feature_type == "float32"
    if floats:
        lines += ["#ifndef BITREPLAY_FLOAT", "#define BITREPLAY_FLOAT", "#endif"]
    lines += [
        '#include "bitreplay.h"',
        f'#include "{name}_sizes.h"',
        "",
        f"extern const bitreplay_layout {name}_layout;",
        f"extern const bitreplay_memory {name}_memory; /* the shipped classes; copy them to learn and forget */",
        f"extern const char *const {name}_names[{max(1, len(model.labels))}];",
    ]
    if model.thresholds is not None:
        kind = C_TYPES.get(model.thresholds.feature_type, FLOAT_TYPE)
        lines.append(f"extern const {kind} {name}_thresholds;")
    if model.head is not None:
        lines.append(f"extern const bitreplay_head {name}_head;")
    if model.network is not None:
        lines.append(f"extern const bitreplay_network {name}_network;")
    memory = f"{big}_ROOM, {big}_FEATURES, {big}_BITS, {big}_PROTOTYPES"
    sizes = {
        "words": f"{big}_MEMORY_WORDS >= BITREPLAY_MEMORY_WORDS({memory})",  # more if shipped classes are larger
        "block": f"{big}_BLOCK_BYTES == BITREPLAY_BLOCK_BYTES({big}_MEMORY_WORDS)",
        "scratch": f"{big}_SCRATCH_BYTES == BITREPLAY_SCRATCH_BYTES({big}_SAMPLES, {big}_PROTOTYPES, {big}_FEATURES)",
    }
    lines += ["", "/* The numbers of this model are those of this library. */"]
    lines += [f"typedef char {name}_checks_{key}[({rule}) ? 1 : -1];" for key, rule in sizes.items()]
    return "\n".join([*lines, "", "#endif", ""])


def model_source(model: DeviceModel, name: str) -> str:
    """The model's numbers."""
    layout, words = model.memory.layout, model.memory.words
    parts = [
        f'#include "{name}.h"\n',
        array("log_probability", layout.log_probabilities),
        f"const bitreplay_layout {name}_layout = {{{layout.features}, {layout.min_count}, {layout.bits}, "
        f"{layout.prototypes}, {layout.starts}, {layout.warm_up}, {layout.steps}, 0x{layout.fingerprint:08X}u, "
        "log_probability};\n",
        array("memory_words", words),
        f"const bitreplay_memory {name}_memory = {{memory_words, 0, {len(words)}, {len(words)}, "
        f"{len(model.memory)}}};\n",
        f"const char *const {name}_names[{max(1, len(model.labels))}] = {{\n"
        + ("".join(f"    {text(str(label))},\n" for label in model.labels) or "    0,\n")
        + "};\n",
    ]
    if model.thresholds is not None:
        t = model.thresholds
        kind = C_TYPES.get(t.feature_type, FLOAT_TYPE)
        stride = 0 if t.shared else t.per_input
        parts += [
            array("threshold_values", t.values.reshape(-1).astype(VALUES[t.feature_type])),
            f"const {kind} {name}_thresholds = {{{t.inputs}, {t.per_input}, {stride}, threshold_values}};\n",
        ]
    if model.head is not None:
        h = model.head
        parts += [
            array("head_planes", h.planes.reshape(-1)),
            array("head_biases", h.biases.reshape(-1)),
            array("head_scales", h.scales.reshape(-1)),
            f"const bitreplay_head {name}_head = {{{h.n_features}, {h.n_classes}, {h.squares}, {h.weight_bits}, "
            f"{h.shift}, {h.score_shift}, head_planes, head_biases, head_scales}};\n",
        ]
    if model.network is not None:
        parts.append(_network_source(model.network, name))
    return "\n".join(parts)


def _network_source(network: DeviceNetwork, name: str) -> str:
    parts, rows = [], []
    for number, layer in enumerate(network.layers):
        for part in ("weights", "limits", "flips"):
            parts.append(array(f"{part}_{number}", getattr(layer, part).reshape(-1)))
        shape = (layer.height, layer.width, layer.channels, layer.outputs, layer.groups)
        kernel = (layer.size, layer.stride, layer.padding, int(layer.pool))
        cells = ", ".join(map(str, (*shape, *kernel)))
        rows.append(f"    {{{cells}, weights_{number}, limits_{number}, flips_{number}}},\n")
    parts += [
        array("pixel_levels", network.pixel_levels),
        f"static const bitreplay_layer layers[{len(rows)}] = {{\n" + "".join(rows) + "};\n",
        f"const bitreplay_network {name}_network = {{layers, {len(rows)}, {network.colours}, {network.levels}, "
        f"pixel_levels, {network.scratch_words}, {network.map_words}}};\n",
    ]
    return "\n".join(parts)
