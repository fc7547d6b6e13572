"""The replay head: balanced batches, growing G, and learning without forgetting."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bitreplay import BinaryMemory, EMOptions, pack
from bitreplay.binarizers import Identity, Thermometer
from bitreplay.errors import InputError
from bitreplay.heads import Replay
from bitreplay.heads._network import balanced_rows
from bitreplay.nn import BinaryConv2d, BinaryLinear


def blob(rng, centre, n):
    return pack((rng.random((n, len(centre))) < centre).astype(np.uint8))


def problem(n_classes=6, n_features=64, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.random((n_classes, n_features)) ** 2 * 0.9
    return {c: blob(rng, centres[c], 60) for c in range(n_classes)}, {
        c: blob(rng, centres[c], 40) for c in range(n_classes)
    }


def accuracy(head, memory, test):
    right = total = 0
    for label, bits in test.items():
        right += (np.array(memory.labels)[head.scores(bits).argmax(1)] == label).sum()
        total += len(bits)
    return right / total


def learn(head, memory, samples, seed):
    memory.enrol(samples, EMOptions(n_components=2))
    return head.update(memory, Identity(), samples, seed)


@pytest.mark.parametrize("options", [{}, {"hidden": (32,)}], ids=["linear", "mlp"])
def test_old_classes_are_kept_while_new_ones_are_learned(options):
    train, test = problem()
    head, memory = Replay(epochs=5, **options), BinaryMemory(4)
    for task, labels in enumerate([(0, 1, 2), (3,), (4, 5)]):
        head = learn(head, memory, {c: train[c] for c in labels}, task)
    assert accuracy(head, memory, test) > 0.9
    assert accuracy(head, memory, {c: test[c] for c in (0, 1, 2)}) > 0.85


def test_from_the_memory_alone():
    train, test = problem()
    memory = BinaryMemory(4)
    memory.enrol(train, EMOptions(n_components=2))
    assert accuracy(Replay(epochs=5).fit(memory, Identity(), 0), memory, test) > 0.9


def test_the_same_seed_gives_the_same_head_and_another_does_not():
    train, test = problem(3)
    memory = BinaryMemory(4)
    memory.enrol(train)
    one, two, other = (Replay(epochs=1).fit(memory, Identity(), seed).scores(test[0]) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_a_described_head_is_restored_and_another_network_gives_its_own_scores(hidden):
    train, test = problem(3)
    memory = BinaryMemory(4)
    memory.enrol(train)
    one, other = (Replay(epochs=1, hidden=hidden).fit(memory, Identity(), seed) for seed in (1, 2))
    _, tensors = one.describe()
    for again in (Replay(hidden=hidden).restore(memory, Identity(), tensors, 0), other.with_network(one.network)):
        assert np.array_equal(again.scores(test[0]), one.scores(test[0]))


def test_global_random_state_is_neither_used_nor_changed():
    train, _ = problem(3)
    memory = BinaryMemory(4)
    memory.enrol(train)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    Replay(epochs=1).fit(memory, Identity(), 0)
    assert torch.equal(torch.get_rng_state(), state)


def test_batches_hold_the_new_classes_share():
    # Equation 6 of the paper: N_new = B n_new / (n_old + n_new).
    train, _ = problem(6)
    memory = BinaryMemory(4)
    memory.enrol(train)
    head = Replay(batch_size=120)
    new = {4: train[4], 5: train[5][:7]}  # of very different size
    counts = np.zeros(6)
    for bits, targets in head._batches(memory, new, 100, np.random.default_rng(0)):
        assert len(bits) == len(targets) == 120
        assert np.isin(targets, [4, 5]).sum() == 40
        counts += np.bincount(targets, minlength=6)
    assert np.abs(counts / counts.sum() - 1 / 6).max() < 0.01


def test_one_new_class_among_many_gets_at_least_one_row():
    train, _ = problem(6)
    memory = BinaryMemory(4)
    memory.enrol(train)
    for _, targets in Replay(batch_size=4)._batches(memory, {5: train[5]}, 10, np.random.default_rng(0)):
        assert (targets == 5).sum() == 1


def test_every_sample_is_used_before_any_is_used_again():
    stream = balanced_rows(np.array([0] * 6), 2, np.random.default_rng(0))
    assert sorted(np.concatenate([next(stream) for _ in range(3)])) == list(range(6))


def test_growing_keeps_what_was_learned():
    train, _ = problem(4)
    memory = BinaryMemory(4)
    memory.enrol({c: train[c] for c in (0, 1, 2)})
    head = Replay(epochs=3).fit(memory, Identity(), 0)
    grown = head._grown(64, (*memory.labels, 3), seed=9)
    old = head._network[0]
    assert torch.equal(grown[0].weight[:3], old.weight)
    assert grown[0].weight.shape == (4, 64)
    moved = head._grown(64, (2, 7, 0, 1), seed=9)  # rows follow the labels, not their positions
    assert torch.equal(moved[0].weight[[2, 3, 0]], old.weight)


def test_any_module_can_be_g():
    class Squared(torch.nn.Module):
        def __init__(self, n_inputs, n_classes):
            super().__init__()
            self.first = torch.nn.Linear(n_inputs, 16)
            self.last = torch.nn.Linear(16, n_classes)

        def forward(self, x):
            return self.last(self.first(x).square())

    train, test = problem(4)
    head, memory = Replay(module=Squared, epochs=5, learning_rate=0.02), BinaryMemory(4)
    head = learn(head, memory, {c: train[c] for c in (0, 1)}, 0)
    head = learn(head, memory, {c: train[c] for c in (2, 3)}, 1)
    assert accuracy(head, memory, test) > 0.85


def test_thermometer_codes_are_decoded_before_g():
    rng = np.random.default_rng(0)
    x = rng.random((80, 10)).astype(np.float32)
    binarizer = Thermometer(4)
    memory = BinaryMemory(4)
    memory.enrol({0: binarizer.pack(x), 1: binarizer.pack(1 - x)})
    head = Replay(epochs=1).fit(memory, binarizer, 0)
    assert head._network[0].in_features == 10


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_binary_layers_are_trained_within_their_bounds(optimizer):
    def binary(n_inputs, n_classes):
        return torch.nn.Sequential(BinaryLinear(n_inputs, 32, clip=0.5), BinaryLinear(32, n_classes, clip=0.3))

    train, _ = problem(3)
    memory = BinaryMemory(4)
    memory.enrol(train)
    head = Replay(module=binary, optimizer=optimizer, learning_rate=0.2, epochs=1, min_steps=20).fit(
        memory, Identity(), 0
    )
    first, last = head.network
    assert first.weight.abs().max().item() == pytest.approx(0.5)  # some are at the bound, none beyond
    assert last.weight.abs().max().item() <= 0.3 + 1e-6
    assert head.nbytes == (64 * 32 + 32 * 3) // 8  # one bit per weight


def test_adam_and_sgd_differ():
    train, test = problem(3)
    memory = BinaryMemory(4)
    memory.enrol(train)
    scores = [
        Replay(optimizer=name, learning_rate=0.01, min_steps=20).fit(memory, Identity(), 0).scores(test[0])
        for name in ("sgd", "adam")
    ]
    assert not np.array_equal(*scores)


@pytest.mark.parametrize("batch_size", [2, 1000])
def test_batches_may_be_tiny_or_larger_than_the_data(batch_size):
    train, test = problem(3)
    head, memory = Replay(epochs=1, min_steps=300, learning_rate=0.02, batch_size=batch_size), BinaryMemory(4)
    head = learn(head, memory, {c: train[c] for c in (0, 1)}, 0)
    head = learn(head, memory, {2: train[2]}, 1)
    assert accuracy(head, memory, test) > 0.9


def test_spatial_embeddings_of_a_quicknet():
    # D = 12544 as in sec. 5.1: 256 maps of 7 x 7, which G's first layers see as such.
    class Maps(torch.nn.Module):
        def __init__(self, n_inputs, n_classes):
            super().__init__()
            self.channels = n_inputs // 49
            self.convolution = BinaryConv2d(self.channels, 8, 3, padding=1)
            self.normalise = torch.nn.BatchNorm2d(8)
            self.last = torch.nn.Linear(8, n_classes)

        def forward(self, bits):
            maps = self.normalise(self.convolution(2 * bits.view(-1, self.channels, 7, 7) - 1))
            return self.last(maps.relu().mean((2, 3)))

    rng = np.random.default_rng(0)
    centres = np.repeat(rng.random((3, 256)), 49, axis=1)  # classes differ in how active their channels are
    train = {c: blob(rng, centres[c], 20) for c in range(3)}
    head, memory = (
        Replay(module=Maps, optimizer="adam", learning_rate=0.01, epochs=1, min_steps=15, batch_size=24),
        BinaryMemory(3),
    )
    head = learn(head, memory, {c: train[c] for c in (0, 1)}, 0)
    head = learn(head, memory, {2: train[2]}, 1)
    assert memory.size_bits == 3 * 2 * 12544 * 3
    assert accuracy(head, memory, {c: blob(rng, centres[c], 10) for c in range(3)}) > 0.9


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "lion"},
        {"epochs": 0},
        {"batch_size": 1},
        {"learning_rate": 0.0},
        {"epochs": 1.5},
        {"prior": "x"},
        {"hidden": (0,)},
        {"module": 5},
        {"learning_rate": float("nan")},
        {"momentum": float("inf")},
        {"device": "abacus"},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError):
        Replay(**options)


def test_what_is_not_trained_holds_nothing_and_may_be_as_narrow_as_one():
    assert Replay(hidden=(1,)).nbytes == 0


def test_what_cannot_be_trained_is_refused():
    train, _ = problem(3)
    memory = BinaryMemory(4)
    memory.enrol(train)
    with pytest.raises(InputError, match="no class"):
        Replay().fit(BinaryMemory(4, 64), Identity(), 0)
    with pytest.raises(InputError, match=r"torch\.nn\.Module"):
        Replay(module=lambda n_inputs, n_classes: None).fit(memory, Identity(), 0)
    with pytest.raises(InputError, match=r"\(128, 3\); got \(128, 2\)"):
        Replay(module=lambda n_inputs, n_classes: torch.nn.Linear(n_inputs, 2)).fit(memory, Identity(), 0)


def test_old_classes_always_get_a_row():
    train, _ = problem(6)
    memory = BinaryMemory(4)
    memory.enrol(train)
    new = {c: train[c] for c in range(1, 6)}
    for _, targets in Replay(batch_size=2)._batches(memory, new, 10, np.random.default_rng(0)):
        assert (targets == 0).sum() == 1


def test_watching_changes_nothing():
    train, test = problem()
    options, seen = Replay(epochs=3, min_steps=1, batch_size=32), []
    plain, watched = learn(options, BinaryMemory(4), train, 0), None
    memory = BinaryMemory(4)
    memory.enrol(train, EMOptions(n_components=2))
    watching = replace(options, on_epoch=lambda right, head: seen.append((right, head)))
    watched = watching.update(memory, Identity(), train, 0)
    np.testing.assert_array_equal(watched.scores(test[0]), plain.scores(test[0]))
    assert len(seen) == 3
    assert seen[0][0] < seen[-1][0] <= 1
    np.testing.assert_array_equal(seen[-1][1].scores(test[0]), plain.scores(test[0]))
    early, late = (accuracy(head, memory, test) for _, head in (seen[0], seen[-1]))
    assert early <= late  # each is the head as it was then
    assert not np.array_equal(seen[0][1].scores(test[0]), plain.scores(test[0]))


def test_the_last_epoch_may_be_short():
    train, _ = problem()
    memory, seen = BinaryMemory(4), []
    memory.enrol(train, EMOptions(n_components=2))
    options = Replay(epochs=1, min_steps=14, batch_size=60)  # 6 steps an epoch: 6, 6 and 2
    replace(options, on_epoch=lambda right, _: seen.append(right)).update(memory, Identity(), train, 0)
    assert len(seen) == 3


def test_a_g_with_dropout_depends_on_the_seed_alone():
    def g(n_inputs, n_classes):
        return torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(n_inputs, n_classes))

    samples, test = problem()
    scores = []
    for global_seed in (1, 2):
        torch.manual_seed(global_seed)
        head = learn(Replay(module=g, epochs=1, min_steps=20), BinaryMemory(), samples, seed=0)
        assert torch.initial_seed() == global_seed
        scores.append(head.scores(test[0]))
    assert np.array_equal(*scores)
