"""Specification: which learner, with which options; as text, and as the object it denotes.

On the command line and in `config.yaml` a learner is a word, `GBM`, or a word with options, `GBM:head=replay,bits=8`.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bitreplay._floor.options import options_text, parse_options
from bitreplay._words import hint
from bitreplay.errors import InputError
from bitreplay.learners import LEARNERS, Learner, Method
from bitreplay.runs._prepared import Prepared


@dataclass(frozen=True)
class Specification:
    """A learner by name, and its given options.

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
    def parse(cls, text: str, more: Mapping[str, str] | None = None) -> Specification:
        """Read ``NAME`` or ``NAME:option=value,option=value``, and more options as text, which take precedence.

        Examples
        --------
        >>> str(Specification.parse("GBM:prototypes=2,bits=4", {"bits": "3"}))
        'GBM:prototypes=2,bits=3'
        """
        name, options = parse_options(text)
        options |= parse_options(options_text(name, more or {}))[1]
        if name not in LEARNERS:
            raise InputError(f"there is no learner {name!r}; there are {', '.join(LEARNERS)}{hint(name, LEARNERS)}")
        specification = cls(name, options)
        _ = specification.about  # wrong options are refused now, and not when others have run already
        return specification

    def __str__(self) -> str:
        return options_text(self.name, self.options)

    @property
    def version(self) -> str:
        """The version of the method; of one from another package, which is still being written, with its source."""
        kind = LEARNERS[self.name]
        if kind.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return self.about.version
        try:
            source = inspect.getsource(inspect.getmodule(kind) or kind)
        except (OSError, TypeError):  # made without a file
            return self.about.version
        return f"{self.about.version}, {hashlib.sha256(source.encode()).hexdigest()[:8]}"

    def all_options(self) -> dict[str, Any]:
        """Every option except the seed, with defaults for those not given."""
        known = inspect.signature(LEARNERS[self.name]).parameters
        return {option: self.options.get(option, known[option].default) for option in known if option != "seed"}

    @cached_property
    def about(self) -> Method:
        """An instance with these options, to query what it uses and whether it is random."""
        return self.make(0)

    def make(self, seed: int) -> Method:
        """The method, without an encoder or network."""
        known = [option for option in inspect.signature(LEARNERS[self.name]).parameters if option != "seed"]
        for option in self.options:
            if option == "seed":
                raise InputError(f"the seed is not an option of {self.name}: it is given separately")
            if option not in known:
                raise InputError(
                    f"{self.name} has no option {option!r}; it has {', '.join(known)}{hint(option, known)}"
                )
        made: Method = LEARNERS[self.name](**self.options, seed=seed)
        return made

    def learner(self, prepared: Prepared, seed: int) -> Learner:
        """The learner of images, on the setting's encoder or with its own network."""
        return self.make(seed).learner_in(prepared)
