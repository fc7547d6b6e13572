"""The model that a run leaves behind: what GBM learned, as a file that predicts, learns and forgets by itself.

It is what :class:`bitreplay.ImageClassifier` reads, with the data set's names of classes and the run's thresholds.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path

from torch import nn

from bitreplay.binarizers import Heaviside
from bitreplay.classifier import GBMClassifier
from bitreplay.data import ImageDataset
from bitreplay.encoder import Encoder
from bitreplay.gbm import state_content
from bitreplay.images import About, Frame, Learned, is_nowhere_else, weights_of, write_model
from bitreplay.learners import GBM, FrozenLearner, Learner

MODEL = "model.bitreplay"


def write_run_model(learner: Learner, dataset: ImageDataset, folder: Path) -> bool:
    """Write `model.bitreplay`, if the learner is a GBM on a network; returns whether it is."""
    if not isinstance(learner, FrozenLearner) or not isinstance(learner.method, GBM):
        return False
    encoder = learner.encoder
    if not isinstance(encoder, Encoder) or not isinstance(encoder.backbone, nn.Module):
        return False
    height, width, channels = dataset.image_shape
    about = About.of(encoder, replace(Frame.of(encoder, (height, width)), channels=channels))
    classifier = _classifier(learner.method, dataset, about)
    if classifier is None:
        return False
    now = int(time.time())
    times = dict.fromkeys(classifier.memory_.labels, (now, now))
    weights = weights_of(encoder) if is_nowhere_else(encoder) else {}
    write_model(folder / MODEL, Learned(about, classifier, times), weights)
    return True


def _classifier(method: GBM, dataset: ImageDataset, about: About) -> GBMClassifier | None:
    """What the method learned, as the estimator with the same core; None if its head has a module of its own."""
    state = method.state
    content, learned, tensors = state_content(state)
    if learned["head"].get("own_module"):
        return None
    names = dataset.class_names
    if len(set(names)) == len(names):
        content["memory"]["labels"] = [names[int(label)] for label in state.memory.labels]
    content["memory"]["fingerprint"]["encoder"] = about.label
    code = state.binarizer
    per_feature = code.f if isinstance(code, Heaviside) else code.bits_per_feature
    options = {
        "prototypes": method.prototypes,
        "p": method.p,
        "reject": None,
        "unknown": None,
        "n_jobs": method.n_jobs,
        "encoder": about.label,
        "em": asdict(state.options.em) if state.options.em else None,
        "random_state": method.seed,
    }
    content["classifier"] = {
        "options": options,
        **learned,
        "binarizer_option": None,
        "n_features_in": state.memory.n_features // per_feature,
        "feature_names_in": None,
    }
    return GBMClassifier.from_content(content, tensors, MODEL)
