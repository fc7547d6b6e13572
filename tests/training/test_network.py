import pytest
import torch
from torch import nn

from bitreplay.errors import InputError
from bitreplay.training import TrainingOptions
from bitreplay.training._network import Network, build_network, phases_of


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

    plain = network(torch.zeros(1))
    torch.testing.assert_close(plain, network.head(features))
    network.binarize = True
    scores = network(torch.zeros(1))
    torch.testing.assert_close(scores, network.head(torch.floor(features.clamp(0, 1) * p) / p))
    scores.backward(upstream)
    torch.testing.assert_close(network.backbone.features.grad, upstream @ network.head.weight)  # saturated or not


def test_heaviside_widens_what_the_head_sees_and_is_on_from_the_beginning():
    network = built(torch.randn(4, 6), "heaviside", f=3)
    assert network.binarize
    assert network.head.in_features == 18
    network(torch.zeros(1)).sum().backward()
    assert network.binarizer.weight.grad.abs().sum() > 0


def test_phases():
    options = TrainingOptions(epochs=7, ste_epochs=3, learning_rate=0.4, ste_learning_rate=0.2)
    two = phases_of(options, "thermometer")
    assert [(phase.epochs, phase.learning_rate, phase.binarize) for phase in two] == [(7, 0.4, False), (3, 0.2, True)]
    [one] = phases_of(options, "heaviside")
    assert (one.epochs, one.binarize) == (7, True)
    assert [phase.binarize for phase in phases_of(options, "none")] == [False]
    assert len(phases_of(TrainingOptions(ste_epochs=0), "thermometer")) == 1


def test_unknown_binarizers_are_refused():
    with pytest.raises(InputError, match="thermometer, heaviside, native, none"):
        built(torch.zeros(1, 2), "sign")
