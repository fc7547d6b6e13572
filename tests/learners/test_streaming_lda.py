"""Streaming LDA against scikit-learn's LDA with the same statistics."""

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from bitreplay.learners.frozen._streaming_lda import StreamingLDA
from tests.learners.problems import TASKS, D, learn, problem

train, test = problem(n=30), problem(n=20, seed=1)


class Given(EmpiricalCovariance):
    """Hands scikit-learn the pooled covariance, shrunk as the paper does."""

    def fit(self, X, y=None):
        super().fit(X)
        self.covariance_ = (1 - 0.1) * self.covariance_ + 0.1 * np.eye(D)
        return self


@pytest.mark.parametrize("tasks", [TASKS, [np.concatenate(TASKS)]], ids=["by tasks", "at once"])
def test_scores_are_scikit_learns(tasks):
    method = learn(StreamingLDA(shrinkage=0.1), train, tasks)
    # Equal class sizes: the mean of class covariances (scikit-learn) is the pooled covariance (ours).
    reference = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Given()).fit(train.X, train.y)
    expected = reference.decision_function(test.X)
    order = np.argsort(method.classes)
    scores = method._scores(test.X)[:, order]
    np.testing.assert_allclose(scores - scores[:, :1], expected - expected[:, :1], rtol=1e-3, atol=1e-2)
    assert np.array_equal(method.predict(test.X), reference.predict(test.X))


def test_unequal_classes_count_by_their_samples():
    X = np.concatenate([train.of([70])[0], train.of([3])[0][:6]])
    y = np.repeat([70, 3], [30, 6])
    method = StreamingLDA()
    method.partial_fit(X, y)
    centred = np.concatenate([X[y == c] - X[y == c].mean(0) for c in (70, 3)])
    np.testing.assert_allclose(method.learned["covariance"], centred.T @ centred / 36, atol=1e-5)


def test_the_order_of_tasks_does_not_matter():
    forth, back = (learn(StreamingLDA(), train, tasks) for tasks in (TASKS, TASKS[::-1]))
    np.testing.assert_allclose(forth.learned["covariance"], back.learned["covariance"], atol=1e-5)
    assert np.array_equal(forth.predict(test.X), back.predict(test.X))
