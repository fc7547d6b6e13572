"""Plain sentences: what the numbers show, how certain that is, and what the columns mean."""

from __future__ import annotations

from collections.abc import Sequence

from bitreplay import metrics
from bitreplay._pages.methods import APART, MethodRuns, common_notes, contenders, leading, within_noise
from bitreplay._pages.numbers import bits, percent, points
from bitreplay.data import describe_sizes

# What each column of the table means, for first-time readers.
MEANINGS = {
    "average": "accuracy on the test samples of all classes seen so far, mean over the states after each task",
    "final": "the same after the last task, on all classes",
    "harmonic mean": "of the final accuracies on the classes of task 0 and on all later classes: low where either is",
    "forgetting": "points that a task loses from its best earlier state to the end, mean over all tasks except the "
    "last",
    "memory": "what is stored for old classes, as the paper counts it: values only; 1 kbit = 1000 bits",
    "working set": "weights and factors that a decision reads, some of which may be the memory itself",
    "learning": "time to learn all tasks",
}


def findings(methods: Sequence[MethodRuns]) -> list[str]:
    """What the report shows, from the most to the least important."""
    sentences = [_setting(methods), _best(methods), *_bounds(methods), _kept(methods), _pretrained(methods)]
    return [sentence for sentence in [*sentences, _certainty(methods), *noise_in_words(methods)] if sentence]


def captions(methods: Sequence[MethodRuns]) -> list[str]:
    """The notes under a table of these methods: labels, seeds, marks and bounds."""
    lines = []
    if labels := common_notes(methods):
        lines.append(f"All methods: {labels_in_words(labels)}.")
    lines.append(f"Accuracy and forgetting in %. {_seeds(methods)}")
    lines += noise_in_words(methods)
    if leading(methods, "average") or leading(methods, "final"):
        lines.append("Bold: the best, and all not distinguishable from it (two standard errors, seeds and test set).")
    lines += [f"{method.name}: {method.bound}; not compared." for method in methods if method.bound]
    return lines


def noise_in_words(methods: Sequence[MethodRuns]) -> list[str]:
    """How many test samples there are, and the resulting error of accuracies."""
    n_samples = {int(method.histories[0].count[-1].sum()) for method in methods}
    if len(n_samples) > 1:
        return []
    (n,) = n_samples
    off = APART * max(method.curves(metrics.standard_error)[0][-1] for method in methods)
    limit = f"an accuracy may be off by {100 * off:.1f} points"
    return [f"{n:,} test samples in the end: {limit}; smaller differences are not meaningful."]


def labels_in_words(notes: dict[str, str]) -> str:
    """Notes in one line, such as `pretrained: ImageNet · encoder: efficientnet_lite0`."""
    return " · ".join(f"{name}: {text}" for name, text in notes.items())


def setting_in_words(methods: Sequence[MethodRuns]) -> str:
    """Tasks, labels and seeds in one line, for a plot that stands alone.

    Facts that do not apply to all methods name those to which they apply.
    """
    facts: dict[str, list[str]] = {}
    for method in methods:
        tasks, n_seeds = describe_sizes(method.task_sizes), len(method.seeds)
        notes = [f"{name}: {text}" for name, text in method.notes.items()]
        for fact in (f"classes: {tasks}", *notes, f"{n_seeds} seed{'s'[: n_seeds != 1]}"):
            facts.setdefault(fact, []).append(method.name)
    shared = [fact for fact, names in facts.items() if len(names) == len(methods)]
    others = [f"{fact} ({', '.join(names)})" for fact, names in facts.items() if fact not in shared]
    return " · ".join(shared + others)


def _setting(methods: Sequence[MethodRuns]) -> str:
    sizes = {method.task_sizes for method in methods}
    who = "One method" if len(methods) == 1 else f"{len(methods)} methods"
    if len(sizes) > 1:
        several = "; ".join(describe_sizes(one) for one in sorted(sizes))
        return f"{who} on different divisions into tasks ({several} classes): their averages cannot be compared."
    (one,) = sizes
    steps = "in one task" if len(one) == 1 else f"in {len(one)} tasks ({describe_sizes(one)})"
    return (
        f"{who} learned {sum(one)} classes {steps}; after each task they were tested on all classes seen so "
        "far, without being told which task a sample comes from."
    )


def _best(methods: Sequence[MethodRuns]) -> str:
    compared = contenders(methods)
    if not compared or len({method.task_sizes for method in methods}) > 1:
        return ""
    best = _highest(compared)
    average, final = best.measure(metrics.average), best.measure(metrics.final)
    reached = f"{percent(average)} % on average and {percent(final)} % in the end"
    if len(compared) == 1:
        return f"{best.name} reaches {reached}."
    highest = f"{best.name} has the highest average accuracy: {reached}."
    if _unmarked(methods):
        near = [method.name for method in within_noise(methods) if method is not best]
        return f"{highest} {_listed(near)} {_cannot_be_told(near)} from it on this test set." if near else highest
    leaders = [method for method in compared if method.name in leading(methods, "average")]
    if len(leaders) == 1:
        return f"{best.name} is best: {reached}."
    if not leaders:
        return f"{highest} But no other method is distinguishable from it."
    others = _listed([method.name for method in leaders if method is not best])
    smallest = min(leaders, key=lambda method: method.memory)
    least = f"Of these, {smallest.name} needs the least memory: {bits(smallest.memory)}."
    return f"{highest} {others} {_cannot_be_told(leaders[1:])} from it. {least}"


def _cannot_be_told(names: Sequence[object]) -> str:
    return "is not distinguishable" if len(names) == 1 else "are not distinguishable"


def _bounds(methods: Sequence[MethodRuns]) -> list[str]:
    return [
        f"{method.name} ({method.bound}) ends at {percent(method.measure(metrics.final))} %."
        for method in methods
        if method.bound
    ]


def _kept(methods: Sequence[MethodRuns]) -> str:
    """The price of the best method: what it stores and what it loses."""
    compared = contenders(methods)
    if not compared or len({method.task_sizes for method in methods}) > 1:
        return ""
    best = _highest(compared)
    lost = best.measure(metrics.forgetting).mean
    forgets = f" On earlier tasks it loses {points(lost)} points by the end." if len(best.task_sizes) > 1 else ""
    return (
        f"{best.name} stores {bits(best.memory)} for old classes ({bits(best.memory / sum(best.task_sizes))} per "
        f"class) and reads {bits(best.working_set)} of weights and factors to decide.{forgets}"
    )


def _pretrained(methods: Sequence[MethodRuns]) -> str:
    on = {m.notes["pretrained"] for m in methods if m.notes.get("pretrained", "no").lower() not in ("no", "none", "")}
    if not on:
        return ""
    who = "The encoder" if "pretrained" in common_notes(methods) else "The encoder of some methods"
    return (
        f"{who} was pretrained on {_listed(sorted(on))}: these results cannot be compared with those of encoders that "
        "have seen the first task only."
    )


def _certainty(methods: Sequence[MethodRuns]) -> str:
    few = [method.name for method in methods if len(method.seeds) == 1]
    if not few:
        return ""
    who = "All results rest" if len(few) == len(methods) else f"Results of {_listed(few)} rest"
    unmarked = ", and no best is marked" if _unmarked(methods) else ""
    return f"{who} on one seed: the variation between seeds is unknown{unmarked}."


def _unmarked(methods: Sequence[MethodRuns]) -> bool:
    """Whether no best is marked because a competing method has only one seed."""
    return any(len(method.seeds) == 1 for method in contenders(methods))


def _seeds(methods: Sequence[MethodRuns]) -> str:
    seeds = {method.seeds for method in methods}
    if len(seeds) == 1:
        (one,) = seeds
        listed = ", ".join(map(str, one))
        if len(one) == 1:
            return f"One seed ({listed}): the spread is unknown, and no best is marked."
        return f"Mean ± standard deviation over {len(one)} seeds ({listed})."
    each = "; ".join(f"{method.name}: {', '.join(map(str, method.seeds))}" for method in methods)
    unknown = " No best is marked, because the spread of a single seed is unknown." if _unmarked(methods) else ""
    return f"Mean ± standard deviation over seeds ({each}).{unknown}"


def _highest(methods: Sequence[MethodRuns]) -> MethodRuns:
    return max(methods, key=lambda method: method.measure(metrics.average).mean)


def _listed(names: Sequence[str]) -> str:
    names = [f"“{name}”" if "," in name else name for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
