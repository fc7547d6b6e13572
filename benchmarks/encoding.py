"""How fast EfficientNet-Lite0 encodes images, by what: layouts and batches of torch, compilers, other engines.

All contenders take turns in one process, so that a busy minute hits all of them; ratios count. `--threads` is for all
of them. The error is that of the features against version 0.1.0's, relative to the largest of them.

    make bench-env && benchmarks/.venv/bin/python benchmarks/encoding.py --images 256 --rounds 5
"""

import argparse
import copy
import logging
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from bitreplay.backbones import BACKBONES, EfficientNetLite0
from bitreplay.encoder import Encoder

SIZE = 112
FIRST = "0.1.0: contiguous, 256"
OURS = "Encoder"

Contender = Callable[[], np.ndarray]


def in_torch(network: Callable[[torch.Tensor], torch.Tensor], images: torch.Tensor, batch: int) -> Contender:
    def encode() -> np.ndarray:
        with torch.inference_mode():
            return torch.cat([network(part) for part in images.split(batch)]).numpy()

    return encode


def other_engines(network: torch.nn.Module, images: torch.Tensor, threads: int) -> dict[str, Contender]:
    """ONNX Runtime and OpenVINO, where they are installed."""
    found: dict[str, Contender] = {}
    file = os.path.join(tempfile.mkdtemp(), "network.onnx")
    try:
        logging.disable(logging.WARNING)  # the exporter's, on torchvision that is not there
        batch = torch.export.Dim("batch")
        torch.onnx.export(
            network, (images[:2],), file, dynamo=True, dynamic_shapes=({0: batch},), input_names=["images"],
            verbose=False,
        )  # fmt: skip
    except ImportError as error:
        print(f"no other engines: {error}")
        return {}
    finally:
        logging.disable(logging.NOTSET)
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        for size in (4, 16):
            found[f"ONNX Runtime, {size}"] = lambda size=size: np.concatenate(
                [session.run(None, {"images": part.numpy()})[0] for part in images.split(size)]
            )
    except ImportError as error:
        print(f"no ONNX Runtime: {error}")
    try:
        import openvino

        for size in (4, 16):
            model = openvino.Core().read_model(file)
            model.reshape([size, 3, SIZE, SIZE])
            settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
            compiled = openvino.Core().compile_model(model, "CPU", settings)
            found[f"OpenVINO, {size}"] = lambda size=size, compiled=compiled: np.concatenate(
                [compiled(part.numpy())[0].copy() for part in images.split(size)]
            )
    except ImportError as error:
        print(f"no OpenVINO: {error}")
    return found


def contenders(images: torch.Tensor, threads: int, compiled: bool) -> dict[str, Contender]:
    """Every way of encoding, by name; images are float and preprocessed, as all of them need that alike."""
    plain = EfficientNetLite0().eval().requires_grad_(False)
    laid_out = copy.deepcopy(plain).to(memory_format=torch.channels_last)
    flat = images.contiguous(memory_format=torch.channels_last)
    encoder = Encoder(copy.deepcopy(plain), BACKBONES["efficientnet_lite0"].preprocessing, name="ours", device="cpu")
    batch = encoder.batch_size((3, SIZE, SIZE))
    made = {FIRST: in_torch(plain, images, 256)}
    for size in (8, 16, 64):
        made[f"channels-last, {size}"] = in_torch(laid_out, flat, size)
    ours = f"{OURS}: fused, channels-last, {batch}"
    made[ours] = lambda: np.concatenate([encoder.encode(part) for part in flat.split(batch)])
    made[f"{OURS} without oneDNN's fusion: folded, {batch}"] = folded(plain, flat, batch)
    if compiled:
        network = torch.compile(laid_out)
        made["torch.compile, 16"] = in_torch(network, flat, 16)
    return made | other_engines(plain, images, threads)


def folded(plain: EfficientNetLite0, images: torch.Tensor, batch: int) -> Contender:
    """Batch normalisation folded into convolutions, by torch's public functions alone."""
    network = plain.for_inference()
    encode = in_torch(network, images, batch)

    def without() -> np.ndarray:
        available, torch.backends.mkldnn.is_available = torch.backends.mkldnn.is_available, lambda: False
        try:
            return encode()
        finally:
            torch.backends.mkldnn.is_available = available

    return without


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--compile", action="store_true", help="also torch.compile, which needs a C++ compiler")
    parser.add_argument("--output", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(arguments.threads)
    images = torch.randn(arguments.images, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    made = contenders(images, arguments.threads, arguments.compile)
    reference, errors = None, {}
    for name, encode in list(made.items()):  # a first call compiles, and is not timed
        try:
            features = encode()
        except Exception as error:  # an engine that does not run here
            print(f"{name} does not run here: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
            del made[name]
            continue
        reference = features if reference is None else reference
        errors[name] = float(np.abs(features - reference).max() / np.abs(reference).max())
    wall: dict[str, list[float]] = {name: [] for name in made}
    busy: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(arguments.rounds):
        for name, encode in made.items():
            begun, used = time.perf_counter(), time.process_time()
            encode()
            wall[name].append(time.perf_counter() - begun)
            busy[name].append(time.process_time() - used)
    lines = [f"{arguments.images} images of {SIZE} px, {arguments.threads} threads, best of {arguments.rounds} rounds"]
    lines.append(f"{'':44}{'images/s':>10}{'of CPU':>10}{'faster':>9}{'by CPU':>9}{'error':>10}")
    for name in made:
        rates = arguments.images / min(wall[name]), arguments.images / min(busy[name])
        ratios = min(wall[FIRST]) / min(wall[name]), min(busy[FIRST]) / min(busy[name])
        lines.append(f"{name:44}{rates[0]:10.1f}{rates[1]:10.1f}{ratios[0]:8.2f}x{ratios[1]:8.2f}x{errors[name]:10.1e}")
    ours = next(name for name in made if name.startswith(f"{OURS}:"))
    engines = [name for name in made if name.startswith(("ONNX", "OpenVINO"))]
    for what, times in (("time", wall), ("CPU time", busy)):
        faster = min(times[FIRST]) / min(times[ours])
        lines.append(f"{what}: {faster:.2f}x as fast as 0.1.0 (required: 3)")
        if engines:
            best = min(engines, key=lambda name: min(times[name]))
            slower = min(times[ours]) / min(times[best])
            lines.append(f"{what}: {slower:.2f} times that of {best} (required: at most 1.3)")
    print("\n".join(lines))
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
