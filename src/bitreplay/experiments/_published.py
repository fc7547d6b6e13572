"""What table 1 of the paper says: shared by the table itself and by the one over the number of tasks."""

from __future__ import annotations

ONE, EIGHT = (f"GBM:prototypes={k},bits=32,head=replay,objective=expected" for k in (1, 8))
HEAVISIDE = ", Heaviside"  # behind the name of a method whose network was trained with it

COLUMNS = tuple((dataset, tasks) for dataset in ("cifar100", "tiny_imagenet") for tasks in (5, 10, 20))
PUBLISHED = {  # average accuracy in %, by column
    "iCaRL": (51.1, 48.7, 44.4, 34.6, 31.2, 27.9),
    "EEIL": (60.4, 56.1, 52.3, 47.1, 45.0, 40.5),
    "LUCIR": (63.8, 62.4, 59.1, 49.1, 48.5, 42.8),
    "LwF-MC": (45.9, 27.4, 20.1, 29.1, 23.1, 17.4),
    "EWC": (24.5, 21.2, 15.9, 18.8, 15.8, 12.4),
    "PASS": (63.5, 61.8, 58.1, 49.6, 47.3, 42.1),
    "IL2A": (66.0, 60.3, 57.9, 47.3, 44.7, 40.0),
    "FeTrIL": (66.3, 65.2, 61.5, 54.8, 53.1, 52.2),
    ONE + HEAVISIDE: (64.5, 64.3, 61.1, 53.4, 52.7, 52.2),
    ONE: (66.0, 65.8, 64.3, 53.9, 53.2, 52.8),
    EIGHT + HEAVISIDE: (65.2, 65.0, 61.7, 54.0, 53.3, 52.9),
    EIGHT: (67.1, 67.0, 64.4, 54.6, 54.0, 53.7),
}


def published(dataset: str, tasks: int) -> dict[str, float]:
    """A column as shares, by method name; empty if it is not in the paper.

    Examples
    --------
    >>> published("tiny_imagenet", 20)["FeTrIL"], published("cifar100", 7)
    (0.522, {})
    """
    if (dataset, tasks) not in COLUMNS:
        return {}
    column = COLUMNS.index((dataset, tasks))
    return {method: round(row[column] / 100, 3) for method, row in PUBLISHED.items()}
