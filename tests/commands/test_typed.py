"""What people type, and what a command is called with."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from bitreplay.commands import make_app
from bitreplay.commands._options import DEFAULT_SETTING, SettingOptions
from bitreplay.errors import InputError
from bitreplay.runs import Setting, Specification
from bitreplay.training import TrainingChanges, TrainingOptions


def read(typed: str) -> dict[str, Any]:
    """The arguments that differ from the defaults, options of the setting among the others."""
    _, bound, _ = make_app().parse_args(typed.split())
    given = dict(bound.arguments)
    setting = given.pop("setting", DEFAULT_SETTING)
    assert isinstance(setting, Setting)
    own = {field.name: getattr(setting, field.name) for field in fields(setting)}
    return given | {name: value for name, value in own.items() if value != getattr(DEFAULT_SETTING, name)}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("run", {}),
        ("run --sizes 5 2 3", {"sizes": [5, 2, 3]}),
        ("run --sizes 5", {"sizes": [5]}),
        ("run --sizes=5 2 3", {"sizes": [5, 2, 3]}),
        ("run --sizes [5,2,3]", {"sizes": [5, 2, 3]}),
        ("run --sizes 5,2,3", {"sizes": [5, 2, 3]}),
        ("run --order 5", {"order": 5}),
        ("run --order=5", {"order": 5}),
        ("run --order 3 1 2 --seed 3", {"order": [3, 1, 2], "seed": 3}),
        ("run --order 3,1,2", {"order": [3, 1, 2]}),
        ("run --order null", {"order": None}),
        ("run --seed 3 --dataset digits", {"seed": 3, "dataset": "digits"}),
        ("run --seed -1", {"seed": -1}),
        ("run --train_accuracy", {"train_accuracy": True}),
        ("run --train-accuracy", {"train_accuracy": True}),
        ("run --train_accuracy --seed 3", {"train_accuracy": True, "seed": 3}),
        ("run --train_accuracy=true", {"train_accuracy": True}),
        ("run --train_accuracy=false", {"train_accuracy": False}),
        ("run --samples-per-class 5", {"samples_per_class": 5}),
        ("run --learner FeTrIL", {"learner": "FeTrIL"}),
        ("run --learner GBM --learner.prototypes 4", {"learner": "GBM", "learner_options": {"prototypes": "4"}}),
        ("run --learner.bits=4 --learner.head replay", {"learner_options": {"bits": "4", "head": "replay"}}),
        ("run --learner.help GBM", {"explained": "GBM"}),
        ("run --dataset digits --training.epochs 4", {"dataset": "digits", "training": {"epochs": 4}}),
        (
            "train --training.image_sizes 8 16 --training.nesterov --training.schedule cosine",
            {"training": {"image_sizes": [8, 16], "nesterov": True, "schedule": "cosine"}},
        ),
        ("train --training.nesterov=false", {"training": {"nesterov": False}}),
        ("compare --learners GBM FeTrIL:classifier=fc", {"learners": ["GBM", "FeTrIL:classifier=fc"]}),
        ("compare --learners GBM --seeds 0 1 2", {"learners": ["GBM"], "seeds": [0, 1, 2]}),
        ("compare --learners GBM:head=replay,bits=8", {"learners": ["GBM:head=replay,bits=8"]}),
        ("compare --n_jobs -1", {"n_jobs": -1}),
        ("reproduce table-5 --n_jobs=-1", {"experiment": "table-5", "n_jobs": -1}),
        ("report a b", {"runs": [Path("a"), Path("b")]}),
        ("report a --table csv", {"runs": [Path("a")], "table": "csv"}),
        ("studio", {}),
        ("studio shop.bitreplay --no_browser", {"model": Path("shop.bitreplay"), "no_browser": True}),
        ("serve shop.bitreplay --port 0 --host a b", {"model": Path("shop.bitreplay"), "port": 0, "host": ["a", "b"]}),
        ("cache clean --kind bits", {"action": "clean", "kind": "bits"}),
        ("cache --kind bits", {"kind": "bits"}),
    ],
)
def test_options_are_typed_plainly(typed: str, meant: dict[str, object]) -> None:
    assert read(typed) == meant


def test_options_of_a_setting_are_those_of_the_library() -> None:
    assert [field.name for field in fields(SettingOptions)] == [field.name for field in fields(Setting)]
    assert Setting(**{field.name: getattr(DEFAULT_SETTING, field.name) for field in fields(Setting)}) == Setting()


def test_every_training_option_can_be_changed_and_is_explained() -> None:
    changes = get_type_hints(TrainingChanges)
    options = get_type_hints(TrainingOptions)
    assert list(changes) == list(options)
    assert {name for name in changes if changes[name] != options[name]} == {"image_sizes"}  # a list in a YAML file
    for name in changes:
        assert f"\n    {name} : " in str(TrainingChanges.__doc__)


@pytest.mark.parametrize(
    ("learner", "options", "meant"),
    [
        ("GBM", {"prototypes": "4", "head": "replay"}, "GBM:prototypes=4,head=replay"),
        ("GBM:bits=2", {"p": "3"}, "GBM:bits=2,p=3"),
        ("GBM:bits=2,p=3", {"bits": "4"}, "GBM:bits=4,p=3"),  # as over a configuration
        ("iCaRL:output=nme", {}, "iCaRL:output=nme"),
    ],
)
def test_options_of_a_learner_are_part_of_its_name(learner: str, options: dict[str, str], meant: str) -> None:
    assert str(Specification.parse(learner, options)) == meant


def test_wrong_options_of_a_learner_are_refused() -> None:
    with pytest.raises(InputError, match=r"GBM has no option 'protoypes'.*did you mean prototypes"):
        Specification.parse("GBM", {"protoypes": "4"})
