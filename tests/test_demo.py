"""The demo: what it prints and writes, that its stream is fair, and the arithmetic of the methods it compares with."""

import contextlib
import io
import json
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestCentroid

from bitreplay.cli import main
from bitreplay.demo import _contenders
from bitreplay.demo._contenders import Everything, FineTuning, NearestMean
from bitreplay.demo._plot import spread
from bitreplay.demo._stream import Digits

HEADS = ("GBM, closed form", "GBM, replay", "GBM, bayes")
FILES = {"demo.png", "demo.svg", "results.json"}


def run_demo(folder, *options):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["demo", "--output", str(folder), *options]) == 0
    return printed.getvalue()


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return folder, run_demo(folder)


@pytest.fixture(scope="module")
def results(ran):
    return json.loads((ran[0] / "results.json").read_text())


@pytest.fixture(scope="module")
def methods(results):
    return {method["name"]: method for method in results["methods"]}


def test_files_are_written_and_named(ran):
    folder, printed = ran
    assert {path.name for path in folder.iterdir()} == FILES
    assert all(str(folder / name) in printed for name in FILES)
    height, width = imread(folder / "demo.png").shape[:2]
    assert width > height > 500
    assert ElementTree.parse(folder / "demo.svg").getroot().tag.endswith("svg")


def test_every_head_is_forty_points_above_fine_tuning(methods):
    assert all(methods[head]["final"] >= methods["fine-tuning"]["final"] + 0.40 for head in HEADS)


def test_fine_tuning_learns_and_then_forgets(methods):
    reached = methods["fine-tuning"]["accuracy"]
    assert reached[0] > 0.9
    assert max(reached[1:]) < 0.3


def test_all_data_at_once_bounds_the_linear_methods(methods):
    best = methods["all data at once"]["final"]
    assert all(best > methods[name]["final"] for name in ("fine-tuning", "nearest class mean", "GBM, replay"))


def test_average_and_final_follow_from_the_states(results, methods):
    assert results["classes_seen"] == [5, 6, 7, 8, 9, 10]
    assert sorted(results["class_order"]) == list(range(10))
    for method in methods.values():
        assert len(method["accuracy"]) == 6
        assert method["average"] == pytest.approx(np.mean(method["accuracy"]))
        assert method["final"] == method["accuracy"][-1]


def test_bytes(results, methods):
    n_train = sum(len(day.labels) for day in Digits(results["seed"]).days())
    prototype = 256 * 4 // 8  # D q / 8
    for head in HEADS:
        kept = methods[head]["bytes"]
        assert kept["memory"] % prototype == 0
        assert 10 * prototype < kept["memory"] <= 10 * 8 * prototype
        assert kept["held"] > kept["memory"]
        assert kept["working_set"] > 0
    assert methods["fine-tuning"]["bytes"] == {"memory": 0, "held": 0, "working_set": 4 * 10 * 257}
    assert methods["nearest class mean"]["bytes"]["memory"] == 4 * 10 * 64
    assert methods["all data at once"]["bytes"]["memory"] == n_train * 256 // 8


def test_the_table_fits_a_terminal_and_shows_the_numbers(ran, methods):
    lines = ran[1].splitlines()
    assert all(len(line) <= 80 for line in lines if "results.json" not in line)  # a path may be longer
    for name, method in methods.items():
        first, second = (line[len(name) :].split() for line in lines if line.startswith(name))
        shown = [*method["accuracy"], method["average"], method["final"]]
        assert first == [*(f"{100 * value:.1f}" for value in shown), f"{method['bytes']['memory']:,}"]
        assert second == [f"{value:,}" for value in method["bytes"].values()]


def test_the_last_lines_say_what_was_seen_and_what_to_do(ran, methods):
    words = " ".join(ran[1].split("Written:")[1].split())
    assert f"ends at {100 * methods['fine-tuning']['final']:.1f} %" in words
    assert f"memory of {methods[HEADS[0]]['bytes']['memory']:,} bytes" in words
    assert "clf.partial_fit(features, labels)" in words


def test_the_same_seed_gives_the_same_files(ran, tmp_path):
    run_demo(tmp_path, "--seed", "0")
    assert all((tmp_path / name).read_bytes() == (ran[0] / name).read_bytes() for name in FILES)


def test_options_reach_the_memory(methods, tmp_path):
    run_demo(tmp_path, "--seed", "1", "--prototypes", "1", "--bits", "2", "--p", "2")
    other = json.loads((tmp_path / "results.json").read_text())
    assert [method["bytes"]["memory"] for method in other["methods"] if method["name"] in HEADS] == 3 * [
        10 * 128 * 2 // 8
    ]
    assert other["class_order"] != Digits(0).order


def test_the_stream_holds_every_digit_once():
    days = list(Digits(3).days())
    last = days[-1]
    rows = np.concatenate([*(day.features for day in days), last.test_features])
    labels = np.concatenate([*(day.labels for day in days), last.test_labels])
    features, targets = load_digits(return_X_y=True)
    assert sorted(map(tuple, np.column_stack([rows, labels]))) == sorted(
        map(tuple, np.column_stack([features, targets]))
    )


def test_the_stream_brings_new_classes_and_tests_all_seen():
    digits = Digits(4)
    seen = []
    for day in digits.days():
        new = np.unique(day.labels).tolist()
        assert not set(new) & set(seen)
        seen += new
        assert sorted(seen) == sorted(digits.order[: day.n_seen]) == np.unique(day.test_labels).tolist()


@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_")  # some pixels are always white
def test_nearest_mean_is_scikit_learns():
    days = list(Digits(0).days())
    ours = NearestMean()
    for day in days:
        ours.learn(day.features, day.labels)
    theirs = NearestCentroid().fit(
        np.concatenate([day.features for day in days]), np.concatenate([day.labels for day in days])
    )
    test = days[-1].test_features
    assert np.mean(ours.predict(test) == theirs.predict(test)) > 0.995  # theirs keeps float64 means: ties may differ


def test_linear_layer_is_gradient_descent_with_momentum_on_the_cross_entropy():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(24, 6))  # one batch, so that the order of rows does not matter
    first, second = np.repeat([7, 2], 12), np.full(24, 5)
    layer = FineTuning(p=2, seed=0)
    layer.learn(features, first)
    layer.learn(features, second)

    bits = (features[:, :, None] > np.quantile(features, [1 / 3, 2 / 3], axis=0).T).reshape(24, 12)
    inputs = np.column_stack([bits, np.ones(24)])
    order = np.array([2, 7, 5])  # rows: the first call's classes sorted, then the new one
    weights = np.zeros((0, 13))
    for labels, n_classes in ((first, 2), (second, 3)):
        weights = np.vstack([weights, np.zeros((n_classes - len(weights), 13))])
        velocity = np.zeros_like(weights)
        for _ in range(_contenders.EPOCHS):
            scores = np.exp(inputs @ weights.T)
            errors = scores / scores.sum(axis=1, keepdims=True) - (labels[:, None] == order[:n_classes])
            velocity = 0.9 * velocity + errors.T @ inputs / 24
            weights = weights - 0.1 * velocity
    np.testing.assert_array_equal(layer.classes, order)
    np.testing.assert_allclose(layer.weights, weights[:, :-1], atol=1e-5)
    np.testing.assert_allclose(layer.biases, weights[:, -1], atol=1e-5)


def test_everything_starts_from_zero_every_day():
    rng = np.random.default_rng(1)
    features, labels = rng.normal(size=(24, 6)), np.repeat([0, 1, 2], 8)
    by_day, at_once = Everything(2, 0), Everything(2, 0)
    at_once.bits(features)
    by_day.bits(features)  # the same thresholds for both
    by_day.learn(features[:16], labels[:16])
    by_day.learn(features[16:], labels[16:])
    at_once.learn(features, labels)
    np.testing.assert_allclose(by_day.weights, at_once.weights, atol=1e-6)


places = st.lists(st.floats(0, 100), min_size=1, max_size=8)


@given(places, st.floats(0.5, 12))
def test_spread_keeps_order_and_distance_within_the_limits(wanted, gap):
    got = np.array(spread(wanted, gap, 0, 100))
    in_order = got[np.argsort(wanted, kind="stable")]
    assert (np.diff(in_order) >= gap - 1e-6).all()
    assert in_order[0] >= -1e-6
    assert in_order[-1] <= 100 + 1e-6


@given(places)
def test_spread_leaves_what_is_far_enough_apart(wanted):
    distinct = sorted(wanted)
    gap = min(np.diff(distinct), default=1.0)
    np.testing.assert_allclose(spread(distinct, gap * (1 - 1e-6), 0, 100), distinct, atol=1e-6)
