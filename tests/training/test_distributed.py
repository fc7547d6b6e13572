from dataclasses import replace

import pytest

from bitreplay.data import load_dataset, make_scenario
from bitreplay.training import PRESETS, TrainedNetwork, train_base

pytest.importorskip("lightning_fabric", reason="Lightning Fabric is not installed")


def test_two_processes_train_to_the_accuracy_of_one(tmp_path):
    task = make_scenario(load_dataset("digits"), sizes=[10], order=None)[0]
    trained = {
        devices: train_base(
            task,
            "small_cnn",
            replace(PRESETS["digits"], epochs=4, ste_epochs=2, batch_size=64),
            backbone_options={"width": 8},
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
    assert abs(one["straight_through"] - two["straight_through"]) < 0.04
    assert TrainedNetwork.load(tmp_path / "2").key == trained[1].key  # processes are no part of what is trained
