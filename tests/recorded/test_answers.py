"""A learner whose answers change must say so by its VERSION: old runs would pass for new ones otherwise.

Answers are compared coarsely: arithmetic differs in the last digits from machine to machine, and a sample on the edge
between two classes may fall to either side.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.learners import problems as frozen
from tests.learners.finetuned import problems as finetuned
from tests.recorded.answers import BACKBONES, RECORDED, backbone_features, finetuned_answers, frozen_answers

# Shares of answers that rounding may change: what other instruction sets and thread counts changed, with room to spare.
EDGE = {"frozen": 0.01, "finetuned": 0.03}
CHAOTIC = {"LatentReplay binary": 0.2}  # a weight of ±1 that changes its sign for a last digit changes all that follows

recorded = json.loads(RECORDED.read_text())


def check(kind: str, variant: str, version: str, answers: str) -> None:
    known = recorded[kind].get(variant, {"version": None, "answers": ""})
    assert version == known["version"], "a new VERSION: record its answers with `python -m tests.recorded.answers`"
    changed = sum(a != b for a, b in zip(answers, known["answers"], strict=True)) / len(answers)
    assert changed <= CHAOTIC.get(variant, EDGE[kind]), (
        f"{variant} answers {100 * changed:.1f} % of the samples otherwise than version {version} did: raise its "
        "VERSION, or cached runs of the old one will be taken for runs of this one"
    )


@pytest.mark.parametrize("variant", frozen.VARIANTS)
def test_answers_on_a_frozen_encoder_are_those_of_this_version(variant: str) -> None:
    check("frozen", variant, *frozen_answers(variant))


@pytest.mark.parametrize("variant", finetuned.VARIANTS)
def test_answers_of_methods_that_train_are_those_of_this_version(variant: str) -> None:
    check("finetuned", variant, *finetuned_answers(variant))


@pytest.mark.parametrize("name", BACKBONES)
def test_features_of_a_backbone_are_those_of_this_version(name: str) -> None:
    version, features = backbone_features(name)
    known = recorded["backbones"].get(name, {"version": None})
    assert version == known["version"], "a new VERSION: record its features with `python -m tests.recorded.answers`"
    assert len(set(features)) > 1
    np.testing.assert_allclose(features, known["features"], rtol=1e-2, atol=1e-3, err_msg="raise the class's VERSION")


def test_the_problems_are_hard_enough_to_tell_methods_apart() -> None:
    for kind in ("frozen", "finetuned"):
        answers = {known["answers"] for known in recorded[kind].values()}
        assert len(answers) == len(recorded[kind])  # no two methods answer alike
