"""Compile the kernels before anything is timed, and say so: it happens once per installation, and takes a while.

Kernels are compiled when their modules are imported, and kept beside them; later processes load what was compiled.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

KERNELS = tuple(f"bitreplay._kernels.{name}" for name in ("products", "e_step", "m_step", "em", "sampler"))
COMPILING = "compiling kernels, once per installation"


def warm_up() -> None:
    """Make the kernels ready; a line on the standard error says so if they have to be compiled."""
    from numba.core import event

    class Once(event.Listener):
        """Says it when the first kernel is compiled."""

        said = False

        def on_start(self, compiled: Any) -> None:
            if not self.said:
                self.said = True
                print(COMPILING, file=sys.stderr, flush=True)

        def on_end(self, compiled: Any) -> None:
            pass

    with event.install_listener("numba:compile", Once()):
        for name in KERNELS:
            importlib.import_module(name)
