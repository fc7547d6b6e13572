"""The probe for bfloat16, with commands that live and die as real ones would."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from bitreplay import caches
from bitreplay.errors import InputError
from bitreplay.training import _bf16, train_base
from bitreplay.training._bf16 import bf16_works, require_bf16
from tests.training.problems import ARGUMENTS, tiny_task

DIES = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGILL)"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def counting(tmp_path: Path, code: int) -> list[str]:
    """A command that leaves a mark and ends with a code."""
    mark = str(tmp_path / "asked")
    return [sys.executable, "-c", f"import sys; open({mark!r}, 'a').write('x'); sys.exit({code})"]


@pytest.mark.skipif(not hasattr(signal, "SIGILL"), reason="this system has no SIGILL")
def test_a_process_that_dies_means_no_and_the_error_names_the_cure() -> None:
    assert bf16_works(DIES) is False
    with pytest.raises(InputError, match=r"ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment, or .* 32-true"):
        require_bf16("cpu", DIES)
    require_bf16("cuda", DIES)  # nobody asks the CPU


@pytest.mark.parametrize("code", [0, 1])
def test_the_answer_is_remembered_per_machine(tmp_path: Path, code: int) -> None:
    command = counting(tmp_path, code)
    for _ in range(3):
        assert bf16_works(command) is (code == 0)
        _bf16._ask.cache_clear()  # as another process would
    assert (tmp_path / "asked").read_text() == "x"
    (entry,) = caches.entries()
    assert entry.description == f"bfloat16 {'does not work' if code else 'works'} on this CPU"


def test_another_environment_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = counting(tmp_path, 0)
    bf16_works(command)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    bf16_works(command)
    assert (tmp_path / "asked").read_text() == "xx"


def test_a_cache_that_cannot_be_written_only_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "file"))
    assert bf16_works(counting(tmp_path, 0)) is True


def test_a_process_that_hangs_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bf16, "SECONDS", 0.2)
    assert bf16_works([sys.executable, "-c", "import time; time.sleep(1000)"]) is False


def test_a_training_in_bf16_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bf16, "PROGRAM", "import os; os.abort()")
    with pytest.raises(InputError, match="bfloat16 kills processes"):
        train_base(tiny_task(), **ARGUMENTS, folder=tmp_path / "network", precision="bf16-mixed", progress=False)
    assert not (tmp_path / "network").exists()
