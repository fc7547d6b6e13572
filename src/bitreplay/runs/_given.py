"""Encoders of trained networks: which of a training's networks, with its own thresholds or without them.

It decides whose thresholds make the bits: those that the network was trained with or, if they are dropped, those that
every learner calibrates on task 0.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from bitreplay.binarizers import Native, Thermometer
from bitreplay.data import Scenario
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.learners import Uses
from bitreplay.training import NETWORK, TrainedNetwork

PLAIN_FOLDER = "plain"  # where `train_base` puts the network of the first phase
PLAIN = "plain, before its phase with a thermometer"
NOT_PLAIN = "after its phase with a thermometer: no plain network available"
CALIBRATED = "its own thresholds dropped, others calibrated on task 0"


def content_hash(folder: Path) -> str:
    """SHA-256 of a network's files: the same wherever the folder is."""
    digest = hashlib.sha256((folder / NETWORK).read_bytes())
    plain = folder / PLAIN_FOLDER / NETWORK
    digest.update(plain.read_bytes() if plain.is_file() else b"")
    return digest.hexdigest()


def given_encoder(folder: Path, scenario: Scenario, uses: Uses, device: str, *, calibrated: bool) -> Encoder:
    """The encoder of a folder written by `bitreplay train`, which must have been trained on the classes of task 0."""
    named, stage = folder, ""
    if uses == "features" and (folder / PLAIN_FOLDER / NETWORK).is_file():
        folder, stage = folder / PLAIN_FOLDER, PLAIN
    trained = TrainedNetwork.load(folder)
    unseen = set(scenario[0].classes.tolist()) ^ set(trained.classes.tolist())
    if unseen:
        raise InputError(
            f"the network in {named} was trained on classes that differ from task 0: "
            f"{sorted(unseen)[:10]} are in one of them only. Use the same data set, order and base"
        )
    if uses == "features" and isinstance(trained.binarizer, Thermometer):
        stage = NOT_PLAIN
    return encoder_of(trained, uses, device, stage, calibrated=calibrated)


def encoder_of(trained: TrainedNetwork, uses: Uses, device: str, stage: str = "", *, calibrated: bool) -> Encoder:
    """The encoder of a trained network; without its own binarizer if learners calibrate theirs."""
    if calibrated and uses == "bits":
        if isinstance(trained.binarizer, Native):
            raise InputError("binarizer=calibrated needs features; those of this network are already binary")
        if trained.binarizer is not None:
            trained, stage = replace(trained, binarizer=None), CALIBRATED
    return Encoder.from_trained(trained, device, stage)
