"""A classifier as JSON content and tensors, and back. The memory inside is the same as in a separate file
(docs/format.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, one_of, truth
from bitreplay._floor.seeds import first_draw
from bitreplay.binarizers import KINDS, Binarizer, BinarizerName, Thermometer
from bitreplay.classifier._fitted import Fitted
from bitreplay.classifier._refusal import check_options
from bitreplay.errors import FileFormatError, InputError
from bitreplay.gbm import GBMOptions, head_of, make_head, state_content, state_from_content
from bitreplay.heads import HEADS, Head
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import EMOptions

if TYPE_CHECKING:
    from bitreplay.classifier._classifier import GBMClassifier

Tensors = dict[str, npt.NDArray[Any]]

OPTIONS = ("prototypes", "p", "refuse", "refuse_by", "reject", "unknown", "update", "n_jobs")
ADDED = {"refuse": None, "refuse_by": "novelty", "update": GBMOptions.update}  # options that 0.1.0 did not have


def to_content(clf: GBMClassifier, fitted: Fitted) -> tuple[dict[str, Any], Tensors]:
    """Everything needed to continue elsewhere: memory, thresholds, what the head learned, options."""
    _check_kind(fitted.state.binarizer)
    content, classifier, tensors = state_content(fitted.state)
    options = {name: _plain(getattr(clf, name)) for name in OPTIONS}
    fingerprint = fitted.state.memory.fingerprint
    options["encoder"] = clf.encoder_name if fingerprint is None else fingerprint.encoder  # that of the first call
    options["em"] = asdict(clf.em) if clf.em else None
    options["random_state"] = _plain(clf.random_state) if isinstance(clf.random_state, int | np.integer) else None
    names = fitted.feature_names_in
    content["classifier"] = {
        "options": options,
        **classifier,
        "binarizer_option": clf.binarizer if isinstance(clf.binarizer, str) else None,
        "given": {"head": _described_head(clf.head), "binarizer": _described_thermometer(clf.binarizer)},
        "n_features_in": fitted.n_features_in,
        "feature_names_in": None if names is None else list(names),
    }
    _checked_options(content["classifier"])  # what could not be read must not replace a file that can
    return content, tensors


def _check_kind(binarizer: Binarizer) -> None:
    """Refuse a binarizer that a file could not bring back."""
    if type(binarizer) not in KINDS.values():
        raise InputError(
            f"a file describes binarizers of the kinds {', '.join(KINDS)}; {type(binarizer).__name__} is none of them"
        )


def _described_head(head: Any) -> Any:
    """The head as the user gave it: by name, or with options, some of them open; None where a file cannot say."""
    if isinstance(head, str):
        return head
    if type(head) not in HEADS.values():
        return None
    options, _ = head.describe()
    return None if options.get("own_module") else {"name": head.name, **options}


def _described_thermometer(binarizer: Any) -> dict[str, Any] | None:
    """A thermometer that the user gave without thresholds, so that every `fit` calibrates it; None for others."""
    if not isinstance(binarizer, Thermometer) or len(binarizer.thresholds):
        return None
    options, _ = binarizer.describe()
    return options


def from_content(
    content: Mapping[str, Any], tensors: Tensors, name: str, head: Head | None
) -> tuple[dict[str, Any], Fitted]:
    """Options and state of the classifier; `name` is the file's, `head` replaces one with a custom module."""
    memory = BinaryMemory.from_content(content, tensors, name)
    if "classifier" not in content:
        raise FileFormatError(f"{name} holds a memory only, not a classifier: read it with BinaryMemory.load")
    try:
        saved = content["classifier"]
        options = _checked_options(saved)
        template = _head(saved, name, head)
        given = saved.get("given") or {"head": None, "binarizer": None}  # of earlier files nobody knows any more
        options["head"] = template if head is not None else _given_head(given["head"]) or template
        core = GBMOptions(
            options["prototypes"],
            memory.bits,
            options["head"],
            options["em"],
            update=options["update"],
            n_jobs=options["n_jobs"],
        )
        state = state_from_content(memory, saved, tensors, core, template)
        width = integer("n_features_in", saved["n_features_in"], 1)
        if memory.fingerprint != state.binarizer.fingerprint(width, options["encoder_name"]):
            raise ValueError("the memory was made with thresholds that differ from the binarizer's")
        options["bits"] = memory.bits
        options["binarizer"] = saved["binarizer_option"] or _given_thermometer(given["binarizer"]) or state.binarizer
        fitted = Fitted(state, width, _names(saved["feature_names_in"], width))
        return options, fitted.with_state(state)  # which refuses classes that cannot be sorted
    except (_OtherHeadError, MemoryError):
        raise
    except Exception as error:  # whatever a forged file breaks is the file's fault
        raise FileFormatError(f"{name} does not hold a classifier in this version's format: {error}") from None


def _head(saved: Mapping[str, Any], name: str, head: Head | None) -> Head:
    """The unfitted head that a file describes, or the user's, if it is of the same kind."""
    kind = saved["head"]["name"]
    if head is not None:
        made = make_head(head)
        if made.name != kind:
            raise _OtherHeadError(f"{name} has a head of kind {kind}; got head={head!r}")
        return made
    if kind not in HEADS:
        raise _OtherHeadError(f"{name} has a head of kind {kind}, which is not one of ours: pass load(..., head=...)")
    described = head_of(saved)
    if described is None:
        raise _OtherHeadError(f"{name} has a replay head with a custom module: pass load(..., head=Replay(module=...))")
    return described


def _given_head(described: Any) -> str | Head | None:
    """The reverse of `_described_head`."""
    if described is None or isinstance(described, str):
        return described
    return head_of({"head": described})


def _given_thermometer(described: Any) -> Thermometer | None:
    """The reverse of `_described_thermometer`."""
    if described is None:
        return None
    options = {**described}
    if options.pop("kind") != Thermometer.kind or not truth("calibrated", options["calibrated"]):
        raise ValueError("only a calibrated thermometer can have been given without thresholds")
    return Thermometer(**options)


def _checked_options(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The classifier's arguments, each as a user would have to give it."""
    options = {**ADDED, **saved["options"]}
    if set(options) != {*OPTIONS, "encoder", "em", "random_state"}:
        raise ValueError(f"options are {', '.join(map(str, options))}")
    options["encoder_name"] = options.pop("encoder")
    options["em"] = EMOptions(**options["em"]) if options["em"] else None
    GBMOptions(options["prototypes"], em=options["em"], update=options["update"], n_jobs=options["n_jobs"])
    integer("p", options["p"], 1)
    check_options(options["refuse"], options["refuse_by"], options["reject"], options["unknown"])
    first_draw(options["random_state"])
    if saved["binarizer_option"] is not None:
        one_of("binarizer", saved["binarizer_option"], BinarizerName)
    return options


def _names(names: Any, width: int) -> npt.NDArray[Any] | None:
    """Names of features: as many as there are, and all of them text."""
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != width or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names_in must be {width} names")
    return np.array(names, dtype=object)


class _OtherHeadError(InputError):
    """The file alone cannot say what the head was, or says another one than the user."""


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
