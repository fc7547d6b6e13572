"""The page about one model on photographs: accuracy, every class, and what is taken for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.files import write_text
from bitreplay._pages.document import document
from bitreplay._pages.numbers import csv_text
from bitreplay._words import printable
from bitreplay.errors import InputError

MOST_NAMES = 60  # classes up to which the matrix is drawn with names


@dataclass(frozen=True)
class Confusion:
    """Images by true and predicted class.

    Examples
    --------
    >>> confusion = Confusion.count(["mug", "mug", "cup"], ["mug", "cup", "cup"])
    >>> confusion.names, confusion.counts.tolist()
    (('cup', 'mug'), [[1, 0], [1, 1]])
    >>> round(confusion.accuracy, 3), confusion.recall("mug"), confusion.mistakes("mug")
    (0.667, 0.5, [('cup', 1)])
    """

    names: tuple[str, ...]  # all classes that occur, sorted
    counts: npt.NDArray[np.int64]  # images by true (row) and predicted class (column)

    @classmethod
    def count(cls, truth: Sequence[str], answers: Sequence[str]) -> Confusion:
        """From the true and the predicted class of every image."""
        names = tuple(sorted({*truth, *answers}))
        places = {name: place for place, name in enumerate(names)}
        counts = np.zeros((len(names), len(names)), dtype=np.int64)
        for own, answer in zip(truth, answers, strict=True):
            counts[places[own], places[answer]] += 1
        return cls(names, counts)

    @property
    def accuracy(self) -> float:
        """Share of images whose class was predicted."""
        return float(np.trace(self.counts) / self.counts.sum())

    def recall(self, name: str) -> float:
        """Share of a class's images that were recognised."""
        row = self.names.index(name)
        return float(self.counts[row, row] / max(1, self.counts[row].sum()))

    def mistakes(self, name: str, most: int = 3) -> list[tuple[str, int]]:
        """What a class is most often taken for, and how often."""
        row = self.counts[self.names.index(name)]
        others = [(other, int(n)) for other, n in zip(self.names, row, strict=True) if n and other != name]
        return sorted(others, key=lambda pair: -pair[1])[:most]


def write_evaluation(confusion: Confusion, folder: Path, title: str, about: Mapping[str, Any]) -> Path:
    """Write `report.html` and `confusion.csv` into a folder; returns the page.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_evaluation(Confusion.count(["mug", "cup"], ["mug", "mug"]), Path(folder), "Two", {})
    ...     page.name, (page.parent / "confusion.csv").read_text().splitlines()[0]
    ('report.html', 'true class,cup,mug')
    """
    try:
        from bitreplay._pages.files import svg, svg_for_page
        from bitreplay.report._heatmaps import draw_classes
    except ModuleNotFoundError as error:
        raise InputError(f"a report needs {error.name}: pip install 'bitreplay[cli]'") from None
    if folder.exists() and not folder.is_dir():
        raise InputError(f"a report needs a folder; {folder} is a file")
    shown = [printable(name, keep="") for name in confusion.names]
    words = "Share of each true class (row) predicted as each class (column), in percent"
    drawn = draw_classes(confusion.counts, shown if len(shown) <= MOST_NAMES else None, title)
    drawing = svg_for_page(svg(drawn), "confusion", words)
    right, n = int(np.trace(confusion.counts)), int(confusion.counts.sum())
    parts = [
        f"<h1>{escape(printable(title, keep=''))}</h1>",
        f"<p>{right:,} of {n:,} images are recognised: {100 * confusion.accuracy:.1f} %.</p>",
        f'<figure><div class="scroll">{drawing}</div><figcaption>{words}.</figcaption></figure>',
        "<h2>Every class</h2>",
        _classes(confusion),
        "<h2>The model</h2>",
        _about(about),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    table = [[name, *map(int, row)] for name, row in zip(confusion.names, confusion.counts, strict=True)]
    write_text(folder / "confusion.csv", csv_text([["true class", *confusion.names], *table]))
    write_text(folder / "report.html", document(printable(title, keep=""), parts))
    return folder / "report.html"


def _classes(confusion: Confusion) -> str:
    rows = []
    for name, row in zip(confusion.names, confusion.counts, strict=True):
        if row.sum():
            taken = ", ".join(f"{other} ({n})" for other, n in confusion.mistakes(name))
            rows.append(
                f'<tr><th scope="row">{escape(printable(name, keep=""))}</th><td>{row.sum():,}</td>'
                f"<td>{100 * confusion.recall(name):.1f}</td><td>{escape(printable(taken, keep=''))}</td></tr>"
            )
    head = "".join(f'<th scope="col">{column}</th>' for column in ("class", "images", "recognised, %", "taken for"))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _about(about: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(printable(str(value), keep=""))}</td></tr>'
        for name, value in about.items()
    )
    return f'<div class="scroll"><table class="configuration"><tbody>{rows}</tbody></table></div>'
