"""Classes learned and asked on several machines: what comes of it is what one machine would make of all of them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bitreplay import BinaryMemory, ClosedForm, GBMClassifier, Mixture
from bitreplay.binarizers import Identity
from bitreplay.classifier import Shard, best_of, memory_of
from bitreplay.errors import InputError
from bitreplay.gbm import _content
from bitreplay.heads import _few
from tests.memory.examples import random_memory

Array = npt.NDArray[Any]
FIRST, SIZES = 4, (300, 260, 40, 30, 25, 12, 7, 5, 3, 1, 30, 30)  # classes of the first call, samples of each class


def samples(few: bool = True) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    sizes = SIZES if few else (30,) * len(SIZES)
    y = np.repeat([f"class {place}" for place in range(10, 10 + len(sizes))], sizes)
    centres = rng.normal(size=(len(sizes), 24))
    return np.repeat(centres, sizes, axis=0) + rng.normal(size=(len(y), 24)), y


def first_and_rest() -> tuple[GBMClassifier, Array, Array]:
    X, y = samples()
    first = np.isin(y, np.unique(y)[:FIRST])
    clf = GBMClassifier(4, p=2, random_state=0).fit(X[first], y[first])
    return clf, X[~first], y[~first]


def content(memory: BinaryMemory) -> tuple[Any, dict[str, bytes]]:
    described, tensors = memory.to_content()
    return described, {name: values.tobytes() for name, values in tensors.items()}


@pytest.mark.parametrize("n_parts", [1, 2, 5])
def test_classes_learned_apart_are_those_learned_together(n_parts: int) -> None:
    clf, X, y = first_and_rest()
    parts = np.array_split(np.unique(y), n_parts)
    memories = [memory_of(clf, X[np.isin(y, part)], y[np.isin(y, part)]) for part in parts]
    before = content(clf.memory_)
    for memory in memories[1:]:
        memories[0].merge(memory)
    assert content(clf.memory_) == before  # the classifier has not learned anything yet
    together = pickle.loads(pickle.dumps(clf)).partial_fit(X, y)
    clf.merge(memories[0])
    assert content(clf.memory_) == content(together.memory_)
    np.testing.assert_array_equal(clf.predict_proba(X), together.predict_proba(X))


def test_known_classes_and_other_features_are_refused() -> None:
    clf, X, y = first_and_rest()
    with pytest.raises(InputError, match="'class 10' is known: use partial_fit"):
        memory_of(clf, X[:2], ["class 10", "new"])
    with pytest.raises(InputError, match="24 features"):
        memory_of(clf, X[:, :3], y)
    with pytest.raises(InputError, match="GBMClassifier is expected; got BinaryMemory"):
        memory_of(clf.memory_, X, y)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_shards", [1, 2, 3, 12])
@pytest.mark.parametrize("few", [True, False])
def test_the_best_of_all_shards_is_the_best_of_the_whole(n_shards: int, few: bool) -> None:
    X, y = samples(few)
    order = np.random.default_rng(1).permutation(len(y))  # classes are learned in another order than sorted
    clf = GBMClassifier(4, p=2, random_state=0).partial_fit(X[y >= "class 16"], y[y >= "class 16"])
    clf.partial_fit(X[y < "class 16"], y[y < "class 16"])
    shards = [Shard.of(clf, number, n_shards) for number in range(n_shards)]
    assert sorted(label for shard in shards for label in shard.classes) == clf.classes_.tolist()
    answers = [shard.best(X[order]) for shard in shards]
    np.testing.assert_array_equal(best_of(answers), clf.predict(X[order]))
    np.testing.assert_allclose(
        np.max([scores for _, scores in answers], axis=0), clf.decision_function(X[order]).max(1)
    )


@pytest.mark.parametrize("references", [1000, 5])  # 5: some of those that help are not in the shard
@pytest.mark.parametrize(("n_classes", "n_features"), [(12, 200), (40, 24)])  # fewer prototypes than bits, and more
def test_a_part_of_the_head_is_that_part_of_the_whole(
    n_classes: int, n_features: int, references: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_few, "REFERENCES", references)
    rng = np.random.default_rng(2)
    memory = BinaryMemory(4)
    for label in range(n_classes):
        k, count = int(rng.integers(1, 5)), int(rng.choice([1, 4, 30, 249, 250, 900]))
        memory.add(label, Mixture(rng.random((k, n_features), dtype=np.float32), np.full(k, 1 / k), count))
    whole = ClosedForm().fit(memory, Identity(), 0).rows
    for run in (slice(0, n_classes), slice(0, 7), slice(5, 6), slice(9, n_classes)):
        part = ClosedForm().fit_part(memory, run).rows
        np.testing.assert_allclose(part[0], whole[0][run], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(part[1], whole[1][run], rtol=1e-9, atol=1e-9)


def test_of_equal_scores_the_first_class_wins_as_in_predict() -> None:
    rows = np.array([[1, 0, 0, 1], [0, 1, 1, 0]] * 10)
    clf = GBMClassifier(1, binarizer="identity", head=ClosedForm(0.5, 0.1, strength=0), random_state=0)
    for label in (3, 1, 2):
        clf.partial_fit(rows, np.full(len(rows), label))
    answers = [Shard.of(clf, number, 3).best(rows) for number in range(3)]
    np.testing.assert_array_equal(best_of(answers), clf.predict(rows))
    np.testing.assert_array_equal(best_of(answers[::-1]), 1)


def test_what_cannot_be_a_shard() -> None:
    clf, X, _ = first_and_rest()
    with pytest.raises(InputError, match="n_shards"):
        Shard.of(clf, 0, 5)
    with pytest.raises(InputError, match="number"):
        Shard.of(clf, 2, 2)
    with pytest.raises(InputError, match="24 features"):
        Shard.of(clf, 0, 2).best(X[:, :3])
    bayes = GBMClassifier(head="bayes", binarizer="identity", random_state=0).fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(InputError, match="'bayes'"):
        Shard.of(bayes, 0, 2)


def test_a_shard_of_a_file_computes_its_own_part_of_the_head_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = random_memory(3, 24, {f"class {label:03}": 3 for label in range(100)})
    clf, X, _ = first_and_rest()
    clf = GBMClassifier(3, binarizer="identity", random_state=0).fit(np.eye(24)[:2], ["a", "b"]).merge(memory)
    clf.save(tmp_path / "classifier")
    bits = (X > 0).astype(int)
    expected = clf.predict(bits)
    monkeypatch.setattr(_content, "SMALL", 0)
    fit, fitted = ClosedForm._solved, []
    monkeypatch.setattr(ClosedForm, "_solved", lambda *args: fitted.append(len(args[2])) or fit(*args))
    shards = [Shard.of(GBMClassifier.load(tmp_path / "classifier"), number, 4) for number in range(4)]
    np.testing.assert_array_equal(best_of(shard.best(bits) for shard in shards), expected)
    assert fitted == [25, 26, 25, 26]


def _shard_of_file(path: str, number: int, n_shards: int) -> Shard:
    return Shard.of(GBMClassifier.load(path), number, n_shards)


def test_two_workers_of_dask_learn_and_answer_as_one_process(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    clf, X, y = first_and_rest()
    together = pickle.loads(pickle.dumps(clf)).partial_fit(X, y)
    parts = [np.isin(y, part) for part in np.array_split(np.unique(y), 2)]
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(client.scheduler_info()["workers"])
        assert len(workers) == 2
        futures = [
            client.submit(memory_of, clf, X[part], y[part], workers=[worker])
            for part, worker in zip(parts, workers, strict=True)
        ]
        memory, other = client.gather(futures)
        memory.merge(other)
        clf.merge(memory)
        assert content(clf.memory_) == content(together.memory_)
        clf.save(tmp_path / "classifier")
        shards = [
            client.submit(_shard_of_file, str(tmp_path / "classifier"), number, 2, workers=[worker])
            for number, worker in enumerate(workers)
        ]
        answers = client.gather([client.submit(Shard.best, shard, X) for shard in shards])
        assert {worker for where in client.who_has(shards).values() for worker in where} == set(workers)
    np.testing.assert_array_equal(best_of(answers), together.predict(X))
