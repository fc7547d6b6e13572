"""Binarizers against the definitions of the paper, their gradients, and their way through a file."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bitreplay import Heaviside, Thermometer
from bitreplay.binarizers import Identity, Native, rebuild
from bitreplay.errors import InputError

# Fixed examples, no deadline and no hurry: a busy machine must not fail a test.
steady = settings(derandomize=True, deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
features = hnp.arrays(np.float32, (4, 3), elements=st.floats(-1, 2, width=32))


@steady
@given(features, st.sampled_from([1, 2, 4, 8]))
def test_thermometer_is_the_papers_code(values, p):
    # n = floor(clip(z) p), bit p*i + j set iff n_i > j; powers of two, so that z * p is exact.
    bits = Thermometer(p).encode(torch.from_numpy(values)).numpy().reshape(4, 3, p)
    n = np.floor(np.clip(values, 0, 1) * p)
    for j in range(p):
        assert np.array_equal(bits[:, :, j], (n > j).astype(np.float32))


@steady
@given(features, st.sampled_from([1, 2, 3, 5]))
def test_thermometer_bits_are_ordered_and_their_mean_is_decoded(values, p):
    thermometer = Thermometer(p, rounding="nearest")
    bits = thermometer.encode(torch.from_numpy(values))
    by_threshold = bits.reshape(4, 3, p)
    assert (by_threshold[..., :-1] >= by_threshold[..., 1:]).all()
    decoded = thermometer.decode(bits).numpy()
    assert np.allclose(decoded, by_threshold.mean(-1))
    # Thresholds at (j + 1/2) / p round to the nearest of p + 1 levels.
    assert np.abs(decoded - np.clip(values, 0, 1)).max() <= 0.5 / p + 1e-6


def test_one_bit_thresholds():
    z = torch.tensor([[0.49, 0.5, 0.99, 1.0]])
    assert Thermometer(1).encode(z).tolist() == [[0, 0, 0, 1]]
    assert Thermometer(1, rounding="nearest").encode(z).tolist() == [[0, 1, 1, 1]]


def test_calibrated_thresholds_split_every_feature_evenly():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(9000, 5)) * [1, 10, 0.1, 3, 7] + [0, -5, 2, 100, -3]).astype(np.float32)
    thermometer = Thermometer(2, calibrated=True)
    thermometer.calibrate(x)
    bits = thermometer.pack(x).unpack().reshape(-1, 5, 2)
    assert np.abs(bits.mean(0) - [2 / 3, 1 / 3]).max() < 1e-3


def test_calibrated_comparison_is_strict_so_that_zeros_after_a_relu_stay_zero():
    x = np.array([[0, 1], [0, 2], [0, 3], [5, 4]], dtype=np.float32)
    thermometer = Thermometer(calibrated=True)
    thermometer.calibrate(x)
    assert thermometer.pack(x).unpack()[:, 0].tolist() == [0, 0, 0, 1]


def test_packing_in_blocks_equals_packing_at_once(monkeypatch):
    x = np.random.default_rng(0).random((50, 7), dtype=np.float32)
    thermometer = Thermometer(3)
    whole = thermometer.pack(x)
    monkeypatch.setattr("bitreplay.binarizers._binarizer.BLOCK", 100)
    assert thermometer.pack(x) == whole


def test_thermometer_passes_the_identity_gradient():
    z = torch.tensor([[-0.5, 0.2, 0.7, 1.5]], requires_grad=True)
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    out = Thermometer(4)(z)
    (out * weight).sum().backward()
    assert out.tolist() == [[0.0, 0.0, 0.5, 1.0]]
    assert z.grad.tolist() == [[1, 2, 3, 4]]


def test_masked_gradient_stops_outside_the_unit_interval():
    z = torch.tensor([[-0.5, 0.0, 1.0, 1.5]], requires_grad=True)
    Thermometer(4, mask_gradient=True)(z).sum().backward()
    assert z.grad.tolist() == [[0, 1, 1, 0]]


def test_second_phase_training_adapts_features_to_the_code():
    # A linear encoder in front of a one-bit thermometer learns to solve a problem that its untrained bits do not.
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(400, 8, generator=generator)
    y = (x[:, 0] > x[:, 1]).long()
    encoder, head = torch.nn.Linear(8, 16), torch.nn.Linear(16, 2)
    with torch.no_grad():
        for parameter in [*encoder.parameters(), *head.parameters()]:
            parameter.uniform_(-0.3, 0.3, generator=generator)
    binarizer = Thermometer(1)

    def accuracy():
        return (head(binarizer(encoder(x))).argmax(1) == y).float().mean().item()

    before = accuracy()
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(head(binarizer(encoder(x))), y).backward()
        optimizer.step()
    assert before < 0.6
    assert accuracy() > 0.8


def test_heaviside_is_the_sign_of_its_projection_on_vectors_and_maps():
    binarizer = Heaviside(3, f=2, generator=torch.Generator().manual_seed(1))
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(2))
    expected = (x @ binarizer.weight.T + binarizer.bias >= 0).float()
    assert torch.equal(binarizer(x), expected)
    assert torch.equal(binarizer.encode(x), expected)
    maps = x.reshape(2, 3, 3).permute(0, 2, 1)[..., None]  # (N, d, height, width)
    assert torch.equal(binarizer(maps).squeeze(-1).permute(0, 2, 1).reshape(6, 6), expected)


def test_heaviside_gradient_reaches_weights_and_features_within_the_clip():
    binarizer = Heaviside(2, f=1)
    with torch.no_grad():
        binarizer.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    x = torch.tensor([[0.5, -3.0]], requires_grad=True)
    binarizer(x).sum().backward()
    assert x.grad.tolist() == [[1, 0]]
    assert binarizer.weight.grad.tolist() == [[0.5, -3.0], [0, 0]]


def test_heaviside_initial_weights_come_from_the_generator():
    first, second = (Heaviside(4, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first.weight, second.weight)


@pytest.mark.parametrize(
    "binarizer", [Thermometer(3), Thermometer(2, calibrated=True), Heaviside(5, f=2), Identity()], ids=lambda b: b.kind
)
def test_rebuilt_binarizer_makes_the_same_bits(binarizer):
    x = np.random.default_rng(0).random((20, 5), dtype=np.float32)
    x = x.round() if isinstance(binarizer, Identity) else x
    binarizer.calibrate(x)
    again = rebuild(*binarizer.describe())
    assert again.pack(x) == binarizer.pack(x)
    assert again.fingerprint(5, "net") == binarizer.fingerprint(5, "net")


def test_fingerprint_tells_thresholds_encoders_and_rules_apart():
    x = np.random.default_rng(0).random((20, 5), dtype=np.float32)
    calibrated, other = Thermometer(1, calibrated=True), Thermometer(1, calibrated=True)
    calibrated.calibrate(x)
    other.calibrate(2 * x)
    prints = {
        Thermometer(1).fingerprint(5),
        Thermometer(1, rounding="nearest").fingerprint(5),
        Thermometer(1).fingerprint(5, "resnet18"),
        calibrated.fingerprint(5),
        other.fingerprint(5),
        Heaviside(5, f=1).fingerprint(5),
        Identity().fingerprint(5),
    }
    assert len(prints) == 7


@pytest.mark.parametrize(
    "make",
    [
        lambda: Thermometer(0),
        lambda: Thermometer(1.5),
        lambda: Thermometer(True),
        lambda: Thermometer(rounding="up"),
        lambda: Heaviside(0),
        lambda: Heaviside(3, f=0),
        lambda: Heaviside(3)(torch.zeros(2, 4)),
        lambda: Thermometer(calibrated=True).encode(torch.zeros(2, 4)),
        lambda: Identity().pack(np.array([[0.5, 1.0]])),
        lambda: Thermometer().pack(np.array([["a", "b"]])),
        lambda: Thermometer().pack(np.zeros(3)),
        lambda: Thermometer(calibrated=True).calibrate(np.array([["a", "b"]])),
    ],
)
def test_bad_input_is_refused(make):
    with pytest.raises(InputError):
        make()


def test_float64_features_reach_their_thresholds():
    values = torch.arange(1, 11, dtype=torch.float64) / 10
    assert Thermometer(10).encode(values[:, None]).sum(1).tolist() == list(range(1, 11))


def test_calibrated_thresholds_travel_in_a_state_dict():
    x = np.random.default_rng(0).random((20, 5), dtype=np.float32)
    network = torch.nn.Sequential(torch.nn.Linear(5, 5), Thermometer(2, calibrated=True))
    network[1].calibrate(x)
    fresh = torch.nn.Sequential(torch.nn.Linear(5, 5), Thermometer(2, calibrated=True))
    fresh.load_state_dict(network.state_dict())
    assert torch.equal(fresh[1].encode(torch.from_numpy(x)), network[1].encode(torch.from_numpy(x)))


def test_heaviside_takes_maps_of_any_precision():
    assert Heaviside(3, f=1)(torch.zeros(2, 3, 4, 4, dtype=torch.float64)).shape == (2, 3, 4, 4)


def test_native_bits_are_the_signs_of_features_and_g_sees_signs():
    binarizer = Native()
    features = torch.tensor([[1.0, -1.0, 1.0, 0.0, -0.2]], requires_grad=True)
    seen = binarizer(features)
    assert seen.tolist() == [[1, -1, 1, 1, -1]]
    seen.sum().backward()
    assert features.grad.tolist() == [[1] * 5]
    bits = binarizer.pack(features.detach().numpy())
    assert bits.unpack().tolist() == [[1, 0, 1, 1, 0]]
    assert torch.equal(binarizer.decode(torch.from_numpy(bits.unpack(np.float32))), seen.detach())
    again = rebuild(*binarizer.describe())
    assert isinstance(again, Native)
    assert again.fingerprint(5) == binarizer.fingerprint(5) != Identity().fingerprint(5)


def test_bits_of_calibrated_thresholds_do_not_depend_on_the_type_of_the_features():
    values = np.random.default_rng(0).integers(0, 11, (500, 20)) / 10  # 0.7 is more than 0.7 in single precision
    thermometer = Thermometer(2, calibrated=True).calibrate(values)
    single = thermometer.pack(values.astype(np.float32)).data
    assert np.array_equal(thermometer.pack(values).data, single)
    assert np.array_equal(
        thermometer.encode(torch.from_numpy(values)), thermometer.encode(torch.from_numpy(values).float())
    )
    thermometer.pack(np.full((1, 20), 1e300))  # infinity in single precision, without a warning
