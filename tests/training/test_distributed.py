import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bitreplay.data import load_dataset, make_scenario
from bitreplay.errors import InputError
from bitreplay.training import PRESETS, TrainedNetwork, train_base
from tests.training.problems import ARGUMENTS, tiny_task

pytest.importorskip("lightning_fabric", reason="Lightning Fabric is not installed")


def test_two_processes_train_to_the_accuracy_of_one(tmp_path):
    task = make_scenario(load_dataset("digits"), sizes=[10], order=None)[0]
    trained = {
        devices: train_base(
            task,
            "small_cnn",
            replace(PRESETS["digits"], epochs=4, batch_size=64),
            backbone_options={"width": 8},
            binarizer="none",  # another phase would start processes again, which takes most of the time
            folder=tmp_path / str(devices),
            accelerator="cpu",
            devices=devices,
            progress=False,
        )
        for devices in (1, 2)
    }
    one, two = trained[1].accuracy, trained[2].accuracy
    assert two["plain"] > 0.93
    assert abs(one["plain"] - two["plain"]) < 0.03  # 360 test images: three standard deviations at 97 %
    assert TrainedNetwork.load(tmp_path / "2").key == trained[1].key  # processes are no part of what is trained


SCRIPT = """
import sys
from bitreplay.training import train_base
from tests.training.problems import ARGUMENTS, tiny_task

if __name__ == "__main__":
    trained = train_base(tiny_task(), **ARGUMENTS, devices=2, folder=sys.argv[1], progress=False)
    print(trained.key)
"""


def test_processes_that_torchrun_starts_train_one_network(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    here = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": here, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*torchrun, str(tmp_path / "script.py"), str(tmp_path / "network")],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    trained = TrainedNetwork.load(tmp_path / "network")
    assert done.stdout.count(trained.key) == 2
    assert {"plain", "straight_through"} <= set(trained.accuracy)  # both phases


def test_processes_that_others_start_need_a_folder_that_they_share(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "any")
    with pytest.raises(InputError, match="need a folder that all of them share"):
        train_base(tiny_task(), **ARGUMENTS, devices=2, progress=False)


def test_a_network_with_weights_behind_its_tap_trains_in_two_processes(tmp_path):
    options = replace(ARGUMENTS["options"], epochs=1, ste_epochs=0, image_sizes=(32,), augmentation="none")
    small = {"tap": "pooled", "weights": None, "blocks": (1, 1, 1, 1), "filters": (32, 32, 64, 64)}
    given = {"options": options, "backbone_options": small, "binarizer": "none"}
    task = tiny_task(n=32, size=32, channels=3)
    trained = train_base(
        task, "quicknet", **given, devices=2, accelerator="cpu", folder=tmp_path, progress=False
    )  # fmt: skip
    assert set(trained.accuracy) == {"plain"}
