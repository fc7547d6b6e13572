"""Figure 1: frequencies, what the class explains, likelihoods and the order of clustering, by their definitions."""

from dataclasses import replace

import numpy as np
import pytest

from bitreplay.bits import pack
from bitreplay.errors import InputError
from bitreplay.experiments import Request
from bitreplay.experiments._class_bits import class_bits
from bitreplay.experiments._motivation import _claims, explained_by_class, log_likelihoods, motivation
from bitreplay.experiments._motivation_plots import clustered
from bitreplay.experiments._networks import binary_network_of
from bitreplay.mixture import Mixture
from bitreplay.runs import Prepared, Setting
from tests.experiments.conftest import CLASSES


def test_what_the_class_explains_is_the_variance_between_classes():
    rng = np.random.default_rng(0)
    bits = rng.random((5, 200, 12)) < rng.random((5, 1, 12))
    bits[:, :, 0] = True  # constant: nothing to explain
    frequencies = bits.mean(axis=1)
    between = frequencies.var(axis=0)[1:] / bits.reshape(-1, 12).var(axis=0)[1:]
    np.testing.assert_allclose(explained_by_class(frequencies), between)


def test_likelihoods_are_those_of_smoothed_prototypes():
    mixture = Mixture(np.array([[0.0, 0.5], [1.0, 0.25]], np.float32), np.array([0.25, 0.75]), 40)
    likelihood = log_likelihoods(mixture, pack([[1, 0]]))
    first = 0.5 / 11 * (1 - 5.5 / 11)  # 10 samples: never set; 5 times
    second = 30.5 / 31 * (1 - 8 / 31)  # 30 samples: always; 7.5 times
    assert likelihood[0] == pytest.approx(np.log(0.25 * first + 0.75 * second))


def test_clustering_only_reorders_and_puts_like_beside_like():
    rng = np.random.default_rng(1)
    centres = rng.random((3, 40)) < 0.5
    which = rng.integers(0, 3, 30)
    rows = centres[which] ^ (rng.random((30, 40)) < 0.05)
    order = clustered(rows)
    assert sorted(order) == list(range(30))
    assert np.count_nonzero(np.diff(which[order])) == 2  # every cluster in one piece
    assert clustered(rows[:1]).tolist() == [0]


def test_the_figure_in_miniature(small_request):
    request = small_request()
    outcome = motivation(request)
    by_class, histogram, correlation = outcome.tables
    bits = class_bits(Prepared(Setting(**request.setting)))
    frequencies = np.stack([rows.unpack().mean(axis=0) for rows in bits.values()])
    assert len(by_class.rows) == CLASSES
    assert [row[1] for row in by_class.rows] == ["in task 0"] * 4 + ["later"] * 4
    steady = ((frequencies <= 0.1) | (frequencies >= 0.9)).mean(axis=1)
    assert [row[2] for row in by_class.rows] == pytest.approx(steady.tolist())
    flips = [np.mean(a != b) for rows in bits.values() for a in [rows.unpack()] for b in [rows.unpack()[::-1]]]
    assert np.mean([row[4] for row in by_class.rows]) == pytest.approx(np.mean(flips), rel=0.2)
    assert sum(row[2] for row in histogram.rows) == pytest.approx(1)
    middle = ((frequencies >= 0.5) & (frequencies < 0.55)).mean()
    assert histogram.rows[10][2] == pytest.approx(middle)

    frequency_map, prototype, clusters = (drawing.figure for drawing in outcome.drawings)
    drawn = np.asarray(frequency_map.axes[0].images[0].get_array())
    np.testing.assert_allclose(np.sort(drawn, axis=1), np.sort(100 * frequencies, axis=1))
    shown = frequencies[4]
    parts = [np.asarray(axes.images[0].get_array()) for axes in prototype.axes[:3]]
    assert set(np.unique(parts[2])) <= {0, 100}
    assert set(parts[1][0]) <= set(100 * shown)
    samples = [*bits.values()][4].unpack().astype(float)
    varying = samples[:, np.ptp(samples, axis=0) > 0]
    real = np.asarray(clusters.axes[0].images[0].get_array(), dtype=float)
    values = np.linalg.svd(real, compute_uv=False)  # the same in whatever order rows and columns are
    np.testing.assert_allclose(values, np.linalg.svd(varying, compute_uv=False), atol=1e-9)
    pairs = np.abs(np.corrcoef(varying.T))[np.triu_indices(varying.shape[1], 1)]
    assert correlation.rows[0][2] == pytest.approx(pairs.mean())
    assert (real[1:] != real[:-1]).mean() < (varying[1:] != varying[:-1]).mean()  # neighbours are more alike


def test_the_figure_of_the_binary_network(small_request, tmp_path):
    widths = "binary_vgg:widths=16-16,groups=1-1,n_features=24"
    request = small_request(encoder=widths, preset="full_binary", training={"epochs": 1})
    outcome = motivation(request, binary=True)
    setting = Setting(**request.setting)
    bits = class_bits(Prepared(setting))
    frequencies = np.stack([rows.unpack().mean(axis=0) for rows in bits.values()])
    assert frequencies.shape == (CLASSES, 24)
    drawn = np.asarray(outcome.drawings[0].figure.axes[0].images[0].get_array())
    np.testing.assert_allclose(np.sort(drawn, axis=1), np.sort(100 * frequencies, axis=1))
    assert "fully binary VGG" in outcome.remarks[0]

    setting.trained(setting.scenario(), folder=tmp_path / "binary", progress=False)
    given = Request("full", tmp_path / "runs", network=tmp_path / "binary")
    assert binary_network_of(given)["encoder"] == str(tmp_path / "binary")
    plain = Setting(**small_request().setting)
    plain.trained(plain.scenario(), folder=tmp_path / "thermometer", progress=False)
    with pytest.raises(InputError, match="needs a fully binary network"):
        motivation(replace(given, network=tmp_path / "thermometer"), binary=True)


@pytest.mark.parametrize(
    ("classes", "gain", "verdicts"),
    [
        ([0.1, 0.9], [3.0, 3.5], [True, True]),
        ([0.5, 0.5], [-3.0, -3.5], [False, False]),
        ([0.1, 0.9], [3, -3], [True, None]),
        ([0.1, 0.9], [3, 8], [True, None]),  # 2.2 standard errors of two classes, and 95 % are 12.7
    ],
)
def test_verdicts_follow_from_the_numbers(classes, gain, verdicts):
    frequencies = np.array([[low] * 6 + [0.5 + 0.01 * low] for low in classes])
    bits = {label: pack(np.zeros((50, 7), np.uint8)) for label in range(2)}
    likelihoods = np.array([[-20.0, -20.0 + by] for by in gain])
    claims = _claims(bits, frequencies, likelihoods)
    assert [claim.holds for claim in claims] == verdicts
    assert f"{np.mean(gain):+.1f} nats" in claims[1].measured
