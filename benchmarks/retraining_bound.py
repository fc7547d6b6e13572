"""The noise of training the network again from results that are there: a second opinion on `retraining.py`.

Methods that train the whole network trained it anew with every seed (`results/comparisons/table-1-cpu.json`): the
spread over their seeds is that of retraining, pooled over all of them but IL2A, which is unstable for reasons of its
own (3.2 points), and TrainableGBM, which begins with a frozen network. Differences between methods on one network are
known from networks of different settings: the cpu preset (`table-1-tasks`), the small one of 20 classes (`table-1`) and
a small QuickNet. Their spread contains what the settings themselves change; verdicts do not use it.

python benchmarks/retraining_bound.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from bitreplay.experiments import read_outcome
from bitreplay.experiments._published import EIGHT, ONE

RESULTS = Path(__file__).resolve().parent.parent / "results"
LEFT_OUT = ("IL2A", "TrainableGBM")
RIVALS = (ONE, "GBM", "FeTrIL", "NearestMean")  # against K = 8
QUICKNET = "GBM:prototypes={},bits=8,head=replay,objective=expected,epochs=2,learning_rate=0.03"


def comparison(name: str) -> dict[str, dict[str, Any]]:
    """The methods of a comparison, by name."""
    content = json.loads((RESULTS / "comparisons" / f"{name}.json").read_text(encoding="utf-8"))
    return {row["method"]: row for row in content["methods"]}


def pooled(spreads: list[float], degrees: list[int]) -> float:
    """Standard deviations with so many degrees of freedom as one."""
    return float(np.sqrt(np.average(np.square(spreads), weights=degrees)))


def main() -> None:
    small, quicknet = comparison("table-1-cpu"), comparison("cifar100-t10-quicknet")
    [table] = read_outcome(RESULTS / "experiments" / "table-1-tasks.json").tables
    cpu = {str(row[0]): dict(zip(table.columns, row, strict=True)) for row in table.rows}
    retrained = [name for name, row in small.items() if "in every task" in row["notes"].get("encoder", "")]
    kept = [name for name in retrained if name not in LEFT_OUT]
    for metric in ("average", "final"):
        spreads = [100 * small[name][f"{metric}_std"] for name in kept]
        print(
            f"{metric}, retrained with every seed: "
            + ", ".join(f"{n} {s:.2f}" for n, s in zip(kept, spreads, strict=True))
        )
        degrees = [len(small[name]["seeds"]) - 1 for name in kept]
        print(f"apart: {pooled(spreads, degrees):.2f} points, {sum(degrees)} degrees of freedom")
        found, degrees = [], []
        for rival in RIVALS:
            gains = [cpu[EIGHT][f"{metric}, T=10"] - cpu[rival][f"{metric}, T=10"]]
            gains.append(small[EIGHT][metric] - small[rival][metric])
            if rival == ONE:
                gains.append(quicknet[QUICKNET.format(8)][metric] - quicknet[QUICKNET.format(1)][metric])
            print(f"{metric}, K = 8 against {rival}: " + ", ".join(f"{100 * gain:+.2f}" for gain in gains))
            found.append(100 * float(np.std(gains, ddof=1)))
            degrees.append(len(gains) - 1)
        print(f"paired: {pooled(found, degrees):.2f} points, {sum(degrees)} degrees of freedom\n")


if __name__ == "__main__":
    main()
