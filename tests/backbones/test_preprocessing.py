import numpy as np
import pytest
import torch

from bitreplay.backbones import BACKBONES, Preprocessing
from bitreplay.errors import InputError


def some_images(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8))


def test_normalises_per_channel():
    images = some_images(3, 4, 5, 3)
    mean, std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    expected = (images.numpy() / 255 - mean) / std
    actual = Preprocessing(mean, std)(images)
    np.testing.assert_allclose(actual.numpy(), expected.transpose(0, 3, 1, 2), rtol=1e-5, atol=1e-6)


def test_shrinking_averages_instead_of_skipping_pixels():
    checkerboard = torch.tensor([[0, 255], [255, 0]], dtype=torch.uint8).repeat(1, 8, 8)[..., None]
    small = Preprocessing((0.0,), (1.0,), size=4)(checkerboard)
    torch.testing.assert_close(small, torch.full((1, 1, 4, 4), 0.5), atol=0.02, rtol=0)


def test_efficientnet_scaling_is_that_of_its_training():
    images = some_images(2, 112, 112, 3)
    actual = BACKBONES["efficientnet_lite0"].preprocessing(images)
    torch.testing.assert_close(actual, (images.permute(0, 3, 1, 2).float() - 127) / 128, atol=1e-5, rtol=1e-5)


def test_refuses_what_are_not_bytes_or_channels():
    with pytest.raises(InputError, match="uint8"):
        Preprocessing()(torch.rand(2, 4, 4, 3))
    for wrong in ({"std": (0.0,)}, {"size": 0}, {"interpolation": "nearest"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Preprocessing(**wrong)
    with pytest.raises(InputError, match="3 values"):
        Preprocessing((0.1, 0.2), (1.0, 1.0))(some_images(2, 4, 4, 3))
