"""Which numbers of bits an embedding may have."""

from __future__ import annotations

from typing import Any

import pytest

from bitreplay.bits import Fingerprint
from bitreplay.errors import InputError


@pytest.mark.parametrize("n_features", [0, -1, True, 2.0, "3"])
def test_what_is_no_number_of_bits_is_refused(n_features: Any) -> None:
    with pytest.raises(InputError, match="n_features must be a positive integer"):
        Fingerprint(n_features)
    assert Fingerprint(1).n_features == 1
