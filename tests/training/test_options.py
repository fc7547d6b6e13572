import math

import pytest

from bitreplay.errors import InputError
from bitreplay.training import PRESET_BACKBONES, PRESETS, TrainingOptions


def test_the_paper_preset_is_the_paper():
    paper = PRESETS["paper"]
    assert (paper.epochs, paper.batch_size, paper.momentum, paper.weight_decay) == (160, 128, 0.9, 5e-4)
    assert (paper.augmentation, paper.image_sizes, paper.nesterov) == ("paper", (), False)
    rates = [paper.rate_at("steps", paper.learning_rate, epoch, paper.epochs) for epoch in (0, 49.99, 50, 100, 150)]
    assert (paper.schedule, paper.ste_schedule) == ("steps", "cosine")
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.001, 0.0001])
    assert PRESET_BACKBONES["paper"] == ("resnet18", {})


def test_every_preset_has_a_backbone():
    assert set(PRESET_BACKBONES) == set(PRESETS) >= {"paper", "cpu", "digits", "cpu_binary"}


def test_one_cycle_rises_linearly_and_falls_as_a_half_cosine():
    options = TrainingOptions(warmup=0.25)
    rates = [options.rate_at("one_cycle", 1.0, epoch, 8) for epoch in (0, 1, 2, 5, 8)]
    assert rates == pytest.approx([0, 0.5, 1.0, 0.5, 0.0])


def test_cosine_falls_from_the_beginning():
    options = TrainingOptions()
    assert options.rate_at("cosine", 2.0, 0, 4) == 2.0
    assert options.rate_at("cosine", 2.0, 1, 4) == pytest.approx(1 + math.cos(math.pi / 4))


def test_image_sizes_share_the_first_phase():
    options = TrainingOptions(image_sizes=(16, 24, 32))
    assert [options.image_size_at(epoch, 6) for epoch in range(6)] == [16, 16, 24, 24, 32, 32]
    assert TrainingOptions().image_size_at(0, 6) is None


@pytest.mark.parametrize(
    "bad",
    [
        {"epochs": 0},
        {"epochs": "20"},
        {"epochs": 2.5},
        {"ste_epochs": -1},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"learning_rate": "0.1"},
        {"learning_rate": math.inf},
        {"step_factor": -0.1},
        {"nesterov": True, "momentum": 0.0},
        {"ste_learning_rate": math.nan},
        {"momentum": 1.0},
        {"weight_decay": -1.0},
        {"schedule": "linear"},
        {"ste_schedule": "linear"},
        {"augmentation": "mixup"},
        {"image_sizes": (0,)},
        {"image_sizes": 32},
        {"image_sizes": ("32",)},
        {"label_smoothing": 1.0},
    ],
)
def test_bad_options_are_named(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        TrainingOptions(**bad)
