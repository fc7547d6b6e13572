"""A classifier as JSON content and tensors, and back. The memory inside is the same as in a file of its own
(docs/format.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitreplay.binarizers._rebuild import rebuild
from bitreplay.classifier._checks import sorted_classes
from bitreplay.errors import FileFormatError, InputError
from bitreplay.heads import HEADS, Head
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import EMOptions

if TYPE_CHECKING:
    from bitreplay.classifier._classifier import GBMClassifier

__all__ = ["from_content", "to_content"]

Tensors = dict[str, npt.NDArray[Any]]

OPTIONS = ("prototypes", "p", "reject", "unknown", "encoder", "n_jobs")


def to_content(clf: GBMClassifier) -> tuple[dict[str, Any], Tensors]:
    """Everything that is needed to go on elsewhere: memory, thresholds, what the head learned, options."""
    content, tensors = clf.memory_.to_content()
    binarizer, thresholds = clf.binarizer_.describe()
    head, learned = clf.head_.describe()
    options = {name: _plain(getattr(clf, name)) for name in OPTIONS}
    options["em"] = asdict(clf.em) if clf.em else None
    options["random_state"] = _plain(clf.random_state) if isinstance(clf.random_state, int | np.integer) else None
    names = getattr(clf, "feature_names_in_", None)
    content["classifier"] = {
        "options": options,
        "binarizer": binarizer,
        "binarizer_option": clf.binarizer if isinstance(clf.binarizer, str) else None,
        "head": {"name": clf.head_.name, **head},
        "seed": clf.seed_,
        "n_calls": clf.n_calls_,
        "temperature": clf.temperature_,
        "n_features_in": clf.n_features_in_,
        "feature_names_in": None if names is None else list(names),
    }
    tensors.update({f"binarizer.{name}": value for name, value in thresholds.items()})
    tensors.update({f"head.{name}": value for name, value in learned.items()})
    return content, tensors


def from_content(
    cls: type[GBMClassifier], content: Mapping[str, Any], tensors: Tensors, name: str, head: Head | None
) -> GBMClassifier:
    """The classifier again; `name` is the file's, for messages, and `head` replaces the saved head's options."""
    memory = BinaryMemory.from_content(content, tensors, name)
    if "classifier" not in content:
        raise FileFormatError(f"{name} holds a memory only, not a classifier: read it with BinaryMemory.load")
    try:
        saved = content["classifier"]
        described = dict(saved["head"])
        blank = HEADS[described.pop("name")]
        if described.pop("own_module", False) and head is None:
            raise _OwnModuleError(
                f"{name} has a replay head with a module of the user's own: pass load(..., head=Replay(module=...))"
            )
        template: Head = head or blank(**described)
        binarizer = rebuild(saved["binarizer"], _part(tensors, "binarizer."))
        width, encoder = int(saved["n_features_in"]), saved["options"]["encoder"]
        if memory.fingerprint != binarizer.fingerprint(width, encoder):
            raise ValueError("the memory was made with other thresholds than the binarizer has")
        options = {
            **saved["options"],
            "bits": memory.bits,
            "binarizer": saved["binarizer_option"] or binarizer,
            "head": template,
        }
        options["em"] = EMOptions(**options["em"]) if options["em"] else None
        clf = cls(**options)
        clf.seed_, clf.n_calls_ = int(saved["seed"]), int(saved["n_calls"])
        clf.temperature_, clf.n_features_in_ = saved["temperature"], width
        clf.binarizer_, clf.memory_ = binarizer, memory
        clf.head_ = template.restore(memory, binarizer, _part(tensors, "head."), clf.seed_)
        clf.classes_ = sorted_classes(memory.labels)
        if not (clf.temperature_ is None or (isinstance(clf.temperature_, float) and clf.temperature_ > 0)):
            raise ValueError("the temperature is not a positive number")
        if saved["feature_names_in"] is not None:
            clf.feature_names_in_ = np.array(saved["feature_names_in"], dtype=object)
    except _OwnModuleError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FileFormatError(f"{name} does not hold a classifier as this version writes it: {error}") from None
    return clf


class _OwnModuleError(InputError):
    """The file alone cannot say what module G was."""


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _part(tensors: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
