import pytest
import torch
from torch import nn

from bitreplay.backbones import ResNet
from bitreplay.errors import InputError


def torchvision_shapes(*, stem: int = 7) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors in torchvision's resnet18 `state_dict`, written down from its source."""
    shapes: dict[str, tuple[int, ...]] = {"conv1.weight": (64, 3, stem, stem)}

    def normalisation(name: str, channels: int) -> None:
        for tensor in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.{tensor}"] = (channels,)
        shapes[f"{name}.num_batches_tracked"] = ()

    normalisation("bn1", 64)
    for stage, channels in enumerate((64, 128, 256, 512), start=1):
        before = max(64, channels // 2)
        for block in (0, 1):
            name = f"layer{stage}.{block}"
            shapes[f"{name}.conv1.weight"] = (channels, before if block == 0 else channels, 3, 3)
            normalisation(f"{name}.bn1", channels)
            shapes[f"{name}.conv2.weight"] = (channels, channels, 3, 3)
            normalisation(f"{name}.bn2", channels)
        if stage > 1:
            shapes[f"layer{stage}.0.downsample.0.weight"] = (channels, before, 1, 1)
            normalisation(f"layer{stage}.0.downsample.1", channels)
    return shapes | {"fc.weight": (1000, 512), "fc.bias": (1000,)}


def checkpoint(shapes: dict[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    state = {name: torch.rand(shape, generator=generator) for name, shape in shapes.items()}
    return {
        name: value.long() if name.endswith("num_batches_tracked") else value * 0.05 for name, value in state.items()
    }


@pytest.mark.parametrize(("stem", "kernel"), [("small", 3), ("imagenet", 7)])
def test_has_exactly_the_parameters_of_torchvision_and_loads_its_checkpoints(stem, kernel):
    shapes = torchvision_shapes(stem=kernel)
    network = ResNet(stem=stem)
    own = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    assert own == {name: shape for name, shape in shapes.items() if not name.startswith("fc.")}
    state = checkpoint(shapes)
    network.load_torchvision(state)
    assert torch.equal(network.layer3[1].conv2.weight, state["layer3.1.conv2.weight"])


def test_refuses_a_checkpoint_of_another_network():
    with pytest.raises(InputError, match="do not match"):
        ResNet(width=32).load_torchvision(checkpoint(torchvision_shapes(stem=3)))


def test_stem_strides_and_maximum_pooling_set_the_size_of_the_maps():
    images = torch.rand(2, 3, 32, 32)
    sizes = {}
    for name, options in (
        ("stride 1", {}),
        ("stride 2", {"stem_stride": 2}),
        ("imagenet", {"stem": "imagenet"}),
    ):
        network = ResNet(width=8, **options)
        network.layer1.register_forward_hook(lambda *call, name=name: sizes.update({name: call[2].shape[2]}))
        assert network(images).shape == (2, 64)
    assert sizes == {"stride 1": 32, "stride 2": 16, "imagenet": 8}


def test_blocks_make_other_residual_networks():
    n_convolutions = sum(isinstance(m, nn.Conv2d) for m in ResNet(blocks=(3, 4, 6, 3), width=8).modules())
    assert n_convolutions == 34 - 1 + 3  # of ResNet-34, all but its linear layer, and three shortcuts


def test_features_are_not_negative():
    assert ResNet(width=8)(torch.randn(8, 3, 16, 16)).min() >= 0


@pytest.mark.parametrize("options", [{"blocks": (2, 2)}, {"width": 0}, {"stem": "large"}, {"stem_stride": 0}])
def test_bad_options_are_named(options):
    with pytest.raises(InputError, match=next(iter(options))):
        ResNet(**options)
