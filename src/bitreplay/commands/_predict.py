"""`bitreplay predict`: the classes of photographs, by a model's file."""

from __future__ import annotations

import json as notation
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bitreplay._floor.arguments import integer
from bitreplay._words import printable
from bitreplay.commands._models import counted, existing, pictures_in
from bitreplay.images import ImageClassifier

BLOCK = 512  # images whose answers are printed together


def predict(model: Path, images: list[Path], *, top: int = 3, json: bool = False) -> None:
    """Say what is on photographs, by a model that has learned.

    For example: `bitreplay predict shop.bitreplay one.jpg two.jpg`.

    Parameters
    ----------
    model : Path
        The model's file.
    images : list of Path
        Images, or folders of them.
    top : int
        How many classes to name for each, the most probable first.
    json : bool
        One line of JSON for every image, instead of a table.
    """
    integer("top", top, 1)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    clf, files = ImageClassifier.load(existing(model)), pictures_in(images)
    begun = time.perf_counter()
    for answer in _answers(clf, files, top):
        if json:
            print(notation.dumps(answer, ensure_ascii=False))
            continue
        best = ", ".join(f"{one['class']} {100 * one['probability']:.1f} %" for one in answer["best"])
        refused = "" if answer["class"] == answer["best"][0]["class"] else f"{answer['class']}: "
        console.print(printable(f"{answer['image']}: {refused}{best}", keep=""))
    if not json:
        seconds = time.perf_counter() - begun
        console.print(f"{counted(len(files), 'image', 'images')} in {seconds:.2f} s")


def _answers(clf: ImageClassifier, files: list[Path], top: int) -> Iterator[dict[str, Any]]:
    """For every image its class and the most probable ones."""
    classes = clf.classes_.tolist()
    for begin in range(0, len(files), BLOCK):
        block = files[begin : begin + BLOCK]
        features = clf.features(block, progress=len(files) > BLOCK)
        chances, decided = clf.classifier_.predict_proba(features), clf.classifier_.predict(features).tolist()
        order = np.argsort(-chances, axis=1, kind="stable")[:, :top]
        for file, own, places, answer in zip(block, chances, order, decided, strict=True):
            best = [{"class": classes[place], "probability": round(float(own[place]), 6)} for place in places]
            yield {"image": str(file), "class": answer, "best": best}
