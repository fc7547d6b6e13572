"""Plots show the metrics at the right places; how they look was judged by eye."""

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib._pylab_helpers import Gcf

from bitreplay import metrics
from bitreplay._pages.look import spread, styles
from bitreplay._pages.methods import gather
from bitreplay.evaluation import RunResult
from bitreplay.report._curves import draw_curves, draw_stability, within_reach
from bitreplay.report._heatmaps import draw_confusion, draw_tasks
from bitreplay.report._memory_plot import draw_memory
from tests.evaluation.examples import plausible_history, steady
from tests.report.examples import SIZES, comparison, one_state, run


@pytest.fixture(scope="module")
def methods():
    return gather(comparison())


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def curve(axes, x, y):
    """Whether the axes have this curve."""
    drawn = [np.asarray(line.get_data(), dtype=float) for line in axes.lines]
    return any(data.shape[1] == len(x) and np.allclose(data, [x, y], equal_nan=True) for data in drawn)


def test_curves_are_means_over_seeds_whole_and_enlarged(methods):
    whole, enlarged = draw_curves(methods).axes
    for method in methods:
        mean = 100 * np.mean([metrics.per_state(history) for history in method.histories], axis=0)
        assert curve(whole, (4, 6, 7, 9), mean)
        assert curve(enlarged, (4, 6, 7, 9), mean) == (method.name != "FineTuning")
    assert whole.get_ylim() == (0, 100)
    names = [text.split("  ")[0] for text in texts(draw_curves(methods))]
    assert sorted(names) == sorted([*(method.name for method in methods), "the others: see below"])


def test_one_panel_is_enough_where_nobody_collapses(methods):
    lasting = [method for method in methods if method.name != "FineTuning"]
    assert within_reach(methods) == lasting
    assert len(draw_curves(lasting).axes) == 1


def test_stability_shows_every_group_of_every_method(methods):
    figure = draw_stability(methods)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_visible()}
    assert len(panels) == 4
    for method in methods:
        axes = panels.get(method.name) or panels[f"{method.name} (0 to 100 %)"]
        for name in ("init", "past", "new", "all"):
            mean = np.mean([getattr(metrics.init_past_new(h), name) for h in method.histories], axis=0)
            assert curve(axes, (4, 6, 7, 9), 100 * mean)
    assert panels["GBM, K=8"].get_ylim() == panels["Joint"].get_ylim() != panels["FineTuning (0 to 100 %)"].get_ylim()


def test_memory_and_working_set_lie_on_a_log_scale(methods):
    axes = draw_memory(methods).axes[0]
    assert axes.get_xscale() == "log"
    for method in methods[:2]:
        history = method.histories[0]
        memory, working = history.memory_bits[-1], history.working_set_bits[-1]
        y = 100 * method.measure(metrics.average).mean
        assert curve(axes, [memory, working], [y, y])
        assert curve(axes, [memory], [y])
        assert curve(axes, [working], [y])
    assert "far below, not drawn: FineTuning" in axes.get_xlabel()
    first = axes.get_legend().get_texts()[0].get_text()
    assert first.startswith("Joint  ")  # sorted by accuracy


def test_no_memory_has_a_place_of_its_own():
    methods = gather([run("nothing", 0, 0.8, bits_per_class=0), run("something", 0, 0.8, bits_per_class=1000)])
    axes = draw_memory(methods).axes[0]
    formatter = axes.xaxis.get_major_formatter()
    labels = {x: formatter(x, 0) for x in axes.xaxis.get_major_locator()()}
    zero = next(x for x, label in labels.items() if label == "0")
    assert curve(axes, [zero, 500 * 9], [100 * metrics.average(methods[0].histories[0])] * 2)
    assert zero < 4500  # left of all that is kept


def test_memory_is_not_drawn_where_there_is_nothing_to_compare():
    assert draw_memory(gather([one_state("a", 0, 50), one_state("b", 0, 50)])) is None
    assert draw_memory(gather([run("a", 0, 0.5)])) is None


def test_a_plot_says_what_its_numbers_rest_on():
    runs = [
        run("a", 0, 0.5, notes={"pretrained": "ImageNet", "encoder": "x"}),
        run("b", 0, 0.5, notes={"encoder": "x"}),
    ]
    said = "classes: 4 + 2 + 1 + 2 · encoder: x · 1 seed · pretrained: ImageNet (a)"
    for draw in (draw_curves, draw_stability, draw_memory):
        figure = draw(gather(runs))
        assert said in [" ".join(artist.get_text().split()) for artist in figure.artists]


def test_close_values_are_not_blown_up():
    methods = gather([run("a", 0, 0.5), run("b", 0, 0.5, bits_per_class=10)])
    for draw in (draw_curves, draw_memory):
        low, high = draw(methods).axes[0].get_ylim()
        assert high - low >= 5


def test_maps_show_the_matrices(methods):
    method = methods[0]
    shown = draw_tasks(method).axes[0].images[0].get_array()
    expected = 100 * np.mean([metrics.accuracy_matrix(history) for history in method.histories], axis=0)
    np.testing.assert_allclose(np.ma.filled(shown, np.nan), expected)
    shown = draw_confusion(method).axes[0].images[0].get_array()
    np.testing.assert_allclose(shown, 100 * np.mean([metrics.confusion(h) for h in method.histories], axis=0))
    ticks = [tick.get_text() for tick in draw_confusion(method).axes[0].get_xticklabels()]
    assert ticks == [str(label) for label in method.histories[0].learning_order]


def test_confusions_of_different_class_orders_are_not_mixed():
    one = plausible_history(SIZES, 0.5, seed=0)
    other = plausible_history(SIZES, 0.9, seed=1)
    turned = type(other)(**{**vars(other), "classes": tuple(tuple(8 - c for c in task) for task in other.classes)})
    figure = draw_confusion(gather([RunResult("a", 3, one), RunResult("a", 4, turned)])[0])
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), 100 * metrics.confusion(one))
    assert "seed 3: the orders differ" in figure.get_suptitle()


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_extremes_can_be_drawn(accuracy):
    methods = gather([run("a", 0, accuracy, samples=3), run("b", 0, accuracy, samples=3, sizes=(1, 1, 30))])
    for draw in (draw_curves, draw_stability, draw_memory):
        draw(methods).draw_without_rendering()
    for method in methods:
        draw_tasks(method).draw_without_rendering()
        draw_confusion(method).draw_without_rendering()


def test_many_methods_can_be_told_apart():
    methods = gather([run(f"method {i}", 0, 0.5, sizes=(1, 1)) for i in range(12)])
    looks = [(look["color"], look["marker"], look["linestyle"]) for look in styles(methods).values()]
    assert len(set(looks)) == 12


def test_no_global_state_is_touched(methods):
    before = dict(matplotlib.rcParams)
    draw_curves(methods)
    draw_memory(methods)
    assert dict(matplotlib.rcParams) == before
    assert not Gcf.figs


places = st.lists(st.floats(0, 100), min_size=1, max_size=8)


@steady
@given(places, st.floats(0.5, 12))
def test_spread_keeps_order_and_distance_within_the_limits(wanted, gap):
    got = np.array(spread(wanted, gap, 0, 100))
    in_order = got[np.argsort(wanted, kind="stable")]
    assert (np.diff(in_order) >= gap - 1e-6).all()
    assert in_order[0] >= -1e-6
    assert in_order[-1] <= 100 + 1e-6


@steady
@given(places)
def test_spread_leaves_what_is_far_enough_apart(wanted):
    distinct = sorted(wanted)
    gap = min(np.diff(distinct), default=1.0)
    np.testing.assert_allclose(spread(distinct, gap * (1 - 1e-6), 0, 100), distinct, atol=1e-6)
