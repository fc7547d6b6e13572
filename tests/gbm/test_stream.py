"""Samples that come one at a time: never worse, never lost, the same after a reload, and no head before it is asked."""

import copy
import pickle
import threading

import numpy as np
import pytest
from scipy.special import logsumexp

from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, concatenate, pack
from bitreplay.errors import InputError
from bitreplay.gbm import GBMOptions, GBMState, _update, state_content, state_from_content
from bitreplay.heads import Bayes, ClosedForm, Replay, can_wait, computed, deferred
from bitreplay.heads._from_memory import Lazy
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import EMOptions, joint_log_probability, linear_form, online_steps

D = 60
LAYOUT = np.random.default_rng(1).random((6, 3, D))  # six classes of three clusters


def draw(label, n, seed=0):
    rng = np.random.default_rng([seed, label])
    return pack(rng.random((n, D)) < 0.1 + 0.8 * LAYOUT[label, rng.integers(0, 3, n)])


def empty(**options):
    return GBMState.empty(GBMOptions(prototypes=4, **options), Identity(), Fingerprint(D), 0)


def singly(state, samples):
    """One sample at a time, the classes in turns."""
    for i in range(max(map(len, samples.values()))):
        for label, bits in samples.items():
            if i < len(bits):
                state = state.learned({label: bits[i]})
    return state


def accuracy(state, labels=range(6)):
    return np.mean([np.array(state.labels)[state.scores(draw(c, 400, 9)).argmax(1)] == c for c in labels])


def test_single_samples_of_known_classes_are_as_good_as_all_at_once():
    first, more = ({c: draw(c, n, seed) for c in range(6)} for n, seed in ((60, 0), (59, 1)))
    start, once = empty().learned(first), empty().learned({c: concatenate([first[c], more[c]]) for c in first})
    end = singly(start, more)
    assert accuracy(end) > accuracy(start) - 0.005
    assert accuracy(end) == pytest.approx(accuracy(once), abs=0.02)
    assert accuracy(end.settled()) == pytest.approx(accuracy(once), abs=0.02)
    assert end.memory.count(0) == 119


def test_a_new_class_may_come_one_sample_at_a_time():
    start = empty().learned({c: draw(c, 80) for c in range(3)})
    new = {c: draw(c, 50) for c in range(3, 6)}
    end, once = singly(start, new), start.learned(new)
    assert accuracy(end) == pytest.approx(accuracy(once), abs=0.02)
    assert end.memory.sizes == once.memory.sizes


def test_first_samples_are_kept_bit_by_bit_until_there_are_enough():
    state, bits, most = empty().learned({0: draw(0, 80)}), draw(1, 85), _update.KEPT * 4 * 5
    for i in range(85):
        state = state.learned({1: bits[i]})
        motion = state.memory.motion(1)
        if i == 0:
            assert motion is None  # one sample is stored exactly in any number of bits
        else:
            assert motion.kept == (bits[: i + 1] if i + 1 < most else bits[:0])
            assert motion.past is None
        assert state.memory.count(1) == i + 1
        assert np.allclose(
            (state.memory.mixture(1).weights @ state.memory.mixture(1).prototypes),
            bits[: i + 1].unpack().mean(axis=0),
            atol=1e-3,
        )


def test_a_small_class_keeps_its_past_and_what_came_since():
    state, bits, most = empty().learned({0: draw(0, 12), 1: draw(1, 50)}), draw(0, 85, 1), _update.KEPT * 4 * 5
    at_rest = state.memory.mixture(0)
    for i in range(85):
        state = state.learned({0: bits[i]})
        motion = state.memory.motion(0)
        assert motion.count == 13 + i
        if i + 1 < most:
            assert motion.kept == bits[: i + 1]
            assert np.array_equal(motion.past.mixture.prototypes, at_rest.prototypes)
            assert motion.past.count == 12
        else:
            assert motion.kept == bits[:0]
            assert motion.past is None
    mixture, both = state.memory.mixture(0), np.concatenate([draw(0, 12).unpack(), bits.unpack()])
    assert np.allclose(mixture.weights @ mixture.prototypes, both.mean(axis=0), atol=0.02)  # of which 12 had 3 bits


def test_a_small_class_is_fitted_anew_whenever_it_has_grown_by_a_quarter(monkeypatch):
    one, rest, unseen = draw(0, 300), draw(0, 115, 1), draw(0, 400, 9)
    near = np.abs(one.unpack()[:, None] - LAYOUT[0]).sum(axis=2).argmin(axis=1)
    first = one[np.flatnonzero(near == 0)[:30]]  # of one cluster of three
    fits, join = [], _update.join_mixtures

    def recorded(pasts, classes, *options, **named):
        fits.append(pasts[0].count + len(classes[0]))
        return join(pasts, classes, *options, **named)

    def density(state):
        mixture = state.memory.mixture(0)
        form = linear_form(mixture.prototypes, mixture.weights, 0.02)
        return logsumexp(joint_log_probability(unseen, *form), axis=1).mean()

    monkeypatch.setattr(_update, "join_mixtures", recorded)
    start = empty().learned({0: first, 1: draw(1, 50)})
    end = singly(start, {0: rest})
    grown = [int(np.ceil(30 * _update.GROWTH**power)) for power in range(1, 6)]
    assert fits == [*grown, 30 + 80]  # and with the last sample that is kept
    assert end.memory.motion(0).kept == rest[:0]
    once = density(empty().learned({0: concatenate([first, rest]), 1: draw(1, 50)}))
    assert density(end.settled()) > once - 0.5
    steps, counts = online_steps(start.memory.mixture(0).prototypes, start.memory.mixture(0).weights * 30, rest, 0.02)
    form = linear_form(steps, counts / counts.sum(), 0.02)
    assert logsumexp(joint_log_probability(unseen, *form), axis=1).mean() < once - 1  # they do not leave the cluster


def test_a_class_has_no_more_prototypes_than_its_samples_suffice_for():
    state, bits = empty().learned({0: draw(0, 6), 1: draw(1, 50)}), draw(0, 40, 1)
    sizes = {}
    for i in range(40):
        state = state.learned({0: bits[i]})
        sizes[7 + i] = state.memory.sizes[0]
    assert all(size <= state.options.em_options.components_for(n) for n, size in sizes.items())
    assert sizes[46] == 4


def test_classes_of_many_samples_keep_none():
    state = empty().learned({0: draw(0, 41), 1: draw(1, 40)}).learned({0: draw(0, 1, 1), 1: draw(1, 1, 1)})
    assert [len(state.memory.motion(c).kept) for c in (0, 1)] == [0, 1]
    assert [state.memory.motion(c).past is None for c in (0, 1)] == [True, False]


def test_the_mean_of_a_class_stays_that_of_its_samples():
    first, more = draw(0, 50), draw(0, 49, 1)
    state = empty(bits=16).learned({0: first, 1: draw(1, 50)})
    state = state.learned({0: more})  # fewer than before: in steps
    mixture = state.memory.mixture(0)
    assert state.memory.in_motion == (0,)
    expected = concatenate([first, more]).unpack().mean(axis=0)
    assert np.allclose(mixture.weights @ mixture.prototypes, expected, atol=1e-3)


def test_one_call_does_not_depend_on_the_update_and_a_class_that_is_doubled_is_at_rest():
    first = {c: draw(c, 50) for c in range(3)}
    online, refit = (empty(update=update).learned(first) for update in ("online", "refit"))
    for name, tensor in refit.memory.to_content()[1].items():
        assert np.array_equal(online.memory.to_content()[1][name], tensor)
    more = {c: draw(c, 50, 1) for c in range(3)}
    joined, refitted = online.learned(more), refit.learned(more)
    for doubled in (joined, refitted):
        assert doubled.memory.in_motion == ()
        assert doubled.memory.count(0) == 100
    assert accuracy(joined, range(3)) > accuracy(refitted, range(3)) > accuracy(refit, range(3))
    assert online.learned({0: draw(0, 1, 2)}).memory.in_motion == (0,)
    assert refit.learned({0: draw(0, 1, 2)}).memory.in_motion == ()
    with pytest.raises(InputError, match="update must be one of online, refit"):
        GBMOptions(update="sometimes")


def test_equal_weights_stay_equal():
    state = empty(em=EMOptions(weights="fixed")).learned({c: draw(c, 50) for c in range(2)})
    state = state.learned({0: draw(0, 7, 1)})
    assert np.allclose(state.memory.mixture(0).weights, 1 / len(state.memory.mixture(0).weights))
    assert state.memory.motion(0).counts.sum() == pytest.approx(57)


@pytest.mark.parametrize("head", [ClosedForm(), Bayes()])
def test_a_head_that_waited_is_the_one_that_did_not(head):
    state = empty(head=head).learned({c: draw(c, 50) for c in range(3)})
    after = state.learned({0: draw(0, 1, 1)})
    assert isinstance(after.head, Lazy)
    assert after.head._computed is None
    at_once = computed(state.head).fit(after.memory, Identity(), 0)
    probe = draw(2, 9, 5)
    assert np.array_equal(after.scores(probe), at_once.scores(probe))
    assert after.head.nbytes == at_once.nbytes
    assert after.head.describe() == at_once.describe()
    assert not isinstance(after.learned({5: draw(5, 30)}).head, Lazy)  # a new class of some size


def test_copies_of_a_head_that_waits_can_be_made():
    state = empty().learned({c: draw(c, 50) for c in range(3)}).learned({0: draw(0, 1, 1)})
    probe = draw(1, 5, 2)
    for twin in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert np.array_equal(twin.scores(probe), state.scores(probe))


def test_a_head_is_computed_once_however_many_ask(monkeypatch):
    state = empty().learned({c: draw(c, 50) for c in range(3)}).learned({0: draw(0, 1, 1)})
    calls, fit = [], ClosedForm.fit
    monkeypatch.setattr(ClosedForm, "fit", lambda *given: calls.append(1) or fit(*given))
    barrier, answers = threading.Barrier(6), []

    def ask():
        barrier.wait()
        answers.append(state.scores(draw(1, 5, 2)))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert all(np.array_equal(answer, answers[0]) for answer in answers)


def test_what_the_closed_form_cannot_solve_is_refused_by_the_call_that_learns(monkeypatch):
    state = empty().learned({c: draw(c, 50) for c in range(3)})
    monkeypatch.setattr("bitreplay.heads._closed_form.ROOM", 0)
    monkeypatch.setattr("bitreplay.heads._closed_form.CROWDED", 0)
    with pytest.raises(InputError, match="the closed form would need"):
        state.learned({0: draw(0, 1, 1)})


def test_memories_changed_by_their_owner_do_not_change_an_answer_to_come():
    state = empty().learned({c: draw(c, 50) for c in range(3)}).learned({0: draw(0, 1, 1)})
    state.memory.remove(2)
    assert state.scores(draw(1, 5, 2)).shape == (5, 3)


@pytest.mark.parametrize("head", ["closed_form", "bayes", Replay(epochs=1, min_steps=2)])
def test_a_reloaded_state_goes_on_as_if_uninterrupted(head):
    first = {0: draw(0, 50), 1: draw(1, 30)}  # the second is small: it keeps its past
    state = singly(empty(head=head).learned(first), {0: draw(0, 2, 1), 1: draw(1, 5, 1), 3: draw(3, 3)})
    memory, content, tensors = state_content(state)
    loaded = state_from_content(
        BinaryMemory.from_content(memory, tensors, "here"), content, tensors, state.options, computed(state.head)
    )
    more = {3: draw(3, 3 if isinstance(head, Replay) else 40, 2), 0: draw(0, 2, 2), 1: draw(1, 4, 2)}  # 30 x 1.25 < 39
    one, two = singly(state, more), singly(loaded, more)
    assert one.memory.in_motion == two.memory.in_motion == (0, 1, 3)
    assert len(two.memory.motion(1).kept) == 9
    (_, _, first), (_, _, second) = state_content(one), state_content(two)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])  # a class without numbers of its own has NaN


def test_replay_is_trained_on_pseudo_exemplars_beside_the_sample():
    state = empty(head=Replay(epochs=1, min_steps=200)).learned({c: draw(c, 60) for c in range(3)})
    after = singly(state, {0: draw(0, 2, 1)})
    assert accuracy(after, range(3)) > accuracy(state, range(3)) - 0.03
    assert accuracy(after.settled(), range(3)) == accuracy(after, range(3))  # G is not trained again


def test_a_head_that_waits_can_wait_again():
    memory = BinaryMemory(3)
    memory.enrol({"cup": [[0, 1]] * 5, "mug": [[1, 0]] * 5})
    waiting = deferred(ClosedForm(), memory, Identity(), 0, 1)
    assert isinstance(waiting, Lazy)
    assert can_wait(waiting)
    assert can_wait(ClosedForm())
    assert not can_wait(Replay())
    assert deferred(Replay(), memory, Identity(), 0, 1) is None
