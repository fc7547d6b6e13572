from dataclasses import replace

import pytest
import torch
from torch import nn

from bitreplay.errors import InputError
from bitreplay.training import PRESETS, TrainingOptions
from bitreplay.training._network import Network, Phase, build_network, phases_of


class Given(nn.Module):
    """A backbone whose features are its parameter: their gradient can be read off."""

    def __init__(self, features: torch.Tensor) -> None:
        super().__init__()
        self.features = nn.Parameter(features)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.features


def built(features: torch.Tensor, binarizer: str, **options: int) -> Network:
    generator = torch.Generator().manual_seed(0)
    made = {"p": 1, "f": 2, **options}
    return build_network(Given(features), features.shape[1], 3, binarizer, **made, generator=generator)


@pytest.mark.parametrize("p", [1, 4])
def test_phase_2_gives_the_head_coded_features_and_the_backbone_the_heads_gradient(p):
    features = torch.tensor([[-0.5, 0.3, 0.99, 1.0, 2.5]])
    network = built(features, "thermometer", p=p)
    upstream = torch.tensor([[1.0, -2.0, 0.5]])

    plain = built(features, "none")
    torch.testing.assert_close(plain(torch.zeros(1)), plain.head(features))
    torch.testing.assert_close(plain.head.weight, network.head.weight)  # a thermometer draws nothing
    scores = network(torch.zeros(1))
    torch.testing.assert_close(scores, network.head(torch.floor(features.clamp(0, 1) * p) / p))
    scores.backward(upstream)
    torch.testing.assert_close(network.backbone.features.grad, upstream @ network.head.weight)  # saturated or not


def test_heaviside_widens_what_the_head_sees_and_is_on_from_the_beginning():
    network = built(torch.randn(4, 6), "heaviside", f=3)
    assert network.head.in_features == 18
    network(torch.zeros(1)).sum().backward()
    assert network.binarizer.weight.grad.abs().sum() > 0


def test_phases():
    options = TrainingOptions(epochs=7, ste_epochs=3, learning_rate=0.4, ste_learning_rate=0.2)
    plain = Phase("plain", 0, 7, 0.4, "steps", "none")
    second = Phase("straight_through", 1, 3, 0.2, "cosine", "thermometer")
    assert phases_of(options, "thermometer") == (plain, second)
    assert phases_of(options, "none") == (plain,)
    assert phases_of(replace(options, continued=True), "none") == (
        plain,
        replace(second, name="continued", binarizer="none"),
    )
    without = phases_of(replace(options, ste_epochs=0), "thermometer")
    assert [(phase.epochs, phase.binarizer) for phase in without] == [(7, "none"), (0, "thermometer")]


def test_all_binarizers_that_are_trained_get_as_many_epochs():
    for name, options in PRESETS.items():
        epochs = {
            kind: sum(phase.epochs for phase in phases_of(options, kind)) for kind in ("thermometer", "heaviside")
        }
        assert epochs["thermometer"] == epochs["heaviside"] == options.epochs + options.ste_epochs, name
    assert [phase.epochs for phase in phases_of(PRESETS["cpu_binary"], "native")] == [20]


def test_every_second_phase_anneals_to_zero():
    for options in PRESETS.values():
        phase = phases_of(options, "thermometer")[1]
        end = options.rate_at(phase.schedule, phase.learning_rate, phase.epochs - 1e-6, phase.epochs)
        assert end < 1e-6 * phase.learning_rate


def test_unknown_binarizers_are_refused():
    with pytest.raises(InputError, match="thermometer, heaviside, native, none"):
        built(torch.zeros(1, 2), "sign")
