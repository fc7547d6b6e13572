"""BernoulliMixture: a mixture of Bernoulli products behind scikit-learn's mixture API.

Outside the flow images → features → bits → memory/head → class, for bits of any origin; the memory's classes are fitted
by the same :func:`fit_mixtures`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bitreplay._floor.arguments import integer, number
from bitreplay._floor.seeds import first_draw
from bitreplay.bits import BitsLike, PackedBits, pack, pack_above, to_numpy
from bitreplay.errors import InputError
from bitreplay.mixture._density import joint_log_probability, linear_form
from bitreplay.mixture._fit import fit_mixtures
from bitreplay.mixture._options import CLAMP, EMOptions, Init, Objective, Weights

Result = npt.NDArray[Any] | torch.Tensor


class BernoulliMixture(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Mixture of products of Bernoulli distributions, fitted by EM.

    The counterpart of scikit-learn's `GaussianMixture`, with the same methods. Samples can be arrays, torch tensors
    (results then come back as tensors on the same device) or packed bits.

    Parameters
    ----------
    n_components, init, weights, objective, n_init, warmup_iter, tol, max_iter, min_count, clamp
        See :class:`bitreplay.mixture.EMOptions`.
    binarize : float or None
        Values above this threshold count as 1, as in `sklearn.naive_bayes.BernoulliNB`. With None, input must already
        be 0 and 1; anything else is refused, and the error gives its position.
    random_state : int, RandomState or None
        Seeds the starts and `sample`.
    n_jobs : int or None
        Threads over the starts, as in scikit-learn: None means one, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    prototypes_ : ndarray or tensor of shape (K, D)
        Probability of each bit in each component. K may be smaller than `n_components` if samples are few.
    weights_ : ndarray or tensor of shape (K,)
        Mixing weights.
    converged_ : bool
        Whether the stopping rule was met before `max_iter`. The paper's ten steps are a budget: reaching them gives
        no warning.
    n_iter_ : int
        EM steps after the warm-up.
    lower_bound_, lower_bounds_ : float, ndarray
        Objective per sample of the fitted mixture, and after every step.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = np.array([[0.9, 0.9, 0.1], [0.1, 0.1, 0.9]])
    >>> samples = rng.random((400, 3)) < truth[rng.integers(2, size=400)]
    >>> mixture = BernoulliMixture(2, random_state=0).fit(samples)
    >>> bool(np.abs(np.sort(mixture.prototypes_, axis=0) - np.sort(truth, axis=0)).max() < 0.1)
    True
    >>> bits, component = mixture.sample(5)
    >>> bits.shape, component.shape
    ((5, 3), (5,))
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        init: Init = "centroid",
        weights: Weights = "learned",
        objective: Objective = "likelihood",
        n_init: int = 5,
        warmup_iter: int = 3,
        tol: float = 1e-3,
        max_iter: int = 10,
        min_count: float = 5.0,
        clamp: float = CLAMP,
        binarize: float | None = 0.0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.weights = weights
        self.objective = objective
        self.n_init = n_init
        self.warmup_iter = warmup_iter
        self.tol = tol
        self.max_iter = max_iter
        self.min_count = min_count
        self.clamp = clamp
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: BitsLike, y: object = None) -> BernoulliMixture:
        """Fit the mixture to binary samples; `y` is ignored."""
        options = EMOptions.of(self)
        if self.binarize is not None:
            number("binarize", self.binarize)
        before = dict(self.__dict__)
        try:
            bits = self._bits(X, reset=True)
            generator = np.random.default_rng(first_draw(self.random_state))
            [mixture] = fit_mixtures([bits], options, generators=[generator], n_jobs=self.n_jobs)
        except BaseException:  # what is refused changes nothing, not even the number of features
            self.__dict__ = before
            raise
        self.prototypes_ = _like(X, mixture.prototypes)
        self.weights_ = _like(X, mixture.weights)
        self.converged_ = mixture.converged
        self.n_iter_ = mixture.n_iter
        self.lower_bounds_ = mixture.lower_bounds
        if not len(self.lower_bounds_):  # one component: the closed form has no steps
            self.lower_bounds_ = np.array([float(np.asarray(self.score_samples(X)).mean())])
        self.lower_bound_ = float(self.lower_bounds_[-1])
        return self

    def fit_predict(self, X: BitsLike, y: object = None) -> Result:
        """Fit, and return the most probable component of every sample."""
        return self.fit(X).predict(X)

    def predict(self, X: BitsLike) -> Result:
        """Most probable component of every sample."""
        best: Result = self._joint(X).argmax(1)
        return best

    def predict_proba(self, X: BitsLike) -> Result:
        """Responsibilities: the probability of every component given the sample."""
        joint = self._joint(X)
        if isinstance(joint, torch.Tensor):
            return joint.softmax(1)
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    def score_samples(self, X: BitsLike) -> Result:
        """Marginal log-likelihood of every sample, in nats."""
        joint = self._joint(X)
        return joint.logsumexp(1) if isinstance(joint, torch.Tensor) else np.asarray(logsumexp(joint, axis=1))

    def score(self, X: BitsLike, y: object = None) -> float:
        """Mean marginal log-likelihood per sample."""
        return float(self.score_samples(X).mean())

    def bic(self, X: BitsLike) -> float:
        """Bayesian information criterion on `X`: lower is better."""
        log_likelihoods = self.score_samples(X)
        return float(-2 * log_likelihoods.sum() + self._n_parameters() * np.log(len(log_likelihoods)))

    def aic(self, X: BitsLike) -> float:
        """Akaike information criterion on `X`: lower is better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1) -> tuple[Result, Result]:
        """Draw samples; returns the bits and the component each came from."""
        check_is_fitted(self)
        n_samples = integer("n_samples", n_samples, 1)
        rng = np.random.default_rng(first_draw(self.random_state))
        prototypes, weights = _to_numpy(self.prototypes_), _to_numpy(self.weights_)
        component = np.sort(rng.choice(len(weights), size=n_samples, p=weights))
        bits = rng.random((n_samples, prototypes.shape[1]), dtype=np.float32) < prototypes[component]
        return _like(self.prototypes_, bits.astype(np.uint8)), _like(self.prototypes_, component)

    def _joint(self, X: BitsLike) -> Any:
        check_is_fitted(self)
        bits = self._bits(X, reset=False)
        joint = joint_log_probability(
            bits, *linear_form(_to_numpy(self.prototypes_), _to_numpy(self.weights_), self.clamp)
        )
        return _like(X, joint)

    def _n_parameters(self) -> int:
        n_components, n_features = self.prototypes_.shape
        return int(n_components * n_features + (n_components - 1 if self.weights == "learned" else 0))

    def _bits(self, X: BitsLike, *, reset: bool) -> PackedBits | torch.Tensor:
        """Check the input and binarize it; packed, unless it lives on another device."""
        if isinstance(X, torch.Tensor) and X.device.type != "cpu":
            if X.ndim != 2 or not len(X):
                raise InputError(f"samples must be a non-empty matrix (rows x features); got shape {tuple(X.shape)}")
            self._check_width(X.shape[1], reset=reset)
            if self.binarize is None:
                pack(X)  # refuses values other than 0 and 1
                return X
            if not torch.isfinite(X).all():
                raise InputError("samples contain NaN or infinity")
            return self.binarize < X
        if isinstance(X, PackedBits):
            if not len(X):
                raise InputError("found 0 samples; at least 1 is required")
            self._check_width(X.n_features, reset=reset)
            return X
        try:
            values = to_numpy(X) if isinstance(X, torch.Tensor) else X
            array = validate_data(self, values, reset=reset, dtype="numeric")
        except ValueError as error:
            raise InputError(str(error)) from None
        return pack(array) if self.binarize is None else pack_above(array, self.binarize)

    def _check_width(self, width: int, *, reset: bool) -> None:
        if reset:
            self.n_features_in_ = width
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit, to a table
        elif width != self.n_features_in_:
            raise InputError(
                f"X has {width} features, but BernoulliMixture is expecting {self.n_features_in_} features as input"
            )


def _to_numpy(values: Result) -> npt.NDArray[Any]:
    return values.cpu().numpy() if isinstance(values, torch.Tensor) else values


def _like(example: object, values: Any) -> Any:
    """`values` as a tensor on the device of `example` if that is a tensor, else unchanged."""
    if isinstance(example, torch.Tensor) and not isinstance(values, torch.Tensor):
        return torch.from_numpy(np.ascontiguousarray(values)).to(example.device)
    return values
