"""From pictures to features in batches: some threads decode while the network computes, and little is in memory.

It is the step **images → features** for pictures that are not a decoded data set.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch

from bitreplay.encoder import Encoder
from bitreplay.images._frame import Frame
from bitreplay.images._pictures import Picture, Pictures

Features = npt.NDArray[np.float32]

THREADS = min(4, os.cpu_count() or 1)  # ours: Pillow decodes without Python's lock; more than cores only wait
AHEAD = 3  # batches that are decoded or being decoded while the network computes one


def features_of(
    encoder: Encoder,
    pictures: Pictures,
    frame: Frame,
    advance: Callable[[int], None] = lambda done: None,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Features]:
    """Features of pictures, batch by batch in their order; `advance` is told how many each batch had.

    `check` is called before every picture and every batch, from any thread: whatever it raises ends the work.
    """
    source = iter(pictures)

    def prepared(picture: Picture) -> torch.Tensor:
        check()
        return _prepared(picture, frame, encoder)

    first = [prepared(picture) for picture in islice(source, 1)]  # says what the network will see
    if not first:
        return
    size = encoder.batch_size(tuple(first[0].shape[1:]))
    with contextlib.ExitStack() as stack:
        threads = ThreadPoolExecutor(THREADS)
        stack.callback(threads.shutdown, cancel_futures=True)  # after an error, what is queued need not be decoded

        def begin(picture: Picture) -> Future[torch.Tensor]:
            return threads.submit(prepared, picture)

        waiting = deque(begin(picture) for picture in islice(source, AHEAD * size))
        while waiting or first:
            n = min(size - len(first), len(waiting))
            batch = torch.cat([*first, *(waiting.popleft().result() for _ in range(n))])
            first = []
            check()
            waiting.extend(begin(picture) for picture in islice(source, len(batch)))
            yield encoder.encode(batch.contiguous(memory_format=torch.channels_last))
            advance(len(batch))


def _prepared(picture: Picture, frame: Frame, encoder: Encoder) -> torch.Tensor:
    with torch.inference_mode():
        return encoder.preprocessing(torch.from_numpy(frame.pixels(picture)[None]))
