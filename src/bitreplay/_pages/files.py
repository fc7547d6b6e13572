"""A figure as a file: PNG for slides, SVG for papers, and SVG embedded in a page and following its theme."""

from __future__ import annotations

import io
import re

import matplotlib
from matplotlib.figure import Figure

from bitreplay._pages.look import EDGE, FAINT, GRID, INK, LOOK, PAPER

# On a page these follow the reader's light or dark theme; the colours of data are readable on both.
THEME = {INK: "var(--ink)", FAINT: "var(--faint)", EDGE: "var(--edge)", GRID: "var(--rule)", PAPER: "var(--paper)"}


def png(made: Figure) -> bytes:
    """For slides and text processors."""
    file = io.BytesIO()
    with matplotlib.rc_context(LOOK):
        _settle(made)
        made.savefig(file, format="png", dpi=200, metadata={"Software": None})
    return file.getvalue()


def svg(made: Figure) -> str:
    """For papers."""
    file = io.StringIO()
    with matplotlib.rc_context(LOOK):
        _settle(made)
        made.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return file.getvalue()


def _settle(made: Figure) -> None:
    """Lay out all parts once, not again for every file: it takes longer than the drawing."""
    if made.get_layout_engine() is not None:
        made.draw_without_rendering()
        made.set_layout_engine("none")


def svg_for_page(text: str, prefix: str, description: str) -> str:
    """An SVG file's text as an element of an HTML page that follows the page's theme and width.

    Ids get a `prefix`, because they must differ between the figures of a page; `description` is already escaped.
    """
    element = text[text.index("<svg") :]
    for before, after in THEME.items():
        element = element.replace(before, after)
    element = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", element)
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    return re.sub(
        r'<svg([^>]*?) width="[\d.]+pt" height="[\d.]+pt"|<svg width="[\d.]+pt" height="[\d.]+pt"([^>]*)',
        lambda found: f'<svg{found[1] or found[2]} role="img" aria-label="{description}"',
        element,
        count=1,
    )
