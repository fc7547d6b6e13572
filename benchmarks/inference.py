"""Predictions for packed embeddings, against one float32 matrix product of the same size (BLAS, one thread).

The product has 100 classes x (8 prototypes + 1) columns, which is what the closed-form head computes; the bits are
already floats there, and nothing comes after it. Small batches are compared with a product of their own size.
"""

import numpy as np

import timing
from bitreplay import GBMClassifier, PackedBits
from head_update import samples
from timing import Row, alternate

D, K, CLASSES = 512, 8, 100
MANY = 10_000
BATCHES = (1, 32, 256)
REQUIRED = 3  # times the matrix product


def against_product(
    classifier: GBMClassifier, bits: PackedBits, *, seconds: float, required: float | None
) -> list[Row]:
    head = classifier.head_.name.replace("_", " ")
    floats = bits.unpack(np.float32)
    weights = np.random.default_rng(0).standard_normal((D, CLASSES * (K + 1)), dtype=np.float32)
    times = alternate(
        {
            "predict": lambda: classifier.predict(bits),
            "scores": lambda: classifier.head_.scores(bits),
            "product": lambda: floats @ weights,
        },
        seconds=seconds,
    )
    product = times["product"].best
    shape = f"({len(bits)} x {D}) x ({D} x {weights.shape[1]})"
    return [
        Row(
            f"{what} of {len(bits)} packed rows, {head}, {CLASSES} classes",
            times[call].best,
            "s",
            "within",
            limit,
            f"float32 product {shape}",
            product,
        )
        for what, call, limit in (("predict", "predict", required), ("scores", "scores", None))
    ]


def rows(short: bool) -> list[Row]:
    seconds = 1.0 if short else 5.0
    bits, labels = samples(CLASSES, n=MANY // CLASSES)
    measured = []
    for head in ("closed_form", "bayes"):
        classifier = GBMClassifier(K, binarizer="identity", head=head, random_state=0).fit(bits, labels)
        measured += against_product(classifier, bits, seconds=seconds, required=REQUIRED)
        for n in BATCHES:
            measured += against_product(classifier, bits[:n], seconds=seconds / 4, required=None)
    return measured


if __name__ == "__main__":
    timing.main(__doc__, rows)
