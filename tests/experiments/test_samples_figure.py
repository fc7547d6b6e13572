"""Figure 5: distances against their definitions, exact correlations against many draws, verdicts against numbers."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from bitreplay.bits import pack
from bitreplay.experiments import Claim
from bitreplay.experiments._class_bits import class_bits, draw, remember
from bitreplay.experiments._samples_distances import ClassDistances, correlations, distances, mixture_correlations
from bitreplay.experiments._samples_figure import Sampled, _claim_apart, _claim_fall, _claim_nearest, samples_figure
from bitreplay.experiments._samples_map import embed
from bitreplay.runs import Prepared, Setting
from tests.experiments.conftest import CLASSES, TRAIN


def two_modes(seed: int, n: int = 60) -> np.ndarray:
    """Samples of a class with two modes in 30 bits, the last of which is constant."""
    rng = np.random.default_rng(seed)
    modes = rng.choice([0.1, 0.9], (2, 30))
    return np.column_stack([rng.random((n, 30)) < modes[rng.integers(0, 2, n)], np.ones(n)])[:, 1:].astype(np.uint8)


def test_correlations_are_numpys_and_0_for_constant_bits():
    bits = two_modes(0)
    made = correlations(bits)
    np.testing.assert_allclose(made[:-1, :-1], np.corrcoef(bits[:, :-1].T), atol=1e-12)
    assert not made[-1, :-1].any()
    assert not made[:-1, -1].any()
    assert made[-1, -1] == 1


@pytest.mark.parametrize("prototypes", [1, 4])
def test_exact_correlations_are_those_of_many_pseudo_exemplars(prototypes):
    memory = remember({3: pack(two_modes(1, 200))}, prototypes, seed=0)
    exact = mixture_correlations(memory.mixture(3))
    drawn = correlations(draw(memory, 3, 100_000, seed=0))
    assert np.abs(exact - drawn).max() < 5 / np.sqrt(100_000)
    if prototypes == 1:
        assert np.abs(exact - np.eye(30)).max() < 1e-9  # bits of one prototype are independent


def test_distances_by_their_definitions():
    bits = two_modes(2)
    memories = [remember({5: pack(bits)}, k, seed=0) for k in (1, 8)]
    found = distances(pack(bits), 5, memories, seed=0)
    for memory, drawn, exact, nearest in zip(
        memories,
        (found.drawn_1, found.drawn_8),
        (found.exact_1, found.exact_8),
        (found.nearest_1, found.nearest_8),
        strict=True,
    ):
        pseudo = draw(memory, 5, len(bits), seed=0)
        difference = correlations(bits) - correlations(pseudo)
        assert drawn == pytest.approx(np.sqrt((difference**2).sum()))
        assert exact == pytest.approx(np.linalg.norm(correlations(bits) - mixture_correlations(memory.mixture(5))))
        assert nearest == pytest.approx(np.mean([min((row != other).mean() for other in pseudo) for row in bits]))
    others = [min((row != other).mean() for j, other in enumerate(bits) if j != i) for i, row in enumerate(bits)]
    assert found.nearest_sample == pytest.approx(np.mean(others))
    assert found.constant == 1
    assert found.exact_8 < 0.7 * found.exact_1  # there are two modes to be found


def test_the_floor_is_what_two_sets_of_samples_have():
    both = two_modes(3, 400)
    found = distances(pack(both[:200]), 0, [remember({0: pack(both[:200])}, k, seed=0) for k in (1, 8)], seed=0)
    apart = np.linalg.norm(correlations(both[:200]) - correlations(both[200:]))
    assert found.floor == pytest.approx(apart, rel=0.15)


def test_places_of_samples_and_pseudo_exemplars():
    bits = {label: pack(two_modes(label, 20)) for label in (7, 4)}
    memories = [remember(bits, k, seed=0) for k in (1, 8)]
    samples, drawn = embed({label: (rows, memories) for label, rows in bits.items()}, 12, seed=0)
    assert [part.shape for part in samples] == [(12, 2)] * 2
    assert [[part.shape for part in row] for row in drawn] == [[(12, 2)] * 2] * 2
    again, _ = embed({label: (rows, memories) for label, rows in bits.items()}, 12, seed=0)
    np.testing.assert_array_equal(samples, again)


def test_the_figure_in_miniature(small_request):
    request = small_request()
    outcome = samples_figure(request, points=10)
    summary, by_class = outcome.tables
    assert [row[:3] for row in summary.rows] == [
        [p, bits, words] for p, bits in ((1, 32), (4, 128)) for words in ("initial (4)", "incremental (4)", "all (8)")
    ]
    assert len(by_class.rows) == 2 * CLASSES
    at = {name: by_class.columns.index(name) for name in by_class.columns}
    for p, row in ((1, summary.rows[2]), (4, summary.rows[5])):
        own = np.array([each[at["drawn K=1"] : at["nearest sample"]] for each in by_class.rows if each[at["p"]] == p])
        assert row[3] == pytest.approx(own[:, 0].mean())
        assert row[4] == pytest.approx(own[:, 0].std(ddof=1))
        assert row[5] == pytest.approx(own[:, 1].mean())
        assert row[7] == pytest.approx((1 - own[:, 1] / own[:, 0]).mean())
    bits = class_bits(Prepared(Setting(**request.setting)))
    assert [*bits][:4] == [int(c) for c in Setting(**request.setting).scenario()[0].classes]
    assert {len(rows) for rows in bits.values()} == {TRAIN}
    assert [drawing.name for drawing in outcome.drawings] == ["tsne", "correlations"]
    tsne, maps = (drawing.figure for drawing in outcome.drawings)
    panels = [axes for axes in tsne.axes if axes.collections]
    assert len(panels) == 8
    # Samples are at the same places for both K: the first of two collections of every class.
    for above, below in zip(panels[:4], panels[4:], strict=True):
        for one, other in zip(above.collections[::2], below.collections[::2], strict=True):
            np.testing.assert_array_equal(one.get_offsets(), other.get_offsets())
            assert len(one.get_offsets()) == 10
    shown = by_class.rows[4][at["drawn K=1"]], by_class.rows[4][at["drawn K=8"]]
    titles = [axes.get_title(loc="left") for axes in maps.axes]
    assert titles[:2] == [
        f"p = 1, K = {k}: Frobenius distance {value:.1f}" for k, value in zip((1, 8), shown, strict=True)
    ]


def measured(p: int = 1, n_initial: int = 2, **columns: list[float]) -> Sampled:
    """Classes 0 and 1 of task 0, or more, and as many of a later one, with numbers as given."""
    labels = range(2 * n_initial)
    names = [name for name in ClassDistances.__dataclass_fields__ if name not in columns]
    rows = {
        label: ClassDistances(**{c: v[label] for c, v in columns.items()}, **dict.fromkeys(names, 1.0))
        for label in labels
    }
    prepared = SimpleNamespace(scenario=[SimpleNamespace(classes=[*range(n_initial)])])
    return Sampled(p, prepared, dict.fromkeys(labels), [], rows)


@pytest.mark.parametrize(
    ("eight", "holds"), [([6, 6.5, 7, 6.5], True), ([8, 8.1, 8, 8.1], False), ([5, 8.5, 5, 8.5], True)]
)
def test_verdict_on_the_fall(eight, holds):
    one = measured(drawn_1=[10.0] * 4, drawn_8=eight, exact_1=[10.0] * 4, exact_8=[5.0] * 4)
    claim = _claim_fall(one)
    assert claim.holds is holds
    assert claim.measured.startswith(f"by {100 - 10 * np.mean(eight):.1f} % (95 %: ")
    assert claim.measured.endswith("by 50 %")


@pytest.mark.parametrize(
    ("second", "holds"), [([0.1, 0.11, 0.1, 0.11], True), ([0.3, 0.31, 0.3, 0.31], False), ([0.1, 0.3, 0.1, 0.3], None)]
)
def test_verdict_on_cover(second, holds):
    both = [
        measured(1, nearest_1=[0.2, 0.21, 0.2, 0.21], nearest_8=[0.1, 0.11, 0.1, 0.11]),
        measured(4, nearest_1=[0.2, 0.21, 0.2, 0.21], nearest_8=second),
    ]
    assert _claim_nearest(both).holds is holds


def apart(initial: tuple[int, ...], incremental: tuple[int, ...]) -> Claim:
    """The claim about classes of which all samples are the same: so many bits are set, and no other ever is."""
    one = measured(n_initial=len(initial))
    one.bits.update(
        (label, pack(np.tile(np.arange(64) < length, (3, 1)))) for label, length in enumerate((*initial, *incremental))
    )
    claim = _claim_apart([one])
    distances = [
        np.mean([np.sqrt(abs(a - b)) for a, b in combinations(places, 2)]) for places in (initial, incremental)
    ]
    assert f"{distances[0]:.2f} and {distances[1]:.2f} (p = 1: {np.subtract(*distances):+.1f}" in claim.measured
    return claim


@pytest.mark.parametrize(
    ("initial", "incremental", "holds"),
    [
        ((0, 20, 40, 60), (0, 5, 10, 16), True),  # 7.6 standard errors
        ((0, 5, 10, 16), (0, 20, 40, 60), False),
        ((0, 20, 40, 60), (0, 16, 30, 56), None),  # 0.6
        ((0, 20), (0, 5), None),  # a single distance each, of which nothing is known
    ],
)
def test_verdict_on_how_close_classes_are(initial, incremental, holds):
    assert apart(initial, incremental).holds is holds


def test_three_classes_say_less_than_twenty_parts_of_a_test_set():
    assert apart((0, 9, 49), (0, 5, 24)).holds is None  # 2.2 standard errors; Student's p is 0.16, with 2 degrees
