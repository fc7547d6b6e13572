"""Our tables in REPRODUCIBILITY.md: table 1 at cpu scale beside the published figures, and at full scale.

`results_page.py` writes them with docs/results.md.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bitreplay._pages.methods import MeanAndSpread as Value
from bitreplay._pages.numbers import bits
from bitreplay._pages.numbers import percent as in_percent
from bitreplay.experiments import Measured
from bitreplay.experiments._main_table import FEWER_SEEDS, NOT_RUN
from bitreplay.experiments._published import published
from bitreplay.experiments._stopped import STOPPED

CPU_MARKS = "<!-- written by benchmarks/results_page.py: begin -->", "<!-- end -->"
FULL_MARKS = "<!-- written by benchmarks/results_page.py: full scale, begin -->", "<!-- full scale, end -->"


def published_table(content: dict[str, Any]) -> list[str]:
    """Our figures at cpu scale next to the paper's column with as many tasks; then all others, without one."""
    said, rows = published("cifar100", 5), {row["method"]: row for row in content["methods"]}
    theirs = sorted((name for name in said if name in rows), key=lambda name: -said[name])
    ours = sorted(theirs, key=lambda name: -rows[name]["average"])
    still = stopping(content)
    head = ["method", "published", "ours", "difference", "reached", "place, published", "place, ours", "over stopping"]
    lines = [line([*head, "final", "memory"]), "|:--|--:|--:|--:|:-:|--:|--:|--:|--:|--:|"]
    for name in [*ours, *(name for name in rows if name not in ours)]:
        row = rows[name]
        cells = ["-", percent(row, "average"), "-", "", "-", "-"]
        if name in said:
            gap = row["average"] - said[name]
            places = str(theirs.index(name) + 1), str(ours.index(name) + 1)
            cells = [f"{100 * said[name]:.1f}", cells[1], f"{100 * gap:+.1f}", "✓" if gap >= 0 else "✗", *places]
        over = f"{100 * (row['average'] - sum(still) / len(still)):+.1f}"
        lines.append(line([name, *cells, over, percent(row, "final"), bits(row["memory_bits"])]))
    reached = [f"{100 * sum(still) / len(still):.1f}", f"{100 * still[-1]:.1f}"]
    lines.append(line([f"**{STOPPED}**", "-", reached[0], "-", "", "-", "-", "0.0", reached[1], "0 bit"]))
    return [*lines, "", where(content)]


def full_table(one: Measured) -> list[str]:
    """Table 1 at full scale: what every method reached, on which classes, and how far from stopping after task 0."""
    [table] = [table for table in one.tables if table.name.startswith("methods")]
    lines = [
        "| method | average | final | init | past | new | over stopping (95 %) | memory |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|",
    ]
    seeds = set()
    for row in table.shown():
        cells = dict(zip(table.columns, row, strict=True))
        seeds.add(cells["seeds"])
        values = [spread(cells[name], cells[f"± {name}"]) for name in ("average", "final")]
        values += [cells[name] for name in ("init", "past", "new")]
        values += [spread(cells["over stopping"], cells["95 %, ± over stopping"]), cells["memory"]]
        lines.append(line([f"**{row[0]}**" if row[0] == STOPPED else row[0], *values]))
    many = "1 seed" if seeds == {"1"} else f"{' or '.join(sorted(seeds))} seeds"
    lines += ["", f"{many}; {one.machine}; bitreplay {one.version}; {one.date}; `{one.command}`."]
    return [*lines, *(f"\n{remark}" for remark in one.remarks if remark.startswith((NOT_RUN, FEWER_SEEDS)))]


def spread(value: str, error: str) -> str:
    """A number with its spread, if it has one."""
    return value if error == "-" else f"{value} ± {error}"


def stopping(content: dict[str, Any]) -> list[float]:
    """Accuracy after every state, had fine-tuning of the whole network stopped after task 0."""
    first, *later = content["tasks"].split(" + ")
    sizes = [int(first)]
    for part in later:  # such as 5 x 2, or 3
        times, _, size = part.rpartition(" x ")
        sizes += [int(size)] * int(times or 1)
    begun = next(row["per_state"][0] for row in content["methods"] if row["method"] == "FullFineTuning")
    return [begun * sizes[0] / sum(sizes[: state + 1]) for state in range(len(sizes))]


def write_between(path: Path, begin: str, end: str, lines: Sequence[str]) -> None:
    """Replace what stands between two marks in a page."""
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    path.write_text("\n\n".join([before + begin, "\n".join(lines), end + after]), encoding="utf-8")


def line(cells: Sequence[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def percent(row: dict[str, Any], name: str) -> str:
    return "-" if row[name] is None else in_percent(Value(row[name], row[f"{name}_std"]))


def where(content: dict[str, Any]) -> str:
    """Seeds, machine, version and date of a comparison."""
    seeds = sorted({seed for row in content["methods"] for seed in row["seeds"]})
    words = ", ".join(map(str, seeds))
    made = content.get("made") or {**content, "version": content["bitreplay"]}  # 0.1.0 wrote where runs were read
    return (
        f"Seeds {words}; {made['machine']}; bitreplay {made['version']}; {made['date']}.{remeasured(made['version'])}"
    )


def remeasured(version: str) -> str:
    """The note on figures of a version whose rules have changed."""
    return " Being remeasured." if version == "0.1.0" else ""
