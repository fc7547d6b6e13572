"""QuickNet of larq-zoo's version 0.2: an older form of `_quicknet.py`, with a tap whose features are bits.

Like there, F ends in the middle of the network and the tail is a G that learns new classes. But the tap is the input of
a binary convolution, so features are ±1 already and need no thresholds. Weights come as arrays by name, from a file
decoded from the compute engine's model; there, every batch normalisation is a factor and an offset per channel.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bitreplay._floor.arguments import integer
from bitreplay._floor.folders import DATA, data_root
from bitreplay.backbones._quicknet import CLIP, Average, ResidualBlock, SameConv2d
from bitreplay.backbones._tapped import TappedNetwork
from bitreplay.errors import FileFormatError, InputError
from bitreplay.nn import BinaryConv2d, sign

V02_FILE = "quicknet_v02.npz"
LATENT = 0.1  # ours: the file has signs only; with Adam's rate of 1e-3, a hundred steps turn a weight of this size
HEADER = 4096  # bytes that an array in the file may need besides its values


class QuickNetV02(TappedNetwork):
    """QuickNet v0.2 from images to the signs that a binary convolution of its last section sees.

    Parameters
    ----------
    blocks : sequence of 4 int
        Residual blocks of the four sections. Between two of them, a binary convolution of stride 2 doubles the
        channels.
    width : int
        Channels of the first section, a multiple of 8.
    tap : int
        Which of the last section's convolutions: 1 is the first, and the whole section follows the tap.
    image_size : int
        Height and width of the images, a multiple of 32.
    n_classes : int
        Classes of the last layer, which only `whole` uses.

    Attributes
    ----------
    n_features : int
        With 512 channels 25088 at 224 pixels, 8192 at 128.

    Examples
    --------
    >>> network = QuickNetV02((1, 1, 1, 2), width=8, tap=2, image_size=64).eval()
    >>> features = network(torch.randn(2, 3, 64, 64))
    >>> features.shape, bool((features.abs() == 1).all()), network.shape
    (torch.Size([2, 256]), True, (64, 2, 2))
    >>> network.tail(256, 5).eval()(features).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        blocks: Sequence[int] = (2, 2, 3, 3),
        width: int = 64,
        *,
        tap: int = 1,  # as in sec. 5.1, where G is the last section
        image_size: int = 224,  # larq-zoo
        n_classes: int = 1000,  # ImageNet
    ) -> None:
        super().__init__()
        if len(blocks) != 4 or any(not isinstance(count, int) or count < 1 for count in blocks):
            raise InputError(f"blocks must be four positive integers; got {blocks!r}")
        if not isinstance(width, int) or width < 8 or width % 8:
            raise InputError(f"width must be a positive multiple of 8; got {width!r}")
        if not isinstance(tap, int) or not 1 <= tap <= blocks[3]:
            raise InputError(f"tap must be one of the last section's convolutions, 1 to {blocks[3]}; got {tap!r}")
        if not isinstance(image_size, int) or image_size < 32 or image_size % 32:
            raise InputError(f"image_size must be a positive multiple of 32; got {image_size!r}")
        integer("n_classes", n_classes, 1)
        layers: OrderedDict[str, nn.Module] = OrderedDict(stem=_stem(width))
        channels = width
        for section, count in enumerate(blocks, start=1):
            if section > 1:
                layers[f"widen_{section}"] = Widen(channels)
                channels *= 2
            for block in range(1, count + 1):
                layers[f"block_{section}_{block}"] = ResidualBlock(channels, Scale(channels))
        layers["average"] = Average()
        self.layers = nn.Sequential(layers)
        self.dense = nn.Linear(channels, n_classes)
        self.tap, self.image_size = tap, image_size
        self.shape = (channels, image_size // 32, image_size // 32)
        self.n_features = math.prod(self.shape)

    def _cut(self) -> int:
        return [name for name, _ in self.layers.named_children()].index(f"block_4_{self.tap}")

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Signs (N, n_features) of the maps at the tap, for images (N, 3, image_size, image_size)."""
        return sign(super().forward(images))


class Scale(nn.Module):
    """A factor and an offset per channel: batch normalisation whose statistics were folded in."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return str(len(self.weight))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """The scaled maps."""
        return torch.addcmul(self.bias[:, None, None], maps, self.weight[:, None, None])


class Widen(nn.Module):
    """Maps of half the size and twice the channels: the pooled maps, and the same with a binary convolution added."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale = Scale(channels)
        self.convolution = BinaryConv2d(channels, channels, 3, stride=2, clip=CLIP, binarize_input=False)
        self.normalise = Scale(channels)

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """The wider maps; height and width must be even, and are padded with +1 on the right and at the bottom."""
        pooled: torch.Tensor = self.scale(nn.functional.max_pool2d(maps, 2))
        signs = nn.functional.pad(sign(maps, CLIP), (0, 1, 0, 1), value=1.0)
        return torch.cat([pooled, pooled + self.normalise(torch.relu(self.convolution(signs)))], 1)


def _stem(width: int) -> nn.Sequential:
    """Maps of a quarter of the image's size, in floating point."""
    narrow = width // 8
    return nn.Sequential(
        SameConv2d(3, narrow, bias=True),
        SameConv2d(narrow, width, groups=narrow, bias=True),
        nn.ReLU(),
        Scale(width),
    )


# ---------------------------------------------------------------------- weights


def quicknet_v02(
    weights: str | None = "published",
    *,
    blocks: Sequence[int] = (2, 2, 3, 3),
    width: int = 64,
    tap: int = 1,
    image_size: int = 224,
    n_classes: int = 1000,
) -> QuickNetV02:
    """QuickNet v0.2.

    Parameters
    ----------
    weights : str or None
        A `.npz` file (docs/quicknet.md lists its arrays); "published" for `$BITREPLAY_DATA/quicknet/quicknet_v02.npz`;
        or None for random weights.
    blocks, width, tap, image_size, n_classes
        As of :class:`QuickNetV02`.
    """
    network = QuickNetV02(blocks, width, tap=tap, image_size=image_size, n_classes=n_classes)
    if weights is not None:
        load_arrays(network, _published() if weights == "published" else weights)
        network.freeze_features()
    return network


def missing_v02() -> str | None:
    """Where the weights are expected; None if they are there."""
    root = data_root()
    if root is not None and (root / "quicknet" / V02_FILE).is_file():
        return None
    place = str(root / "quicknet") if root else f"${DATA} is not set: your data folder"
    return f"the weights of quicknet_v02 are missing: put {V02_FILE} into ${DATA}/quicknet ({place})"


def _published() -> Path:
    if missing := missing_v02():
        raise InputError(missing)
    root = data_root()
    assert root is not None
    return root / "quicknet" / V02_FILE


def load_arrays(network: QuickNetV02, path: str | os.PathLike[str]) -> None:
    """Copy the arrays of a file into a network; nothing is executed, and nothing is changed if it does not match."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    values: list[tuple[torch.Tensor, torch.Tensor]] = []
    try:
        with np.load(path, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise FileFormatError(f"{path} is not an .npz file: it holds a single array")
            for name, target, binary in _targets(network):
                values.append((target, _read(file, name, target, binary, path)))
    except FileFormatError:
        raise
    except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"{path} is not a file of QuickNet v0.2's weights: {error}") from None
    with torch.no_grad():
        for target, value in values:
            target.copy_(value)


def _targets(network: QuickNetV02) -> Iterator[tuple[str, torch.Tensor, bool]]:
    """The file's name of every tensor, and whether it holds signs; convolutions are counted through the network."""
    stem: nn.Sequential = network.layers.stem  # type: ignore[assignment]
    yield from _named("stem_conv", stem[0])
    yield from _named("stem_dwconv", stem[1])
    yield from _named("bn00", stem[3])
    convolutions = scales = 0
    for layer in network.layers:
        if isinstance(layer, Widen):
            scales += 1
            yield from _named(f"bn{scales:02d}", layer.scale)
        if isinstance(layer, Widen | ResidualBlock):
            yield f"bconv{convolutions:02d}.kernel", layer.convolution.weight, True
            yield f"bconv{convolutions:02d}.mult", layer.normalise.weight, False  # type: ignore[misc]
            yield f"bconv{convolutions:02d}.bias", layer.normalise.bias, False  # type: ignore[misc]
            convolutions += 1
    yield from _named("dense", network.dense)


def _named(name: str, layer: nn.Module) -> Iterator[tuple[str, torch.Tensor, bool]]:
    first, second = ("scale", "shift") if isinstance(layer, Scale) else ("kernel", "bias")
    yield f"{name}.{first}", layer.get_parameter("weight"), False
    yield f"{name}.{second}", layer.get_parameter("bias"), False


def _read(file: np.lib.npyio.NpzFile, name: str, target: torch.Tensor, binary: bool, path: Path) -> torch.Tensor:
    """An array in torch's layout; its size is looked at before it is read."""
    if name not in file.files:
        raise FileFormatError(f"{path} does not match this network: it has no {name}")
    depthwise = name == "stem_dwconv.kernel"  # 1 x height x width x channels; others begin with the outputs
    shape = tuple(target.shape)
    if len(shape) == 4:
        shape = (1, *shape[2:], shape[0]) if depthwise else (shape[0], *shape[2:], shape[1])
    assert file.zip is not None
    if file.zip.getinfo(f"{name}.npy").file_size > HEADER + 8 * target.numel():
        raise FileFormatError(f"{path} does not match this network: {name} is larger than {shape}")
    array = file[name]
    if array.shape != shape or array.dtype.kind not in "if":
        raise FileFormatError(
            f"{path} does not match this network: {name} is {array.dtype} of shape {array.shape}, expected {shape}"
        )
    value = torch.from_numpy(np.array(array, dtype=np.float32))
    if not torch.isfinite(value).all() or (binary and not (value.abs() == 1).all()):
        raise FileFormatError(f"{path} is damaged: {name} has values that are not {'±1' if binary else 'finite'}")
    if value.ndim == 4:
        value = value.permute(3, 0, 1, 2) if depthwise else value.permute(0, 3, 1, 2)
    return LATENT * value if binary else value
