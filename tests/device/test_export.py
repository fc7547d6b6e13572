"""export_c: what it writes compiles without a warning, gives Python's answers, and keeps what bitreplay.h promises."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bitreplay import BinaryMemory, EMOptions, GBMClassifier, Mixture, Thermometer, export_c
from bitreplay.binarizers import Native
from bitreplay.cli import main
from bitreplay.device import DeviceMemory, DeviceModel, IntegerThresholds, Status, library_folder
from bitreplay.device._sizes import memory_words
from bitreplay.device._tables import model_source
from bitreplay.errors import InputError
from tests.device.library import COMPILER, STRICT
from tests.device.test_network import network

SOURCES = sorted(library_folder().glob("*.[ch]"))
compiled = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler: install gcc or clang, or set CC")


@pytest.fixture(scope="module")
def classifier() -> GBMClassifier:
    return GBMClassifier(prototypes=2, p=3, random_state=0).fit(*load_digits(return_X_y=True))


def selftest(folder: Path, compiler: str | None = COMPILER, flags: str = "-O0") -> str:
    """What the export's own test prints; without optimisation, which is most of the time."""
    run = ["make", "-s", "-B", "-C", str(folder), "selftest", f"CC={compiler}", f"CFLAGS={flags}"]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout


@compiled
@pytest.mark.parametrize("features", ["uint8", "int8", "int16", "float32"])
def test_a_classifier(classifier: GBMClassifier, features: Any, tmp_path: Path) -> None:
    export_c(classifier, tmp_path, features=features)
    assert selftest(tmp_path) == "the answers match Python's\n"


@compiled
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_with_either_compiler(classifier: GBMClassifier, compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    export_c(classifier, tmp_path, features="int16", weight_bits=4)
    assert selftest(tmp_path, compiler, "-O2") == "the answers match Python's\n"


@compiled
def test_pixels_to_class(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    memory = BinaryMemory(bits=2)
    labels = ("größe", 'a "quote" */', 7, "what??/", "???/", "bell\a\r\n*/", "\u202eturned", "C:\\")
    memory.enrol({label: rng.random((30, 45)) < rng.random(45) for label in labels}, EMOptions(n_components=3))
    export_c(memory, tmp_path, network=network(), image_size=8, head="closed_form", name="shop")
    assert selftest(tmp_path) == "the answers match Python's\n"
    assert not {path.name for path in tmp_path.glob("model*")}


@compiled
@pytest.mark.parametrize("room", [1, 10])
def test_an_empty_device_and_one_with_less_room_than_classes(room: int, tmp_path: Path) -> None:
    thermometer = Thermometer(4)
    empty = BinaryMemory(3, thermometer.fingerprint(64))
    options: dict[str, Any] = {"binarizer": thermometer, "features": "uint8", "scale": 1 / 16, "room": room}
    export_c(empty, tmp_path, **options)
    assert selftest(tmp_path) == "the answers match Python's\n"
    rng = np.random.default_rng(0)
    empty.enrol({label: rng.random((20, 256)) < 0.5 for label in range(3)})
    export_c(empty, tmp_path, **options)
    assert selftest(tmp_path) == "the answers match Python's\n"


def random_classes(sizes: list[int]) -> BinaryMemory:
    """A class of 64 bits for each number of prototypes."""
    rng, memory = np.random.default_rng(0), BinaryMemory(bits=3)
    for label, k in enumerate(sizes):
        memory.add(label, Mixture(rng.random((k, 64)).astype(np.float32), np.full(k, 1 / k), 200))
    return memory


@compiled
def test_ram_has_room_for_the_shipped_classes_whatever_their_prototypes(tmp_path: Path) -> None:
    export_c(random_classes([32] * 12), tmp_path, samples=20)
    assert "#define MODEL_PROTOTYPES 32 " in (tmp_path / "model_sizes.h").read_text()
    assert "bitreplay_copy(&model_memory, &memory) != BITREPLAY_OK" in (tmp_path / "model_selftest.c").read_text()
    assert selftest(tmp_path) == "the answers match Python's\n"
    export_c(random_classes([32, 1, 9]), tmp_path, prototypes=8, room=3, samples=20)
    assert "#define MODEL_PROTOTYPES 8 " in (tmp_path / "model_sizes.h").read_text()
    assert "bitreplay_copy(&model_memory, &memory) != BITREPLAY_OK" in (tmp_path / "model_selftest.c").read_text()
    assert selftest(tmp_path) == "the answers match Python's\n"


def test_room_beyond_the_shipped_classes_is_for_classes_of_as_many_prototypes_as_are_enrolled() -> None:
    model = DeviceModel.of(random_classes([32, 1, 9]), prototypes=8)
    layout = model.memory.layout
    shipped = sum(layout.class_words(k) for k in (32, 8, 9))
    assert [memory_words(model, room) for room in (2, 3, 5)] == [
        2 * layout.class_words(8),
        shipped,
        shipped + 2 * layout.class_words(8),
    ]
    held = DeviceMemory(layout, memory_words(model, 3))
    held.load(model.memory.to_block())
    held.forget(1)
    held.enrol(3, np.random.default_rng(1).random((100, 64)) < 0.5)
    assert len(held) == 3


def test_what_a_feature_stands_for_reaches_the_device(classifier: GBMClassifier, tmp_path: Path) -> None:
    meaning: dict[str, Any] = {"scale": 1 / 16, "zero_point": 3}
    export_c(classifier, tmp_path, features="int16", **meaning)
    model = DeviceModel.of(classifier, features="int16", **meaning)
    assert model.thresholds is not None
    expected = IntegerThresholds.of_binarizer(classifier.binarizer_, 64, "int16", **meaning)
    np.testing.assert_array_equal(model.thresholds.values, expected.values)
    assert (tmp_path / "model.c").read_text() == model_source(model, "model")


@pytest.mark.parametrize("features", ["uint8", "float32"])
def test_only_a_model_of_floats_asks_for_them(classifier: GBMClassifier, features: Any, tmp_path: Path) -> None:
    export_c(classifier, tmp_path, features=features)
    assert ("#define BITREPLAY_FLOAT\n" in (tmp_path / "model.h").read_text()) is (features == "float32")
    for file in ("README.md", "Makefile"):
        assert ("-DBITREPLAY_FLOAT" in (tmp_path / file).read_text()) is (features == "float32")


@pytest.mark.parametrize(("given", "expected"), [((300, 300, 400), (255, 255, 255)), ((2, 1, 7), (2, 1, 7))])
def test_prototypes_and_steps_of_em_are_as_many_as_a_byte_can_count(
    given: tuple[int, int, int], expected: tuple[int, int, int]
) -> None:
    prototypes, warm_up, steps = given
    em = EMOptions(warmup_iter=warm_up, max_iter=steps)
    images, labels = load_digits(n_class=2, return_X_y=True)
    clf = GBMClassifier(prototypes, p=1, em=em, random_state=0).fit(images[:20], labels[:20])
    layout = DeviceModel.of(clf, features="uint8").memory.layout
    assert (layout.prototypes, layout.warm_up, layout.steps) == expected


@compiled
def test_the_self_test_finds_a_wrong_answer(classifier: GBMClassifier, tmp_path: Path) -> None:
    export_c(classifier, tmp_path, features="uint8")
    source = (tmp_path / "model.c").read_text()
    (tmp_path / "model.c").write_text(source.replace("-1378", "-1379", 1))
    with pytest.raises(subprocess.CalledProcessError) as failed:
        selftest(tmp_path)
    assert re.fullmatch(r"check \d+ failed\n", failed.value.stdout)


@compiled
def test_sizes_are_printed_first_and_are_right(classifier: GBMClassifier, tmp_path: Path) -> None:
    shown = []

    def show(table: str) -> None:
        assert not list(tmp_path.iterdir())  # nothing is written yet
        shown.append(table)

    parts = export_c(classifier, tmp_path, features="uint8", room=12, samples=50, show=show)
    assert len(shown) == 1
    assert shown[0] in (tmp_path / "README.md").read_text()
    sizes = {part.name.partition(":")[0]: part.nbytes for part in parts}
    program = tmp_path / "sizes_main.c"
    program.write_text(
        '#include <stdio.h>\n#include "model.c"\n'
        "BITREPLAY_SCRATCH(scratch, MODEL_SAMPLES, MODEL_PROTOTYPES, MODEL_FEATURES);\n"
        "int main(void) {\n"
        '    printf("%u %u %u %u %u %u %u\\n", (unsigned)sizeof memory_words, (unsigned)sizeof log_probability,\n'
        "        (unsigned)sizeof threshold_values,\n"
        "        (unsigned)(sizeof head_planes + sizeof head_biases + sizeof head_scales), MODEL_MEMORY_BYTES,\n"
        "        (unsigned)(sizeof scratch_counts + sizeof scratch_shares + sizeof scratch_levels),\n"
        "        MODEL_BLOCK_BYTES);\n    (void)scratch;\n    return 0;\n}\n"
    )
    assert COMPILER is not None
    subprocess.run([COMPILER, *STRICT, "-o", str(tmp_path / "sizes"), str(program)], check=True)
    found = list(map(int, subprocess.run([tmp_path / "sizes"], capture_output=True, check=True).stdout.split()))
    names = ("memory", "table of logarithms", "thresholds", "head", "memory for 12 classes")
    names += ("scratch to enrol up to 50 samples", "a slot for a block of 12 classes, two are needed")
    assert found == [sizes[name] for name in names]


@compiled
def test_the_library_has_no_state_and_calls_nothing_but_moves(tmp_path: Path) -> None:
    """No writable data; of other libraries only what <string.h> declares."""
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    assert COMPILER is not None
    objects = []
    for source in library_folder().glob("*.c"):
        objects.append(str(tmp_path / f"{source.stem}.o"))
        subprocess.run([COMPILER, *STRICT, "-Os", "-fno-pic", "-c", str(source), "-o", objects[-1]], check=True)
    lines = subprocess.run(["nm", *objects], capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split()[-2:] for line in lines if len(line.split()) >= 2]
    assert not [name for kind, name in symbols if kind in "BbDdCGgSs"]
    foreign = {name for kind, name in symbols if kind == "U" and not name.startswith("bitreplay_")}
    assert foreign <= {"memcpy", "memmove", "memset", "__stack_chk_fail"}


def test_the_sources_include_nothing_else_and_have_no_float_unless_asked() -> None:
    for path in SOURCES:
        text = path.read_text()
        assert set(re.findall(r"#include <(.*?)>", text)) <= {"stdint.h", "string.h"}
        assert text.isascii()
        assert max(map(len, text.splitlines())) <= 120, path.name
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        without = re.sub(r"#ifdef BITREPLAY_FLOAT.*?#endif", "", code, flags=re.DOTALL)
        assert not re.search(r"\b(float|double|malloc|calloc|free|goto)\b", without), path.name


def test_no_function_comes_back_to_itself() -> None:
    """No recursion: what a function calls, and what that calls, ends."""
    function = re.compile(r"^\w[^;{}()=#]*?\b(\w+)\([^;{}]*\)\s*\{(.*?)^\}", flags=re.DOTALL | re.MULTILINE)
    calls: dict[str, set[str]] = {}
    for path in SOURCES:
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        calls |= {name: set(re.findall(r"\b(\w+)\(", body)) for name, body in function.findall(code)}
    assert len(calls) > 30
    while ends := {name for name, called in calls.items() if not called & calls.keys()}:
        for name in ends:
            del calls[name]
    assert not calls


def test_the_header_has_the_statuses_of_python() -> None:
    header = (library_folder() / "bitreplay.h").read_text()
    found = {name: int(value) for name, value in re.findall(r"BITREPLAY_([A-Z_]+) = (\d+)", header)}
    assert found == {status.name: status.value for status in Status}


def test_other_files_stay_and_the_same_are_replaced(classifier: GBMClassifier, tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text("mine")
    (tmp_path / "model.h").write_text("old")
    export_c(classifier, tmp_path, features="uint8")
    assert (tmp_path / "mine.c").read_text() == "mine"
    assert "extern const bitreplay_layout" in (tmp_path / "model.h").read_text()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": None}, "give the type of the device's features"),
        ({"name": "Model"}, "name must be lower-case letters"),
        ({"name": "bitreplay"}, "names that start with bitreplay are the library's"),
        ({"name": "bitreplay_head"}, "names that start with bitreplay are the library's"),
        ({"name": "selftest_main"}, "selftest_main.c is another file"),
        ({"name": "string"}, "string.h is another file"),
        ({"head": "linear"}, "head must be one of own, bayes, closed_form, linear_part"),
        ({"prototypes": 256}, "prototypes must be an integer from 1 to 255"),
        ({"room": 0}, "room must be an integer from 1"),
        ({"samples": 70000}, "samples must be an integer from 1 to 65535"),
        ({"weight_bits": 1}, "weight_bits must be an integer from 2 to 8"),
        ({"binarizer": Native()}, "a classifier already has its binarizer"),
        ({"network": network(), "features": None}, "the binarizer must be native"),
    ],
)
def test_bad_input_writes_nothing(classifier: GBMClassifier, change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        export_c(classifier, tmp_path / "folder", **{"features": "uint8", **change})
    assert not (tmp_path / "folder").exists()


def test_models_that_no_device_takes_are_refused(tmp_path: Path) -> None:
    wide = GBMClassifier(prototypes=1, bits=9, binarizer="identity").fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(InputError, match="q = 1 to 8 bits per value; this memory has q = 9"):
        DeviceModel.of(wide)
    for model in (GBMClassifier(), "model.safetensors"):
        with pytest.raises(InputError, match="a fitted GBMClassifier or a BinaryMemory is expected"):
            export_c(model, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="omit the type of its features"):
        export_c(BinaryMemory(3, 44), tmp_path, features="uint8")
    with pytest.raises(InputError, match="its number of bits is not known"):
        export_c(BinaryMemory(), tmp_path)
    with pytest.raises(InputError, match="the network makes 45 bits, but the memory has 44"):
        export_c(BinaryMemory(3, 44), tmp_path, network=network(), image_size=8)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="needs a folder"):
        export_c(BinaryMemory(3, 44), tmp_path / "file")


# ---------------------------------------------------------------------- the command


@compiled
def test_the_command(classifier: GBMClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    classifier.save(tmp_path / "digits.safetensors")
    arguments = ["export", "c", str(tmp_path / "digits.safetensors"), "--output", str(tmp_path / "c")]
    assert main([*arguments, "--features", "uint8", "--head", "linear_part"]) == 0
    assert "head: 10 x 1 rows of 8-bit weights" in capsys.readouterr().out
    assert selftest(tmp_path / "c") == "the answers match Python's\n"
    classifier.memory_.save(tmp_path / "memory.safetensors")
    arguments[2] = str(tmp_path / "memory.safetensors")
    assert main(arguments) == 0
    assert selftest(tmp_path / "c") == "the answers match Python's\n"


def test_the_command_on_bad_input(
    classifier: GBMClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier.save(tmp_path / "digits.safetensors")
    output = ["--output", str(tmp_path / "c")]
    assert main(["export", "c", os.fspath(tmp_path / "nothing"), *output]) == 2
    assert "there is no model" in capsys.readouterr().err
    assert main(["export", "c", str(tmp_path / "digits.safetensors"), *output]) == 2
    assert "give the type of the device's features" in capsys.readouterr().err
    (tmp_path / "text").write_text("text")
    assert main(["export", "c", str(tmp_path / "text"), *output]) == 2
    assert "is not a bitreplay file" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
