"""`bitreplay evaluate`: how often a model is right on photographs that it has not learned from."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich.console import Console

from bitreplay._words import printable
from bitreplay.commands._models import counted, existing
from bitreplay.data import images_by_class
from bitreplay.errors import InputError
from bitreplay.images import ImageClassifier
from bitreplay.report import Confusion, write_evaluation

MOST = 40  # classes whose rows are printed


def evaluate(model: Path, images: Path, *, output: Path | None = None) -> None:
    """Measure a model on photographs that it has not learned from, and write a page about it.

    Parameters
    ----------
    model : Path
        The model's file.
    images : Path
        A folder with a subfolder for every class.
    output : Path, optional
        Folder for the page and its numbers; by default one next to the model, with its name.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if not images.is_dir():
        raise InputError(f"there is no folder {images}; expected one with a subfolder for every class")
    clf, by_class = ImageClassifier.load(existing(model)), images_by_class(images)
    files = [file for own in by_class.values() for file in own]
    truth = [name for name, own in by_class.items() for _ in own]
    begun = time.perf_counter()
    features = clf.features(files, progress=True)
    answers = [str(answer) for answer in clf.classifier_.predict(features)]
    seconds = time.perf_counter() - begun
    confusion = Confusion.count(truth, answers)
    known = set(map(str, clf.classes_.tolist()))
    for name in confusion.names[:MOST]:
        if name in by_class:
            note = "" if name in known else " (never learned)"
            console.print(printable(f"{name}: {100 * confusion.recall(name):.1f} % of {len(by_class[name])}{note}", ""))
    if unknown := sorted(set(by_class) - known):
        never = counted(len(unknown), "class was never learned and counts", "classes were never learned and count")
        console.print(printable(f"{never} as wrong: {', '.join(unknown[:5])}", ""))
    right = int(np.trace(confusion.counts))
    console.print(
        f"accuracy {100 * confusion.accuracy:.1f} %: {right} of {len(files)} images, in {seconds:.2f} s "
        f"({len(files) / seconds:.0f} images/s)"
    )
    folder = model.with_name(f"{model.stem}-evaluation") if output is None else output
    about = {"model": str(model), "images": str(images), **clf.describe()}
    about["classes"] = len(clf.classes_)
    page = write_evaluation(confusion, folder, f"{model.name} on {images.name}", about)
    console.print(f"report: {page}")
