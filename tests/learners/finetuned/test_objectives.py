"""What each method minimises in its second task, and what it keeps of it, against the whole formula of its paper.

The parts of the losses have tests of their own; here it is how a method puts them together. Nothing is trained: the
loop is replaced by one that looks at the loss, on a network that was moved away from where it was.
"""

import copy
import math

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, normalize

from bitreplay.learners.finetuned._eeil import distillation, gradient_noise
from bitreplay.learners.finetuned._ewc import diagonal_fisher, held_weights
from bitreplay.learners.finetuned._icarl import icarl_loss
from bitreplay.learners.finetuned._il2a import mixed_classes
from bitreplay.learners.finetuned._lucir import imprinted, less_forget, margin_ranking
from bitreplay.learners.finetuned._pass import rotated
from bitreplay.learners.finetuned._training import Batch
from tests.learners.finetuned.problems import SIZES, D, make, scenario

N_OLD, N_NEW = SIZES[:2]
N = 24  # images of a batch
NEAR = {"rel": 1e-4, "abs": 1e-5}


class Look:
    """One training of the second task: what the loop was given, and the loss of a batch."""

    def __init__(self, network, old, images, targets, loss, preprocessing, **options):
        self.old, self.options = old.eval(), options
        self.images, self.targets = images, targets
        rng = torch.Generator().manual_seed(5)
        self.new_weight = network.head.weights[-1].detach().clone()
        self.trainable = [weight.requires_grad for weight in network.head.weights]
        with torch.no_grad():
            for value in network.parameters():
                value += 0.02 * torch.randn(value.shape, generator=rng)
        self.network = copy.deepcopy(network.eval())  # as it was then
        rows = np.linspace(0, len(images) - 1, N).astype(int)  # new samples, and exemplars where there are some
        self.pixels, self.classes = preprocessing(torch.from_numpy(images[rows])), torch.from_numpy(targets[rows])
        self.value = loss(Batch(self.pixels, self.classes, 0.5, self.generator())).item()
        self.logits, self.features = network(self.pixels).detach(), network.features(self.pixels).detach()
        with torch.no_grad():
            self.old_logits, self.old_features = old(self.pixels), old.features(self.pixels)

    @staticmethod
    def generator():
        return torch.Generator().manual_seed(7)

    def plain(self):
        return cross_entropy(self.logits, self.classes).item()


def second_task(variant, **options):
    """A method before and after its second task, and every training in between."""
    learner, looks = make(variant), []
    for name, value in options.items():
        setattr(learner, name, value)

    def look(network, images, targets, loss, **given):
        if learner.network is not None:
            looks.append(Look(network, learner.network, images, targets, loss, learner.preprocessing, **given))

    learner._fit = look
    learner.learn(scenario[0])
    kept = dict(learner.kept)
    learner.learn(scenario[1])
    return learner, kept, looks


def features_of(learner, images):
    return learner._encode(learner.network, images)


def test_fine_tuning_sees_the_new_samples_and_joint_training_all():
    _, _, (look,) = second_task("FullFineTuning")
    assert look.value == pytest.approx(look.plain(), **NEAR)
    assert set(look.targets) == {4, 5, 6}
    learner, _, (look,) = second_task("FullJoint")
    assert look.value == pytest.approx(look.plain(), **NEAR)
    assert np.bincount(look.targets).tolist() == np.bincount(learner.kept["targets"]).tolist()
    assert len(look.images) == len(scenario[0].train) + len(scenario[1].train)


@pytest.mark.parametrize(("variant", "exemplars"), [("iCaRL", 5), ("iCaRL nme", 20), ("LwF-MC", 0)])
def test_icarl_and_lwf_mc_distil_what_the_old_network_says(variant, exemplars):
    _, _, (look,) = second_task(variant)
    assert look.old_logits.shape[1] == N_OLD
    assert look.value == pytest.approx(icarl_loss(look.logits, look.classes, look.old_logits).item(), **NEAR)
    assert np.bincount(look.targets)[:N_OLD].tolist() == [exemplars] * N_OLD


def test_icarl_decides_for_the_nearest_mean_of_exemplars_as_features_are_now():
    learner, kept, _ = second_task("iCaRL nme")
    images, targets = learner.kept["exemplars"], learner.kept["exemplar_targets"]
    assert np.bincount(targets).tolist() == [20] * (N_OLD + N_NEW)
    old = [images[targets == c] for c in range(N_OLD)]
    assert all(np.array_equal(now, kept["exemplars"][kept["exemplar_targets"] == c]) for c, now in enumerate(old))
    units = normalize(torch.from_numpy(features_of(learner, images)))
    means = torch.stack([normalize(units[targets == c].mean(0), dim=0) for c in range(N_OLD + N_NEW)])
    asked = normalize(torch.from_numpy(features_of(learner, scenario[1].test.images)))
    nearest = (asked[:, None] - means).norm(dim=2).argmin(1).numpy()
    assert (learner.predict(scenario[1].test) == learner.classes[nearest]).mean() > 0.99  # but for ties


def test_eeil_distils_old_tasks_and_then_all_of_them_on_a_balanced_set():
    _, _, (first, balanced) = second_task("EEIL")
    with torch.no_grad():
        before = first.network(balanced.pixels)  # what the first training left teaches the second
    trainings = ((first, first.old_logits, (N_OLD,), 1 + 40 / 2), (balanced, before, (N_OLD, N_NEW), 41 + 30 / 2))
    for look, teacher, sizes, epoch in trainings:
        noise = gradient_noise(look.network.parameters(), epoch, N, look.generator()).item()
        expected = look.plain() + distillation(look.logits, teacher, sizes).item() + noise
        assert look.value == pytest.approx(expected, **NEAR)
    assert np.bincount(first.targets).tolist() == [5] * N_OLD + [40] * N_NEW
    assert np.bincount(balanced.targets).tolist() == [5] * (N_OLD + N_NEW)
    assert balanced.options["slower"] * 0.1 == pytest.approx(0.01)  # incremental_training.m, as the next two
    assert balanced.options["share"] * 40 == pytest.approx(30)
    assert balanced.options["milestones"] == pytest.approx((10 / 30, 20 / 30))


def test_lucir_adds_direction_and_margin_to_the_cosine_loss():
    learner, _, (look,) = second_task("LUCIR")
    assert 0 < (look.classes < N_OLD).sum() < N
    head = look.network.head
    cosines = normalize(look.features) @ normalize(head.weight.detach()).T
    expected = cross_entropy(head.scale.detach() * cosines, look.classes)
    expected += 5 * math.sqrt(N_OLD / N_NEW) * less_forget(look.features, look.old_features)
    expected += margin_ranking(cosines, look.classes, N_OLD, margin=0.5, rivals=2)
    assert look.value == pytest.approx(expected.item(), **NEAR)
    assert look.trainable == [False, True]
    new = look.targets >= N_OLD
    features = torch.from_numpy(learner._encode(look.old, look.images[new]))
    among_new = torch.from_numpy(look.targets[new]) - N_OLD
    torch.testing.assert_close(look.new_weight, imprinted(features, among_new, look.old.head.weight))


@pytest.mark.parametrize("variant", ["EWC", "EWC all"])
def test_ewc_trains_new_outputs_or_all_and_holds_the_rest(variant):
    learner, kept, (look,) = second_task(variant, fisher_samples=10_000, old_share=0.25)
    first = N_OLD if variant == "EWC" else 0
    assert look.trainable == [variant == "EWC all", True]
    outputs = "new" if variant == "EWC" else "all"
    moved, begin, penalty = held_weights(look.network, outputs), 0, 0.0
    for new, value in zip(moved, held_weights(look.old, outputs), strict=False):
        fisher = kept["fisher"][begin : begin + value.numel()].reshape(value.shape)
        penalty += float((fisher * (new - value).detach().numpy() ** 2).sum()) / 2
        begin += value.numel()
    assert begin == len(kept["fisher"])
    assert penalty > 0
    expected = cross_entropy(look.logits[:, first:], look.classes - first).item() + 5000 * penalty
    assert look.value == pytest.approx(expected, **NEAR)

    pixels = learner.preprocessing(torch.from_numpy(scenario[1].train.images))
    measured = diagonal_fisher(learner.network.requires_grad_(True), pixels, outputs)
    newest = np.concatenate([value.numpy().ravel() for value in measured])
    assert (newest > 1e-4).any()  # where the Fisher information is clipped
    merged = np.minimum(newest, 1e-4)
    assert len(merged) - begin == (0 if outputs == "new" else N_NEW * (D + 1))
    merged[:begin] = 0.25 * kept["fisher"] + 0.75 * merged[:begin]
    np.testing.assert_allclose(learner.kept["fisher"], merged, rtol=1e-3, atol=1e-10)


def test_pass_adds_prototypes_and_distance_to_the_loss_of_rotations():
    learner, kept, (look,) = second_task("PASS")
    pixels, outputs = rotated(look.pixels, look.classes)
    features, old_features = (network.features(pixels).detach() for network in (look.network, look.old))
    rng = look.generator()
    classes = torch.randint(N_OLD, (N,), generator=rng)
    drawn = torch.from_numpy(kept["means"])[classes] + float(kept["radius"]) * torch.randn(N, 32, generator=rng)
    expected = cross_entropy(look.network.head(features) / 0.1, outputs)
    expected = expected + 10 * cross_entropy(look.network.head(drawn) / 0.1, 4 * classes)
    expected = expected + 10 * (features - old_features).norm() * math.sqrt(64 * 4 / (N * 4))
    assert look.value == pytest.approx(expected.item(), **NEAR)
    assert kept["radius"] > 0
    assert learner.kept["radius"] == kept["radius"]  # of task 0, for good
    assert_means_in_learning_order(learner, kept)


def test_il2a_adds_gaussians_and_distance_to_the_loss_of_mixtures():
    learner, kept, (look,) = second_task("IL2A")
    rng = look.generator()
    pixels, outputs = mixed_classes(look.pixels, look.classes, N_OLD, N_NEW, rng)
    assert outputs.max() >= N_OLD + N_NEW
    features, old_features = (network.features(pixels).detach() for network in (look.network, look.old))
    head = look.network.head
    expected = cross_entropy(head(features) / 0.1, outputs)
    expected = expected + 10 * (features - old_features).norm() * math.sqrt(64 / N)
    weight, bias = (values.detach().numpy()[: N_OLD + N_NEW] for values in (head.weight, head.bias))
    losses = []
    for y in torch.randint(N_OLD, (N,), generator=rng).tolist():
        apart = weight - weight[y]
        logits = weight @ kept["means"][y] + bias
        logits += 2.5 / 2 * np.einsum("jd,de,je->j", apart, kept["covariances"][y], apart)
        losses.append(np.log(np.exp((logits - logits[y]) / 0.1).sum()))
    assert look.value == pytest.approx(expected.item() + 10 * np.mean(losses), **NEAR)
    assert learner.network.head.sizes == (N_OLD, N_NEW)  # mixtures are gone

    np.testing.assert_array_equal(learner.kept["covariances"][:N_OLD], kept["covariances"])
    labels, features = scenario[1].train.labels, features_of(learner, scenario[1].train.images)
    for c in range(N_OLD, N_OLD + N_NEW):
        covariance = np.cov(features[labels == learner.classes[c]].T)
        np.testing.assert_allclose(learner.kept["covariances"][c], covariance, rtol=1e-3, atol=1e-6)
    assert_means_in_learning_order(learner, kept)


def assert_means_in_learning_order(learner, kept):
    np.testing.assert_array_equal(learner.kept["means"][:N_OLD], kept["means"])
    labels, features = scenario[1].train.labels, features_of(learner, scenario[1].train.images)
    for c in range(N_OLD, N_OLD + N_NEW):
        mean = features[labels == learner.classes[c]].mean(axis=0)
        np.testing.assert_allclose(learner.kept["means"][c], mean, rtol=1e-4, atol=1e-6)


def test_trainable_gbm_shows_its_head_bits_and_pseudo_exemplars():
    learner, _, (look,) = second_task("TrainableGBM")
    assert look.options["keep_statistics"]
    first = make("TrainableGBM")
    first._fit = lambda *args, **options: None
    first.learn(scenario[0])
    drawn, old_classes = first._pseudo_exemplars(N, N_NEW, look.generator())
    assert len(drawn) == N * N_OLD // N_NEW
    bits = (look.features >= 1).float()  # p = 1: a bit is set from 1 on
    logits = look.network.head(torch.cat([bits, drawn.float()])).detach()
    expected = cross_entropy(logits, torch.cat([look.classes, old_classes])).item()
    expected += 10 * float((look.features - look.old_features).norm()) * math.sqrt(256 / N)
    assert look.value == pytest.approx(expected, **NEAR)
    assert learner._learned.memory.labels == tuple(range(N_OLD + N_NEW))
