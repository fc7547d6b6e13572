"""What people type, and what the parser makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonargparse import ArgumentParser

from bitreplay.commands import cache, compare, memory, report, run
from bitreplay.commands._words import as_read
from bitreplay.errors import InputError


def read(function: object, typed: str) -> dict[str, object]:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_function_arguments(function, as_group=False, as_positional=True)  # type: ignore[arg-type]
    options = parser.parse_args(as_read(typed.split(), parser)).as_dict()
    defaults = parser.get_defaults().as_dict()
    return {name: value for name, value in options.items() if value != defaults.get(name)}


@pytest.mark.parametrize(
    ("function", "typed", "meant"),
    [
        (run, "", {}),
        (run, "--sizes 5 2 3", {"sizes": [5, 2, 3]}),
        (run, "--sizes 5", {"sizes": [5]}),
        (run, "--sizes=5 2 3", {"sizes": [5, 2, 3]}),
        (run, "--sizes [5,2,3]", {"sizes": [5, 2, 3]}),
        (run, "--sizes 5,2,3", {"sizes": [5, 2, 3]}),
        (run, "--order 5", {"order": 5}),
        (run, "--order=5", {"order": 5}),
        (run, "--order 3 1 2", {"order": [3, 1, 2]}),
        (run, "--order null", {"order": None}),
        (run, "--seed 3 --dataset digits", {"seed": 3, "dataset": "digits"}),
        (run, "--train_accuracy", {"train_accuracy": True}),
        (run, "--train_accuracy --seed 3", {"train_accuracy": True, "seed": 3}),
        (run, "--train_accuracy true", {"train_accuracy": True}),
        (run, "--train_accuracy=true", {"train_accuracy": True}),
        (run, "--train_accuracy false", {}),
        (run, "--learner FeTrIL", {"learner": "FeTrIL"}),
        (run, "--learner GBM --learner.prototypes 4", {"learner": "GBM:prototypes=4"}),
        (run, "--learner.prototypes=4 --learner.head replay", {"learner": "GBM:prototypes=4,head=replay"}),
        (run, "--learner=GBM:bits=2 --learner.p 3", {"learner": "GBM:bits=2,p=3"}),
        (compare, "--learners GBM FeTrIL:classifier=fc", {"learners": ["GBM", "FeTrIL:classifier=fc"]}),
        (compare, "--learners GBM --seeds 0 1 2", {"learners": ["GBM"], "seeds": [0, 1, 2]}),
        (compare, "--learners GBM:head=replay,bits=8", {"learners": ["GBM:head=replay,bits=8"]}),
        (report, "a b", {"runs": ["a", "b"]}),
        (report, "a --table csv", {"runs": ["a"], "table": "csv"}),
        (
            memory,
            "file --remove 3 cup --output out",
            {"file": Path("file"), "remove": ["3", "cup"], "output": Path("out")},
        ),
        (cache, "clean --kind bits", {"action": "clean", "kind": "bits"}),
        (cache, "--kind bits", {"kind": "bits"}),
    ],
)
def test_lists_switches_and_learners_are_typed_plainly(function: object, typed: str, meant: dict[str, object]) -> None:
    assert read(function, typed) == meant


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("--learner.prototypes", "--learner.prototypes needs one value; got none"),
        ("--learner.prototypes 4 5", "--learner.prototypes needs one value; got 4 5"),
        ("--config c.yaml --learner.bits 2", "name it anew to change them: --learner"),
    ],
)
def test_half_an_option_of_a_learner(typed: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(run, typed)
