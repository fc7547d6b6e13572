"""Files that 0.1.0 wrote: they load, answer as they did, and go on learning."""

import json
from pathlib import Path

import numpy as np
import pytest

from bitreplay import BinaryMemory, GBMClassifier

FOLDER = Path(__file__).parents[1] / "recorded" / "version_0_1_0"
RECORDED = json.loads((FOLDER / "answers.json").read_text())


@pytest.mark.parametrize("name", RECORDED["answers"])
@pytest.mark.filterwarnings("ignore:reject is deprecated")
def test_classifiers_answer_as_they_did_and_learn_on(name, tmp_path):
    classifier = GBMClassifier.load(FOLDER / f"{name}.safetensors")
    test = np.array(RECORDED["test"])
    assert classifier.predict(test).tolist() == RECORDED["answers"][name]
    np.testing.assert_allclose(classifier.predict_proba(test), RECORDED["probabilities"][name], atol=1e-5)
    rows = np.random.default_rng(0).normal(5, 0.1, size=(20, test.shape[1]))
    classifier.partial_fit(rows, ["eel"] * 20)
    assert classifier.classes_.tolist() == ["ant", "bee", "cat", "dog", "eel"]
    classifier.save(tmp_path / "new.safetensors")
    again = GBMClassifier.load(tmp_path / "new.safetensors")
    assert np.array_equal(again.predict(test), classifier.predict(test))


def test_what_was_the_encoder_is_the_encoders_name():
    classifier = GBMClassifier.load(FOLDER / "closed_form.safetensors")
    assert classifier.get_params()["encoder_name"] == "pixels"
    assert classifier.memory_.fingerprint.encoder == "pixels"


def test_memories_are_those_of_the_classifier():
    memory = BinaryMemory.load(FOLDER / "memory.safetensors")
    own = GBMClassifier.load(FOLDER / "closed_form.safetensors").memory_
    assert memory.labels == own.labels == ("ant", "bee", "cat", "dog")
    assert all(np.array_equal(memory.mixture(c).prototypes, own.mixture(c).prototypes) for c in memory.labels)
