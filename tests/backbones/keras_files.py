"""Files of weights as Keras saves them, written from networks of ours."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from bitreplay.nn import BinaryConv2d


def keras_layers(network: nn.Module) -> list[list[np.ndarray]]:
    """The weights of every layer in Keras' layout: kernels as height, width, input, output."""
    layers = []
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | BinaryConv2d):
            kernel = layer.weight.detach().numpy()
            layers.append([kernel.transpose((2, 3, 0, 1) if layer.groups > 1 else (2, 3, 1, 0))])
        elif isinstance(layer, nn.BatchNorm2d):
            values = [layer.weight, layer.bias, layer.running_mean, layer.running_var]
            layers.append([value.detach().numpy() for value in values if value is not None])
        elif isinstance(layer, nn.Linear):
            layers.append([layer.weight.detach().numpy().T, layer.bias.detach().numpy()])
    return layers


def write_keras(path: Path, layers: list[list[np.ndarray]], *, as_bytes: bool = True) -> Path:
    """Write layers, with one that has no weights after each, as `Model.save_weights` does."""
    import h5py

    def name(text: str) -> str | bytes:
        return text.encode() if as_bytes else text

    with h5py.File(path, "w") as file:
        names = []
        for number, weights in enumerate(layers):
            for layer, arrays in ((f"layer_{7 * number}", weights), (f"activation_{number}", [])):
                group = file.create_group(layer)
                inner = [f"{layer}/weight_{i}:0" for i in range(len(arrays))]
                for dataset, array in zip(inner, arrays, strict=True):
                    group[dataset] = array
                group.attrs["weight_names"] = [name(text) for text in inner]
                names.append(name(layer))
        file.attrs["layer_names"] = names
    return path


def same_outputs(one: nn.Module, two: nn.Module) -> bool:
    """Whether two networks for 64-pixel images answer alike."""
    images = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        return torch.equal(one(images), two(images))
