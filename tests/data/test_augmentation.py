import numpy as np
import pytest
import torch

from bitreplay.training._augmentation import PaperAugmentation, StrongAugmentation, mix_seed

pytest.importorskip("kornia", reason="kornia is not installed")


def some_images(n: int = 16, channels: int = 3, size: int = 32) -> torch.Tensor:
    return torch.rand(n, channels, size, size, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("make", [PaperAugmentation, StrongAugmentation])
def test_the_seed_alone_determines_the_variants(make):
    augment, images = make(), some_images()
    before, kept = torch.get_rng_state(), images.clone()
    first = augment(images, 0, 1, 2)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(images, kept)
    torch.rand(7)  # what others draw in between does not matter
    assert torch.equal(augment(images, 0, 1, 2), first)
    assert torch.equal(make()(images, 0, 1, 2), first)
    assert not torch.equal(augment(images, 0, 1, 3), first)


@pytest.mark.parametrize("make", [PaperAugmentation, StrongAugmentation])
def test_every_image_gets_a_draw_of_its_own_and_stays_an_image(make):
    variants = make()(some_images(1).repeat(16, 1, 1, 1), 0)
    assert variants.shape == (16, 3, 32, 32)
    assert variants.min() >= 0
    assert variants.max() <= 1
    assert len(torch.unique(variants.flatten(1), dim=0)) == 16


def test_paper_augmentation_flips_half_and_translates_evenly_by_up_to_four_pixels():
    n, size = 4000, 16
    images = torch.zeros(n, 1, size, size)
    images[:, :, 6, 5] = 1.0  # one bright pixel tells where the image went: column 5, or 10 if flipped
    variants = PaperAugmentation((size, size), contrast=0.0)(images, 3)
    places = variants[:, 0].flatten(1).argmax(1)
    rows, columns = (places // size).numpy(), (places % size).numpy()
    counts = np.bincount(rows - 6 + 4, minlength=9)
    assert len(counts) == 9  # -4 to 4
    assert abs(counts - n / 9).max() < 5 * np.sqrt(n / 9)
    expected = np.zeros(size)  # two ranges of nine, around 5 and around 10
    expected[1:10] += n / 18
    expected[6:15] += n / 18
    assert abs(np.bincount(columns, minlength=size) - expected).max() < 5 * np.sqrt(n / 9)


def test_contrast_moves_values_away_from_the_mean_and_keeps_it():
    images = 0.5 + 0.1 * torch.randn(64, 3, 16, 16, generator=torch.Generator().manual_seed(1)).clamp(-2, 2)
    images -= images.mean((1, 2, 3), keepdim=True) - 0.5
    from kornia.augmentation import ColorJitter

    augment = PaperAugmentation((16, 16), contrast=0.5)
    operations = [operation for operation in augment._operations if isinstance(operation, ColorJitter)]
    assert len(operations) == 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        variants = operations[0](images)
    torch.testing.assert_close(variants.mean((1, 2, 3)), images.mean((1, 2, 3)), atol=0.01, rtol=0)
    factors = variants.std((1, 2, 3)) / images.std((1, 2, 3))
    assert 0.49 < factors.min() < 0.65
    assert 1.35 < factors.max() < 1.51


def test_strong_augmentation_hides_a_square_in_half_of_the_images():
    flat = torch.full((400, 1, 16, 16), 0.5) + torch.linspace(0, 0.4, 16)
    hidden = (StrongAugmentation(1)(flat, 0) == 0.5).flatten(1).sum(1) >= 4
    assert 140 < hidden.sum() < 260


@pytest.mark.parametrize("make", [lambda: PaperAugmentation((8, 8)), lambda: StrongAugmentation(1)])
def test_grey_images_work(make):
    assert make()(some_images(4, 1, 8), 0).shape == (4, 1, 8, 8)


def test_mixed_seeds_differ_wherever_a_part_does():
    seeds = {mix_seed(a, b, c) for a in range(5) for b in range(5) for c in range(5)}
    assert len(seeds) == 125
    assert all(0 <= seed < 2**63 for seed in seeds)
