"""Very many classes on several machines: each learns some of them, and each answers for some of them.

It is the end of the flow, bits → memory/head → **class**, cut between classes. A memory is small, and is whole
everywhere; a head is many times larger, and a shard computes and keeps only its own part of it. Whoever sends jobs to
workers (Dask, joblib, torch.distributed) sends these functions; docs/many_classes.md shows how.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay.binarizers import Identity
from bitreplay.classifier._checks import by_class, check_features, check_labels
from bitreplay.classifier._classifier import GBMClassifier
from bitreplay.classifier._fitted import Fitted, sorted_classes
from bitreplay.errors import InputError
from bitreplay.heads import ClosedForm
from bitreplay.memory import BinaryMemory, label_array

Array = npt.NDArray[Any]
Answers = tuple[Array, npt.NDArray[np.float64]]


def memory_of(classifier: GBMClassifier, X: Any, y: Any) -> BinaryMemory:
    """Mixtures of new classes, as `partial_fit` would add them to the classifier, which stays as it is.

    What a class's mixture is depends on its samples, its label and the classifier's seed only: several processes with
    copies of one classifier make, class by class, what one process would.

    Parameters
    ----------
    classifier : GBMClassifier
        Fitted: its thresholds are used.
    X, y
        As for `partial_fit`; all classes must be new.

    Returns
    -------
    BinaryMemory
        Of these classes alone, for `BinaryMemory.merge` and `GBMClassifier.merge`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = GBMClassifier(4, random_state=0).fit(X[y < 4], y[y < 4])
    >>> memory = memory_of(clf, X[(y >= 4) & (y < 7)], y[(y >= 4) & (y < 7)])  # in one process
    >>> memory.merge(memory_of(clf, X[y >= 7], y[y >= 7]))                     # in another
    >>> clf.merge(memory).classes_
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    fitted = _fitted(classifier)
    state = fitted.state
    features = check_features(X, fitted, takes_bits=isinstance(state.binarizer, Identity))
    labels, which = check_labels(y, len(features), state.labels, None)
    if known := [label for label in labels if label in state.memory]:
        raise InputError(f"only new classes can be learned apart; {known[0]!r} is known: use partial_fit")
    return state.apart(by_class(fitted.bits(features), labels, which))


@dataclass(frozen=True)
class Shard:
    """Some classes of a classifier, which are scored as they are among all of its classes.

    Parameters
    ----------
    classes : ndarray
        Its classes, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = GBMClassifier(4, random_state=0).fit(X, y)
    >>> shards = [Shard.of(clf, number, 2) for number in range(2)]  # on two machines
    >>> [shard.classes.tolist() for shard in shards]
    [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    >>> bool((best_of([shard.best(X) for shard in shards]) == clf.predict(X)).all())
    True
    """

    classes: Array
    _order: npt.NDArray[np.intp]
    _fitted: Fitted  # all of the memory, and the head of these classes

    @classmethod
    def of(cls, classifier: GBMClassifier, number: int, n_shards: int) -> Shard:
        """A classifier's classes, in the order in which they were learned, cut into equal runs; one of these.

        Parameters
        ----------
        classifier : GBMClassifier
            With a head in closed form, which need not have been computed, and is not.
        number : int
            Which: 0 to n_shards - 1.
        n_shards : int
            How many there are; no more than classes.
        """
        fitted = _fitted(classifier)
        state, labels = fitted.state, fitted.state.labels
        n_shards = integer("n_shards", n_shards, 1, len(labels))
        number = integer("number", number, 0, n_shards - 1)
        head = state.head.decided()  # its options, computed or not
        if not isinstance(head, ClosedForm):
            raise InputError(f"only head='closed_form' can be cut into shards; this one is {head.name!r}")
        run = slice(number * len(labels) // n_shards, (number + 1) * len(labels) // n_shards)
        part = replace(fitted, state=replace(state, head=head.fit_part(state.memory, run)))
        return cls(sorted_classes(labels[run]), np.argsort(label_array(labels[run])), part)

    def best(self, X: Any) -> Answers:
        """The best of its classes for every sample, and its score: what :func:`best_of` needs."""
        features = check_features(X, self._fitted, takes_bits=isinstance(self._fitted.state.binarizer, Identity))
        classes, scores = [], []
        for block in self._fitted.in_blocks(features):
            best = block[:, self._order].argmax(axis=1)
            classes.append(self.classes[best])
            scores.append(block[np.arange(len(block)), self._order[best]])
        return np.concatenate(classes), np.concatenate(scores)


def best_of(answers: Iterable[Answers]) -> Array:
    """What all shards of a classifier answer together, from what each does.

    With more than 4,096 classes, a classifier lists those that are ahead by part of their scores before it compares
    whole ones; shards list their own. They may then find a class with a higher score that the whole did not list.

    Examples
    --------
    >>> best_of([(np.array(["cup", "cup"]), np.array([3.0, 1.0])), (np.array(["mug", "pot"]), np.array([2.0, 5.0]))])
    array(['cup', 'pot'], dtype='<U3')
    """
    first, *others = answers
    classes, scores = first
    for theirs, higher in others:
        better = (higher > scores) | ((higher == scores) & (theirs < classes))  # as `predict`: the first of equal ones
        classes, scores = np.where(better, theirs, classes), np.where(better, higher, scores)
    return classes


def _fitted(classifier: GBMClassifier) -> Fitted:
    if not isinstance(classifier, GBMClassifier):
        raise InputError(f"a GBMClassifier is expected; got {type(classifier).__name__}")
    return classifier._now()
