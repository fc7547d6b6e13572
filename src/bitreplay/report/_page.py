"""The HTML page: one file, no script, nothing loaded from anywhere, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from bitreplay import __version__, metrics
from bitreplay._pages.document import document
from bitreplay._pages.files import svg_for_page
from bitreplay._pages.methods import MethodRuns, common_notes, leading
from bitreplay._pages.numbers import points
from bitreplay._pages.words import MEANINGS, captions, findings
from bitreplay.report._plots import Plot
from bitreplay.report._tables import cells, columns


def page(
    methods: Sequence[MethodRuns],
    title: str,
    configuration: Mapping[str, Any],
    plots: Sequence[Plot],
    drawings: Mapping[str, str],
) -> str:
    """The page as text; `drawings` are the SVG texts of the plots by name of file."""
    whole = [plot for plot in plots if plot.method is None]
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(sentence)}</p>" for sentence in findings(methods)),
        "<h2>Results</h2>",
        _table(methods),
        *(_figure(plot, drawings) for plot in whole),
        "<h2>Each method</h2>",
        *(_method(method, [p for p in plots if p.method == method.name], drawings) for method in methods),
        "<h2>What was run</h2>",
        _configuration(configuration),
        f"<footer>Written by bitreplay {escape(__version__)}. The figures are also in the folder plots, "
        "the unrounded numbers in table.csv and states.csv.</footer>",
    ]
    return document(title, parts)


def _table(methods: Sequence[MethodRuns]) -> str:
    """All methods; notes on all of them above, notes on one next to its name."""
    best = {"average": leading(methods, "average"), "final": leading(methods, "final")}
    shown = columns(methods)
    head = "".join(f'<th scope="col">{column}</th>' for column in shown)
    shared, rows = common_notes(methods), []
    for method in methods:
        row = cells(method)
        values = "".join(
            f'<td class="best">{row[c]}</td>' if method.name in best.get(c, ()) else f"<td>{row[c]}</td>" for c in shown
        )
        rows.append(f'<tr><th scope="row">{escape(method.name)}{_own_labels(method, shared)}</th>{values}</tr>')
    notes = "".join(f"<p>{escape(line)}</p>" for line in captions(methods))
    terms = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in MEANINGS.items() if name in shown)
    above = f'<p class="labels">{_labels(shared)}</p>' if shared else ""
    return f"""{above}<div class="scroll"><table>
<thead><tr><th scope="col">method</th>{head}</tr></thead>
<tbody>
{chr(10).join(rows)}
</tbody></table></div>
<div class="notes">{notes}<details><summary>What the columns mean</summary><dl>{terms}</dl></details></div>"""


def _labels(notes: Mapping[str, str], *more: str) -> str:
    marks = [*(f"{name}: {text}" for name, text in notes.items()), *more]
    return "".join(f' <span class="label">{escape(mark)}</span>' for mark in marks)


def _own_labels(method: MethodRuns, shared: Mapping[str, str]) -> str:
    """Notes on this method that do not apply to all."""
    own = {name: text for name, text in method.notes.items() if name not in shared}
    return _labels(own, *([method.bound.split(":")[0]] if method.bound else []))


def _figure(plot: Plot, drawings: Mapping[str, str]) -> str:
    drawing = svg_for_page(drawings[plot.file], plot.file, escape(plot.words))
    return f'<figure><div class="scroll">{drawing}</div><figcaption>{escape(plot.words)}</figcaption></figure>'


def _method(method: MethodRuns, plots: Sequence[Plot], drawings: Mapping[str, str]) -> str:
    """What one method did: every seed, every state, and its maps."""
    seen = method.histories[0].classes_seen
    head = "".join(f'<th scope="col">{n}</th>' for n in seen)
    rows = "".join(
        f'<tr><th scope="row">{seed}</th>{"".join(f"<td>{points(a)}</td>" for a in metrics.per_state(history))}</tr>'
        for seed, history in zip(method.seeds, method.histories, strict=True)
    )
    return f"""<details><summary>{escape(method.name)}{_labels(method.notes)}</summary>
<div class="scroll"><table><caption>Accuracy (%) by number of classes seen</caption>
<thead><tr><th scope="col">seed</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>
<div class="pair">{"".join(_figure(plot, drawings) for plot in plots)}</div></details>"""


def _configuration(configuration: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in _flat(configuration)
    )
    return f'<div class="scroll"><table class="configuration"><tbody>{rows}</tbody></table></div>'


def _flat(configuration: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested options as `learner.prototypes`, in the order given."""
    for name, value in configuration.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            yield f"{prefix}{name}", ", ".join(map(str, value))
        else:
            yield f"{prefix}{name}", str(value)
