"""Classes of few samples in the closed form: against the two-covariance model written out with full matrices."""

from functools import partial

import numpy as np
import pytest
from scipy import linalg

from bitreplay import BinaryMemory, GBMClassifier, pack
from bitreplay.binarizers import Identity
from bitreplay.errors import InputError
from bitreplay.heads import Bayes, ClosedForm, Replay
from bitreplay.heads import _few as few
from bitreplay.mixture import Mixture

BLEND, RIDGE = 0.8, 0.1


def make_memory(counts, n_features=30, sizes=(3, 1, 2), seed=0):
    rng = np.random.default_rng(seed)
    memory = BinaryMemory(8)
    for c, count in enumerate(counts):
        k = sizes[c % len(sizes)]
        rates = np.clip(rng.random(n_features) + rng.normal(0, 0.2, (k, n_features)), 0, 1)
        memory.add(f"class {c}", Mixture(rates.astype(np.float32), rng.dirichlet(np.full(k, 5.0)), count))
    return memory


def rows(n_features, n=40):
    return (np.random.default_rng(1).random((n, n_features)) < 0.5).astype(np.uint8)


def naive_scores(memory, bits, strength, offset):
    """-1/2 (distance + log det) about the posterior means, with every matrix formed in full."""
    means, betweens, withins = [], [], []
    for label in memory.labels:
        mixture = memory.mixture(label)
        mu, pi = mixture.prototypes.astype(float), mixture.weights
        mean = pi @ mu
        means.append(mean)
        withins.append(np.diag(pi @ (mu * (1 - mu))))
        betweens.append((mu - mean).T @ np.diag(pi) @ (mu - mean))
    means, counts = np.array(means), np.array([memory.count(label) for label in memory.labels])
    within, between = np.mean(withins, axis=0), np.mean(betweens, axis=0)
    base = within + BLEND * between + RIDGE * np.diag(within + between).mean() * np.eye(len(within))

    trust = counts / (counts + few.FADING)
    share = max(0, 1 - 1 / trust.sum())
    trust /= trust.sum()
    centre = trust @ means
    scatter = (means - centre).T @ np.diag(trust) @ (means - centre)
    noise = share * strength / counts * np.maximum(0, 1 - counts / few.LARGE)
    phi, vectors = linalg.eigh(scatter, base)  # vectors^T base vectors = 1
    phi = np.maximum(phi - trust @ noise, 0)
    prior = base @ vectors @ np.diag(phi + few.FLOOR) @ vectors.T @ base
    scores = []
    for mean, count, err, own in zip(means, counts, noise, betweens, strict=True):
        posterior = centre + prior @ np.linalg.solve(prior + err * base, mean - centre)
        sigma = base + (1 - BLEND) * own
        distance = np.einsum("ij,ij->i", bits - posterior, np.linalg.solve(sigma, (bits - posterior).T).T)
        fading = few.FADING / (count + few.FADING) * max(0, 1 - count / few.LARGE)
        scores.append(share * offset * phi.sum() / 2 * fading - (distance + np.linalg.slogdet(sigma)[1]) / 2)
    return np.stack(scores, axis=1)


def centred(scores):
    return scores - scores.mean(axis=1, keepdims=True)


def fitted(memory, strength=4.0, offset=0.75):
    return ClosedForm(BLEND, RIDGE, strength, offset).fit(memory, Identity(), 0)


@pytest.mark.parametrize("n_features", [12, 30, 90])
@pytest.mark.parametrize(
    "counts",
    [[500, 400, 5, 300, 1, 20], [5] * 9, [1] * 5, [9999, 1], [500, 1, 2, 249, 250, 251, 3, 400], [90, 50, 3]],
)
def test_scores_are_those_of_the_two_covariance_model(counts, n_features):
    memory, bits = make_memory(counts, n_features), rows(n_features)
    for strength, offset in ((4.0, 0.75), (1.0, 0.0), (30.0, 2.0)):
        scores = fitted(memory, strength, offset).scores(pack(bits))
        assert np.allclose(centred(scores), centred(naive_scores(memory, bits, strength, offset)), atol=2e-3)


def test_large_classes_are_scored_as_ever_and_so_are_small_ones_that_nobody_can_help():
    bits = pack(rows(30))
    for counts in ([few.LARGE] * 4, [500, 5000, 300], [3], [300, 1], [1, 1, 1]):
        memory = make_memory(counts)
        assert np.array_equal(fitted(memory).scores(bits), fitted(memory, 0.0, 0.0).scores(bits))
    memory = make_memory([500, 4, 500])
    helped, plain = fitted(memory).scores(bits), fitted(memory, 0.0, 0.75).scores(bits)
    assert np.array_equal(helped[:, ::2], plain[:, ::2])  # a small class changes nothing for the large
    assert not np.allclose(helped[:, 1], plain[:, 1])


def test_the_help_goes_away_smoothly_as_samples_come():
    bits = pack(rows(30))
    plain = fitted(make_memory([500, 500, 500]), 0.0).scores(bits)[:, 1]
    changes = []
    for count in (1, 5, 20, 80, 200, 249, 250):
        changes.append(np.abs(fitted(make_memory([500, count, 500]), offset=0.0).scores(bits)[:, 1] - plain).mean())
    assert changes == sorted(changes, reverse=True)
    assert changes[-2] < 0.01 * changes[0]
    assert changes[-1] == 0


def test_a_stronger_prior_draws_a_small_class_to_the_centre():
    memory = make_memory([500, 5, 500, 500])
    large = np.stack([m.weights @ m.prototypes for m in map(memory.mixture, memory.labels)])
    trust = np.array([500, 5, 500, 500]) / (np.array([500, 5, 500, 500]) + few.FADING)
    centre = ClosedForm(BLEND, RIDGE, 1e9, 0.0).fit(memory, Identity(), 0).rows[0][1, 0]
    plain = fitted(memory, 0.0).rows[0][:, 0]
    assert np.allclose(centre, trust @ plain / trust.sum(), atol=1e-3)
    assert large.shape == plain.shape


def test_the_order_of_classes_does_not_matter():
    memory, bits = make_memory([500, 5, 400, 1, 30, 5]), pack(rows(30))
    order = [4, 1, 5, 0, 3, 2]
    other = BinaryMemory(8)
    other.add_all({memory.labels[i]: memory.mixture(memory.labels[i]) for i in order})
    assert np.allclose(fitted(other).scores(bits), fitted(memory).scores(bits)[:, order], atol=1e-3)


def test_only_the_largest_classes_say_what_means_look_like(monkeypatch):
    """With many classes; the small ones beyond them are helped all the same."""
    memory, bits = make_memory([500, 5, 400, 3, 300, 2]), pack(rows(30))
    everything = fitted(memory).scores(bits)
    monkeypatch.setattr(few, "REFERENCES", 3)
    some = fitted(memory).scores(bits)
    assert np.array_equal(some[:, ::2], everything[:, ::2])
    assert not np.allclose(some[:, 1::2], everything[:, 1::2])
    assert np.isfinite(some).all()


def test_classes_that_are_all_alike_are_no_error():
    memory = BinaryMemory(8)
    memory.add_all({c: Mixture(np.ones((1, 9), np.float32), np.ones(1), 3) for c in "abc"})
    scores = fitted(memory).scores(pack(np.eye(9)))
    assert np.allclose(scores, scores[:, :1])


@pytest.mark.parametrize("options", [{"strength": -1.0}, {"offset": -0.5}, {"strength": float("nan")}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        ClosedForm(**options)


def test_the_offset_is_open_unless_it_is_given_or_of_no_use():
    for head in (ClosedForm, Bayes):
        assert set(head().open_few_options()) == {"offset"}
        assert not head(offset=0.5).open_few_options()
        assert not head(strength=0.0).open_few_options()


def test_one_crowded_class_among_many_small_ones_is_refused(monkeypatch):
    monkeypatch.setattr("bitreplay.heads._closed_form.ROOM", 0)
    ClosedForm().check(make_memory([20] * 100, sizes=(2,)))
    with pytest.raises(InputError, match="one has 100 prototypes of 30 bits"):
        ClosedForm().check(make_memory([20] * 100, sizes=(100, *[1] * 99)))


# ---------------------------------------------------------------------- the posterior of the mixtures


def naive_posterior(memory, bits, clamp, strength, offset):
    """Log-likelihoods under prototypes that were drawn to the mean of all classes, bit by bit."""
    mixtures = [memory.mixture(label) for label in memory.labels]
    counts = np.array([mixture.count for mixture in mixtures])
    trust = counts / (counts + few.FADING)
    share, need = max(0, 1 - 1 / trust.sum()), np.maximum(0, 1 - counts / few.LARGE)
    trust /= trust.sum()
    means = [m.weights @ m.prototypes for m in mixtures]
    clip = lambda values: np.clip(values, clamp, 1 - clamp)  # noqa: E731
    spread = 0.0
    for m, mean, t in zip(mixtures, means, trust, strict=True):
        for pi, mu in zip(m.weights, m.prototypes.astype(float), strict=True):
            gain = mu * np.log(clip(mu) / clip(mean)) + (1 - mu) * np.log(clip(1 - mu) / clip(1 - mean))
            spread += t * pi * (gain.sum() + np.log(pi))
    scores = []
    for m, wanted in zip(mixtures, need, strict=True):
        pseudo, total = share * strength * wanted, 0.0
        for pi, mu in zip(m.weights, m.prototypes.astype(float), strict=True):
            p = clip((m.count * pi * mu + pseudo * (trust @ means)) / (m.count * pi + pseudo))
            total = total + pi * np.exp((np.log(p) * bits + np.log(1 - p) * (1 - bits)).sum(1))
        scores.append(np.log(total) + share * offset * spread * wanted * few.FADING / (m.count + few.FADING))
    return np.stack(scores, axis=1)


@pytest.mark.parametrize("counts", [[500, 400, 5, 300, 1, 20], [5] * 9, [1, 1], [300, 1], [500, 300], [7]])
def test_prototypes_of_few_samples_have_a_prior(counts):
    memory, bits = make_memory(counts), rows(30)
    for strength, offset in ((2.0, 1.25), (9.0, 0.0), (0.0, 3.0)):
        scores = Bayes(0.05, strength, offset).fit(memory, Identity(), 0).scores(pack(bits))
        expected = naive_posterior(memory, bits, 0.05, strength, offset if strength else 0)
        assert np.allclose(scores, expected, atol=1e-3)


# ---------------------------------------------------------------------- draws for replay


def test_small_classes_are_moved_to_the_centre_and_vary_like_a_large_one():
    memory = make_memory([500, 5, 400, 300], sizes=(3, 1, 3, 3))
    lent, small = few.lend_variety(memory, 10.0, seed=0)
    assert small == {"class 1"}
    assert lent.labels == memory.labels
    assert lent.count("class 1") == 5
    assert len(memory.mixture("class 1").weights) == 1  # not changed
    for label in ("class 0", "class 2", "class 3"):
        assert np.array_equal(lent.mixture(label).prototypes, memory.mixture(label).prototypes)

    counts = np.array([500, 5, 400, 300])
    trust = counts / (counts + few.FADING)
    pseudo = 10 * (1 - 1 / trust.sum()) * (1 - 5 / few.LARGE)
    means = np.stack([m.weights @ m.prototypes for m in map(memory.mixture, memory.labels)])
    expected = (5 * means[1] + pseudo * trust @ means / trust.sum()) / (5 + pseudo)
    own = lent.mixture("class 1")
    lenders = [memory.mixture(label) for label in ("class 0", "class 2", "class 3")]
    # One prototype of three has a third of the variety already.
    moved = [(expected + (2 / 3) ** 0.5 * (m.prototypes - m.weights @ m.prototypes)).clip(0, 1) for m in lenders]
    [lender] = [m for m, rows in zip(lenders, moved, strict=True) if np.allclose(rows, own.prototypes, atol=0.01)]
    assert np.allclose(own.weights, lender.weights, atol=0.01)


def test_variety_is_lent_by_those_who_have_some_to_those_who_have_none():
    for counts, sizes in (([500, 400], (3,)), ([5, 3], (1,)), ([500, few.DRAWN], (3, 1)), ([300, 1], (3, 1))):
        memory = make_memory(counts, sizes=sizes)
        lent, small = few.lend_variety(memory, 10.0, seed=0)
        assert lent is memory, counts  # one large class alone does not say how classes differ
        assert not small
    memory = make_memory([500, 400, 5])
    assert few.lend_variety(memory, 0.0, seed=0) == (memory, set())
    lent, _ = few.lend_variety(make_memory([500, 400, 20], sizes=(2, 2, 2)), 10.0, seed=0)
    assert len(lent.mixture("class 2").weights) == 4  # its own two, each as often as the lender has some
    rows = lent.mixture("class 2").prototypes
    assert np.allclose(rows[0], rows[1])  # and nothing to add to them


# ---------------------------------------------------------------------- what it is for, and what must survive


def problem(rng, n, shared=0.8, n_features=400, seed=5):
    """Classes that share what varies within them: single samples say little about a mean."""
    layout = np.random.default_rng(seed)
    centres = layout.normal(size=(12, 10)) @ layout.normal(size=(10, n_features)) * 0.35
    loadings = layout.normal(size=(15, n_features)) * shared
    X, y = [], []
    for c, count in enumerate(n):
        noise = rng.normal(size=(count, 15)) @ loadings + rng.normal(size=(count, n_features))
        X.append(centres[c] + noise)
        y += [c] * count
    return np.concatenate(X), np.array(y)


@pytest.mark.parametrize("kind", [ClosedForm, Bayes, partial(Replay, epochs=1, min_steps=200)])
def test_small_classes_beside_large_ones_are_recognised(kind):
    rng = np.random.default_rng(0)
    X, y = problem(rng, [300] * 8 + [5] * 4)
    test, y_test = problem(rng, [50] * 12)
    recalls = []
    for head in (kind(strength=0.0), kind()):
        clf = GBMClassifier(head=head, random_state=0).fit(X[y < 8], y[y < 8]).partial_fit(X[y >= 8], y[y >= 8])
        right = clf.predict(test) == y_test
        recalls.append((right[y_test < 8].mean(), right[y_test >= 8].mean()))
    (large_before, small_before), (large, small) = recalls
    assert small > small_before + 0.1
    assert large > large_before - 0.1


def test_saved_forgotten_and_merged_memories_answer_alike(tmp_path):
    rng = np.random.default_rng(0)
    X, y = problem(rng, [300] * 4 + [5] * 4, n_features=60)
    test, _ = problem(rng, [20] * 8, n_features=60)
    clf = GBMClassifier(head=ClosedForm(BLEND, RIDGE, 3.0, 0.5), random_state=0).fit(X, y)
    clf.save(tmp_path / "few.safetensors")
    again = GBMClassifier.load(tmp_path / "few.safetensors")
    assert (again.head_.strength, again.head_.offset) == (3.0, 0.5)
    assert np.array_equal(again.predict_proba(test), clf.predict_proba(test))

    again.forget(6)
    alone = again.head_.fit(again.memory_, again.binarizer_, 0)
    bits = again.binarizer_.pack(test.astype(np.float32))
    assert np.array_equal(again.head_.scores(bits), alone.scores(bits))

    again.merge(clf.memory_)
    assert again.memory_.count(4) == 10  # known to both
    assert again.memory_.count(6) == 5
    assert set(again.predict(test)) <= set(range(8))
