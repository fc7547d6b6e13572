"""What an image classifier knows, as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bitreplay._words import printable

COLUMNS = ("class", "samples", "prototypes", "bytes", "first learned", "last learned")
WIDEST = 40  # characters of a name; longer ones are cut


def summary(about: Mapping[str, Any]) -> str:
    """The dictionary of `ImageClassifier.describe` as text: a line per class, and two about the whole.

    Examples
    --------
    >>> mug = {"name": "mug", "samples": 20, "prototypes": 4, "bytes": 1920, "first_learned": 0, "last_learned": 60}
    >>> print(summary({"classes": [mug], "bytes": 1934, "working_bytes": 46120, "encoder": "efficientnet_lite0",
    ...                "encoder_options": {}, "encoder_weights": "7f00" * 16, "pretrained": "ImageNet",
    ...                "image_size": [112, 112], "features": 1280}))
    class  samples  prototypes  bytes  first learned     last learned
    mug         20           4  1,920  1970-01-01 00:00  1970-01-01 00:01
    1 class, 1,934 bytes; 46,120 more while it works
    encoder efficientnet_lite0 (pretrained on ImageNet), 1280 features of 112 x 112 pixels, weights 7f007f007f007f00
    """
    rows = [COLUMNS, *(_row(one) for one in about["classes"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [
        "  ".join(
            cell.rjust(width) if 0 < place < 4 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    n = len(about["classes"])
    seen = f" (pretrained on {about['pretrained']})" if about["pretrained"] else ""
    height, width = about["image_size"]
    lines += [
        f"{n} {'class' if n == 1 else 'classes'}, {about['bytes']:,} bytes; "
        f"{about['working_bytes']:,} more while it works",
        f"encoder {about['encoder']}{seen}, {about['features']} features of {height} x {width} pixels, "
        f"weights {about['encoder_weights'][:16]}",
    ]
    return printable("\n".join(lines))


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    name = printable(str(one["name"]), keep="")
    numbers = (f"{one[column]:,}" for column in ("samples", "prototypes", "bytes"))
    times = (_time(one[column]) for column in ("first_learned", "last_learned"))
    return (name if len(name) <= WIDEST else name[: WIDEST - 1] + "…", *numbers, *times)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
