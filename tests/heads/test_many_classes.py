"""Heads of many classes: blocks and float32 against one block in float64, shortlists against all whole scores."""

import tracemalloc

import numpy as np
import pytest

from bitreplay import BinaryMemory, GBMClassifier, pack
from bitreplay.binarizers import Identity
from bitreplay.heads import Bayes, ClosedForm, _bayes, _closed_form, _few, _moments, _shortlist
from bitreplay.heads._shortlist import shortlisted
from bitreplay.mixture import Mixture, linear_form
from tests.heads.test_closed_form import centre, make_memory, naive_scores


def rows_of(n, n_features, seed=1):
    return (np.random.default_rng(seed).random((n, n_features)) < 0.5).astype(np.uint8)


def clustered(n_classes, n_features, k, seed=0):
    rng = np.random.default_rng(seed)
    memory = BinaryMemory(3)
    centres = rng.uniform(0.1, 0.9, (n_classes, 1, n_features))
    prototypes = np.clip(centres + 0.2 * rng.standard_normal((n_classes, k, n_features)), 0, 1).astype(np.float32)
    memory.add_all({c: Mixture(mu, np.full(k, 1 / k), 100) for c, mu in enumerate(prototypes)})
    return memory


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("blend", [0.0, 0.8, 1.0])
def test_blocks_of_a_few_classes_give_the_formula(monkeypatch, dtype, blend):
    monkeypatch.setattr(_moments, "AT_ONCE", 3 * 8 * 20)  # three classes
    monkeypatch.setattr(_moments, "MANY_ROWS", 0 if dtype == np.float32 else 10**9)
    memory, bits = make_memory(13, 20, [4, 8, 1]), rows_of(50, 20)
    blocks = _moments.Blocks(memory)
    assert blocks.dtype == dtype
    assert [block.classes.stop for block in blocks] == [3, 6, 9, 12, 13]
    scores = ClosedForm(blend, 0.1).fit(memory, Identity(), 0).scores(pack(bits))
    assert np.allclose(centre(scores), centre(naive_scores(memory, bits, blend, 0.1)), atol=1e-3)


def test_moments_are_those_of_every_class_alone():
    memory = make_memory(7, 20, [4, 8, 1])
    [block] = _moments.Blocks(memory)
    for label, mean, within, between in zip(memory.labels, block.means, block.within, block.between, strict=True):
        mixture = memory.mixture(label)
        mu, pi = mixture.prototypes.astype(float), mixture.weights
        assert np.allclose(mean, pi @ mu)
        assert np.allclose(within, pi @ (mu * (1 - mu)))
        assert np.allclose(between[: len(pi)], np.sqrt(pi)[:, None] * (mu - pi @ mu))
        assert not between[len(pi) :].any()


@pytest.mark.parametrize("n", [3, 600])
@pytest.mark.parametrize("head", [ClosedForm(), Bayes()], ids=["closed_form", "bayes"])
def test_scores_do_not_depend_on_how_many_products_are_made_at_once(monkeypatch, head, n):
    memory, bits = make_memory(13, 20, [4, 8, 1]), pack(rows_of(n, 20))
    fitted = head.fit(memory, Identity(), 0)
    expected = fitted.scores(bits)
    monkeypatch.setattr(_closed_form, "PRODUCTS", 2 * n * 13)
    monkeypatch.setattr(_bayes, "PRODUCTS", 20 * n)
    np.testing.assert_allclose(fitted.scores(bits), expected, rtol=1e-5, atol=1e-4)


def test_bayes_reads_mixtures_off_as_a_loop_over_classes_does(monkeypatch):
    monkeypatch.setattr(_bayes, "AT_ONCE", 3 * 8 * 20)
    memory = make_memory(13, 20, [4, 8, 1])
    head = Bayes(0.1).fit(memory, Identity(), 0)
    mixtures = [memory.mixture(label) for label in memory.labels]
    forms = [linear_form(mixture.prototypes, mixture.weights, 0.1) for mixture in mixtures]
    np.testing.assert_array_equal(head._slopes, np.concatenate([slopes for slopes, _ in forms]).astype(np.float32))
    np.testing.assert_array_equal(head._offsets, np.concatenate([offsets for _, offsets in forms]))


# ---------------------------------------------------------------------- shortlists


def naive_shortlist(head, bits, n_listed):
    """Row by row: whole scores of the classes with the highest linear parts, the least sum of squares for the rest."""
    weights, offsets = head.rows
    scores = np.empty((len(bits), len(weights)))
    for row, out in zip(bits.astype(float), scores, strict=True):
        parts = weights.astype(float) @ row + offsets
        linear, squares = parts[:, 0], (parts[:, 1:] ** 2).sum(1)
        listed = np.argsort(linear)[-n_listed:]
        out[:] = linear + squares[listed].min()
        out[listed] = (linear + squares)[listed]
    return scores


@pytest.mark.parametrize("n", [1, 5, 40, 600])  # row by row, class by class, and with the kernel of many rows
@pytest.mark.parametrize("n_listed", [1, 6, 30])
@pytest.mark.parametrize("at_once", [2**22, 100])
def test_a_shortlist_gives_whole_scores_to_those_ahead(monkeypatch, n, n_listed, at_once):
    monkeypatch.setattr(_shortlist, "AT_ONCE", at_once)
    memory, bits = make_memory(30, 70, [4, 8, 1]), rows_of(n, 70)
    head = ClosedForm(0.6, 0.1).fit(memory, Identity(), 0)
    scores = shortlisted(pack(bits), head._weights, head._offsets, 30, n_listed)
    np.testing.assert_allclose(scores, naive_shortlist(head, bits, n_listed), rtol=1e-4, atol=1e-4)
    if n_listed == 30:
        np.testing.assert_allclose(scores, head.scores(pack(bits)), rtol=1e-4, atol=1e-4)


def test_no_class_passes_one_that_is_listed():
    memory, bits = make_memory(40, 50, [6]), rows_of(200, 50)
    head = ClosedForm(0.1, 0.1).fit(memory, Identity(), 0)
    scores = shortlisted(pack(bits), head._weights, head._offsets, 40, 5)
    exact = head.scores(pack(bits))
    best = scores.argmax(1)
    rows = np.arange(200)
    np.testing.assert_allclose(scores[rows, best], exact[rows, best], rtol=1e-4, atol=1e-4)  # a whole score
    assert (best == exact.argmax(1)).mean() > 0.5  # even of random prototypes


def test_few_classes_have_no_shortlist_and_many_have(monkeypatch):
    memory = clustered(60, 64, 3)
    bits, labels = memory.sample(300, generator=0, output="packed")
    head = ClosedForm().fit(memory, Identity(), 0)
    exact = head.scores(bits)
    monkeypatch.setattr(_closed_form, "MANY_CLASSES", 60)
    assert np.array_equal(head.scores(bits), exact)
    monkeypatch.setattr(_closed_form, "MANY_CLASSES", 59)
    monkeypatch.setattr(_shortlist.shortlisted, "__defaults__", (12,))
    listed = head.scores(bits)
    assert not np.allclose(listed, exact)
    assert (listed.argmax(1) == exact.argmax(1)).mean() > 0.99
    assert (listed.argmax(1) == labels).mean() > 0.9


def test_one_row_at_once_is_answered_as_many_rows_are(monkeypatch):
    memory = clustered(60, 64, 3)
    bits, _ = memory.sample(60, generator=0)
    for many in (10**9, 10):
        monkeypatch.setattr(_closed_form, "MANY_CLASSES", many)
        classifier = GBMClassifier(3, binarizer="identity", random_state=0).fit(bits[:30], np.arange(30) % 3 + 100)
        classifier.merge(memory)
        together = classifier.predict(bits)
        assert together.tolist() == [classifier.predict(bits[i : i + 1])[0] for i in range(60)]
        assert together.tolist() == classifier.classes_[classifier.predict_proba(bits).argmax(1)].tolist()


# ---------------------------------------------------------------------- memory


def peak(call):
    tracemalloc.start()
    try:
        result = call()
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, held, most


def test_solving_needs_little_beside_the_head_it_makes():
    memory = clustered(1200, 128, 4)
    ClosedForm().fit(memory, Identity(), 0)
    head, held, most = peak(lambda: ClosedForm().fit(memory, Identity(), 0))
    assert held < 1.2 * head.nbytes
    bounded = 40 * _moments.AT_ONCE + 6 * 8 * _few.REFERENCES**2  # a few copies of a block, and of the references' Gram
    assert most - head.nbytes < bounded + 2**20  # whatever the number of classes


def test_a_first_draw_and_a_replacement_need_no_more_than_the_table():
    memory = clustered(1000, 512, 4)  # 512 bits need no padding to be drawn
    table = memory._table.codes.nbytes
    memory.sample(10, generator=0)
    memory.replace({0: memory.mixture(1)})
    _, _, most = peak(lambda: memory.replace({0: memory.mixture(1)}))
    assert most < 2 * table
    _, _, most = peak(lambda: memory.sample(10, generator=0))
    assert most < 2 * table
