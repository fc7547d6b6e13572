"""Features of real images from a frozen, ImageNet-pretrained EfficientNet-Lite0 at 112 px, written to an .npz file.

They are those of `bitreplay run --encoder efficientnet_lite0`, and come from the same cache: whoever comes second does
not compute them again. Images are read from `$BITREPLAY_DATA/<name>`. The network has seen ImageNet: label every result
that rests on it "pretrained".

Usage: python benchmarks/embeddings.py cifar100 cifar100.npz
"""

import argparse
from pathlib import Path

import numpy as np

from bitreplay.data import load_dataset
from bitreplay.encoder import Encoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("cifar100", "tiny_imagenet"))
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    encoder, dataset = Encoder.from_pretrained("efficientnet_lite0"), load_dataset(arguments.name)
    arrays = {}
    for part in ("train", "test"):
        samples = dataset.samples(part)
        arrays[f"x_{part}"], arrays[f"y_{part}"] = encoder.features(samples), samples.labels
    np.savez(arguments.output, **arrays)
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
