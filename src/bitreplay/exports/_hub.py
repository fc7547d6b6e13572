"""Classifiers on the Hugging Face Hub: `save_pretrained`, `push_to_hub` and `from_pretrained`, and a model card.

A repository holds the classifier's own file, which contains no pickle, and a card with the table of its memory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData, ModelHubMixin, hf_hub_download

from bitreplay._floor.files import write_text
from bitreplay._version import __version__
from bitreplay._words import printable
from bitreplay.classifier import GBMClassifier
from bitreplay.errors import InputError

FILE, CONFIG = "classifier.safetensors", "config.json"
TAGS = ["bitreplay", "class-incremental-learning", "continual-learning"]
CARD = """---
{data}
---

# A bitreplay classifier of {n_classes} classes

Classes over time, with a generative binary memory: {prototypes} prototypes per class, {bits} bits per value,
{nbytes:,} bytes in all, decided by `{head}`. It takes {n_features} features{encoder} and keeps no sample.

```python
from bitreplay import HubClassifier

clf = HubClassifier.from_pretrained("{repository}")
clf.predict(features)                    # (samples, {n_features})
clf.partial_fit(new_features, labels)    # learns more classes
```

```
{summary}
```

Written by bitreplay {version}.
"""


class HubClassifier(GBMClassifier, ModelHubMixin):
    """A :class:`bitreplay.GBMClassifier` that can be published on the Hugging Face Hub. Needs the extra `[hub]`.

    It has the classifier's parameters and methods, and those of `huggingface_hub.ModelHubMixin`:
    ``save_pretrained(folder)``, ``push_to_hub("name/repository")`` and ``HubClassifier.from_pretrained(folder or
    repository)``. What is written is `classifier.safetensors`, as by ``save``, and a card.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = HubClassifier(prototypes=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = clf.save_pretrained(folder)
    ...     print(*sorted(path.name for path in Path(folder).iterdir()))
    ...     again = HubClassifier.from_pretrained(folder)
    README.md classifier.safetensors config.json
    >>> bool((again.predict(X) == clf.predict(X)).all())
    True
    """

    def _save_pretrained(self, save_directory: Path) -> None:
        self.save(save_directory / FILE)
        about = {"library": "bitreplay", "version": __version__, "file": FILE, "classes": len(self.classes_)}
        write_text(save_directory / CONFIG, json.dumps(about, indent=2) + "\n")

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None = None,
        cache_dir: str | Path | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: str | bool | None = None,
        **options: Any,
    ) -> HubClassifier:
        if options:
            raise InputError(f"a classifier's options are in its file; got {', '.join(sorted(options))}")
        path = Path(model_id) / FILE
        if not path.parent.is_dir():
            path = Path(
                hf_hub_download(
                    model_id,
                    FILE,
                    revision=revision,
                    cache_dir=cache_dir,
                    force_download=force_download,
                    local_files_only=local_files_only,
                    token=token,
                )
            )
        if not path.is_file():
            raise InputError(f"there is no {FILE} in {model_id}; expected a folder that save_pretrained has written")
        read: HubClassifier = cls.load(path)
        return read

    def generate_model_card(self, *arguments: Any, **options: Any) -> ModelCard:
        """The card: what the classifier is, how to use it, and the table of its memory."""
        memory, encoder = self.memory_, self.encoder_name
        return ModelCard(
            CARD.format(
                data=ModelCardData(library_name="bitreplay", tags=TAGS).to_yaml(),
                n_classes=len(self.classes_),
                prototypes=self.prototypes,
                bits=self.bits,
                nbytes=memory.size_bits // 8,
                head=self.head_.name,
                n_features=self.n_features_in_,
                encoder=f" of the encoder {printable(encoder)}" if encoder else "",
                repository=options.get("repo_id") or "name/repository",
                summary=printable(memory.summary()),
                version=__version__,
            )
        )
