"""On an emulated Cortex-M and on a big-endian machine; `make test-device` runs these.

They need a cross compiler and QEMU. Without `BITREPLAY_TEST_DEVICE=1` they are skipped; with it, what is missing is an
error that says what to install.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bitreplay import BinaryMemory, EMOptions, GBMClassifier, export_c
from bitreplay.bits import PackedBits, pack
from bitreplay.device import DeviceModel, DeviceNetwork, IntegerHead, IntegerThresholds, Layout, Status
from bitreplay.nn import pack_network
from tests.device.emulator import EXAMPLE, FIRMWARE, emulate, missing, run_here, run_on_arm, run_on_big_endian
from tests.device.library import COMPILER
from tests.device.script import Script
from tests.device.test_network import CASES, network
from tests.device.test_same_in_c import samples

asked = pytest.mark.skipif(not os.environ.get("BITREPLAY_TEST_DEVICE"), reason="make test-device runs the emulator")


def need(*tools: str) -> None:
    if lacking := missing(*tools):
        pytest.fail(lacking)


@pytest.fixture(scope="module")
def script() -> bytes:
    """Every call of the library, with D that does and does not fill words, and all that is refused."""
    rng = np.random.default_rng(0)
    script = Script()
    for d, q, k in ((100, 3, 4), (33, 1, 2), (64, 4, 3), (45, 5, 2), (31, 8, 3), (256, 3, 8), (97, 2, 5)):
        layout = Layout(d, q, k, fingerprint=d)
        script.layout(layout, 4 * layout.class_words(k))
        for label in range(5):
            script.enrol(label, samples(int(rng.integers(1, 60)), d, label))
        script.words()
        assert script.enrol(1, samples(3, d, 0)) in (Status.KNOWN_CLASS, Status.FULL)
        assert script.forget(2) is Status.OK
        assert script.forget(2) is Status.UNKNOWN_CLASS
        script.enrol(7, samples(40, d, 7))
        script.words()
        script.scores(samples(50, d, 8))
        block = script.store(d)
        assert script.load(block) is Status.OK
        for at in (2, 5, 17, 30, 40, len(block) - 1):
            assert script.load(block[:at] + bytes([block[at] ^ 4]) + block[at + 1 :]) is not Status.OK
            assert script.load(block[:at]) is Status.DAMAGED
        script.words()
    for squares, d, weight_bits in ((0, 100, 8), (8, 256, 8), (3, 33, 6), (2, 64, 4), (1, 97, 2)):
        shape = 6, 1 + squares
        script.head(IntegerHead.of_rows(rng.standard_normal((*shape, d)), rng.standard_normal(shape), weight_bits))
        script.head_scores(samples(40, d, squares))
    for kind in ("uint8", "int8", "int16"):
        limits = np.iinfo(kind)
        for inputs, values in ((10, (10, 3)), (64, (1, 4))):
            values = rng.integers(limits.min - 1, limits.max + 1, values).astype(np.int32)
            thresholds = IntegerThresholds(kind, inputs, values)  # type: ignore[arg-type]
            script.binarize(thresholds, rng.integers(limits.min, limits.max + 1, (30, inputs)).astype(kind))
    for options in CASES:
        made, size = network(**options), options.get("image_size", 8)
        images = rng.integers(0, 256, (4, size, size, options.get("in_channels", 3)), dtype=np.uint8)
        bits = pack_network(made)(images)
        assert isinstance(bits, PackedBits)
        script.network(DeviceNetwork.of_module(made, size))
        script.embed(images, bits)
    images, labels = load_digits(return_X_y=True)  # and real bits
    model = DeviceModel.of(GBMClassifier(4, p=4, random_state=0).fit(images[:900], labels[:900]), features="uint8")
    assert model.thresholds is not None
    assert model.head is not None
    real = model.thresholds.pack(images.astype(np.uint8))
    script.layout(model.memory.layout, len(model.memory.words))
    script.fill(model.memory)
    script.scores(real)
    script.head(model.head)
    script.head_scores(real)
    return bytes(script)


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler: install gcc or clang, or set CC")
def test_the_script_on_this_machine(script: bytes, tmp_path: Path) -> None:
    outcome = run_here(script, tmp_path)
    assert outcome.passed, outcome.text
    assert outcome.calls("scores") == 7 * 50 + 1797


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler: install gcc or clang, or set CC")
def test_the_runner_finds_a_wrong_answer(tmp_path: Path) -> None:
    script = Script()
    script.layout(Layout(40), 100)
    script.enrol(1, pack(np.eye(40)[:4]))
    script.words()
    wrong = bytearray(bytes(script))
    wrong[-8] ^= 1
    outcome = run_here(bytes(wrong), tmp_path)
    assert not outcome.passed
    assert "FAILED: words of the memory" in outcome.text


@asked
def test_the_script_under_sanitizers(script: bytes, tmp_path: Path) -> None:
    """No access beyond a buffer, no overflow of a signed number, no shift too far, in any call."""
    outcome = run_here(script, tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    assert outcome.passed, outcome.text


@asked
@pytest.mark.parametrize(("cpu", "optimize"), [("cortex-m4", "-O2"), ("cortex-m4", "-Os"), ("cortex-m7", "-O2")])
def test_the_script_on_a_cortex_m(script: bytes, cpu: str, optimize: str, tmp_path: Path) -> None:
    need("arm-none-eabi-gcc", "qemu-system-arm")
    outcome = run_on_arm(script, tmp_path, cpu, optimize)
    assert outcome.passed, outcome.text
    assert outcome.stack_bytes < 1024


@asked
def test_the_script_on_a_big_endian_machine(script: bytes, tmp_path: Path) -> None:
    need("powerpc-linux-gnu-gcc", "qemu-ppc")
    outcome = run_on_big_endian(script, tmp_path)
    assert outcome.passed, outcome.text


@asked
def test_an_export_on_a_big_endian_machine(tmp_path: Path) -> None:
    need("powerpc-linux-gnu-gcc", "qemu-ppc")
    memory = BinaryMemory(bits=3)
    memory.enrol({label: samples(30, 45, label) for label in range(4)}, EMOptions(n_components=3))
    export_c(memory, tmp_path, network=network(), image_size=8, head="closed_form")
    build = ["make", "-s", "-C", str(tmp_path), "selftest.out", "CC=powerpc-linux-gnu-gcc -static"]
    subprocess.run(build, check=True)
    done = subprocess.run(["qemu-ppc", tmp_path / "selftest.out"], capture_output=True, text=True)
    assert done.stdout == "the answers match Python's\n"


@asked
def test_instructions_are_counted_one_by_one(tmp_path: Path) -> None:
    """The counter against blocks of known length."""
    need("arm-none-eabi-gcc", "qemu-system-arm")
    listing, elf = tmp_path / "board.ld", tmp_path / "counter.elf"
    board = EXAMPLE / "board"
    size = ["-DFLASH_KB=64", "-DRAM_KB=16"]
    subprocess.run(["arm-none-eabi-cpp", "-P", *size, str(board / "board.ld.S"), "-o", str(listing)], check=True)
    flags = ["-mcpu=cortex-m4", "-mthumb", "-O2", "-nostartfiles", "--specs=nano.specs", f"-T{listing}", f"-I{EXAMPLE}"]
    sources = [str(FIRMWARE / "counter.c"), str(board / "board.c")]
    subprocess.run(["arm-none-eabi-gcc", *flags, "-o", str(elf), *sources], check=True)
    few, many = (int(number) for number in re.findall(r"(\d+) instructions", emulate(elf).text))
    assert abs(many - few - 9 * 1002) <= 4
    assert abs(few - 1002) <= 20  # with what it takes to read the counter


@asked
def test_digits_are_learned_on_a_cortex_m4(tmp_path: Path) -> None:
    need("arm-none-eabi-gcc", "qemu-system-arm")
    run = ["make", "-s", "-C", str(EXAMPLE), f"BUILD={tmp_path / 'build'}", f"PYTHON={sys.executable}", "run"]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    text = done.stdout + done.stderr  # semihosting writes to the latter
    on_device = [float(share) for share in re.findall(r"([\d.]+) % of \d+ held-out digits right, ", text)]
    in_python = re.search(r"Python's integers: ([\d.]+) %", text)
    assert in_python is not None
    assert len(on_device) == 10  # one class at a time
    assert on_device[-1] == float(in_python[1]) >= 93
    assert "stored, forgotten, cut off and recovered" in text
