"""Learners by name: ours in one table, and those of other packages.

A method of ours is one file and one line here. Any other package adds its own through an entry point, and then has
them in `run`, `compare` and the report::

    [project.entry-points."bitreplay.learners"]
    MyMethod = "my_package:MyMethod"
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bitreplay.errors import InputError
from bitreplay.learners._learner import Method

ENTRY_POINTS = "bitreplay.learners"

# In the order in which tables show them: on a frozen encoder, from the method of this library over the bounds to its
# rivals; then those that train the whole network: the bounds, with exemplars, with weights held, with prototypes.
OURS = {
    "GBM": "frozen._gbm:GBM",
    "FineTuning": "frozen._fine_tuning:FineTuning",
    "Joint": "frozen._joint:Joint",
    "NearestMean": "frozen._nearest_mean:NearestMean",
    "FeTrIL": "frozen._fetril:FeTrIL",
    "FeCAM": "frozen._fecam:FeCAM",
    "StreamingLDA": "frozen._streaming_lda:StreamingLDA",
    "RandomRidge": "frozen._random_ridge:RandomRidge",
    "GaussianReplay": "frozen._gaussian_replay:GaussianReplay",
    "LatentReplay": "frozen._latent_replay:LatentReplay",
    "LatentReplayCWR": "frozen._cwr:LatentReplayCWR",
    "FullFineTuning": "finetuned._fine_tuning:FullFineTuning",
    "FullJoint": "finetuned._joint:FullJoint",
    "iCaRL": "finetuned._icarl:ICaRL",
    "EEIL": "finetuned._eeil:EEIL",
    "LUCIR": "finetuned._lucir:LUCIR",
    "LwF-MC": "finetuned._lwf_mc:LwFMC",
    "EWC": "finetuned._ewc:EWC",
    "PASS": "finetuned._pass:PASS",
    "IL2A": "finetuned._il2a:IL2A",
    "TrainableGBM": "finetuned._gbm_trainable:TrainableGBM",
}


class Registry(Mapping[str, type[Any]]):
    """Classes of learners by name, imported on first use.

    Examples
    --------
    >>> LEARNERS["GBM"].name, len(LEARNERS) >= 21
    ('GBM', True)
    """

    @cached_property
    def _brought(self) -> dict[str, EntryPoint]:
        """Those of other packages; names that clash with ours are left out."""
        points = entry_points(group=ENTRY_POINTS)
        for point in points:
            if point.name in OURS:
                warnings.warn(f"the learner {point.name!r} of {point.value} has the name of one of ours", stacklevel=3)
        return {point.name: point for point in points if point.name not in OURS}

    def __iter__(self) -> Iterator[str]:
        return iter((*OURS, *self._brought))

    def __len__(self) -> int:
        return len(OURS) + len(self._brought)

    def __getitem__(self, name: str) -> type[Any]:
        if name in OURS:
            module, _, kind = OURS[name].partition(":")
            return getattr(import_module(f"bitreplay.learners.{module}"), kind)  # type: ignore[no-any-return]
        point = self._brought[name]
        try:
            kind = point.load()
        except Exception as error:  # whatever another package does wrong
            raise InputError(f"the learner {name!r} cannot be imported from {point.value}: {error!r}") from error
        if not (inspect.isclass(kind) and issubclass(kind, Method)):
            raise InputError(
                f"the entry point {name!r} of {ENTRY_POINTS} must name a FrozenMethod or a Learner; it names {kind!r}"
            )
        return kind

    def on_frozen_encoders(self) -> tuple[str, ...]:
        """Names of those that use a frozen encoder.

        Examples
        --------
        >>> "GBM" in LEARNERS.on_frozen_encoders(), "PASS" in LEARNERS.on_frozen_encoders()
        (True, False)
        """
        from bitreplay.learners.frozen._method import FrozenMethod

        return tuple(name for name, kind in self._usable() if issubclass(kind, FrozenMethod))

    def in_streams(self) -> tuple[str, ...]:
        """Names of those that learn more samples of classes they know.

        Examples
        --------
        >>> LEARNERS.in_streams()[:2], "FeTrIL" in LEARNERS.in_streams()
        (('GBM', 'NearestMean'), False)
        """
        return tuple(name for name, kind in self._usable() if kind.streams)

    def _usable(self) -> Iterator[tuple[str, type[Any]]]:
        """All that can be imported; what another package did wrong is said, and stops nobody else."""
        for name in self:
            try:
                yield name, self[name]
            except InputError as error:
                warnings.warn(f"left out: {error}", stacklevel=3)


LEARNERS = Registry()
