"""What a bit means: the identity that guards **bits → memory** against bits made in another way."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bitreplay._floor.arguments import text
from bitreplay.errors import FingerprintError, InputError


@dataclass(frozen=True)
class Fingerprint:
    """Where the bits of an embedding come from.

    Two memories can be merged, and bits added, only if their fingerprints are equal: the same width, order of bits,
    thresholds and encoder.

    Parameters
    ----------
    n_features : int
        D, bits in an embedding.
    bit_order : str
        How features map to bits; "feature-major" means bit ``p * i + j`` belongs to feature ``i``.
    thresholds : str
        SHA-256 of the thresholds (hexadecimal), empty if bits come from elsewhere.
    encoder : str
        Name of the encoder, if the user gives one.

    Examples
    --------
    >>> Fingerprint(512).require(Fingerprint(512, encoder="resnet18"), "merge")
    Traceback (most recent call last):
    ...
    bitreplay.errors.FingerprintError: cannot merge bits of another kind: encoder is 'resnet18', expected ''
    """

    n_features: int
    bit_order: str = "feature-major"
    thresholds: str = ""
    encoder: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.n_features, int) or isinstance(self.n_features, bool) or self.n_features < 1:
            raise InputError(f"n_features must be a positive integer; got {self.n_features!r}")
        for name in ("bit_order", "thresholds", "encoder"):
            text(name, getattr(self, name))

    def require(self, other: Fingerprint, action: str) -> None:
        """Raise an error that names the differences unless `other` is equal."""
        if self == other:
            return
        mine, its = asdict(self), asdict(other)
        differences = [f"{name} is {its[name]!r}, expected {mine[name]!r}" for name in mine if mine[name] != its[name]]
        raise FingerprintError(f"cannot {action} bits of another kind: {'; '.join(differences)}")

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return asdict(self)


def check_fingerprint(value: Any) -> None:
    """Refuse what is neither a fingerprint nor None."""
    if not isinstance(value, Fingerprint | None):
        raise InputError(f"fingerprint must be a Fingerprint or None; got {value!r}")
