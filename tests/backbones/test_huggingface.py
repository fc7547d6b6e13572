"""Models of transformers: built from a configuration with random weights, saved to a folder, read from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from bitreplay import GBMClassifier, ImageClassifier
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.runs import Setting
from tests.images.problems import COLOURS, photographs

transformers = pytest.importorskip("transformers")

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "patch_size": 14}


def saved(kind: str, folder: Path) -> Path:
    """A small model of a kind, with its processor, as the hub has them."""
    torch.manual_seed(0)
    if kind == "dinov2":
        model: Any = transformers.Dinov2Model(transformers.Dinov2Config(**SMALL))
        processor: Any = transformers.BitImageProcessorPil(
            size={"shortest_edge": 32}, crop_size={"height": 28, "width": 28}
        )
    elif kind == "clip":
        text = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
        text |= {"vocab_size": 20, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
        vision = {**SMALL, "intermediate_size": 8}
        config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
        model = transformers.CLIPModel(config)
        processor = transformers.CLIPImageProcessorPil(
            size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
        )
    else:  # published weights of ViT often have no pooler
        config = transformers.ViTConfig(**SMALL, intermediate_size=8)
        model = transformers.ViTModel(config, add_pooling_layer=False)
        processor = transformers.ViTImageProcessorPil(size={"height": 28, "width": 28})
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ["dinov2", "clip", "vit"])
def test_features_are_the_models_own(kind: str, tmp_path: Path) -> None:
    folder = saved(kind, tmp_path / kind)
    encoder = Encoder.from_pretrained(f"hf:{folder}", device="cpu")
    images = photographs("red", 5, size=(40, 60))
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    pixels = processor(images=[Image.fromarray(image) for image in images], return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        if kind == "clip":
            model = transformers.CLIPModel.from_pretrained(folder).eval()
            expected = model.vision_model(pixel_values=pixels).pooler_output
        elif kind == "dinov2":
            expected = transformers.Dinov2Model.from_pretrained(folder).eval()(pixel_values=pixels).pooler_output
        else:
            model = transformers.ViTModel.from_pretrained(folder, add_pooling_layer=False).eval()
            expected = model(pixel_values=pixels).last_hidden_state[:, 0]
    np.testing.assert_allclose(encoder.features(images), expected.numpy(), rtol=1e-4, atol=1e-5)
    clf = ImageClassifier(encoder, GBMClassifier(random_state=0))
    np.testing.assert_allclose(clf.features(images), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_a_model_names_its_model_and_finds_it(tmp_path: Path) -> None:
    folder = saved("dinov2", tmp_path / "dino")
    clf = ImageClassifier(f"hf:{folder}", GBMClassifier(random_state=0), device="cpu")
    images = np.concatenate([photographs(colour, 6) for colour in COLOURS])
    clf.fit(images, np.repeat(COLOURS, 6)).save(tmp_path / "model")
    again = ImageClassifier.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(again.predict_proba(images), clf.predict_proba(images))
    torch.manual_seed(1)
    transformers.Dinov2Model(transformers.Dinov2Config(**SMALL)).save_pretrained(folder)
    with pytest.raises(InputError, match="made with other weights"):
        ImageClassifier.load(tmp_path / "model")


def test_what_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match=r"cannot load hf:.*nothing"):
        Encoder.from_pretrained(f"hf:{tmp_path / 'nothing'}")
    with pytest.raises(InputError, match="download it first"):
        Encoder.from_pretrained("hf:nobody/has-this-model", download=False)
    folder = saved("dinov2", tmp_path / "dino")
    (folder / "preprocessor_config.json").write_text('{"image_processor_type": "Trainer"}')
    with pytest.raises(InputError, match="cannot load"):
        Encoder.from_pretrained(f"hf:{folder}")


def test_a_run_can_use_one(tmp_path: Path) -> None:
    setting = Setting("digits", encoder=f"hf:{saved('vit', tmp_path / 'vit')}", accelerator="cpu")
    assert not setting.trains
    scenario = setting.scenario()
    encoder = setting.make_encoder(scenario)
    assert encoder.features(scenario.dataset.test.images[:3]).shape == (3, 16)  # grey ones become coloured
    assert encoder.notes()["pretrained"] == f"whatever {encoder.name} was trained on"
