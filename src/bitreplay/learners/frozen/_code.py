"""Methods on bits: which binarizer makes them, and where its thresholds come from.

An encoder that was trained with a binarizer brings it along (`use`). For one that was not, a binarizer is made as the
method's options say, and calibrated on the features of task 0 (`calibrate`). Later tasks never change it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from bitreplay._floor.arguments import integer, one_of
from bitreplay.binarizers import Binarizer, Heaviside, Thermometer
from bitreplay.binarizers._rebuild import rebuild
from bitreplay.errors import InputError
from bitreplay.learners._learner import Arrays, Uses
from bitreplay.learners.frozen._method import Features, Method, from_text, to_text
from bitreplay.memory import Fingerprint

__all__ = ["BinarizerName", "OnBits"]

BinarizerName = Literal["thermometer", "heaviside"]


class OnBits(Method):
    """Base of the methods that may use bits.

    Attributes
    ----------
    code : Binarizer or None
        What makes the bits; None before `use` or `calibrate`.
    encoder : str
        Name of the encoder; it becomes part of a memory's fingerprint.
    """

    binarizer: BinarizerName
    p: int
    f: int
    code: Binarizer | None = None
    encoder: str = ""

    @property
    def uses(self) -> Uses:
        """Bits."""
        return "bits"

    def _check_code_options(self) -> None:
        one_of("binarizer", self.binarizer, BinarizerName)
        integer("p", self.p, 1)
        integer("f", self.f, 1)

    def use(self, binarizer: Binarizer, encoder: str = "") -> None:
        """Take the binarizer that an encoder was trained with."""
        self._set_code(copy.deepcopy(binarizer), encoder)

    def calibrate(self, features: Features, encoder: str = "") -> None:
        """Make a binarizer with thresholds that fit the features of task 0: their quantiles.

        A Heaviside projection that nobody trained is random, with its thresholds at the medians of the projections.
        """
        features = np.asarray(features, dtype=np.float32)
        if features.ndim != 2 or not len(features) or not np.isfinite(features).all():
            raise InputError(f"thresholds need a non-empty matrix of finite features; got shape {features.shape}")
        code: Binarizer
        if self.binarizer == "thermometer":
            code = Thermometer(int(self.p), calibrated=True)
            code.calibrate(features)
        else:
            code = Heaviside(features.shape[1], int(self.f), generator=torch.Generator().manual_seed(self.seed))
            with torch.no_grad():
                code.bias.copy_(-torch.from_numpy(np.median(code.project(torch.from_numpy(features)).numpy(), axis=0)))
        self._set_code(code, encoder)

    def _set_code(self, code: Binarizer, encoder: str) -> None:
        if len(self.classes):
            raise InputError(f"{self.name} has learned classes already: the binarizer of their bits cannot change")
        self.code, self.encoder = code, encoder

    def _require_code(self) -> Binarizer:
        if self.code is None:
            raise InputError(f"{self.name} does not know what its bits mean: call calibrate or use first")
        return self.code

    def _fingerprint(self, n_bits: int) -> Fingerprint:
        """Identity of the bits, for a memory."""
        code = self._require_code()
        per_feature = code.f if isinstance(code, Heaviside) else code.bits_per_feature
        return code.fingerprint(n_bits // per_feature, self.encoder)

    def _checked(self, X: Any) -> Any:
        X = super()._checked(X)
        if self.uses == "bits":
            code = self._require_code()
            expected = None
            if isinstance(code, Heaviside):
                expected = code.f * code.in_features
            elif isinstance(code, Thermometer) and code.calibrated:
                expected = code.thresholds.numel()
            if expected is not None and X.n_features != expected:
                raise InputError(f"{self.name}'s binarizer makes {expected} bits; got {X.n_features}")
        return X

    def state_dict(self) -> Arrays:
        """All that was learned, and the binarizer."""
        state = super().state_dict()
        if self.uses == "bits":
            options, tensors = self._require_code().describe()
            state["binarizer"] = to_text(options)
            state.update({f"binarizer.{name}": value for name, value in tensors.items()})
        return state

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `state_dict` of a method with the same options gave."""
        own = {name: value for name, value in state.items() if not name.startswith("binarizer")}
        before = self.code
        try:
            if self.uses == "bits":
                tensors = {n.removeprefix("binarizer."): v for n, v in state.items() if n.startswith("binarizer.")}
                self.code = rebuild(from_text(state["binarizer"]), tensors)
            super().load_state_dict(own)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            self.code = before
            if isinstance(error, InputError):
                raise
            raise InputError(f"this is not a state of {self.name}: it describes no binarizer") from None
