"""How many classes each task has: the arithmetic of scenarios, and the messages when it does not work out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from bitreplay._floor.arguments import integer
from bitreplay.errors import InputError


def task_sizes(
    n_classes: int,
    tasks: int | None,
    base: int | None,
    increment: int | None,
    sizes: Sequence[int] | None,
) -> tuple[int, ...]:
    """Classes per task, task 0 first.

    Examples
    --------
    >>> describe_sizes(task_sizes(100, 20, None, None, None))
    '40 + 20 x 3'
    >>> describe_sizes(task_sizes(200, None, 100, 5, None))
    '100 + 20 x 5'
    >>> task_sizes(10, 3, 5, None, None)
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: 5 classes after task 0 cannot be divided into 3 equal tasks; \
for unequal ones use sizes=[5, 2, 2, 1]
    """
    if sizes is not None:
        if any(option is not None for option in (tasks, base, increment)):
            raise InputError("sizes defines all tasks: omit tasks, base and increment")
        return _check_sizes(sizes, n_classes)
    if tasks is not None:
        integer("tasks", tasks, 0)
        if tasks >= n_classes:
            raise InputError(
                f"{tasks} tasks after task 0 need at least {tasks + 1} classes, one each; there are {n_classes}"
            )
    if base is not None:
        integer("base", base, 1, n_classes)
    if increment is not None:
        integer("increment", increment, 1, n_classes)
    if tasks is None:
        return _by_increment(n_classes, base, increment)
    if increment is not None:
        expected = n_classes - tasks * increment
        if expected < 1 or base not in (None, expected):
            wanted = f"{base or 'at least 1'} + {tasks} x {increment}"
            raise InputError(
                f"tasks must use all classes: {wanted} is not {n_classes}; omit one of tasks, base and increment"
            )
        return (expected, *[increment] * tasks)
    if base is None:
        base = _default_base(n_classes, tasks)
    return (base, *_equal(n_classes - base, tasks, base))


def _default_base(n_classes: int, tasks: int) -> int:
    """The largest base, up to half of the classes, that leaves equal increments.

    It gives every split of the paper (sec. 4.1): half of CIFAR-100 and TinyImageNet, except 40 for T=20, and 2 for
    CORe50.
    """
    return n_classes - tasks * -(-(n_classes - n_classes // 2) // tasks) if tasks else n_classes


def _equal(rest: int, tasks: int, base: int) -> list[int]:
    if tasks == 0:
        if rest:
            raise InputError(f"tasks=0 leaves {rest} classes unused: base={base} must then be all {base + rest}")
        return []
    each, over = divmod(rest, tasks)
    if over and each:
        unequal = [base] + [each + 1] * over + [each] * (tasks - over)
        raise InputError(
            f"{rest} classes after task 0 cannot be divided into {tasks} equal tasks; "
            f"for unequal ones use sizes={unequal}"
        )
    if not each:
        raise InputError(f"base={base} leaves {rest} classes, too few for {tasks} tasks of at least one class")
    return [each] * tasks


def _by_increment(n_classes: int, base: int | None, increment: int | None) -> tuple[int, ...]:
    if increment is None:
        if base == n_classes:
            return (base,)
        raise InputError(
            f"say how the {n_classes} classes are divided: tasks=T (increments after task 0), "
            "increment (classes per task), or sizes (a list)"
        )
    base = increment if base is None else base
    count, over = divmod(n_classes - base, increment)
    if over:
        raise InputError(
            f"{n_classes - base} classes after task 0 cannot be divided into tasks of {increment}; "
            f"for a smaller last one use sizes={[base, *[increment] * count, over]}"
        )
    return (base, *[increment] * count)


def _check_sizes(sizes: Sequence[int], n_classes: int) -> tuple[int, ...]:
    if isinstance(sizes, str) or not isinstance(sizes, Sequence | np.ndarray) or not len(sizes):
        raise InputError(f"sizes must be a list of the number of classes of each task; got {sizes!r}")
    for task, size in enumerate(sizes):
        integer(f"sizes[{task}]", size, 1)
    if sum(sizes) != n_classes:
        raise InputError(f"sizes must sum to the {n_classes} classes of the data set; they sum to {sum(sizes)}")
    return tuple(int(size) for size in sizes)


def describe_sizes(sizes: Sequence[int]) -> str:
    """Sizes in the usual notation, task 0 separate.

    Examples
    --------
    >>> describe_sizes([50, 10, 10, 10, 10, 10])
    '50 + 5 x 10'
    >>> describe_sizes([4, 1, 2, 2])
    '4 + 1 + 2 x 2'
    >>> describe_sizes([4, 2, 0, 2, 0])  # a stream is tested where no class is new, too
    '4 + a stream of 4'
    """
    if 0 in sizes:
        return f"{sizes[0]} + a stream of {sum(sizes[1:])}"
    runs = [(size, len(list(run))) for size, run in groupby(sizes[1:])]
    return " + ".join([str(sizes[0]), *(f"{count} x {size}" if count > 1 else str(size) for size, count in runs)])
