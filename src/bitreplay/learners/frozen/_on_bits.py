"""Methods on bits: which binarizer makes them, where its thresholds come from, and those that keep the core's state.

An encoder trained with a binarizer provides it (`use`). Otherwise, a binarizer is made according to the method's
options and calibrated on the features of task 0 (`calibrate`). Later tasks never change it.
"""

from __future__ import annotations

import copy
import inspect
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, number, one_of
from bitreplay.binarizers import Binarizer, BinarizerName, Heaviside, Native, Thermometer, calibrated_binarizer, rebuild
from bitreplay.bits import Fingerprint, PackedBits
from bitreplay.errors import InputError
from bitreplay.gbm import GBMOptions, GBMState, head_of, state_content, state_from_content
from bitreplay.heads import VERSION as HEADS_VERSION
from bitreplay.heads import Head, MakeModule, Replay, Scores, computed
from bitreplay.learners._learner import Arrays, Uses, from_text, to_text
from bitreplay.learners.frozen._architectures import Architecture, make_replay
from bitreplay.learners.frozen._method import Features, FeatureSource, FrozenMethod, Labels
from bitreplay.memory import BinaryMemory, Label, Prior

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
            self._check_unused(encoder.binarizer)
            self.use(encoder.binarizer, encoder.name)

    def _check_unused(self, code: Binarizer) -> None:
        """Refuse options for a binarizer of one's own that would do nothing: two rows of a table would be the same."""
        own = {"binarizer": code.kind, "p": getattr(code, "p", None), "f": getattr(code, "f", None)}
        defaults = inspect.signature(type(self)).parameters
        for name, value in own.items():
            if (given := getattr(self, name)) not in (value, defaults[name].default):
                raise InputError(
                    f"{name}={given} has no effect: the encoder was trained with a binarizer of its own "
                    f"({code.kind}, {code.bits_per_feature} bits per feature). Give it to the encoder's training, or "
                    "take thresholds from data with --binarizer calibrated"
                )

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


class MemoryAndHead(OnBits):
    """Base of GBM and latent replay, whose `learned` is a :class:`GBMState`: a binary memory and a head.

    Attributes
    ----------
    tail : callable or None
        ``tail(n_inputs, n_classes)`` makes the layers after the encoder's tap, for `architecture="quicknet_tail"`; None
        for an encoder without a tap.
    """

    architecture: Architecture
    epochs: int
    min_steps: int
    batch_size: int
    learning_rate: float | None
    prior: Prior = "balanced"
    strength: float | None = 0.0  # exemplars are samples: nobody's mean is guessed
    tail: MakeModule | None = None
    linear_rate: ClassVar[float] = Replay.learning_rate

    def begin(self, encoder: FeatureSource) -> None:
        """Use the binarizer that an encoder was trained with, and the layers after its tap."""
        self.tail = encoder.tail
        super().begin(encoder)

    @property
    def version(self) -> str:
        """Its own version, and those of memory and heads."""
        return f"{self.VERSION}.{HEADS_VERSION}"

    @property
    def state(self) -> GBMState:
        """Memory and head, and everything needed to continue learning."""
        self._require_classes()
        state: GBMState = self.learned["state"]
        return state

    @property
    def memory(self) -> BinaryMemory | None:
        """Everything stored about the classes: it can be saved, merged or read on its own; None before the first."""
        return self.state.memory if len(self.classes) else None

    @abstractmethod
    def _options(self) -> GBMOptions:
        """How the core learns; the head is not fitted."""

    def _make_core(self) -> None:
        """Refuse options that are out of range, and keep what is made of the others."""
        self._check_code_options()
        integer("seed", self.seed, 0)
        one_of("architecture", self.architecture, Architecture)
        if self.learning_rate is not None:
            number("learning_rate", self.learning_rate, above=0)
        self._core = self._options()

    @property
    def core(self) -> GBMOptions:
        """How the core learns. What replay trains depends on the encoder, and so is made when that is known."""
        if self._core.made_head.name != Replay.name:
            return self._core
        return replace(self._core, head=self._replay())

    def _replay(self) -> Replay:
        """The untrained replay head, as set by the options."""
        return make_replay(
            self.architecture,
            self.tail,
            signs=isinstance(self.code, Native),
            epochs=self.epochs,
            min_steps=self.min_steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            linear_rate=self.linear_rate,
            prior=self.prior,
            strength=self.strength,
        )

    def _by_label(self, X: PackedBits, y: Labels, new: Labels) -> dict[Label, PackedBits]:
        """Samples of every class that there are some of, by its label."""
        classes = np.concatenate([self.classes, new])
        return {int(classes[place]): X[y == place] for place in np.unique(y)}

    def ready(self) -> None:
        """Compute the head, if that has been put off."""
        if len(self.classes):
            computed(self.state.head)

    def _scores(self, X: PackedBits) -> Scores:
        return self.state.scores(X)

    def memory_bits(self) -> int:
        """Size of the memory as the paper counts it: prototypes (or exemplars) per class times D times q."""
        return self.state.memory.size_bits if len(self.classes) else 0

    def working_set_bits(self) -> int:
        """Weights of the head."""
        return 8 * self.state.head.nbytes if len(self.classes) else 0

    def _to_arrays(self) -> Arrays:
        content, state, tensors = state_content(self.state)
        return {**tensors, "content": to_text({**content, "state": state})}

    def _from_arrays(self, arrays: Arrays) -> dict[str, Any]:
        content = from_text(arrays["content"])
        memory = BinaryMemory.from_content(content, arrays, "the state")
        own, options = head_of(content["state"]), self.core
        head: Head = self._replay() if own is None or own.name == Replay.name else own
        return {"state": state_from_content(memory, content["state"], arrays, options, head)}
