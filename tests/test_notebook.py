"""The notebook runs from its first cell to its last, and shows what is stored in it."""

from __future__ import annotations

import json
import re

from tests.notebook import NOTEBOOK, run


def test_the_notebook_runs_and_shows_what_is_stored_in_it() -> None:
    raw = NOTEBOOK.read_text()
    assert len(raw) < 500_000
    notebook = json.loads(raw)
    stored = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = run(notebook)
    kinds = [[[output["output_type"] for output in cell] for cell in cells] for cells in (stored, found)]
    assert kinds[0] == kinds[1]
    final = r"bitreplay (\S+)%, nearest mean (\S+)%, naive (\S+)%"
    (numbers,) = (re.findall(final, "".join(output.get("text", ""))) for cell in found for output in cell
                  if "after the last day" in "".join(output.get("text", "")))  # fmt: skip
    bitreplay, mean, naive = map(float, numbers[0])
    assert bitreplay > mean > naive  # the story that it tells
    assert bitreplay > 93


def test_its_links_lead_somewhere() -> None:
    text = "".join(line for cell in json.loads(NOTEBOOK.read_text())["cells"] for line in cell["source"])
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert targets
    assert all((NOTEBOOK.parent / target).exists() for target in targets)
