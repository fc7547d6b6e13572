"""Specification: which learner, with which options; as text, as an object, and as a file has it.

On the command line of a comparison a learner is a word, `GBM`, or a word with options, `GBM:head=replay,bits=8`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.learners import LEARNERS, FrozenClassifier, FrozenLearner, Learner

__all__ = ["Specification"]


@dataclass(frozen=True)
class Specification:
    """A learner by name, and the options that differ from its defaults.

    Examples
    --------
    >>> Specification.parse("GBM:head=replay,bits=8")
    Specification(name='GBM', options={'head': 'replay', 'bits': 8})
    >>> str(Specification.parse("GBM:bits=3"))
    'GBM:bits=3'
    """

    name: str
    options: Mapping[str, Any]

    @classmethod
    def parse(cls, text: str) -> Specification:
        """Read ``NAME`` or ``NAME:option=value,option=value``."""
        import yaml

        name, _, rest = text.partition(":")
        if name not in LEARNERS:
            near = difflib.get_close_matches(name, LEARNERS, 1, 0.4)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"there is no learner {name!r}{hint} There are {', '.join(LEARNERS)}")
        options: dict[str, Any] = {}
        for part in filter(None, rest.split(",")):
            option, equals, value = part.partition("=")
            if not equals:
                raise InputError(f"options of a learner are written option=value; got {part!r} in {text!r}")
            options[option] = yaml.safe_load(value)
        specification = cls(name, options)
        specification.make(0)  # wrong options are refused now, and not when others have run already
        return specification

    @classmethod
    def of(cls, classifier: Any) -> Specification:
        """The specification of an object that was made otherwise."""
        parameters = inspect.signature(type(classifier)).parameters
        name = next((name for name, kind in LEARNERS.items() if type(classifier) is kind), None)
        if name is None:
            raise InputError(f"{type(classifier).__name__} is not one of the learners {', '.join(LEARNERS)}")
        given = {option: getattr(classifier, option) for option in parameters if option != "seed"}
        return cls(name, {option: value for option, value in given.items() if value != parameters[option].default})

    def __str__(self) -> str:
        options = ",".join(f"{option}={value}" for option, value in self.options.items())
        return f"{self.name}:{options}" if options else self.name

    def make(self, seed: int) -> FrozenClassifier:
        """The classifier on embeddings."""
        known = inspect.signature(LEARNERS[self.name]).parameters
        for option in self.options:
            if option not in known or option == "seed":
                near = difflib.get_close_matches(option, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(k for k in known if k != 'seed')}"
                raise InputError(f"{self.name} has no option {option!r}; {hint}")
        kind: Callable[..., FrozenClassifier] = LEARNERS[self.name]
        return kind(**self.options, seed=seed)

    def learner(self, encoder: Encoder, seed: int) -> Learner:
        """The learner of images."""
        return FrozenLearner(self.make(seed), encoder)
