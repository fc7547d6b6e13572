"""Table 4: its numbers are the runs', K = 1 has one number, and verdicts follow from the numbers."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.experiments._initialisation_table import (
    INITS,
    PROTOTYPES,
    WEIGHTS,
    _claims,
    _spread,
    initialisation_table,
)
from bitreplay.memory import BinaryMemory
from bitreplay.runs import RunFolder, Setting
from tests.experiments.histories import method

CASES = list(product(INITS, WEIGHTS, PROTOTYPES))


def test_the_table_in_miniature(small_request):
    runs = []
    request = replace(small_request(tasks=1), on_run=runs.append)
    outcome = initialisation_table(request)
    averages = {run.name: metrics.average(run.history) for run in runs}
    assert len(averages) == 1 + 2 * 4  # K = 1 is run once, each other K in four ways
    [table] = outcome.tables
    assert [row[:2] for row in table.rows] == [[init, weights] for init in INITS for weights in WEIGHTS]
    for init, weights, *cells in table.rows:
        assert cells[0] == averages["GBM:prototypes=1,bits=32,head=replay,objective=expected"]
        name = f"GBM:prototypes=4,bits=32,head=replay,objective=expected,init={init},weights={weights}"
        assert cells[6] == averages[name]
    assert [row[table.columns.index("published K=4")] for row in table.rows] == [0.669, 0.673, 0.670, 0.675]
    assert "closed form" in outcome.remarks[0]
    # And it is true: with one prototype, neither start nor weights change a single answer.
    setting = Setting(**request.setting)
    extremes = [f"init={init},weights={weights}" for init, weights in (("random", "fixed"), ("centroid", "learned"))]
    one, other = request.compare(
        setting, [f"GBM:prototypes=1,bits=32,head=replay,objective=expected,{way}" for way in extremes], [0]
    )
    assert one.history == other.history
    assert np.array_equal(*(prototypes(run) for run in (one, other)))
    four = request.compare(
        setting, [f"GBM:prototypes=4,bits=32,head=replay,objective=expected,{way}" for way in extremes], [0]
    )
    assert not np.array_equal(*(prototypes(run) for run in four))


def prototypes(run: RunFolder) -> np.ndarray:
    """Of one class; rows in an order that does not depend on where EM began."""
    made = BinaryMemory.load(run.path / "memory.safetensors").mixture(0).prototypes
    return made[np.lexsort(made.T)]


def measured(start: float = 0.0, weights: float = 0.0) -> dict:
    """All cells, with what a start at the centroid and learned weights add."""
    rng = np.random.default_rng(0)
    cells = {}
    for init, way, k in CASES:
        gain = start * (init == "centroid") + weights * (way == "learned") if k > 1 else 0.0
        noise = rng.choice([0.0, 0.001], 3) if k > 1 else np.zeros(3)
        cells[init, way, k] = method(f"{init} {way} {k}", *(0.6 + gain + noise), samples=20_000, paired=True)
    return cells


@pytest.mark.parametrize(
    ("start", "weights", "verdicts"),
    [
        (0.01, 0.005, [True, True, False]),  # 1.5 points of 61.5: 2.4 %
        (-0.003, 0.003, [False, True, True]),  # 0.6 points: 1.0 %, and noise
        (0.0, -0.004, [None, False, True]),
        (0.005, 0.004, [True, True, None]),  # 0.9 points of 60.9: 1.5 %
    ],
)
def test_verdicts_follow_from_the_numbers(start, weights, verdicts):
    cells = measured(start, weights)
    claims = _claims(cells)
    assert [claim.holds for claim in claims] == verdicts
    assert float(claims[0].measured.split()[0]) == pytest.approx(100 * start, abs=0.1)
    for k, words in zip((2, 4), claims[2].measured.split(", "), strict=True):  # of K = 1 there is one number
        reached = [list(map(metrics.average, cells[init, way, k].histories)) for init in INITS for way in WEIGHTS]
        spreads = np.ptp(reached, axis=0) / np.max(reached, axis=0)  # seed by seed
        assert words.startswith(f"K = {k}: {100 * spreads.mean():.1f} % (± ")


def test_cells_that_are_alike_on_average_may_differ_with_every_seed():
    rising, falling = (method("x", 0.6 - by, 0.6 + by) for by in (0.01, -0.01))
    found = _spread([rising, falling])
    assert found.values == pytest.approx([0.02 / 0.61, 0.02 / 0.61])
    assert found.at_most(0.015).holds is False


def test_what_all_cells_of_a_seed_share_is_no_noise_of_the_weights():
    """Fixed and learned weights differ by 0.3 points in every cell and seed; seeds differ by one."""
    cells = {
        (init, way, k): method("x", *(0.6 + 0.003 * (way == "learned") + np.array([0.0, 0.01, 0.02])), paired=True)
        for init, way, k in CASES
    }
    start, weights, _ = _claims(cells)
    assert (start.holds, weights.holds) == (None, True)
    assert weights.measured.startswith("+0.30 points (95 %: +0.2")
