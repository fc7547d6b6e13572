"""export_c: a trained model as a folder of C99 sources, from features or pixels to the class."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from torch import nn

from bitreplay._floor.arguments import integer
from bitreplay._floor.files import write_text
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits
from bitreplay.classifier import GBMClassifier
from bitreplay.device._model import DeviceModel, HeadName
from bitreplay.device._render import is_name
from bitreplay.device._selftest import IMAGES, Embeddings, selftest_source
from bitreplay.device._sizes import Part, sizes, sizes_table
from bitreplay.device._tables import model_header, model_sizes, model_source
from bitreplay.device._thresholds import FeatureType
from bitreplay.errors import InputError
from bitreplay.memory import BinaryMemory
from bitreplay.nn import pack_network

MORE_CLASSES = 10  # room in RAM beyond the classes that are shipped, unless told otherwise

# Names whose files would replace another of the export, or hide a header of C from programs that search this folder.
TAKEN = {"selftest_main": "c", "stdint": "h", "stdio": "h", "string": "h"}

MAIN = """/* Runs the self-test where there is a console. */
#include <stdio.h>

int {name}_selftest(void);

int main(void)
{{
    const int failed = {name}_selftest();
    if (failed)
        printf("check %d failed\\n", failed);
    else
        printf("the answers match Python's\\n");
    return failed;
}}
"""

MAKEFILE = """# make selftest: compiles with the machine's compiler, or CC=..., and compares with Python's answers.
CFLAGS ?= -O2
STRICT = -std=c99 -Wall -Wextra -Wpedantic -Werror -Wconversion{define}

selftest: selftest.out
	./selftest.out

SOURCES = {sources}

selftest.out: $(SOURCES) $(wildcard *.h)
	$(CC) $(STRICT) $(CFLAGS) -o $@ $(SOURCES)

.PHONY: selftest
"""

README = """# A bitreplay model in C

`bitreplay.h` is the manual, `{name}.h` the model. Compile all `.c` files except `{name}_selftest.c` and
`selftest_main.c` into the product{flags}; `make selftest` verifies on this machine that the answers match Python's.
With `-ffunction-sections -fdata-sections` and `-Wl,--gc-sections`, parts that are not used take no flash.

```
{table}
```
"""


def export_c(
    model: GBMClassifier | BinaryMemory,
    folder: str | os.PathLike[str],
    *,
    head: HeadName = "own",
    weight_bits: int = 8,  # ours: benchmarks/device_heads.py; as accurate as floats
    features: FeatureType | None = None,
    scale: float = 1.0,
    zero_point: int = 0,
    binarizer: Binarizer | None = None,
    network: nn.Module | None = None,
    image_size: int = 32,
    prototypes: int | None = None,
    room: int | None = None,
    samples: int = 100,  # ours: what a person has the patience to show
    name: str = "model",
    show: Callable[[str], None] | None = None,
) -> list[Part]:
    """Write a model as C99 sources that need neither malloc nor floats.

    `refuse` and `reject` of a classifier are not part of them: the device always names a class that it knows.

    Parameters
    ----------
    model : GBMClassifier or BinaryMemory
        A fitted classifier; or a memory, whose bits the device gets from elsewhere, or from `binarizer` or `network`.
        An empty memory makes a device that learns everything itself.
    folder : path
        Where the files go; created if missing. Files of the same names are replaced, others stay.
    head : {"own", "bayes", "closed_form", "linear_part"}
        The head in addition to Bayes: the classifier's own; none; the closed form; or only its linear part.
    weight_bits : int
        Bits per weight of that head, 2 to 8.
    features : {"uint8", "int8", "int16", "float32"}, optional
        Type of the device's features; needed if a thermometer turns them into bits.
    scale, zero_point : float, int
        What an integer feature x represents: ``scale * (x - zero_point)``.
    binarizer : Binarizer, optional
        What made the bits of a memory; a classifier has its own.
    network : torch.nn.Module, optional
        A fully binary network, such as :class:`bitreplay.backbones.BinaryVGG`: the input is then pixels.
    image_size : int
        Height and width of its images.
    prototypes : int, optional
        K, maximum number of prototypes of a class enrolled on the device, up to 255; by default the classifier's, or
        that of a memory's largest class, or 8 if it has none.
    room : int, optional
        Number of classes of K prototypes the memory in RAM can hold; by default ten more than the model has. If it is
        at least as many as the model has, these fit, also those of more prototypes; less than that is for devices that
        leave them in flash.
    samples : int
        Maximum number of samples of an enrolled class: the scratch grows with it.
    name : str
        Prefix of the model's files and names; not that of the library, `bitreplay`.
    show : callable, optional
        Called with the table of sizes before anything is written.

    Returns
    -------
    list of Part
        The sizes.

    Examples
    --------
    >>> import tempfile
    >>> clf = GBMClassifier(prototypes=1, binarizer="identity").fit([[0, 1], [1, 0]], ["mug", "cup"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = export_c(clf, folder, room=2, show=print)
    ...     sorted(path.name for path in Path(folder).glob("model*"))
    part                                             place   bits  bytes
    memory: 2 classes, K up to 1, q = 3, D = 2       flash    448     56
    table of logarithms                              flash    128     16
    head: 2 x 1 rows of 8-bit weights                flash    640     80
    memory for 2 classes                             RAM      448     56
    scratch to enrol up to 100 samples               RAM    1,776    222
    a slot for a block of 2 classes, two are needed  flash    736     92
    ['model.c', 'model.h', 'model_selftest.c', 'model_sizes.h']
    """
    is_name(name)
    if name in TAKEN:
        raise InputError(f"{name}.{TAKEN[name]} is another file: give the model another name than {name!r}")
    device = DeviceModel.of(
        model,
        head=head,
        weight_bits=weight_bits,
        features=features,
        scale=scale,
        zero_point=zero_point,
        binarizer=binarizer,
        network=network,
        image_size=image_size,
        prototypes=prototypes,
    )
    room = integer("room", len(device.memory) + MORE_CLASSES if room is None else room, 1, 65535)
    samples = integer("samples", samples, 1, 65535)
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(f"an export needs a folder; {target} is a file")
    parts = sizes(device, room, samples)
    table = sizes_table(parts)
    floats = device.thresholds is not None and device.thresholds.feature_type == "float32"
    files = {path.name: path.read_text() for path in (*library_folder().glob("*.c"), *library_folder().glob("*.h"))}
    files |= {
        f"{name}_sizes.h": model_sizes(device, name, room, samples),
        f"{name}.h": model_header(device, name),
        f"{name}.c": model_source(device, name),
        f"{name}_selftest.c": selftest_source(device, name, room, samples, _embeddings(network, device)),
        "selftest_main.c": MAIN.format(name=name),
        "README.md": README.format(name=name, flags=" with `-DBITREPLAY_FLOAT`" if floats else "", table=table),
    }
    sources = " ".join(sorted(file for file in files if file.endswith(".c")))
    files["Makefile"] = MAKEFILE.format(define=" -DBITREPLAY_FLOAT" if floats else "", sources=sources)
    if show is not None:
        show(table)
    target.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        write_text(target / file, content)
    return parts


def _embeddings(network: nn.Module | None, device: DeviceModel) -> Embeddings | None:
    """The bits that Python's packed network computes from random images."""
    if network is None or device.network is None:
        return None
    first = device.network.layers[0]
    shape = (IMAGES, first.height, first.width, device.network.colours)
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    bits = pack_network(network)(images)
    assert isinstance(bits, PackedBits)  # it ends with a sign
    return Embeddings(images, bits)


def library_folder() -> Path:
    """The folder of the C library, for compiling it yourself."""
    return Path(__file__).parent / "c"
