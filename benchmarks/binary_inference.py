"""Packed inference of the fully binary network, against PyTorch in float32 on one thread: from bytes to the embedding.

Two forms of the PyTorch network are peers: the one that is trained, and one whose weights are plain convolutions' ±1
already, with ordinary batch normalisation. In both the first layer looks up what pixels add; a convolution of 255
channels would take ten times as long. What is packed gives the bits of the one that is trained, or there is no row.
"""

import copy

import numpy as np
import torch
from torch import nn

import timing
from bitreplay.backbones import BACKBONES, BinaryVGG, build_backbone
from bitreplay.nn import BinaryConv2d, BinaryLinear, SignBatchNorm, ThermometerConv2d, pack_network, sign
from timing import Row, alternate

SIZES = {
    "1 Mbit": {},
    "4.1 Mbit": {"widths": (128, 256, 512), "bottleneck": "stride"},
}
BATCHES = (1, 64)
REQUIRED = 1  # times PyTorch's speed


def network(**options: object) -> BinaryVGG:
    """A network with statistics in its batch normalisation, as after a training."""
    built = build_backbone("binary_vgg", generator=torch.Generator().manual_seed(0), **options)
    with torch.no_grad():
        built.train()(torch.rand(32, 3, 32, 32, generator=torch.Generator().manual_seed(1)))
    return built.eval().to(memory_format=torch.channels_last)


def with_plain_layers(trained: BinaryVGG) -> nn.Sequential:
    """The same network of torch's own layers, as far as there are any."""
    layers: list[nn.Module] = []
    for module in copy.deepcopy(trained):
        if isinstance(module, BinaryConv2d) and not isinstance(module, ThermometerConv2d):
            plain: nn.Module = nn.Conv2d(
                module.in_channels,
                module.out_channels,
                module.kernel_size,
                module.stride,
                module.padding,
                groups=module.groups,
                bias=False,
            )
            plain.weight.data = sign(module.weight.data)  # its padding is 0: other bits at the border, the same time
        elif isinstance(module, BinaryLinear):
            plain = nn.Linear(module.in_features, module.out_features, bias=False)
            plain.weight.data = sign(module.weight.data)
        elif isinstance(module, SignBatchNorm):
            plain = (nn.BatchNorm1d if isinstance(layers[-1], nn.Linear) else nn.BatchNorm2d)(module.num_features)
            plain.load_state_dict(module.state_dict())
        else:
            plain = module
        layers.append(plain)
    return nn.Sequential(*layers).eval().to(memory_format=torch.channels_last)


def compare(size: str, n: int, trained: BinaryVGG, *, seconds: float) -> list[Row]:
    prepare = BACKBONES["binary_vgg"].preprocessing
    plain, packed = with_plain_layers(trained), pack_network(trained)
    images = np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    pixels = torch.from_numpy(images)
    with torch.inference_mode():
        times = alternate(
            {
                "packed": lambda: packed(images),
                "trained": lambda: trained(prepare(pixels)),
                "plain": lambda: plain(prepare(pixels)),
            },
            seconds=seconds,
        )
    if not np.array_equal(times["packed"].result.unpack(), times["trained"].result.numpy() > 0):
        raise AssertionError(f"packed and PyTorch bits differ: {size}, batch of {n}")
    what, ours = f"binary network of {size}, batch of {n}, packed", times["packed"].best
    return [
        Row(what, ours, "s", "faster", REQUIRED, "PyTorch float32", times["trained"].best),
        Row(what, ours, "s", "faster", REQUIRED, "PyTorch float32, plain layers", times["plain"].best),
    ]


def rows(short: bool) -> list[Row]:
    seconds = 1.0 if short else 5.0
    return [
        row
        for size, options in SIZES.items()
        for n in BATCHES
        for row in compare(size, n, network(**options), seconds=seconds)
    ]


if __name__ == "__main__":
    timing.main(__doc__, rows)
