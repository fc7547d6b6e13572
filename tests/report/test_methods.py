"""Runs become methods, and only what exceeds the noise is called best."""

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay._pages.methods import common_notes, gather, leading
from bitreplay.errors import InputError
from bitreplay.evaluation import History, RunResult
from tests.report.examples import comparison, one_state, run


def test_runs_of_a_name_are_one_method_in_the_order_of_names_and_seeds():
    runs = [one_state("b", 2, 50), one_state("a", 0, 60), one_state("b", 1, 70), one_state("b", 0, 30)]
    b, a = gather(runs)
    assert (b.name, b.seeds, a.name, a.seeds) == ("b", (0, 1, 2), "a", (0,))
    measured = b.measure(metrics.final)
    assert measured.mean == pytest.approx(0.5)
    assert measured.std == pytest.approx(0.2)  # of the sample: sqrt((0.2^2 + 0 + 0.2^2) / 2)
    assert a.measure(metrics.final) == (0.6, None)
    mean, spread = b.curves(metrics.per_state)
    assert (mean[0], spread[0]) == pytest.approx((0.5, 0.2))


def test_what_cannot_be_averaged_is_refused():
    with pytest.raises(InputError, match="at least one run"):
        gather([])
    with pytest.raises(InputError, match=r"'a' has two runs with the same seed; seeds are \[0, 0\]"):
        gather([one_state("a", 0, 50), one_state("a", 0, 60)])
    with pytest.raises(InputError, match=r"different tasks: 2 and 4 \+ 2 \+ 1 \+ 2\. Is one of them unfinished\?"):
        gather([one_state("a", 0, 50), run("a", 1, 0.5)])
    with pytest.raises(InputError, match="has not finished any task yet"):
        RunResult("a", 0, History.empty("GBM"))
    with pytest.raises(InputError, match="needs a name"):
        one_state(" ", 0, 50)


def test_notes_of_all_and_of_some():
    methods = gather(
        [
            run("a", 0, 0.5, notes={"encoder": "r18", "pretrained": "no"}),
            run("b", 0, 0.5, notes={"encoder": "r18", "pretrained": "ImageNet"}),
            run("b", 1, 0.5, notes={"encoder": "r18"}),
        ]
    )
    assert common_notes(methods) == {"encoder": "r18"}
    assert methods[1].notes == {"encoder": "r18", "pretrained": "ImageNet / not said"}


def test_a_clear_winner_leads_and_bounds_do_not_compete():
    methods = gather(comparison())
    assert leading(methods, "average") == leading(methods, "final") == {"GBM, K=8"}
    assert metrics.final(methods[3].histories[0]) > metrics.final(methods[0].histories[0])  # Joint, which is a bound


def test_one_seed_has_no_winner():
    assert leading(gather(comparison(seeds=[0])), "average") == frozenset()
    mixed = [r for r in comparison() if r.seed == 0 or r.name != "GBM, K=8"]
    assert leading(gather(mixed), "average") == frozenset()


def test_nobody_leads_alone_or_where_tasks_differ():
    alone = [r for r in comparison() if r.name in ("GBM, K=8", "Joint")]
    assert leading(gather(alone), "final") == frozenset()
    other = [run("other", seed, 0.2, sizes=(5, 4)) for seed in (0, 1)]
    assert leading(gather([*comparison(), *other]), "final") == frozenset()


def several(name, rights, count):
    return [one_state(name, seed, right, count) for seed, right in enumerate(rights)]


def test_seeds_and_test_set_both_count_as_noise():
    """Two points apart: told apart only if the seeds agree and the test set is large."""
    worse = several("worse", [5000, 5010, 4990], 10_000), several("worse", [50, 50, 50], 100)
    far = several("far", [1000, 1000, 1000], 10_000)
    agree = several("better", [5200, 5210, 5190], 10_000)
    assert leading(gather([*agree, *worse[0], *far]), "final") == {"better"}
    differ = several("better", [5200, 5600, 4800], 10_000)
    assert leading(gather([*differ, *worse[0], *far]), "final") == {"better", "worse"}
    small = several("better", [52, 52, 52], 100)
    assert leading(gather([*small, *worse[1], *far]), "final") == {"better", "worse"}


def test_equal_methods_are_seldom_told_apart():
    """Both always right with 60 %: drawn anew 300 times, hardly ever is one of them marked."""
    rng = np.random.default_rng(0)
    marked = 0
    for _ in range(300):
        drawn = rng.binomial(500, 0.6, (2, 3)).tolist()
        runs = [*several("a", drawn[0], 500), *several("b", drawn[1], 500)]
        marked += bool(leading(gather(runs), "final"))
    assert marked <= 15  # 5 %
