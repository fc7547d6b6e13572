"""Image models of Hugging Face's transformers: `hf:NAME`, with the model's own preprocessing.

DINOv2, the vision tower of CLIP, ViT and their relatives, from the hub, its cache, or a folder: each is an F that needs
no training. Here, models are tensors and JSON: no code that comes with one is run.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from bitreplay.errors import InputError

HF = "hf:"  # what names of these models begin with


@dataclass(frozen=True)
class HFPreprocessing:
    """What a model's own image processor does, in its form that needs no more than Pillow.

    Parameters
    ----------
    settings : str
        The processor's settings, as in its `preprocessor_config.json`.
    size : int
        Height and width of what it returns.

    Examples
    --------
    >>> vit = {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}}
    >>> HFPreprocessing(json.dumps(vit), 32)(torch.zeros(2, 50, 40, 3, dtype=torch.uint8)).shape
    torch.Size([2, 3, 32, 32])
    """

    settings: str
    size: int

    crops: ClassVar[bool] = False  # pictures are given to it whole: it crops or squeezes them as its authors did

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Float tensor (N, 3, size, size) of uint8 images (N, H, W, C)."""
        if images.dtype != torch.uint8 or images.ndim != 4:
            raise InputError(
                "images must be uint8 of shape (samples, height, width, channels); "
                f"got {images.dtype} of shape {tuple(images.shape)}"
            )
        if not len(images):
            return torch.zeros(0, 3, self.size, self.size, device=images.device)
        values = _processed(_processor(self.settings), list(images.cpu().expand(-1, -1, -1, 3).numpy()))
        if values.shape[1:] != (3, self.size, self.size):
            raise InputError(f"the processor must return images of size {self.size}; got shape {values.shape}")
        return torch.from_numpy(values).to(images.device)


class HFVision(nn.Module):
    """A vision model of transformers, and which of its outputs are the features.

    Its pooled output where its weights include one (the class token after the last norm for DINOv2 and CLIP's tower);
    otherwise the first token, or the mean of maps. The pooler of a ViT is left out: most published weights have none.

    Parameters
    ----------
    model : torch.nn.Module
        As transformers makes it; of one with a tower for texts, only the one for images is used.

    Examples
    --------
    >>> from transformers import ViTConfig, ViTModel
    >>> small = ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14)
    >>> HFVision(ViTModel(small)).eval()(torch.zeros(2, 3, 28, 28)).shape
    torch.Size([2, 16])
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        model = getattr(model, "vision_model", model)
        if isinstance(getattr(getattr(model, "pooler", None), "dense", None), nn.Linear):
            model.pooler = None
        self.model = model

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features (N, d) of images (N, 3, height, width)."""
        found = self.model(pixel_values=images)
        pooled = getattr(found, "pooler_output", None)
        if pooled is None:
            hidden = found.last_hidden_state
            pooled = hidden[:, 0] if hidden.ndim == 3 else hidden.mean((2, 3))
        return torch.as_tensor(pooled).flatten(1)


def hf_backbone(name: str, *, download: bool = True) -> tuple[HFVision, HFPreprocessing]:
    """The model `name` of the hub, or one in a folder of that name, and its preprocessing.

    Without `download`, and where $HF_HUB_OFFLINE is set, only folders and the hub's cache are looked at.
    """
    try:
        import transformers
    except ImportError as error:
        raise InputError(f"{HF}{name} needs the package {error.name}: pip install 'bitreplay[hf]'") from None
    auto: Any = transformers
    where: dict[str, Any] = {"local_files_only": not download, "trust_remote_code": False}
    try:
        with _quiet():
            config = auto.AutoConfig.from_pretrained(name, **where)
            processor = auto.AutoImageProcessor.from_pretrained(name, backend="pil", **where)
            model, about = auto.AutoModel.from_pretrained(
                name, config=config, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **where
            )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, AttributeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        advice = "" if download else f"; download it first: huggingface-cli download {name}"
        raise InputError(f"cannot load {HF}{name}: {reason}{advice}") from None
    vision = HFVision(model)
    kept = {f"vision_model.{key}" for key in vision.model.state_dict()} | set(vision.model.state_dict())
    if missing := sorted(kept & set(about["missing_keys"])):
        raise InputError(f"the weights of {HF}{name} lack {', '.join(missing[:5])}")
    return vision, hf_preprocessing(processor)


def hf_preprocessing(processor: Any) -> HFPreprocessing:
    """The preprocessing of a processor of transformers, if it makes squares of one size of all pictures."""
    shapes = {
        _processed(processor, [np.zeros((*shape, 3), np.uint8)]).shape[1:] for shape in ((60, 90), (300, 200), (50, 50))
    }
    if len(shapes) != 1 or len(shape := shapes.pop()) != 3 or shape[0] != 3 or shape[1] != shape[2]:
        raise InputError("a model must have a processor that makes squares of one size of all images")
    settings = json.dumps(json.loads(processor.to_json_string()), sort_keys=True)
    return HFPreprocessing(settings, int(shape[1]))


def _processed(processor: Any, images: list[Any]) -> Any:
    values = processor(images=images, return_tensors="np", input_data_format="channels_last")["pixel_values"]
    return np.asarray(values, dtype=np.float32)


@lru_cache(maxsize=8)
def _processor(settings: str) -> Any:
    """The processor with these settings; a file may name one, so that anything else is refused."""
    import transformers
    from transformers.image_processing_utils import BaseImageProcessor

    try:
        options = json.loads(settings)
        name = str(options["image_processor_type"]).removesuffix("Fast").removesuffix("Pil")
        kind = getattr(transformers, name + "Pil")
        if not (isinstance(kind, type) and issubclass(kind, BaseImageProcessor)):
            raise TypeError(f"{name} is no image processor")
        return kind.from_dict(options)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"these are not the settings of an image processor: {error}") from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the bars of transformers: a model of a few hundred megabytes is read in a second."""
    from transformers.utils import logging as library

    logging: Any = library
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
