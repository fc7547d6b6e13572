"""Input that is almost right: our error, with what is expected, and nothing changes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch.utils.data import DataLoader, TensorDataset

from bitreplay import BinaryMemory, Fingerprint, GBMClassifier, pack
from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.errors import InputError
from tests.attack.problems import small_encoder

X = np.random.default_rng(0).random((6, 3)).astype(np.float32)
Y = ["cup", "mug"] * 3
BITS = (X > 0.5).astype(np.float32)


def odd_matrices(dense: np.ndarray) -> dict[str, Any]:
    records = np.zeros(6, dtype=[("height", "f4"), ("width", "f4")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that its sparse rows are young
        rows = torch.from_numpy(dense).to_sparse_csr()
    return {
        "sparse": torch.from_numpy(dense).to_sparse(),
        "sparse rows": rows,
        "meta": torch.zeros(6, 3, device="meta"),
        "conjugate": torch.from_numpy(dense).to(torch.complex64).conj(),
        "records": records,
        "table of records": records.reshape(2, 3),
        "scipy": sparse.csr_matrix(dense),
        "scipy array": sparse.coo_array(dense),
        "loader": DataLoader(TensorDataset(torch.from_numpy(dense))),
        "generator": (row for row in dense),
        "words": np.full((6, 3), "mug"),
        "nothing": None,
    }


KINDS = sorted(odd_matrices(X))


@pytest.mark.parametrize("kind", KINDS)
def test_odd_matrices_are_refused_everywhere(kind: str) -> None:
    clf = GBMClassifier(1, random_state=0).fit(X, Y)
    before = clf.predict_proba(X)
    for call in (clf.predict, clf.predict_proba, lambda odd: clf.partial_fit(odd, Y)):
        with pytest.raises(InputError):
            call(odd_matrices(X)[kind])
    with pytest.raises(InputError):
        GBMClassifier().fit(odd_matrices(X)[kind], Y)
    with pytest.raises(InputError):
        pack(odd_matrices(BITS)[kind])
    with pytest.raises(InputError):
        BinaryMemory(bits=3).enrol({"mug": odd_matrices(BITS)[kind]})
    for binarizer in (Thermometer(2), Heaviside(3)):
        with pytest.raises(InputError):
            binarizer.pack(odd_matrices(X)[kind])
    with pytest.raises(InputError):
        small_encoder().features(odd_matrices(X)[kind])
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_tensors_that_are_only_views_are_read() -> None:
    """Negated and conjugated views of real numbers have values, though NumPy cannot see them as they lie."""
    tensor = torch.complex(torch.from_numpy(X), torch.zeros(6, 3)).conj().imag
    assert tensor.is_neg()
    clf = GBMClassifier(1, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(clf.predict_proba(tensor), clf.predict_proba(np.zeros((6, 3), np.float32)))


@pytest.mark.parametrize("unknown", [object(), [], float("nan"), "\ud800", 2**70])
def test_a_label_for_unknown_that_is_none(unknown: Any) -> None:
    with pytest.raises(InputError, match="unknown must be a label"):
        GBMClassifier(unknown=unknown).fit(X, Y)
    clf = GBMClassifier(1, random_state=0, refuse=0.1).fit(X, Y)
    clf.unknown = unknown
    with pytest.raises(InputError, match="unknown must be a label"):
        clf.predict(X)


def test_names_that_cannot_be_written_are_refused_when_they_are_given() -> None:
    with pytest.raises(InputError, match="UTF-8"):
        GBMClassifier(encoder_name="res\ud800").fit(X, Y)
    with pytest.raises(InputError, match="UTF-8"):
        GBMClassifier().fit(X, ["cup", "\udcff"] * 3)
    with pytest.raises(InputError, match="UTF-8"):
        GBMClassifier().fit(pd.DataFrame(X, columns=pd.Index(["a", "b", "c\ud800"], dtype=object)), Y)
    with pytest.raises(InputError, match="UTF-8"):
        Fingerprint(8, encoder="\ud800")
