"""Protocols: divisions into tasks that a whole field uses, by name and data set.

A protocol fills in options of a :class:`bitreplay.runs.Setting`; options that say otherwise are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bitreplay._floor.arguments import one_of
from bitreplay.errors import InputError

PROTOCOLS: dict[str, dict[str, dict[str, int]]] = {
    "few-shot": {
        # Tao et al. 2020, "Few-Shot Class-Incremental Learning": 60 classes, then 8 sessions of 5 with 5 samples each.
        "cifar100": {"base": 60, "increment": 5, "samples_per_class": 5},
        # Twice as many classes, divided alike: 100, then 10 sessions of 10.
        "tiny_imagenet": {"base": 100, "increment": 10, "samples_per_class": 5},
    }
}
N_CLASSES = {"cifar100": 100, "tiny_imagenet": 200}


def protocol_options(protocol: str, dataset: str, given: Mapping[str, Any]) -> dict[str, int]:
    """Options of a setting that follow from a protocol; those `given` may be None, or what it says.

    Examples
    --------
    >>> protocol_options("few-shot", "cifar100", {})
    {'base': 60, 'increment': 5, 'samples_per_class': 5}
    >>> protocol_options("few-shot", "cifar100", {"base": 50})
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: the few-shot protocol of cifar100 has base=60; got base=50. Omit one of the two
    """
    one_of("protocol", protocol, tuple(PROTOCOLS))
    known = PROTOCOLS[protocol]
    if dataset not in known:
        raise InputError(
            f"the {protocol} protocol is defined for {' and '.join(known)}; for {dataset!r} give base, increment and "
            "samples_per_class instead"
        )
    options = known[dataset]
    tasks = (N_CLASSES[dataset] - options["base"]) // options["increment"]
    if given.get("sizes") is not None:
        raise InputError(f"the {protocol} protocol says how many classes every task has: omit sizes")
    for name, value in {**options, "tasks": tasks, "classes": N_CLASSES[dataset]}.items():
        if given.get(name) not in (None, value):
            raise InputError(
                f"the {protocol} protocol of {dataset} has {name}={value}; got {name}={given[name]}. "
                "Omit one of the two"
            )
    return dict(options)
