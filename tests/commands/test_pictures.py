"""From pictures to a model, as a user types it; and everything that pictures can be besides pictures."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bitreplay import ImageClassifier
from bitreplay.cli import main
from tests.attack.test_full_disk import largest_file
from tests.attack.test_images import large_png
from tests.images.problems import COLOURS, photographs, save_folder, save_network, taught

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network, photographs, and a model that has learned two colours of them."""
    root = tmp_path_factory.mktemp("shop")
    save_network(root / "network")
    save_folder(root / "first", "red", "green")
    save_folder(root / "second", "blue", kind="jpg")
    save_folder(root / "test", *COLOURS, n=4, seed=1)
    options = ["--encoder", str(root / "network"), "--prototypes", "2", "--seed", "0"]
    assert main(["learn", str(root / "shop.bitreplay"), str(root / "first"), *options]) == 0
    return root


@pytest.fixture
def shop(made: Path, tmp_path: Path) -> Path:
    """The model, in a folder of its own."""
    return Path(shutil.copy(made / "shop.bitreplay", tmp_path))


def classes(model: Path) -> list[str]:
    return ImageClassifier.load(model).classes_.tolist()  # type: ignore[no-any-return]


def test_learn_predict_evaluate_forget(made: Path, shop: Path, capsys: Capture) -> None:
    assert main(["learn", str(shop), str(made / "second")]) == 0
    printed = capsys.readouterr().out
    assert "12 images of 1 class, 1 of them new" in printed
    assert "learned in" in printed
    assert "3 classes" in printed
    some = sorted((made / "test" / "blue").iterdir())
    assert main(["predict", str(shop), *map(str, some), "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith(f"{some[0]}: blue ")
    assert main(["predict", str(shop), str(made / "test"), "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    right = sum(Path(answer["image"]).parent.name == answer["class"] for answer in answers)
    assert right >= 8
    assert all(len(answer["best"]) == 3 for answer in answers)
    assert all(abs(sum(one["probability"] for one in answer["best"]) - 1) < 1e-4 for answer in answers)
    assert main(["evaluate", str(shop), str(made / "test")]) == 0
    printed = capsys.readouterr().out
    assert f"{right} of 12 images" in printed
    assert f"<p>{right} of 12 images are recognised" in (shop.parent / "shop-evaluation" / "report.html").read_text()
    assert main(["forget", str(shop), "green"]) == 0
    assert "2 classes left" in capsys.readouterr().out
    assert classes(shop) == ["blue", "red"]
    assert main(["evaluate", str(shop), str(made / "test"), "--output", str(shop.parent / "page")]) == 0
    assert "1 class was never learned and counts as wrong: green" in capsys.readouterr().out
    assert main(["show", str(shop)]) == 0
    assert "encoder small_cnn, 32 features of 16 x 16 pixels" in capsys.readouterr().out


def test_a_label_for_all(made: Path, shop: Path) -> None:
    files = [str(file) for file in sorted((made / "test" / "red").iterdir())]
    assert main(["learn", str(shop), "--label", "../../etc", *files]) == 0
    assert main(["learn", str(shop), str(made / "test" / "green"), "--label", "<script>alert(1)</script>"]) == 0
    assert classes(shop) == ["../../etc", "<script>alert(1)</script>", "green", "red"]
    assert main(["evaluate", str(shop), str(made / "test")]) == 0
    page = (shop.parent / "shop-evaluation" / "report.html").read_text()
    assert "<script" not in page
    assert sorted(path.name for path in shop.parent.glob("[!.]*")) == ["shop-evaluation", "shop.bitreplay"]


def test_percentages_that_mean_nothing_yet_are_said_to(made: Path, tmp_path: Path, capsys: Capture) -> None:
    model, network = str(tmp_path / "few.bitreplay"), ["--encoder", str(made / "network")]
    assert main(["learn", model, str(made / "test" / "red"), "--label", "red", *network]) == 0
    assert "percentages of `bitreplay predict` mean nothing yet" in capsys.readouterr().out
    assert main(["learn", model, str(made / "first")]) == 0
    assert "mean nothing" not in capsys.readouterr().out


def test_merge_what_a_copy_learned(made: Path, shop: Path, capsys: Capture) -> None:
    other = Path(shutil.copy(shop, shop.with_name("other.bitreplay")))
    assert main(["learn", str(other), str(made / "second")]) == 0
    assert main(["merge", str(shop), str(other)]) == 0
    assert classes(shop) == ["blue", "green", "red"]
    taught(seed=3).save(other)
    before = shop.read_bytes()
    assert main(["merge", str(shop), str(other)]) == 2
    assert "cannot merge what another encoder has seen" in capsys.readouterr().err
    assert shop.read_bytes() == before


def test_two_processes_lose_no_class(made: Path, shop: Path) -> None:
    def learn(number: int) -> None:
        sys.exit(main(["learn", str(shop), "--label", f"class {number}", str(made / "test" / "red")]))

    running = [multiprocessing.get_context("fork").Process(target=learn, args=(number,)) for number in range(4)]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * 4
    assert classes(shop) == [*(f"class {number}" for number in range(4)), "green", "red"]


# ------------------------------------------------------------------ bad input


def spoiled(folder: Path, kind: str) -> Path:
    """A file that is not what it looks like."""
    folder.mkdir()
    file = folder / "odd.jpg"
    pixels = photographs("red", 1, size=(80, 60))[0]
    if kind == "text":
        file.write_text("this is a text")
    elif kind == "empty":
        file.touch()
    elif kind == "truncated":
        Image.fromarray(pixels).save(file)
        file.write_bytes(file.read_bytes()[:-400])
    elif kind == "bomb":
        file = folder / "odd.png"
        large_png(file, 8)
        header = b"IHDR" + struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
        png = file.read_bytes()
        file.write_bytes(png[:12] + header + struct.pack(">I", zlib.crc32(header)) + png[33:])
    elif kind == "link":
        file.symlink_to("gone.jpg")
    return file


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("text", "it is not an image"),
        ("empty", "it is not an image"),
        ("truncated", "truncated"),
        ("bomb", "400000000 pixels"),
        ("link", "there is no"),
    ],
)
def test_a_bad_file_is_named_and_the_model_stays(kind: str, said: str, made: Path, shop: Path, capsys: Capture) -> None:
    before = shop.read_bytes()
    file = spoiled(shop.parent / "odd", kind)
    good = str(made / "test" / "red" / "0.png")
    for words in (["learn", str(shop), "--label", "odd", good, str(file)], ["predict", str(shop), good, str(file)]):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert str(file) in error
        assert said in error
    assert shop.read_bytes() == before


@pytest.mark.parametrize("kind", ["gif", "cmyk", "sixteen", "rotated"])
def test_odd_pictures_are_pictures(kind: str, shop: Path) -> None:
    clf, folder = ImageClassifier.load(shop), shop.parent / "odd"
    folder.mkdir()
    plain = Image.fromarray(np.repeat(np.repeat(photographs("green", 1, size=(6, 8))[0], 10, 0), 10, 1))
    if kind == "gif":  # of which the first picture counts
        plain = plain.convert("P", palette=Image.Palette.ADAPTIVE)
        file = folder / "odd.gif"
        plain.save(file, save_all=True, append_images=[Image.new("P", plain.size)] * 3)
    elif kind == "cmyk":
        plain = plain.convert("CMYK")
        file = folder / "odd.tiff"
        plain.save(file)
    elif kind == "sixteen":
        grey = np.asarray(plain.convert("L"))
        plain = Image.fromarray(grey)
        file = folder / "odd.png"
        Image.fromarray(grey.astype(np.uint16) * 256 + 7).save(file)
    else:
        exif = Image.Exif()
        exif[0x0112] = 6  # held so that it must be turned by a quarter clockwise
        file = folder / "odd.png"
        plain.transpose(Image.Transpose.ROTATE_90).save(file, exif=exif)
    np.testing.assert_allclose(clf.features(file), clf.features(plain.convert("RGB")), rtol=1e-4, atol=1e-5)
    if kind == "rotated":
        turned = clf.features(plain.transpose(Image.Transpose.ROTATE_90))
        assert np.abs(clf.features(file) - turned).max() > 1e-3


def test_what_learn_refuses(made: Path, shop: Path, capsys: Capture) -> None:
    before = shop.read_bytes()
    empty, bare, split = (shop.parent / name for name in ("empty", "bare", "split"))
    (empty / "mug").mkdir(parents=True)
    (split / "train" / "mug").mkdir(parents=True)
    bare.mkdir()
    for words, said in (
        ([str(made / "second"), "--encoder", "quicknet"], "--encoder can only be chosen for a new model"),
        ([str(empty)], f"in {empty / 'mug'}"),
        ([str(bare)], f"{bare} has no class folders; give a folder with a subfolder for every class, or --label"),
        ([str(split)], f"to learn its classes, give {split / 'train'}"),
        ([str(bare), "--label", "mug"], f"there are no images in {bare}"),
        ([str(made / "second"), "--label", "x" * 300], "has at most 255 characters"),
        ([str(made / "second"), "--label", " "], "a class must have a name"),
        ([str(made / "test" / "red" / "0.png")], "is a file; give a folder"),
        ([str(made / "absent")], "does not exist"),
    ):
        assert main(["learn", str(shop), *words]) == 2
        assert said in capsys.readouterr().err
    assert shop.read_bytes() == before
    assert (
        main(["learn", str(shop.parent / "no" / "such"), str(made / "second"), "--encoder", str(made / "network")]) == 2
    )
    assert "there is no folder" in capsys.readouterr().err
    assert main(["learn", str(shop.parent / "new"), str(made / "second"), "--encoder", "toaster"]) == 2
    assert "there is no encoder 'toaster'" in capsys.readouterr().err


def test_a_full_disk_leaves_the_model_as_it_was(made: Path, shop: Path, capsys: Capture) -> None:
    before = shop.read_bytes()
    with largest_file(2000):
        assert main(["learn", str(shop), str(made / "second")]) == 2
    assert "make room there" in capsys.readouterr().err
    assert shop.read_bytes() == before
