"""What the methods are for: plain fine-tuning forgets all old digits, and each of them clearly less."""

import pytest

from bitreplay.data import load_dataset, make_scenario
from bitreplay.learners import LEARNERS, TrainingContext
from bitreplay.training import TrainingOptions
from tests.learners.finetuned.problems import accuracy

scenario = make_scenario(load_dataset("digits"), sizes=[4, 3, 3], order=1)
TRAINING = TrainingOptions(epochs=6, ste_epochs=0, batch_size=32, schedule="one_cycle", augmentation="none")


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in LEARNERS.on_frozen_encoders()])
def test_old_classes_are_kept_by_all_but_fine_tuning(name):
    learner = LEARNERS[name]()
    learner.use(TrainingContext("small_cnn", {"width": 8}, TRAINING, "cpu"))
    for task in scenario:
        learner.learn(task)
    first, everything = accuracy(learner, scenario[0].test), accuracy(learner, scenario.test_seen(2))
    if name == "FullFineTuning":
        assert first == 0
        assert everything < 0.31  # the three classes it saw last
    else:
        assert first > 0.3
        assert everything > 0.45
    if name in ("FullJoint", "iCaRL", "EEIL", "LUCIR"):  # old images are there
        assert everything > 0.85
