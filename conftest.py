"""The whole suite leaves the user's home alone: caches are in a folder that is gone afterwards.

Set before anything is imported, and inherited by the processes that tests start. A cache that the user names stays: the
tests with real data decode into it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

_SCRATCH = tempfile.mkdtemp(prefix="bitreplay-tests-")
atexit.register(shutil.rmtree, _SCRATCH, ignore_errors=True)
os.environ.setdefault("BITREPLAY_CACHE", os.path.join(_SCRATCH, "cache"))
for _name in ("MPLCONFIGDIR", "HF_HOME", "XDG_CACHE_HOME"):
    os.environ[_name] = os.path.join(_SCRATCH, _name.lower())

# Threads of OpenMP that wait sleep instead of spinning: beside other work, small networks train ten times as fast.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
