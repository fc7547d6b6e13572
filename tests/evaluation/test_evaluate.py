"""evaluate: right answers are counted as a loop would, a run that stopped goes on, and bad learners are refused."""

import datetime

import numpy as np
import pytest

import bitreplay
from bitreplay import metrics
from bitreplay.data import from_arrays, make_scenario
from bitreplay.errors import InputError
from bitreplay.evaluation import History, evaluate
from bitreplay.learners import Learner

SIZES = [3, 1, 2]


class NearestMean(Learner):
    """The class whose mean image is nearest: a learner that needs nothing but numpy."""

    name = "nearest mean"

    def __init__(self):
        self.means = {}
        self.learned = []

    def learn(self, task):
        self.learned.append(task.id)
        for label in task.classes.tolist():
            self.means[label] = task.train.images[task.train.labels == label].mean(axis=0)

    def predict(self, samples):
        distances = [np.square(samples.images - mean).sum(axis=(1, 2, 3)) for mean in self.means.values()]
        return np.array(list(self.means))[np.argmin(distances, axis=0)]

    def memory_bits(self):
        return 32 * sum(mean.size for mean in self.means.values())

    def working_set_bits(self):
        return len(self.means)

    def state_dict(self):
        return {str(label): mean for label, mean in self.means.items()}

    def load_state_dict(self, state):
        self.means = {int(label): mean for label, mean in state.items()}


@pytest.fixture(scope="module")
def scenario():
    rng = np.random.default_rng(0)
    centres = rng.integers(90, 150, (6, 1, 4, 4, 1))

    def draw(counts):
        labels = np.repeat(np.arange(6), counts)
        images = centres[labels, 0] + rng.normal(0, 40, (len(labels), 4, 4, 1))
        shuffled = rng.permutation(len(labels))
        return images.clip(0, 255).astype(np.uint8)[shuffled], labels[shuffled]

    return make_scenario(from_arrays(*draw(20), *draw([5, 30, 10, 40, 20, 15])), sizes=SIZES, order=[5, 0, 2, 4, 1, 3])


@pytest.fixture(scope="module")
def history(scenario):
    return evaluate(NearestMean(), scenario, train_accuracy=True)


def test_every_class_in_every_state_is_counted(scenario, history):
    learner = NearestMean()
    assert history.classes == ((5, 0, 2), (4,), (1, 3))
    for state, task in enumerate(scenario):
        learner.learn(task)
        for part, right, count in (
            (scenario.dataset.test, history.right, history.count),
            (scenario.dataset.train, history.train_right, history.train_count),
        ):
            for column, label in enumerate(history.learning_order):
                mine = scenario.dataset.samples("test" if part is scenario.dataset.test else "train").subset(
                    np.flatnonzero(part.labels == label)
                )
                seen = column < sum(SIZES[: state + 1])
                assert count[state, column] == (len(mine) if seen else 0)
                assert right[state, column] == (int((learner.predict(mine) == label).sum()) if seen else 0)
        assert history.memory_bits[state] == 32 * 16 * sum(SIZES[: state + 1])
        assert history.working_set_bits[state] == sum(SIZES[: state + 1])
    predicted, labels = learner.predict(scenario.test_seen(2)), scenario.test_seen(2).labels
    for row, true in enumerate(history.learning_order):
        for column, answer in enumerate(history.learning_order):
            assert history.confusion[row, column] == ((labels == true) & (predicted == answer)).sum()
    assert 0.4 < metrics.final(history) < 1  # neither guessing nor trivial


def test_every_sample_is_noted_class_after_class(scenario, history):
    learner = NearestMean()
    for state, task in enumerate(scenario):
        learner.learn(task)
        expected = []
        for label in history.learning_order[: sum(SIZES[: state + 1])]:
            mine = np.flatnonzero(scenario.dataset.test.labels == label)
            expected += (learner.predict(scenario.dataset.samples("test").subset(mine)) == label).tolist()
        assert history.answers[state].tolist() == expected


def test_a_history_says_what_made_it(history):
    assert history.made.version == bitreplay.__version__
    assert history.made.date == datetime.date.today().isoformat()
    assert history.made.seconds >= sum(history.seconds)


@pytest.mark.parametrize("states", [0, 1, 2, 3])
def test_a_run_that_stopped_goes_on_to_the_same_history(scenario, history, states):
    class StopError(Exception):
        pass

    saved = [(History.empty("nearest mean"), {})]
    first = NearestMean()

    def stop(state, so_far):
        saved.append((so_far, first.state_dict()))
        if state == states - 1:
            raise StopError

    if states:
        with pytest.raises(StopError):
            evaluate(first, scenario, train_accuracy=True, on_state=stop)
    so_far, state_dict = saved[-1]
    assert so_far.n_states == states
    second = NearestMean()
    second.load_state_dict(state_dict)
    assert evaluate(second, scenario, start=so_far, train_accuracy=True) == history
    assert second.learned == list(range(states, 3))


def test_every_state_is_reported_once(scenario, history):
    reported = []
    whole = evaluate(NearestMean(), scenario, train_accuracy=True, on_state=lambda *what: reported.append(what))
    assert [state for state, _ in reported] == [0, 1, 2]
    assert [so_far.n_states for _, so_far in reported] == [1, 2, 3]
    assert reported[-1][1] is whole
    assert whole == history
    assert all(seconds > 0 for seconds in whole.seconds)


def test_notes_and_no_train_accuracy_by_default(scenario):
    notes = {"pretrained": "ImageNet"}
    history = evaluate(NearestMean(), scenario, start=History.empty("nearest mean", notes))
    assert history.notes == notes
    assert history.train_right is None


def test_a_start_that_does_not_fit_is_refused_before_learning(scenario, history):
    learner = NearestMean()
    other = make_scenario(scenario.dataset, sizes=SIZES, order=None)
    with pytest.raises(InputError, match="does not belong to this scenario"):
        evaluate(learner, other, start=history)
    shorter = make_scenario(scenario.dataset, sizes=[3, 3], order=[5, 0, 2, 4, 1, 3])
    with pytest.raises(InputError, match="does not belong to this scenario"):
        evaluate(learner, shorter, start=history, train_accuracy=True)
    with pytest.raises(InputError, match="train_accuracy is not asked for, but start has it"):
        evaluate(learner, scenario, start=history)
    with pytest.raises(InputError, match="a history of 'GBM', but the learner is 'nearest mean'"):
        evaluate(learner, scenario, start=History.empty("GBM"))
    assert learner.learned == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n - 1, dtype=int), r"nearest mean must predict one integer label per sample"),
        (lambda n: np.zeros((n, 1), dtype=int), "one integer label per sample"),
        (lambda n: np.zeros(n), "got float64"),
        (lambda n: np.full(n, 4), r"nearest mean names classes that were not learned yet: \[4\]"),
        (lambda n: np.full(n, -1), r"not learned yet: \[-1\]"),
        (lambda n: np.full(n, 99), r"not learned yet: \[99\]"),
    ],
)
def test_answers_that_cannot_be_counted_are_refused(scenario, answer, message):
    class Bad(NearestMean):
        def predict(self, samples):
            return answer(len(samples))

    with pytest.raises(InputError, match=message):
        evaluate(Bad(), scenario)
