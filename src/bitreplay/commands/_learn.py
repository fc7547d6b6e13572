"""`bitreplay learn`: classes from folders of photographs, into a model's file."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from bitreplay._kernels.warm_up import warm_up
from bitreplay.classifier import GBMClassifier
from bitreplay.commands._models import counted, pictures_in
from bitreplay.data import images_by_class
from bitreplay.errors import InputError
from bitreplay.gbm import GBMOptions
from bitreplay.images import ImageClassifier, changing

ENCODER = "efficientnet_lite0"
UNCERTAIN = (
    "note: percentages of `bitreplay predict` mean nothing yet: no call so far had ten images or more of several "
    "classes. One that has, of new classes or known ones, mends it"
)
EXPECTED = "give a folder with a subfolder for every class, or --label and images"


def learn(
    model: Path,
    images: list[Path],
    *,
    label: str | None = None,
    encoder: str | None = None,
    image_size: int | None = None,
    prototypes: int | None = None,
    bits: int | None = None,
    seed: int = 0,
    weights: bool = False,
) -> None:
    """Learn classes from photographs, into a model that is one small file.

    For example: `bitreplay learn shop.bitreplay photos/`, with a subfolder for every class. The model is created, or
    learns more: new classes, or further photographs of known ones. No photograph is kept. The file is written when
    everything went well, and as a whole. Several processes may learn into one file at once: they take turns, and none
    loses what another has learned.

    Parameters
    ----------
    model : Path
        The model's file.
    images : list of Path
        A folder with a subfolder for every class; with --label, images or folders of them.
    label : str, optional
        The class of all these images: `--label mug`.
    encoder : str, optional
        Of a new model: `efficientnet_lite0` (the default), `quicknet`, a model of transformers such as
        `hf:facebook/dinov2-small`, or a folder written by `bitreplay train`.
    image_size : int, optional
        Of a new model: pixels of a side at which photographs are decoded. By default what the encoder takes.
    prototypes : int, optional
        Of a new model: K, prototypes per class. By default 8.
    bits : int, optional
        Of a new model: q, bits per stored value. By default 3.
    seed : int
        Of a new model: determines all randomness.
    weights : bool
        Also store the encoder's weights in the file.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    begun = time.perf_counter()
    files, labels = _labelled(images, label)
    chosen = {"encoder": encoder, "image_size": image_size, "prototypes": prototypes, "bits": bits}
    if model.exists():
        if given := [f"--{name}" for name, value in chosen.items() if value is not None]:
            raise InputError(f"{model} exists: {', '.join(given)} can only be chosen for a new model")
        clf = ImageClassifier.load(model)
    else:
        options = GBMClassifier(prototypes or GBMOptions.prototypes, bits or GBMOptions.bits, random_state=seed)
        clf = ImageClassifier(encoder or ENCODER, options, image_size=image_size)
        clf.encoder_  # noqa: B018  # a wrong name is refused before anything long begins
    warm_up()  # compiling is not learning
    ready = time.perf_counter()
    features = clf.features(files, progress=True)
    encoded = time.perf_counter()
    # Encoding takes long and changes nothing. From here on, one process at a time: what others have learned in the
    # meantime is read again, and learned in addition to.
    with changing(model):
        if model.exists():
            clf = ImageClassifier.load(model, encoder=clf.encoder_)
        learning = time.perf_counter()
        known = set(clf.classes_.tolist()) if model.exists() else set()
        clf.partial_fit_features(features, labels)
        learned = time.perf_counter()
        clf.save(model, weights=weights or None)
    ended = time.perf_counter()
    new = sorted(set(labels) - known)
    pictures, classes = counted(len(files), "image", "images"), counted(len(set(labels)), "class", "classes")
    console.print(f"{pictures} of {classes}, {len(new)} of them new")
    console.print(
        f"encoded in {encoded - ready:.2f} s ({len(files) / (encoded - ready):.0f} images/s), "
        f"learned in {1000 * (learned - learning):.0f} ms; {ended - begun:.2f} s in all, without the start of Python"
    )
    console.print(f"{model}: {counted(len(clf.classes_), 'class', 'classes')}, {model.stat().st_size:,} bytes")
    if clf.classifier_.temperature_ is None:
        console.print(UNCERTAIN)


def _labelled(images: list[Path], label: str | None) -> tuple[list[Path], list[str]]:
    """Files and their classes."""
    if label is not None:
        files = pictures_in(images)
        return files, [label] * len(files)
    by_class: dict[str, list[Path]] = {}
    for folder in images:
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "does not exist"
            raise InputError(f"{folder} {what}; {EXPECTED}")
        inner = folder / "train"  # of a data set: its classes would be called train and test
        if inner.is_dir() and any(path.is_dir() for path in inner.iterdir()):
            raise InputError(f"{folder} is split into train and test; to learn its classes, give {inner}")
        for name, files in images_by_class(folder, EXPECTED).items():
            by_class.setdefault(name, []).extend(files)
    return (
        [file for files in by_class.values() for file in files],
        [name for name, files in by_class.items() for _ in files],
    )
