"""Runs the cells of a notebook in order, without Jupyter: `python -m tests.notebook` stores what they show in it.

What a cell prints, the value of its last line and its figures become its outputs, as Jupyter would store them.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent.parent / "examples" / "bitreplay.ipynb"
Output = dict[str, Any]


def run(notebook: dict[str, Any]) -> list[list[Output]]:
    """The outputs of every cell of code."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    shown: list[Output] = []

    def show() -> None:
        for number in plt.get_fignums():
            file = io.BytesIO()
            plt.figure(number).savefig(file, format="png", dpi=72, bbox_inches="tight")
            picture = {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": ["<Figure>"]}
            shown.append({"output_type": "display_data", "metadata": {}, "data": picture})
        plt.close("all")

    every = []
    with mpl.rc_context():
        plt.show, original = show, plt.show
        try:
            for count, cell in enumerate((one for one in notebook["cells"] if one["cell_type"] == "code"), start=1):
                every.append(_outputs("".join(cell["source"]), names, shown, count))
        finally:
            plt.show = original
    return every


def _outputs(source: str, names: dict[str, Any], shown: list[Output], count: int) -> list[Output]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    shown.clear()
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs = [*shown]
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def main() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, (cell, outputs) in enumerate(zip(codes, run(notebook), strict=True), start=1):
        cell["outputs"], cell["execution_count"] = outputs, count
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
