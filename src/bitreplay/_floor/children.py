"""Processes that work for another one: they end when it does, however it ended.

A signal reaches one process. Whoever ends a command by SIGTERM, or whose command is killed for want of memory, must not
find its workers still computing an hour later.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator

EVERY = 0.5  # seconds between two looks at the parent
GRACE = 5.0  # seconds that children have after a polite word

_watching = threading.Lock()


def end_with_parent(parent: int) -> None:
    """To be called in a worker: from now on it ends within a second of its parent.

    The parent says who it is (its `os.getpid()`): it may be gone before the worker has imported all that it needs.

    A thread looks whether the process still has the parent that it had. Linux could send a signal instead, but when the
    parent's *thread* ends that started the worker, which pools of workers do not promise to keep.
    """
    over = threading.Event()

    def watch() -> None:
        while os.getppid() == parent:
            if over.wait(EVERY):
                return
        os._exit(128 + signal.SIGTERM)  # at once: there is nobody to clean up for, and files appear whole or not at all

    def stop() -> None:
        over.set()
        watcher.join()

    if _watching.acquire(blocking=False):  # one thread is enough, however many jobs the worker gets
        watcher = threading.Thread(target=watch, name="watches the parent", daemon=True)
        watcher.start()
        atexit.register(stop)  # a thread that is still there when Python ends may abort the process


@contextlib.contextmanager
def ending_children() -> Iterator[None]:
    """End the processes that a block started through `multiprocessing` if an exception leaves it, Ctrl-C among them.

    Otherwise Python would wait for them at its own end, as long as they like.
    """
    before = {child.pid for child in multiprocessing.active_children()}
    try:
        yield
    except BaseException:
        mine = [child for child in multiprocessing.active_children() if child.pid not in before]
        for child in mine:
            child.terminate()
        deadline = time.monotonic() + GRACE
        for child in mine:
            child.join(max(0.0, deadline - time.monotonic()))
            if child.is_alive():
                child.kill()
                child.join()
        raise
