"""Which encoder a model needs, in plain values: enough to build it again, or to refuse another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bitreplay._floor.arguments import integer, number, text
from bitreplay.backbones import HFPreprocessing, Preprocessing
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.images._frame import LARGEST, Frame


@dataclass(frozen=True)
class About:
    """An encoder in words."""

    name: str  # of a backbone of ours, `hf:NAME`, or that of a user's own network
    options: Mapping[str, Any]  # of that backbone
    weights: str  # SHA-256 of its tensors
    pretrained: str  # the data whose images it has seen
    preprocessing: Preprocessing | HFPreprocessing  # what is done to pixels before the network
    frame: Frame  # what is done to pictures before that

    @classmethod
    def of(cls, encoder: Encoder, frame: Frame) -> About:
        """An encoder that is here."""
        about = (encoder.name, dict(encoder.options), encoder.weights, encoder.pretrained)
        return cls(*about, encoder.preprocessing, frame)

    @property
    def label(self) -> str:
        """Its name in fingerprints of bits: with the beginning of its weights' hash, so that others differ."""
        return f"{self.name} {self.weights[:16]}".strip()

    def require(self, encoder: Encoder, path: str) -> None:
        """Refuse an encoder with other weights or another preprocessing."""
        if encoder.weights != self.weights:
            raise InputError(
                f"{path} was made with other weights of its encoder {self.name}: their hash is {self.weights[:16]}, "
                f"that of the ones given is {encoder.weights[:16]}"
            )
        if encoder.preprocessing != self.preprocessing:
            raise InputError(
                f"{path} was made with another preprocessing: {self.preprocessing}; "
                f"the encoder given has {encoder.preprocessing}"
            )

    def to_content(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "encoder": {
                "name": self.name,
                "options": dict(self.options),
                "weights": self.weights,
                "pretrained": self.pretrained,
            },
            "preprocessing": asdict(self.preprocessing),
            "frame": asdict(self.frame),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> About:
        """From JSON; KeyError, TypeError or ValueError where it is something else."""
        encoder = content["encoder"]
        name, weights, seen = (text(key, encoder[key]) for key in ("name", "weights", "pretrained"))
        return cls(
            name,
            dict(encoder["options"]),
            weights,
            seen,
            _preprocessing(content["preprocessing"]),
            Frame(**content["frame"]),
        )


def _preprocessing(content: Mapping[str, Any]) -> Preprocessing | HFPreprocessing:
    if "settings" in content:
        return HFPreprocessing(text("settings", content["settings"]), integer("size", content["size"], 1, LARGEST))
    made = Preprocessing(**{**content, "mean": tuple(content["mean"]), "std": tuple(content["std"])})
    for mean, std in zip(made.mean, made.std, strict=True):
        number("mean", mean, -1e6, 1e6)
        number("std", std, 1e-6, 1e6)
    if made.size is not None:
        integer("size", made.size, 1, LARGEST)
    return made
