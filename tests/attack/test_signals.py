"""Workers end with the process that started them, however it ended; whole commands: test_commands_signals.py."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import warnings

import pytest

from bitreplay._floor.children import end_with_parent, ending_children
from tests.attack.processes import SECONDS, alive, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def test_a_worker_ends_with_its_parent() -> None:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's word on forks beside threads
        parent = os.fork()
        if not parent:
            parent_of_worker = os.getpid()
            worker = os.fork()
            if not worker:
                end_with_parent(parent_of_worker)
                end_with_parent(parent_of_worker)  # a second job
                os.write(writing, str(os.getpid()).encode())
            time.sleep(60)
            os._exit(0)
    worker = int(os.read(reading, 20))
    os.kill(parent, signal.SIGTERM)
    os.waitpid(parent, 0)
    assert wait_until(lambda: not alive(worker), SECONDS)
    os.close(reading)
    os.close(writing)


def test_a_worker_whose_parent_was_gone_before_it_began_ends_at_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        worker = os.fork()
        if not worker:
            end_with_parent(os.getppid() + 1)
            time.sleep(60)
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == 128 + signal.SIGTERM


def test_an_interrupted_parent_ends_its_workers_and_no_others() -> None:
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        earlier = context.Process(target=time.sleep, args=(60,))
        earlier.start()
        workers = [context.Process(target=time.sleep, args=(60,)) for _ in range(2)]
        with pytest.raises(KeyboardInterrupt), ending_children():  # noqa: PT012
            for worker in workers:
                worker.start()
            raise KeyboardInterrupt
    assert not any(worker.is_alive() for worker in workers)
    assert earlier.is_alive()
    earlier.kill()
    earlier.join()
