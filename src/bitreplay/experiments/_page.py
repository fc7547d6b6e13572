"""The page of one experiment or of all: what the paper claims, what was measured, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from bitreplay import __version__
from bitreplay._pages.document import document
from bitreplay._pages.files import svg_for_page
from bitreplay._pages.numbers import duration
from bitreplay.experiments._experiment import Claim, Table
from bitreplay.experiments._files import Measured

VERDICTS = {True: "holds", False: "does not hold", None: "inconclusive"}
MANY = 30  # rows from which a table folds: it is the numbers behind a figure


def experiments_page(measured: Sequence[Measured], title: str, missing: Mapping[str, str] | None = None) -> str:
    """One self-contained HTML file; `missing` says why other experiments have not been run, by their names."""
    parts = [f"<h1>{escape(title)}</h1>"]
    if len(measured) > 1:
        parts += [_overview(measured)]
    for one in measured:
        parts += _experiment(one, alone=len(measured) == 1)
    if missing:
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(why)}</dd>" for name, why in missing.items())
        parts += ["<h2>Not measured</h2>", f"<dl>{rows}</dl>"]
    parts.append(
        f"<footer>Written by bitreplay {escape(__version__)}. Figures and numbers are in the same folder.</footer>"
    )
    return document(title, parts)


def _overview(measured: Sequence[Measured]) -> str:
    """All claims on one screen."""
    rows = "".join(
        f'<tr><th scope="row"><a href="#{escape(one.name)}">{escape(one.name)}</a></th>'
        f'<td class="words">{escape(claim.paper)}</td><td class="words">{escape(claim.measured)}</td>'
        f"<td>{_verdict(claim)}</td></tr>"
        for one in measured
        for claim in one.claims
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("where", "the paper says", "measured", "verdict"))
    return (
        f'<div class="scroll"><table class="claims"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _verdict(claim: Claim) -> str:
    kind = {True: "label yes", False: "label no", None: "label"}[claim.holds]
    allowed = (
        f" <small>allowing for other {escape(_listed(claim.verdict.noises))}</small>" if claim.verdict.noises else ""
    )
    return f'<span class="{kind}">{VERDICTS[claim.holds]}</span>{allowed}'


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _experiment(one: Measured, *, alone: bool) -> list[str]:
    parts = [] if alone else [f'<h2 id="{escape(one.name)}">{escape(one.title)}</h2>']
    parts.append(f"<p>{escape(one.shows)}</p>")
    for claim in one.claims:
        parts.append(
            f"<p><b>The paper:</b> {escape(claim.paper)}<br><b>Measured:</b> {escape(claim.measured)} "
            f"{_verdict(claim)}</p>"
        )
    for name, words in one.drawings.items():
        drawing = svg_for_page(one.svg(name), f"{one.name}-{name}", escape(words))
        parts.append(f'<figure><div class="scroll">{drawing}</div><figcaption>{escape(words)}</figcaption></figure>')
    parts += [_table(table) for table in one.tables]
    parts += [f'<p class="notes">{escape(remark)}</p>' for remark in one.remarks]
    parts.append(
        f'<p class="notes"><code>{escape(one.command)}</code><br>{escape(one.machine)}; bitreplay '
        f"{escape(one.version)}; {escape(one.date)}; {duration(one.seconds)}.</p>"
    )
    return parts


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(text)}</td>" for text in rest)}</tr>'
        for first, *rest in table.shown()
    )
    made = f"""<div class="scroll"><table><caption>{escape(table.title)}</caption>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody></table></div>"""
    if len(table.rows) <= MANY:
        return made
    return f"<details><summary>{escape(table.title)}: the numbers</summary>{made}</details>"
