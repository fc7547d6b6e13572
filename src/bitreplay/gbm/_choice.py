"""Decides what was left open, bits → **memory/head**: the head's options, the temperature of its scores, what is
familiar.

A fifth of every class is held out, the mixtures are fitted to the rest once, and every choice maximises the likelihood
of the held-out samples. Then everything is fitted to all samples. Test data is never used, and no choice is revised
later.

What a head does about classes of few samples is decided by pretending: a quarter of the classes is fitted again, to a
few of their samples, and the samples set aside of all classes judge, with those of the quarter that were not needed;
then it is the next quarter's turn, and all of it happens twice. Scores are linear in what is decided, so that two fits
say what any amount of help would do. Large classes pay for the help that small ones get, and the last of what is gained
costs them most: the least help is taken that gains most of what the best does. Accuracy rises steeply there, so the
choice is steadier than that of the best, about which accuracy hardly changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay._floor.seeds import seed_for
from bitreplay.bits import PackedBits, concatenate
from bitreplay.gbm._drift import followed, rehearsed
from bitreplay.gbm._familiar import NEEDED
from bitreplay.gbm._held_out import HELD_OUT, HeldOut, folds, split
from bitreplay.heads import Head, can_wait, fit_temperature, held_out_loss, with_temperature
from bitreplay.memory import BinaryMemory, Label

if TYPE_CHECKING:
    from bitreplay.gbm._state import GBMState

ENOUGH = 50  # ours: held-out samples that options are chosen by; benchmarks/choice.py: fewer gain nothing
FEW = 10  # ours: held-out samples that a temperature is fitted to; without one, scores are far too sure
FOLDED = 1000  # ours: samples of a call in which all have their turn; 250 of them, or more classes of fewer than five
PRETENDED = 5  # the field's few-shot protocols: so many samples of a new class
TURNS = 4  # ours: a quarter is small at a time, as on average over the sessions of those protocols (23 %)
ROUNDS = 2  # ours, not tuned: with other quarters and other samples, so that the choice is steadier
ALL_TURNS = 1000  # ours: classes up to which every quarter has its turns; of more, one quarter says enough
MOST = 0.9  # ours: benchmarks/few_shot.py --rules; a trade: less is better for large classes, more for small ones
STEPS = 41  # ours: values between the least and the greatest that accuracy is computed at
PRETENDERS, MANY = 10, 100  # ours: classes that it takes to pretend, and samples of each at least
JUDGES = 1000  # ours: held-out samples that it takes: an error of 1.6 points at most
MOST_JUDGED = 2**24  # ours: scores that options are judged by; with more, rows are left out: it takes 128 MB

Targets = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]
Values = npt.NDArray[np.float64]


class Open(NamedTuple):
    """What is still to be decided."""

    options: bool = False  # of the head
    few_options: bool = False  # of the head, for classes of few samples
    temperature: bool = False
    familiar: bool = False  # how new held-out samples look


def decided(state: GBMState, samples: Mapping[Label, PackedBits]) -> GBMState:
    """The state with everything decided that was left open and that enough samples can be held out for."""
    head, calibrate = state.head, state.options.calibrate
    several = len({*state.labels, *samples}) > 1  # one class is always certain
    what = Open(
        bool(head.open_options()) and len(samples) > 1,
        bool(open_few_options(head)) and can_pretend(samples),
        calibrate and state.temperature is None and not head.calibrated and several,
        calibrate and state.familiar.wants_more,
    )
    if not any(what):
        return state
    parts = split(samples, state.seed)
    n = parts.n_held
    small = n < ENOUGH and sum(map(len, samples.values())) <= FOLDED
    if what.temperature and small and len(samples) > 1 and can_wait(head):  # one class alone is never mistaken
        state, what = with_few_held_out(state, samples), what._replace(temperature=False)
    what = Open(
        what.options and n >= ENOUGH, what.few_options, what.temperature and n >= FEW, what.familiar and n >= NEEDED
    )
    return judged(state, parts, what) if any(what) else state


def with_few_held_out(state: GBMState, samples: Mapping[Label, PackedBits]) -> GBMState:
    """The state with a temperature, if there are a few samples: a fifth of every class at a time is held out.

    The mixtures of so few samples are fitted in no time. All held-out samples may well be right: that proves little.
    """
    turns = folds(samples, state.seed)
    if sum(parts.n_held for parts in turns) < FEW:
        return state
    scores, targets = [], []
    for parts in turns:
        memory, gathered = state._remembered(parts.kept)
        made = state.head.update(memory, state.binarizer, gathered, state._head_seed())
        for label, bits in parts.held.items():
            scores.append(made.scores(bits))
            targets += [memory.labels.index(label)] * len(bits)
    temperature = fit_temperature(np.concatenate(scores), np.array(targets), doubt=1 / (len(targets) + 2))
    return replace(state, temperature=temperature, head=with_temperature(state.head, temperature))


def judged(state: GBMState, parts: HeldOut, what: Open) -> GBMState:
    """The state with these things decided by the samples held out."""
    memory, gathered = state._remembered(parts.kept)
    bits = concatenate(list(parts.held.values()))
    places = {label: place for place, label in enumerate(memory.labels)}
    targets = np.repeat([places[label] for label in parts.held], [len(held) for held in parts.held.values()])
    if len(bits) * len(memory) > MOST_JUDGED:
        step = -(-len(bits) * len(memory) // MOST_JUDGED)
        bits, targets = bits[::step], targets[::step]
    head, temperature, familiar = state.head, state.temperature, state.familiar

    def fitted(head: Head) -> Head:
        return head.update(memory, state.binarizer, gathered, state._head_seed())

    def score(head: Head) -> Scores:
        return fitted(head).scores(bits)

    if what.options:
        head, _ = choose_options(head, score, targets, head.open_options())
    if what.temperature or what.familiar:
        made = fitted(head)
    if what.temperature:
        temperature = fit_temperature(made.scores(bits), targets)
        if (scaled := with_temperature(head, temperature)) is not head:
            head, made = scaled, fitted(scaled)
        trial = replace(state, memory=memory, head=made, temperature=temperature)
        familiar = replace(familiar, pace=rehearsed(trial, bits, targets, state._head_seed()))
    if what.familiar:
        after = replace(state, memory=memory, head=made, temperature=temperature, familiar=familiar)
        trial = followed(state, after)
        held = {memory.labels[place]: bits[targets == place] for place in np.unique(targets)}
        shown = trial.measured(parts.kept).looks.shown(held, parts.kept)
        familiar = replace(shown, numbers=familiar.numbers)  # those of the trial are not those of the head to come
    if what.few_options:
        turns = pretend(parts.kept, state.seed)
        for name, (least, greatest) in open_few_options(head).items():
            values = np.linspace(least, greatest, STEPS)
            curves = [_rates(state, head, name, values, memory, turn, bits, targets) for turn in turns]
            head = head.decided(**{name: least_help(values, np.mean(curves, axis=0))})
    return replace(state, head=head, temperature=temperature, familiar=familiar)


def _rates(
    state: GBMState,
    head: Head,
    name: str,
    values: Values,
    memory: BinaryMemory,
    turn: Turn,
    bits: PackedBits,
    targets: Targets,
) -> Values:
    """Accuracy with each value of an option in one turn, as if a quarter of all samples were of small classes."""
    memory = memory.copy()
    memory.replace(state._enrolment().fitted(turn.few))
    places = [memory.labels.index(label) for label in turn.rest]
    small = np.isin(targets, places)
    bits = concatenate([bits, *turn.rest.values()])
    targets = np.concatenate([targets, np.repeat(places, [len(rest) for rest in turn.rest.values()])])
    small = np.concatenate([small, np.ones(len(targets) - len(small), np.bool_)])
    if (step := -(-len(bits) * len(memory) // (MOST_JUDGED // 4))) > 1:
        bits, targets, small = bits[::step], targets[::step], small[::step]
    first, last = (
        head.decided(**{name: float(value)}).fit(memory, state.binarizer, state._head_seed()).scores(bits)
        for value in (values[0], values[-1])
    )
    along = (values - values[0]) / (values[-1] - values[0])
    right = [(first + part * (last - first)).argmax(1) == targets for part in along]
    return np.array([one[~small].mean() * (1 - 1 / TURNS) + one[small].mean() / TURNS for one in right])


def _large(samples: Mapping[Label, PackedBits]) -> list[Label]:
    return [label for label, bits in samples.items() if len(bits) >= MANY]


def can_pretend(samples: Mapping[Label, PackedBits]) -> bool:
    """Whether there are enough large classes to pretend that a quarter of them are small."""
    n_held = sum(int(HELD_OUT * len(bits)) for bits in samples.values())
    return len(_large(samples)) >= PRETENDERS and n_held >= JUDGES


class Turn(NamedTuple):
    """Classes that are pretended to be small."""

    few: dict[Label, PackedBits]  # the samples that they are said to have had
    rest: dict[Label, PackedBits]  # the others, which can judge


def pretend(kept: Mapping[Label, PackedBits], seed: int) -> list[Turn]:
    """A quarter of the classes, for every turn; whose turn it is does not depend on their order.

    Classes that are small themselves need not pretend, and could not: each round takes other samples of a class.
    """
    turns = []
    able = [label for label, bits in kept.items() if len(bits) > ROUNDS * PRETENDED]
    for number in range(ROUNDS):
        drawn = sorted(able, key=lambda label: seed_for(seed, "pretend", number, label))
        chosen = slice(number * PRETENDED, (number + 1) * PRETENDED)
        for turn in range(TURNS if len(kept) <= ALL_TURNS else 1):
            few = {label: kept[label][chosen] for label in drawn[turn::TURNS]}
            rest = {label: kept[label][ROUNDS * PRETENDED :] for label in few}
            turns.append(Turn(few, rest))
    return turns


def open_few_options(head: Head) -> dict[str, tuple[float, float]]:
    """Options for classes of few samples that a head leaves open; other people's heads may not know of such."""
    return head.open_few_options() if hasattr(head, "open_few_options") else {}


def choose_options(
    head: Head, score: Callable[[Head], Scores], targets: Targets, options: Mapping[str, tuple[Any, ...]]
) -> tuple[Head, Scores]:
    """Choose a head's open options one after another, each by the likelihood of held-out targets.

    Returns the head with its options set, and its scores of the held-out samples.

    Parameters
    ----------
    head : Head
        With open options.
    score : callable
        Fits a head and scores the held-out samples.
    targets : ndarray
        Their classes, as columns of the scores.
    options : mapping
        The options to be decided, in this order, and the values to choose from.
    """

    def judged(values: dict[str, Any]) -> tuple[float, dict[str, Any], Scores]:
        scores = score(head.decided(**values))
        return held_out_loss(scores, targets, fit_temperature(scores, targets)), values, scores

    # The value in the middle is the default, with which the others are tried.
    best = judged({name: values[len(values) // 2] for name, values in options.items()})
    for name, values in options.items():
        _, chosen, _ = best
        others = [judged({**chosen, name: value}) for value in values if value != chosen[name]]
        best = min([best, *others], key=lambda one: one[0])
    return head.decided(**best[1]), best[2]


def least_help(values: Values, rates: Values) -> float:
    """The least value that gains most of what the best gains over the first one, in hundredths.

    Examples
    --------
    >>> least_help(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.58, 0.6]))
    0.75
    """
    wanted = rates[0] + MOST * (rates.max() - rates[0])
    at = int(np.argmax(rates >= wanted))
    around = slice(max(0, at - 1), at + 1)
    return round(float(np.interp(wanted, rates[around], values[around])), 2)
