"""The parts that methods share: herding, heads that grow, the training loop, EEIL's augmentation."""

import copy
import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from bitreplay.backbones import Preprocessing, build_backbone
from bitreplay.errors import InputError
from bitreplay.learners.finetuned._eeil import EEILAugmentation
from bitreplay.learners.finetuned._exemplars import herd
from bitreplay.learners.finetuned._network import CosineOutputs, GrowingNetwork, LinearOutputs, without_last_relu
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._training import encode, fit
from bitreplay.learners.frozen._nearest_mean import unit
from bitreplay.training import PRESETS

# ------------------------------------------------------------------ herding


@pytest.mark.parametrize("seed", range(5))
def test_herding_takes_the_best_next_one_of_all(seed):
    features = unit(np.random.default_rng(seed).normal(size=(12, 3)))
    chosen = herd(features, 5).tolist()
    for k in range(5):
        left = [i for i in range(12) if i not in chosen[:k]]
        distance = {i: np.linalg.norm(features.mean(0) - features[[*chosen[:k], i]].mean(0)) for i in left}
        assert distance[chosen[k]] == pytest.approx(min(distance.values()))
    assert herd(features, 3).tolist() == chosen[:3]


def test_herding_is_icarls_rule_for_features_of_length_1():
    features = unit(np.random.default_rng(0).normal(size=(20, 4)))
    mean, chosen = features.mean(0), []
    w = mean.copy()
    for _ in range(8):  # iCaRL's code: the largest product with w, which remembers what is missing
        best = next(i for i in np.argsort(-features @ w) if i not in chosen)
        chosen.append(int(best))
        w += mean - features[best]
    assert herd(features, 8).tolist() == chosen


def test_herding_comes_near_the_best_choice_of_all():
    features = np.random.default_rng(1).normal(size=(10, 2))
    distance = [
        np.linalg.norm(features.mean(0) - features[list(c)].mean(0)) for c in itertools.combinations(range(10), 4)
    ]
    mine = np.linalg.norm(features.mean(0) - features[herd(features, 4)].mean(0))
    assert mine <= np.quantile(distance, 0.2)
    assert sorted(herd(features, 99).tolist()) == list(range(10))


# ------------------------------------------------------------------ heads


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", [LinearOutputs, CosineOutputs])
def test_a_head_grows_and_old_outputs_say_what_they_said(kind):
    head, features = kind(6), torch.randn(4, 6, generator=generator())
    head.grow(3, generator(1))
    before = head(features)
    head.grow(2, generator(2))
    assert head.sizes == (3, 2)
    torch.testing.assert_close(head(features)[:, :3], before)
    head.freeze_old()
    grown = head(features)
    grown.sum().backward()
    assert head.weights[0].grad is None
    assert head.weights[1].grad is not None
    head.keep_first(1)
    torch.testing.assert_close(head(features), grown[:, :4])
    assert head.sizes == (3, 1)


def test_a_cosine_head_does_not_see_lengths():
    head, features = CosineOutputs(6), torch.randn(4, 6, generator=generator())
    head.grow(3, generator(1))
    torch.testing.assert_close(head(5 * features), head(features))
    with torch.no_grad():
        head.scale.fill_(3.0)
    torch.testing.assert_close(head(features), 3 * head.cosines(features))
    assert head.cosines(features).abs().max() <= 1


@pytest.mark.parametrize(("name", "options"), [("resnet18", {"width": 2}), ("small_cnn", {"width": 2})])
def test_without_the_last_relu_features_may_be_negative(name, options):
    images = torch.randn(8, options.get("in_channels", 3 if name == "resnet18" else 1), 8, 8, generator=generator())
    backbone = build_backbone(name, generator=generator(), **options).eval()
    before = backbone(images)
    after = without_last_relu(backbone)(images)
    assert before.min() >= 0 > after.min()
    if name == "small_cnn":  # features are means over a quarter: a single value there
        torch.testing.assert_close(after.relu(), before)
    with pytest.raises(InputError, match="last ReLU of a Linear"):
        without_last_relu(nn.Linear(1, 1))


# ------------------------------------------------------------------ training


def test_recipes_fall_at_their_milestones_and_fit_into_a_budget():
    recipe = Recipe(learning_rate=1.0, milestones=(0.5, 0.75), factor=0.1)
    assert [round(recipe.learning_rate_at(done), 6) for done in (0, 0.49, 0.5, 0.74, 0.75, 0.99)] == [
        1, 1, 0.1, 0.1, 0.01, 0.01,
    ]  # fmt: skip
    budget = PRESETS["cpu"]
    short = recipe.within(budget)
    both = budget.epochs + budget.ste_epochs
    assert (short.base_epochs, short.epochs, short.batch_size, short.augmentation) == (both, both, 128, "strong")
    assert short.learning_rate_at(0.2) == pytest.approx(1.0)
    assert short.learning_rate_at(0.1) == pytest.approx(0.5)
    assert short.learning_rate_at(1.0) == pytest.approx(0.0)


def blobs():
    """Dark and bright images."""
    rng = np.random.default_rng(0)
    targets = np.arange(64) % 2
    images = rng.integers(0, 120, (64, 4, 4, 1)) + 130 * targets[:, None, None, None]
    return images.astype(np.uint8), targets.astype(np.int64)


def linear_network():
    network = GrowingNetwork(nn.Flatten(), LinearOutputs(16))
    network.head.grow(2, generator())
    return network


def trained(seed=(0,), augment=None, **options):
    network = linear_network()
    images, targets = blobs()
    seen = []

    def loss(batch):
        seen.append(batch)
        return cross_entropy(network(batch.pixels), batch.targets)

    recipe = Recipe(batch_size=10, **options)
    fit(network, images, targets, loss, recipe, epochs=3, seed=seed, preprocessing=Preprocessing(), augment=augment)
    return network, seen


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_loop_trains_and_is_decided_by_the_seed(optimizer):
    network, seen = trained(optimizer=optimizer)
    assert len(seen) == 3 * 6
    assert [batch.done for batch in seen] == pytest.approx([step / 18 for step in range(18)])
    images, targets = blobs()
    assert (encode(network, images, Preprocessing()).shape) == (64, 16)
    scores = network.head(torch.from_numpy(encode(network, images, Preprocessing())))
    assert (scores.argmax(1).numpy() == targets).mean() == 1
    again, others = trained(optimizer=optimizer)[0], trained((1,), optimizer=optimizer)[1]
    assert torch.equal(again.head.weight, network.head.weight)
    assert not torch.equal(others[0].pixels, seen[0].pixels)
    draws = [torch.rand(1, generator=batch.generator).item() for batch in seen]
    assert len(set(draws)) == len(draws)


def test_every_epoch_shows_each_image_once_and_what_is_left_over_waits():
    _, seen = trained()
    for epoch in range(3):
        rows = torch.cat([batch.pixels for batch in seen[6 * epoch : 6 * epoch + 6]]).flatten(1)
        assert len(torch.unique(rows, dim=0)) == 60


@pytest.mark.parametrize("keep", [False, True])
def test_batch_normalisation_can_keep_its_statistics(keep):
    network = GrowingNetwork(nn.Sequential(nn.BatchNorm2d(1), nn.Flatten()), LinearOutputs(16))
    network.head.grow(2, generator())
    before = copy.deepcopy(network.backbone[0].state_dict())
    fit(
        network, *blobs(), lambda batch: cross_entropy(network(batch.pixels), batch.targets), Recipe(batch_size=32),
        epochs=1, seed=(0,), preprocessing=Preprocessing(), augment=None, keep_statistics=keep,
    )  # fmt: skip
    after = network.backbone[0].state_dict()
    assert torch.equal(after["running_mean"], before["running_mean"]) == keep
    assert not torch.equal(after["weight"], before["weight"])


def test_only_matrices_decay():
    network = linear_network()
    images, targets = blobs()
    with torch.no_grad():
        network.head.biases[0].fill_(1.0)
    before = network.head.weight.detach().clone()
    recipe = Recipe(weight_decay=0.1, learning_rate=0.5, batch_size=64, momentum=0.0, milestones=())
    nothing = lambda batch: 0.0 * network(batch.pixels).sum()  # noqa: E731
    fit(network, images, targets, nothing, recipe, epochs=1, seed=(0,), preprocessing=Preprocessing(), augment=None)
    torch.testing.assert_close(network.head.weight.detach(), 0.95 * before)
    assert torch.equal(network.head.biases[0].detach(), torch.ones(2))


# ------------------------------------------------------------------ EEIL's augmentation


def test_eeil_shows_twelve_kinds_of_variants():
    image = torch.rand(1, 3, 6, 6, generator=generator()) * 0.5 + 0.25
    images = image.expand(600, -1, -1, -1)
    state = torch.get_rng_state()
    varied = EEILAugmentation()(images, 1, 2)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(varied, EEILAugmentation()(images, 1, 2))
    assert not torch.equal(varied, EEILAugmentation()(images, 1, 3))
    assert varied.shape == images.shape
    assert varied.min() >= 0
    assert varied.max() <= 1
    unchanged = (varied == image).flatten(1).all(1).float().mean().item()
    mirrored = (varied == image.flip(3)).flatten(1).all(1).float().mean().item()
    assert unchanged == pytest.approx(1 / 12, abs=0.05)
    assert mirrored == pytest.approx(1 / 12, abs=0.05)
    whole = varied[(varied > 0).flatten(1).all(1)]  # shifted ones have a black border
    assert 0.4 < len(whole) / 600 < 0.75
