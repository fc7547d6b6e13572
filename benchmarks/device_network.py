"""Embeddings of a trained, fully binary network as an .npz of bits; whether C makes the same; what it costs.

Usage: python benchmarks/device_network.py FOLDER cifar100.npz    with FOLDER from
    bitreplay train --dataset cifar100 --tasks 10 --encoder binary_vgg --folder FOLDER
and $BITREPLAY_DATA set. The other benchmarks of the device take the file as --features.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from bitreplay.bits import PackedBits
from bitreplay.data import load_dataset
from bitreplay.device import DeviceNetwork, words_of
from bitreplay.nn import pack_network
from bitreplay.training import TrainedNetwork

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.device.emulator import missing, run_on_arm
from tests.device.library import compile_library, embed
from tests.device.script import Script


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    trained = TrainedNetwork.load(given.network)
    network = DeviceNetwork.of_module(trained.backbone, 32)
    packed = pack_network(trained.backbone)
    data = load_dataset("cifar100")
    arrays = {}
    for part, split in (("train", data.train), ("test", data.test)):
        bits = packed(np.array(split.images))
        assert isinstance(bits, PackedBits)
        arrays[f"x_{part}"], arrays[f"y_{part}"] = bits.unpack(), np.asarray(split.labels)
    np.savez_compressed(given.output, **arrays)
    print(f"wrote {given.output}: {network.n_features} bits of {len(arrays['x_train']):,} and {len(bits):,} images")
    print(f"accuracy of the network with its own G on the classes of task 0: {trained.accuracy}")

    library = compile_library(Path(tempfile.mkdtemp()), "-O3", "-march=native")
    same = (embed(library, network, np.array(data.test.images)) == words_of(bits)).all(axis=1)
    print(f"C makes the same embedding of {same.sum():,} of {len(same):,} test images")
    print(f"flash {network.size_bits // 8:,} bytes, scratch {4 * network.scratch_words:,} bytes of RAM")
    if lacking := missing("arm-none-eabi-gcc", "qemu-system-arm"):
        sys.exit(lacking)
    script = Script()
    script.network(network)
    script.embed(np.array(data.test.images[:2]), bits[:2])
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_on_arm(bytes(script), Path(folder))
    assert outcome.passed, outcome.text
    count, stack = outcome.instructions("embed"), outcome.stack_bytes
    print(f"{count:,} instructions for an image on a Cortex-M4, {stack} bytes of stack")


if __name__ == "__main__":
    main()
