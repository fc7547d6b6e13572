import pytest
from torch import nn

from bitreplay.backbones import BinaryVGG
from bitreplay.errors import InputError
from bitreplay.nn import BinaryClassifier, BinaryConv2d, SignBatchNorm, size_report

LARGE = {"widths": (128, 256, 512), "bottleneck": "stride"}


@pytest.mark.parametrize(
    ("options", "bits"),
    [({}, 1_028_032), (LARGE, 4_116_352), ({"n_features": 512}, 1_028_032 - 256 * 512 - 512 * 128 - 512 * 100)],
)
def test_the_published_sizes_come_out(options, bits):
    network = BinaryVGG(**options, batch_norm=False)
    classifier = BinaryClassifier(network.n_features, 100, duplicate=False)
    report = size_report(network, (3, 32, 32)) + size_report(classifier, (network.n_features,))
    assert report.bits == report.weight_bits == report.parameters == bits
    assert report.macs == report.binary_macs
    assert str(report).splitlines()[-2].split() == ["total", f"{bits:,}", f"{bits:,}", f"{report.macs:,}"]

    twice = BinaryClassifier(network.n_features, 100)  # a second weight for each input of the last layer
    assert (
        size_report(twice, (network.n_features,)).bits - size_report(classifier, (network.n_features,)).bits
        == (network.n_features + 128) * 100
    )


def test_what_is_left_of_batch_normalisation_is_counted_beside_the_weights():
    with_norm, without = (size_report(BinaryVGG(batch_norm=b), (3, 32, 32)) for b in (True, False))
    channels = 2 * (64 + 128 + 256) + 256 + 1024
    assert with_norm.weight_bits == without.bits
    assert with_norm.bits - without.bits == 17 * channels


def test_macs_and_bits_of_layers_of_all_kinds():
    network = nn.Sequential(
        BinaryConv2d(4, 8, 3, stride=2, padding=1, groups=2),
        SignBatchNorm(8),
        nn.Conv2d(8, 5, 1),
        nn.BatchNorm2d(5, affine=False),
        nn.Flatten(),
        nn.Linear(5 * 9, 2),
    )
    network.train()
    rows = size_report(network, (4, 5, 6)).rows
    assert network.training
    assert [(row.parameters, row.bits, row.macs, row.binary) for row in rows] == [
        (144, 144, 8 * 9 * 18, True),
        (8, 8 * 17, 0, False),
        (45, 45 * 32, 5 * 9 * 8, False),
        (10, 320, 0, False),
        (92, 92 * 32, 90, False),
    ]


def test_a_shape_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"\(3, 4\)"):
        size_report(nn.Linear(5, 2), (3, 4))
