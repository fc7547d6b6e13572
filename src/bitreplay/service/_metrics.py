"""Numbers about the service for Prometheus, in its text format."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import accumulate

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # Prometheus' own default


class Metrics:
    r"""Counts of what was asked and how long it took.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.answered("predict", 200, 0.02)
    >>> metrics.count("images_predicted", 3)
    >>> text = metrics.text({"classes": 2})
    >>> print("\n".join(line for line in text.splitlines() if "images" in line or "requests" in line))
    # TYPE bitreplay_requests_total counter
    bitreplay_requests_total{route="predict",status="200"} 1
    # TYPE bitreplay_images_predicted_total counter
    bitreplay_images_predicted_total 3
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds[route][bisect_left(BOUNDS, seconds)] += 1
            self._sums[route] += seconds  # type: ignore[assignment]

    def count(self, name: str, by: int = 1) -> None:
        """Count something else."""
        with self._lock:
            self._counts[name] += by

    def text(self, gauges: dict[str, float]) -> str:
        """All of it, and some values of this moment."""
        with self._lock:
            lines = ["# TYPE bitreplay_requests_total counter"]
            for (route, status), number in sorted(self._requests.items()):
                lines.append(f'bitreplay_requests_total{{route="{route}",status="{status}"}} {number}')
            lines.append("# TYPE bitreplay_seconds histogram")
            for route, numbers in sorted(self._seconds.items()):
                for bound, below in zip((*map(str, BOUNDS), "+Inf"), accumulate(numbers), strict=True):
                    lines.append(f'bitreplay_seconds_bucket{{route="{route}",le="{bound}"}} {below}')
                lines.append(f'bitreplay_seconds_sum{{route="{route}"}} {self._sums[route]:.6f}')
                lines.append(f'bitreplay_seconds_count{{route="{route}"}} {sum(numbers)}')
            for name, number in sorted(self._counts.items()):
                lines += [f"# TYPE bitreplay_{name}_total counter", f"bitreplay_{name}_total {number}"]
        for name, value in gauges.items():
            lines += [f"# TYPE bitreplay_{name} gauge", f"bitreplay_{name} {value:g}"]
        return "\n".join(lines) + "\n"
