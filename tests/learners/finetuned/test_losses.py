"""Every loss against its formula, written out sample by sample, on batches made by hand."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from bitreplay.learners.finetuned._eeil import distillation, gradient_noise
from bitreplay.learners.finetuned._ewc import diagonal_fisher, elastic_penalty, held_weights
from bitreplay.learners.finetuned._icarl import icarl_loss
from bitreplay.learners.finetuned._il2a import _beta, augmented_logits, mixed_classes, pair_number
from bitreplay.learners.finetuned._lucir import imprinted, less_forget, margin_ranking
from bitreplay.learners.finetuned._network import GrowingNetwork, LinearOutputs
from bitreplay.learners.finetuned._pass import common_radius, feature_distance, rotated

NEAR = {"rel": 1e-5, "abs": 1e-6}


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


# ------------------------------------------------------------------ iCaRL, LwF-MC


def test_icarl_asks_old_outputs_for_what_they_said_and_new_ones_for_the_truth():
    logits, old, targets = numbers(5, 4), numbers(5, 2, seed=1), torch.tensor([2, 3, 0, 3, 1])
    expected = 0.0
    for i in range(5):
        for j in range(4):
            wanted = sigmoid(old[i, j]) if j < 2 else float(targets[i] == j)
            said = sigmoid(logits[i, j])
            expected -= wanted * math.log(said) + (1 - wanted) * math.log(1 - said)
    assert icarl_loss(logits, targets, old).item() == pytest.approx(expected / 5, **NEAR)
    first = sum(
        -math.log(sigmoid(logits[i, j]) if targets[i] == j else 1 - sigmoid(logits[i, j]))
        for i in range(5)
        for j in range(4)
    )
    assert icarl_loss(logits, targets, None).item() == pytest.approx(first / 5, **NEAR)


def test_icarl_is_least_where_old_outputs_stay():
    old = numbers(6, 3)
    targets = torch.full((6,), 3)
    kept = torch.cat([old, torch.full((6, 1), 9.0)], 1).requires_grad_()
    (gradient,) = torch.autograd.grad(icarl_loss(kept, targets, old), kept)
    assert gradient[:, :3].abs().max() < 1e-7


# ------------------------------------------------------------------ EEIL


def test_eeil_distils_each_task_by_itself():
    logits, old = numbers(3, 5), numbers(3, 4, seed=1)
    expected = 0.0
    for begin, end in ((0, 2), (2, 4)):
        for i in range(3):
            teacher = [math.exp(old[i, j] / 2) for j in range(begin, end)]
            student = [math.exp(logits[i, j] / 2) for j in range(begin, end)]
            for t, s in zip(teacher, student, strict=True):
                expected -= t / sum(teacher) * math.log(s / sum(student)) / 3
    assert distillation(logits, old, (2, 2)).item() == pytest.approx(expected, **NEAR)
    shifted = old.clone()
    shifted[:, :2] += 7  # a task's outputs against another's are nobody's business
    assert distillation(logits, shifted, (2, 2)).item() == pytest.approx(expected, **NEAR)


def test_eeil_noise_is_added_to_gradients():
    layer = nn.Linear(300, 200)
    loss = gradient_noise(layer.parameters(), epoch=9, batch_size=4, generator=torch.Generator().manual_seed(0))
    (gradient,) = torch.autograd.grad(loss, layer.weight)
    assert gradient.std().item() == pytest.approx(0.3 / 10**0.55 / 4, rel=0.02)
    assert abs(gradient.mean().item()) < 1e-3
    layer.weight.requires_grad_(False)
    frozen = gradient_noise(layer.parameters(), 9, 4, torch.Generator().manual_seed(0))
    assert torch.autograd.grad(frozen, layer.bias)[0].abs().sum() > 0


# ------------------------------------------------------------------ LUCIR


def test_lucir_holds_directions_and_not_lengths():
    features = numbers(4, 6)
    assert less_forget(features, 3 * features).item() == pytest.approx(0, abs=1e-6)
    assert less_forget(features, -features).item() == pytest.approx(2, **NEAR)
    old = numbers(4, 6, seed=1)
    cosines = [float(a @ b / a.norm() / b.norm()) for a, b in zip(features, old, strict=True)]
    assert less_forget(features, old).item() == pytest.approx(1 - sum(cosines) / 4, **NEAR)


def test_lucir_holds_exemplars_against_the_new_classes_most_like_them():
    cosines = torch.tensor([[0.9, 0.1, 0.2, 0.7, 0.3], [0.1, 0.2, 0.9, 0.4, 0.6], [0.3, 0.8, 0.1, 0.2, 0.9]])
    targets = torch.tensor([0, 4, 1])  # an exemplar, a new sample, an exemplar; classes 0 and 1 are old
    first = [max(0, 0.5 - 0.9 + rival) for rival in (0.7, 0.3)]
    third = [max(0, 0.5 - 0.8 + rival) for rival in (0.9, 0.2)]
    expected = sum(first + third) / 4
    assert margin_ranking(cosines, targets, 2, 0.5, 2).item() == pytest.approx(expected, **NEAR)
    assert margin_ranking(cosines, torch.tensor([2, 3, 4]), 2, 0.5, 2).item() == 0
    assert margin_ranking(cosines[:, :3], torch.tensor([0, 2, 1]), 2, 0.5, 2).item() == pytest.approx(0, abs=1e-7)


def test_lucir_imprints_the_mean_direction_as_long_as_old_weights():
    features, targets, old = numbers(7, 3), torch.tensor([0, 1, 0, 1, 1, 0, 0]), numbers(4, 3, seed=1)
    weights = imprinted(features, targets, old)
    length = float(np.mean([math.sqrt(sum(float(v) ** 2 for v in row)) for row in old]))
    for c in range(2):
        units = np.array([(f / f.norm()).numpy() for f, t in zip(features, targets, strict=True) if t == c])
        mean = units.mean(axis=0)
        np.testing.assert_allclose(weights[c], mean / np.linalg.norm(mean) * length, rtol=1e-5)


# ------------------------------------------------------------------ EWC


def small_network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        backbone = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten())
        network = GrowingNetwork(backbone, LinearOutputs(3 * 16))
    network.head.grow(2, torch.Generator().manual_seed(0))
    network.head.grow(3, torch.Generator().manual_seed(1))
    return network


@pytest.mark.parametrize("outputs", ["new", "all"])
def test_ewc_measures_fisher_information_sample_by_sample(outputs):
    network, pixels = small_network().eval(), numbers(21, 1, 4, 4)
    tasks = zip(network.head.weights, network.head.biases, strict=True)
    head = [value for task in tasks for value in task]
    weights = [*network.backbone.parameters(), *(head if outputs == "all" else ())]
    expected = [torch.zeros_like(value) for value in weights]
    for image in pixels:
        network.zero_grad()
        log_probabilities = network(image[None]).log_softmax(1)[0]
        log_probabilities.max().backward()
        for square, value in zip(expected, weights, strict=True):
            square += value.grad**2 / len(pixels)
    measured = diagonal_fisher(network, pixels, outputs)
    for value, other in zip(measured, expected, strict=True):
        assert other.max() > 0
        torch.testing.assert_close(value, other, rtol=1e-4, atol=1e-8)


def test_ewc_pulls_by_what_mattered():
    weights = [torch.tensor([[4.0, 9.0]]), torch.tensor([3.0]), torch.tensor([100.0])]
    anchors = [torch.tensor([[1.0, 2.0]]), torch.tensor([0.0])]  # the third came since
    fisher = [torch.tensor([[0.5, 0.0]]), torch.tensor([2.0])]
    assert elastic_penalty(weights, anchors, fisher).item() == pytest.approx((0.5 * 9 + 2 * 9) / 2)


def test_ewc_adds_the_outputs_of_another_task_at_the_end_of_what_it_holds():
    network = small_network()
    before = [value.shape for value in held_weights(network, "all")]
    network.head.grow(2, torch.Generator().manual_seed(1))
    after = held_weights(network, "all")
    assert [value.shape for value in after[:-2]] == before
    assert after[-2] is network.head.weights[-1]
    assert after[-1] is network.head.biases[-1]


# ------------------------------------------------------------------ PASS


def test_pass_turns_images_and_gives_turns_outputs_of_their_own():
    pixels, targets = numbers(3, 2, 4, 4), torch.tensor([5, 0, 2])
    turned, outputs = rotated(pixels, targets)
    for i in range(3):
        for k in range(4):
            assert outputs[4 * i + k] == 4 * targets[i] + k
            for channel in range(2):
                np.testing.assert_array_equal(turned[4 * i + k, channel], np.rot90(pixels[i, channel].numpy(), k))


def test_pass_radius_is_the_root_of_the_mean_variance():
    features, targets = numbers(30, 5).numpy(), np.arange(30) % 3
    traces = [np.trace(np.cov(features[targets == c].T)) / 5 for c in range(3)]
    assert common_radius(features, targets) == pytest.approx(math.sqrt(np.mean(traces)), rel=1e-6)
    assert common_radius(features[:3], targets[:3]) == 0  # one sample per class has no variance


def test_pass_distance_is_that_of_the_authors_batch_whatever_the_batch():
    one, two = numbers(256, 4), numbers(256, 4, seed=1)
    assert feature_distance(one, two).item() == pytest.approx(float((one - two).norm()), **NEAR)
    twice = feature_distance(torch.cat([one, one]), torch.cat([two, two]))
    assert twice.item() == pytest.approx(float((one - two).norm()), **NEAR)


# ------------------------------------------------------------------ IL2A


def test_il2a_numbers_pairs_without_gaps():
    n = 6
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    for one, other in (zip(*pairs, strict=True), zip(*(pair[::-1] for pair in pairs), strict=True)):
        assert pair_number(torch.tensor(one), torch.tensor(other), n).tolist() == list(range(n * (n - 1) // 2))


def test_il2a_mixes_pairs_of_different_new_classes():
    n_old, n_new = 3, 4
    targets = torch.arange(40) % n_new + n_old
    pixels = torch.nn.functional.one_hot(targets - n_old, n_new).float()[:, :, None, None].expand(-1, -1, 2, 2)
    images, classes = mixed_classes(pixels, targets, n_old, n_new, torch.Generator().manual_seed(0))
    assert torch.equal(images[:40], pixels)
    assert torch.equal(classes[:40], targets)
    assert 40 < len(images) <= 5 * 40
    for image, c in zip(images[40:, :, 0, 0], classes[40:], strict=True):
        one, other = torch.nonzero(image)[:, 0]
        assert c == n_old + n_new + pair_number(one, other, n_new)
        assert 0.4 <= float(image[one]) <= 0.6
        assert float(image.sum()) == pytest.approx(1)
    alone, _ = mixed_classes(pixels[:1], targets[:1], n_old, 1, torch.Generator().manual_seed(0))
    assert len(alone) == 1


def test_il2a_draws_shares_from_beta_20_20():
    shares = _beta(20000, torch.Generator().manual_seed(0)).numpy()
    assert shares.min() >= 0.4
    assert shares.max() <= 0.6
    drawn = np.random.default_rng(0).beta(20, 20, 20000)
    replaced = np.where((drawn < 0.4) | (drawn > 0.6), 0.5, drawn)
    assert shares.mean() == pytest.approx(0.5, abs=2e-3)
    assert shares.std() == pytest.approx(replaced.std(), rel=0.03)


def test_il2a_closed_form_is_the_limit_of_infinitely_many_draws():
    d, outputs, ratio = 3, 4, 2.5
    rng = np.random.default_rng(0)
    means, weight, bias = numbers(3, d), 0.5 * numbers(outputs, d, seed=1), 0.3 * numbers(outputs, seed=2)
    roots = 0.6 * rng.normal(size=(3, d, d))
    covariances = torch.from_numpy(roots @ roots.transpose(0, 2, 1)).float()
    classes = torch.tensor([2, 0, 2, 1])
    logits = augmented_logits(means, covariances, classes, weight, bias, ratio)
    for row, y in enumerate(classes.tolist()):
        noise = rng.normal(size=(400_000, d)) @ (math.sqrt(ratio) * roots[y]).T
        drawn = (means[y].numpy() + noise) @ weight.numpy().T + bias.numpy()
        expected = np.log(np.exp(drawn - drawn[:, [y]]).mean(axis=0))  # log E exp(logit_j - logit_y)
        np.testing.assert_allclose(logits[row] - logits[row, y], expected, atol=0.03)
        assert logits[row, y].item() == pytest.approx(float(means[y] @ weight[y] + bias[y]), **NEAR)
