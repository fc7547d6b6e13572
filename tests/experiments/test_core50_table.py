"""Table 5 in miniature: ten categories of generated frames, a tiny QuickNet with random weights."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bitreplay import metrics
from bitreplay.backbones import Preprocessing, build_backbone
from bitreplay.data import load_dataset, make_scenario
from bitreplay.errors import InputError
from bitreplay.experiments import EXPERIMENTS, Request
from bitreplay.experiments._core50_table import ROWS, _claims, core50_table
from bitreplay.report import RunResult
from bitreplay.training import TrainedNetwork
from tests.data.examples import write_image
from tests.experiments.histories import history, interval, margin

OPTIONS = {"weights": None, "blocks": (1, 1, 1, 1), "filters": (8, 8, 16, 16), "image_size": 32}
D = 16  # one pixel of 16 channels
FRAMES = 2  # of 11 sessions, one object per category


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("BITREPLAY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))


def write_core50(root: Path) -> None:
    """Frames in the official layout; the categories have colours of their own."""
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (10, 2, 2, 3))
    for session in range(1, 12):
        for category in range(10):
            thing = 5 * category + 1
            for frame in range(FRAMES):
                image = np.repeat(np.repeat(colours[category], 8, 0), 8, 1) + rng.normal(0, 10, (16, 16, 3))
                name = f"s{session}/o{thing}/C_{session:02d}_{thing:02d}_{frame:03d}.png"
                write_image(root / name, np.clip(image, 0, 255).astype(np.uint8))


def save_quicknet(folder: Path) -> Path:
    """A tiny QuickNet in a folder, as one that was trained on task 0 would be."""
    backbone = build_backbone("quicknet", generator=torch.Generator().manual_seed(0), **OPTIONS)
    classes = make_scenario(load_dataset("core50"), 8)[0].classes
    head = np.zeros((2, D), np.float32), np.zeros(2, np.float32)
    preprocessing = Preprocessing(size=32)
    TrainedNetwork(backbone, None, *head, preprocessing, classes, {}, "tiny", "quicknet", OPTIONS).save(folder)
    return folder


@pytest.mark.parametrize("scale", ["cpu", "paper"])
def test_the_table_in_miniature(tmp_path, scale):
    write_core50(tmp_path / "data" / "core50")
    setting = {"every": 1, "encoder": str(save_quicknet(tmp_path / "network")), "accelerator": "cpu"}
    runs = []
    request = Request(scale, tmp_path / "runs", seeds=[0], setting=setting, on_run=runs.append)
    outcome = core50_table(request, ["epochs=1", "min_steps=5", "batch_size=32"])
    histories = [run.history for run in runs]
    assert [[len(task) for task in history.classes] for history in histories] == [[2] + [1] * 8] * 8
    assert histories[0].notes == {"data": "core50", "encoder": "quicknet"}
    bits = [history.memory_bits[-1] for history in histories]
    kept = 8 * FRAMES  # fewer samples per class than exemplars are asked for
    assert bits[:3] == [kept * D * 10] * 3
    assert bits[3] == 1 * D * 10 * 32
    assert bits[4] <= 4 * D * 10 * 32  # few samples make few prototypes
    assert bits[6:] == [kept * D * 10, 1 * D * 10 * 3]
    [table] = outcome.tables
    assert [row[-1] for row in table.rows] == [*ROWS.values(), None, None]
    assert [row[table.columns.index("final")] for row in table.rows] == [metrics.final(one) for one in histories]
    assert f"architecture={'linear' if scale == 'cpu' else 'quicknet_tail'}" in table.rows[0][0]
    better = metrics.final(histories[3]) - metrics.final(histories[2])
    assert outcome.claims[0].measured.startswith(f"{100 * better:+.1f} points")
    assert outcome.claims[0].measured.endswith(f", with {bits[2] / bits[3]:.1f} times less memory")
    if scale == "cpu":
        assert max(map(metrics.final, histories)) > 0.2  # chance is 0.1


@pytest.mark.parametrize(
    ("one", "bits", "eight", "verdicts"),
    [
        (0.74, 40, 0.76, [True, True]),
        (0.74, 200, 0.76, [False, True]),  # better, but with more memory
        (0.69, 40, 0.68, [False, False]),
        (0.712, 40, 0.714, [None, None]),  # a fifth of a point, and 0.3 are 95 %
    ],
)
def test_verdicts_follow_from_the_numbers(one, bits, eight, verdicts):
    reached = dict.fromkeys(ROWS, (0.71, 188)) | {
        "GBM:prototypes=1,bits=32,head=replay,objective=expected": (one, bits),
        "GBM:prototypes=8,bits=32,head=replay,objective=expected": (eight, 320),
    }
    results = [RunResult(name, 0, history([value], memory=memory)) for name, (value, memory) in reached.items()]
    claims = _claims(results, {name: name for name in ROWS})
    assert [claim.holds for claim in claims] == verdicts
    better = interval(one - 0.71, margin(one, 0.71))
    assert claims[0].measured == f"{better}, with {188 / bits:.1f} times less memory"


def test_everything_that_is_missing_is_named_at_once(tmp_path):
    with pytest.raises(InputError) as error:
        core50_table(Request("cpu", tmp_path))
    message = str(error.value)
    assert "core50_128x128.zip" in message
    assert str(tmp_path / "data" / "core50") in message
    assert "quicknet_large_weights.h5" in message
    assert str(tmp_path / "data" / "quicknet") in message
    write_core50(tmp_path / "data" / "core50")
    with pytest.raises(InputError) as error:
        EXPERIMENTS["table-5"].run(Request("paper", tmp_path))
    assert "core50_128x128.zip" not in str(error.value)
    assert "quicknet_large_weights.h5" in str(error.value)
