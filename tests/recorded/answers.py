"""What every learner and every head answers on a small fixed problem, to be compared with what it once answered.

Changed answers need a raised VERSION, or runs of before the change pass for runs of after it. When a VERSION was
raised, ``python -m tests.recorded.answers`` records the new answers.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from bitreplay.backbones import build_backbone
from tests.learners import problems as frozen
from tests.learners.finetuned import problems as finetuned

RECORDED = Path(__file__).parent / "answers.json"
N_TEST = 60  # samples of every class
DIGITS = "0123456789"


def hard_problem(n: int, seed: int) -> frozen.Problem:
    """Classes that overlap, so that answers depend on how they are told apart; drawn alike by every NumPy."""
    layout, rng = np.random.RandomState(99), np.random.RandomState(seed)
    rows, targets = [], []
    for label in frozen.LABELS:
        centre, mixing = layout.gamma(1.0, 1.0, frozen.D), layout.normal(size=(frozen.D, frozen.D)) / np.sqrt(frozen.D)
        noise = rng.normal(size=(n, frozen.D)) @ mixing + rng.normal(size=(n, frozen.D))
        rows.append(np.maximum(centre + noise, 0))
        targets.append(np.full(n, label))
    return frozen.Problem(np.concatenate(rows).astype(np.float32), np.concatenate(targets).astype(np.int64))


def frozen_answers(variant: str) -> tuple[str, str]:
    """Version of a learner on a frozen encoder, and what it answers: a digit per sample, its class's place."""
    method = frozen.learn(frozen.make(variant), hard_problem(40, seed=1), frozen.TASKS)
    test = hard_problem(N_TEST, seed=2)
    places = {label: DIGITS[place] for place, label in enumerate(frozen.LABELS)}
    return method.version, "".join(places[int(label)] for label in method.predict(frozen.inputs(method, test.X)))


def finetuned_answers(variant: str) -> tuple[str, str]:
    """The same of a learner that trains its network: handwritten digits."""
    learner = finetuned.make(variant)
    for task in finetuned.scenario:
        learner.learn(task)
    answers = learner.predict(finetuned.scenario.test_seen(len(finetuned.scenario) - 1))
    return learner.version, "".join(DIGITS[int(label)] for label in answers)


# Every backbone in a small size, and the images that it gets.
BACKBONES = {
    "small_cnn": ({"width": 2, "in_channels": 3}, 8),
    "resnet18": ({"width": 4}, 16),
    "binary_vgg": ({"widths": (8, 8), "groups": (1, 1), "n_features": 16, "levels": 3, "image_size": 8}, 8),
    "quicknet": ({"weights": None, "blocks": (1, 1, 1, 1), "filters": (8, 8, 8, 8), "image_size": 32}, 32),
}


def backbone_features(name: str) -> tuple[str, list[float]]:
    """Version of a backbone, and some features of it with weights that are no matter of chance."""
    options, size = BACKBONES[name]
    network = build_backbone(name, **options).eval()
    with torch.no_grad():
        for number, value in enumerate(network.parameters()):
            waves = torch.arange(value.numel(), dtype=torch.float64).mul(1.7 + number).sin()
            value.copy_(waves.view(value.shape).float() * 3 / max(1, value[0].numel() if value.ndim > 1 else 6))
        pixels = torch.arange(2 * 3 * size * size, dtype=torch.float64).mul(0.37).sin().view(2, 3, size, size).float()
        features = network(pixels)
    versions = {kind.__qualname__: kind.VERSION for kind in map(type, network.modules()) if hasattr(kind, "VERSION")}
    return json.dumps(versions, sort_keys=True), [float(f"{value:.4g}") for value in features.flatten()[:40].tolist()]


def record() -> None:
    """Write the answers of what is new or has another version; those of the others stay."""
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for kind, variants, compute in (
        ("frozen", frozen.VARIANTS, frozen_answers),
        ("finetuned", finetuned.VARIANTS, finetuned_answers),
    ):
        known = recorded.setdefault(kind, {})
        for variant in variants:
            version, answers = compute(variant)
            if known.get(variant, {}).get("version") != version:
                known[variant] = {"version": version, "answers": answers}
                print("recorded", variant, "version", version)
        recorded[kind] = {variant: known[variant] for variant in variants}
    known = recorded.setdefault("backbones", {})
    for name in BACKBONES:
        version, features = backbone_features(name)
        if known.get(name, {}).get("version") != version:
            known[name] = {"version": version, "features": features}
            print("recorded", name, "version", version)
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    record()
