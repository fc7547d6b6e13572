"""How fast the 3x3 convolutions of a ResNet are trained, against torch's: layer by layer and in whole networks.

On maps of 2x2 the rival is what is faster than torch's: one dense matrix product, which networks that only run use.
Layers of stride 2 have twice as many outputs as inputs.
Both take turns in one process, forwards and backwards, so that a busy minute hits both; ratios count. The error is that
of outputs and of both gradients against torch in double precision, relative to the largest of them.

    python benchmarks/convolution.py --threads 1
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import conv2d

from bitreplay.backbones import ResNet
from bitreplay.backbones._convolution import Convolution3x3, Shortcut, dense_2x2
from bitreplay.evaluation import Provenance

LAYERS = [  # images, channels, size of the maps and stride
    *((128, 64, 32, 1), (128, 64, 16, 1), (128, 128, 16, 1), (128, 256, 8, 1), (128, 512, 4, 1), (128, 512, 2, 1)),
    *((128, 256, 6, 1), (128, 512, 3, 1), (128, 512, 1, 1), (128, 256, 4, 2), (128, 256, 3, 2)),
    *((64, 32, 12, 1), (64, 64, 6, 1), (64, 128, 3, 1), (64, 256, 2, 1), (64, 128, 3, 2)),
]
NETWORKS = {  # preset and image size: width, stride of the stem, images of a batch, pixels
    "full, 16 px": (64, 1, 128, 16),
    "full, 24 px": (64, 1, 128, 24),
    "full, 32 px": (64, 1, 128, 32),
    "cpu, 32 px": (48, 2, 128, 32),
    "medium, 24 px": (32, 2, 64, 24),
}


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).contiguous(memory_format=torch.channels_last)


def alternate(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Least seconds of each."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):
        for call, spent in zip((ours, theirs), times, strict=True):
            begun = time.perf_counter()
            call()
            spent.append(time.perf_counter() - begun)
    return min(times[0][1:]), min(times[1][1:])  # the first of each compiles and lays out


def layer_row(images: int, channels: int, size: int, stride: int, rounds: int) -> str:
    layer = Convolution3x3(channels, stride * channels, stride).to(memory_format=torch.channels_last)
    maps = draw(images, channels, size, size).requires_grad_()
    upstream = draw(images, stride * channels, -(-size // stride), -(-size // stride))
    way = layer._way(maps)

    def torchs(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return dense_2x2(x, weight) if (size, stride) == (2, 1) else conv2d(x, weight, stride=stride, padding=1)

    def found(call: Callable[..., torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
        x, weight = (t.detach().to(dtype).requires_grad_() for t in (maps, layer.weight))
        output = call(x, weight)
        return [output.detach(), *torch.autograd.grad(output, (x, weight), upstream.to(dtype))]

    name = f"{images} x {channels} channels of {size} x {size}" + (f", stride {stride}" if stride > 1 else "")
    if way is None:
        return f"{name:41}{'torch':>18}"
    exact = found(torchs, torch.float64)
    errors = [
        max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(found(call, torch.float32), exact, strict=True))
        for call in (way, torchs)
    ]
    ours, theirs = alternate(
        lambda: way(maps, layer.weight).backward(upstream),
        lambda: torchs(maps, layer.weight).backward(upstream),
        rounds,
    )
    times = f"{1e3 * ours:9.1f} ms{1e3 * theirs:9.1f} ms{theirs / ours:7.2f}x"
    return f"{name:41}{way.__name__:>18}{times}{errors[0]:10.0e}{errors[1]:10.0e}"


def plain_convolution(layer: Convolution3x3, maps: torch.Tensor) -> torch.Tensor:
    """Without any of this."""
    if maps.shape[2:] == (2, 2) and layer.stride == (1, 1):
        return dense_2x2(maps, layer.weight)
    return nn.Conv2d.forward(layer, maps)


def network_row(name: str, width: int, stride: int, images: int, size: int, rounds: int) -> str:
    network = ResNet(width=width, stem_stride=stride).to(memory_format=torch.channels_last).train()
    pixels = draw(images, 3, size, size)

    def plainly() -> None:
        chosen = Convolution3x3.forward, Shortcut.forward
        Convolution3x3.forward, Shortcut.forward = plain_convolution, nn.Conv2d.forward
        try:
            network(pixels).sum().backward()
        finally:
            Convolution3x3.forward, Shortcut.forward = chosen

    ours, theirs = alternate(lambda: network(pixels).sum().backward(), plainly, rounds)
    return f"{name:41}{images / ours:15.1f} images/s{images / theirs:9.1f} images/s{theirs / ours:7.2f}x"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    made = Provenance.now()
    lines = [f"{made.machine}, {made.date}: threads: {arguments.threads}, best of {arguments.rounds} rounds"]
    columns = f"{'way':>18}{'ours':>12}{'torch':>12}{'faster':>8}{'error':>10}{'torch':>10}"
    lines.append(f"{'layer, forwards and backwards':41}{columns}")
    lines += [layer_row(*layer, arguments.rounds) for layer in LAYERS]
    lines.append(f"{'network of preset':41}{'ours':>24}{'torch':>18}{'faster':>8}")
    lines += [network_row(name, *sizes, arguments.rounds) for name, sizes in NETWORKS.items()]
    text = "\n".join([f"python benchmarks/convolution.py --threads {arguments.threads}", *lines])
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
