"""Methods on bits: which binarizer makes them, and where its thresholds come from.

An encoder trained with a binarizer provides it (`use`). Otherwise, a binarizer is made according to the method's
options and calibrated on the features of task 0 (`calibrate`). Later tasks never change it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, one_of
from bitreplay.binarizers import Binarizer, BinarizerName, Heaviside, Thermometer, calibrated_binarizer, rebuild
from bitreplay.bits import Fingerprint
from bitreplay.errors import InputError
from bitreplay.learners._learner import Arrays, Uses
from bitreplay.learners._text import from_text, to_text
from bitreplay.learners.frozen._method import Features, FeatureSource, FrozenMethod

__all__ = ["OnBits"]

CODE = "code"  # what a state calls its binarizer


class OnBits(FrozenMethod):
    """Base of the methods that may use bits.

    Attributes
    ----------
    encoder_name : str
        Name of the encoder; it becomes part of a memory's fingerprint.
    """

    binarizer: BinarizerName
    p: int
    f: int
    encoder_name: str = ""

    @property
    def uses(self) -> Uses:
        """Bits."""
        return "bits"

    def _check_code_options(self) -> None:
        one_of("binarizer", self.binarizer, BinarizerName)
        integer("p", self.p, 1)
        integer("f", self.f, 1)

    def begin(self, encoder: FeatureSource) -> None:
        """Use the binarizer that an encoder was trained with."""
        if self.uses == "bits" and encoder.binarizer is not None and not len(self.classes):
            self.use(encoder.binarizer, encoder.name)

    def use(self, binarizer: Binarizer, encoder_name: str = "") -> None:
        """Use a binarizer whose thresholds are known."""
        self._set_code(copy.deepcopy(binarizer), encoder_name)

    @property
    def needs_calibration(self) -> bool:
        """Whether it has no binarizer yet."""
        return self.uses == "bits" and self.code is None

    def calibrate(self, features: Features, encoder_name: str = "") -> None:
        """Make a binarizer whose thresholds are quantiles of the features of task 0.

        An untrained Heaviside projection is random, with its thresholds at the medians of the projections.
        """
        features = np.asarray(features, dtype=np.float32)
        code = calibrated_binarizer(self.binarizer, features, p=int(self.p), f=int(self.f), seed=self.seed)
        self._set_code(code, encoder_name)

    def _set_code(self, code: Binarizer, encoder_name: str) -> None:
        if len(self.classes):
            raise InputError(f"{self.name} has already learned classes: the binarizer of their bits cannot change")
        self.code, self.encoder_name = code, encoder_name

    def _require_code(self) -> Binarizer:
        if self.code is None:
            raise InputError(f"{self.name} has no binarizer yet: call calibrate or use first")
        return self.code

    def _fingerprint(self, n_bits: int) -> Fingerprint:
        """Identity of the bits, for a memory."""
        code = self._require_code()
        per_feature = code.f if isinstance(code, Heaviside) else code.bits_per_feature
        return code.fingerprint(n_bits // per_feature, self.encoder_name)

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
        """Everything learned, and the binarizer."""
        state = super().state_dict()
        if self.uses == "bits":
            options, tensors = self._require_code().describe()
            state[CODE] = to_text(options)
            state.update({f"{CODE}.{name}": value for name, value in tensors.items()})
        return state

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Load the `state_dict` of a method with the same options."""
        tensors = {n.removeprefix(f"{CODE}."): v for n, v in state.items() if n.startswith(f"{CODE}.")}
        own = {n: v for n, v in state.items() if n != CODE and not n.startswith(f"{CODE}.")}
        before = self.code
        try:
            if self.uses == "bits":
                self.code = rebuild(from_text(state[CODE]), tensors)
            super().load_state_dict(own)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            self.code = before
            if isinstance(error, InputError):
                raise
            raise InputError(f"this is not a state of {self.name}: it describes no binarizer") from None
