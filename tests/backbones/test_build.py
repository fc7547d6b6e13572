import pytest
import torch
from torch import nn

from bitreplay.backbones import BACKBONES, build_backbone, count_features
from bitreplay.errors import InputError


def test_the_generator_determines_the_weights_and_the_global_random_state_stays():
    before = torch.get_rng_state()
    weights = [
        build_backbone("small_cnn", width=4, generator=torch.Generator().manual_seed(seed)).state_dict()
        for seed in (0, 0, 1)
    ]
    assert torch.equal(torch.get_rng_state(), before)
    name = "layers.0.0.weight"
    assert torch.equal(weights[0][name], weights[1][name])
    assert not torch.equal(weights[0][name], weights[2][name])


def test_unknown_names_and_options_say_what_there_is():
    with pytest.raises(InputError, match="there are resnet18, small_cnn"):
        build_backbone("resnet50")
    with pytest.raises(InputError, match=r"no option 'widht'; it has .*width"):
        build_backbone("resnet18", widht=32)


def test_features_are_counted_by_asking():
    flatten = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(48), nn.Linear(48, 5))
    flatten.train()
    assert count_features(flatten, (3, 4, 4)) == 5
    assert flatten.training
    assert flatten[1].num_batches_tracked == 0  # asking taught it nothing
    small = build_backbone("small_cnn", width=4)
    assert count_features(small, (1, 8, 8)) == small(torch.zeros(2, 1, 8, 8)).shape[1] == small.n_features
    with pytest.raises(InputError, match=r"features \(N, d\)"):
        count_features(nn.Conv2d(3, 4, 1), (3, 4, 4))
    with pytest.raises(InputError, match="does not accept images of 8 x 6 pixels and 3 channels"):
        count_features(flatten, (3, 8, 6))
    assert flatten.training


def test_only_pretrained_backbones_name_a_data_set():
    assert {name: backbone.pretrained for name, backbone in BACKBONES.items()} == {
        "resnet18": "",
        "small_cnn": "",
        "binary_vgg": "",
        "efficientnet_lite0": "ImageNet",
        "quicknet_small": "ImageNet",
        "quicknet": "ImageNet",
        "quicknet_large": "ImageNet",
        "quicknet_v02": "ImageNet",
    }


def test_a_word_where_a_number_is_wanted_is_refused():
    for width in ("abc", 1.5, None, 0):
        with pytest.raises(InputError, match=f"width must be an integer of at least 1; got {width!r}"):
            build_backbone("small_cnn", width=width)
    with pytest.raises(InputError, match="resnet18 cannot be built with blocks=2"):
        build_backbone("resnet18", blocks=2)
