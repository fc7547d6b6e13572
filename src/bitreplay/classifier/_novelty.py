"""How samples look to a classifier, bits → memory/head → **class**: how new, and how dense the memory is there."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy.typing as npt

from bitreplay.classifier._checks import check_features
from bitreplay.classifier._fitted import Fitted

Array = npt.NDArray[Any]


class NoveltyMethods:
    """The methods of a classifier that look at samples without naming a class."""

    @abstractmethod
    def _now(self) -> Fitted:
        """What is known at this moment."""

    @abstractmethod
    def _takes_bits(self, fitted: Fitted | None = None) -> bool:
        """Whether packed bits may be given."""

    def novelty(self, X: Any) -> Array:
        """How new every sample looks: 0 for a typical one of a known class, higher for one that may be of none.

        It is by how much less speaks for the best class than for samples of its own, in their spreads: how far the
        class is ahead of an average one and, while there are few classes, how dense the memory is there.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from bitreplay import GBMClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> known = y < 8
        >>> clf = GBMClassifier(p=4, random_state=0).fit(X[known], y[known])
        >>> bool(clf.novelty(X[~known]).mean() > 1 > clf.novelty(X[known]).mean())
        True
        """
        fitted = self._now()
        return fitted.novelties(check_features(X, fitted, takes_bits=self._takes_bits(fitted)))

    def score_samples(self, X: Any) -> Array:
        """Log-density of every sample's bits under the memory: the mixture of all classes, each equally frequent.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> from bitreplay import GBMClassifier
        >>> clf = GBMClassifier(binarizer="identity").fit([[0, 1], [1, 0]], ["mug", "cup"])
        >>> probable, improbable = clf.score_samples([[0, 1], [1, 1]])
        >>> bool(probable > improbable)
        True
        """
        fitted = self._now()
        return fitted.log_densities(check_features(X, fitted, takes_bits=self._takes_bits(fitted)))
