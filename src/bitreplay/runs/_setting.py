"""Setting: everything about an experiment except the learner: the data, its tasks, and the encoder.

All learners of a comparison share one setting, and with it the decoded images, the trained backbone and its features.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from bitreplay._floor.arguments import integer
from bitreplay._floor.options import options_text, parse_options
from bitreplay.backbones import BACKBONES, HF, pretrained_on
from bitreplay.data import Scenario, as_stream, load_dataset, make_scenario
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.learners import TrainingContext, Uses
from bitreplay.runs._given import PLAIN, content_hash, encoder_of, given_encoder
from bitreplay.runs._protocols import protocol_options
from bitreplay.training import (
    NETWORK,
    PRESET_BACKBONES,
    PRESETS,
    TrainedNetwork,
    TrainingChanges,
    TrainingOptions,
    train_base,
)

NOT_RESULTS = ("accelerator", "devices")  # settings that change where, not what
NAMES_ONLY = ("protocol",)  # and those that stand for others
LATER: dict[str, tuple[Any, ...]] = {  # options that older runs did not know: at these values they stay found
    "classes": (None,),
    "every": (1,),
    "training": (None, {}),
    "draw": (0,),
    "stream": (None,),
    "batch": (10,),
}


@dataclass(frozen=True)
class Setting:
    """Data, tasks and encoder.

    Parameters
    ----------
    dataset : str
        A known name (`bitreplay data` lists them), a folder of images, or the name of a Hugging Face data set.
    image_size : int, optional
        Decode images to squares with sides of this many pixels.
    every : int
        Of CORe50's videos, use every n-th frame; of other data sets, every n-th training sample of each class.
    protocol : {"few-shot"}, optional
        A division into tasks by name. `few-shot`: 5 samples of every class after task 0; CIFAR-100 in 60 + 8 x 5
        classes, TinyImageNet in 100 + 10 x 10. It sets base, increment and samples_per_class.
    tasks : int, optional
        T, the number of equal increments after task 0. By default 5.
    base : int, optional
        Classes of task 0; by default about half of them.
    increment : int, optional
        Classes of every later task.
    sizes : list of int, optional
        Classes of each task, if they differ: `--sizes 50 10 10 30`.
    order : int or list of int, optional
        Class order: a seed, the classes themselves, or null for the order of the data set.
    classes : int, optional
        Use only this many classes, the first in that order.
    samples_per_class : int, optional
        Few-shot learning: training samples per class in the tasks after task 0.
    draw : int
        Seed of the draw of these samples, and of the order of a stream.
    stream : {"online", "blurry", "longtail"}, optional
        After task 0, samples come a few at a time, and accuracy is measured along the way: task after task; with a
        tenth of every class mixed in at any time; or with class sizes by an exponential law, 100 to 1.
    batch : int
        Samples of a stream that come together.
    encoder : str, optional
        `efficientnet_lite0` or `quicknet_large` (pretrained on ImageNet), `hf:NAME` (of transformers), a network to
        be trained on task 0 (`resnet18`, `small_cnn`, `binary_vgg`), or a folder written by `bitreplay train`. A name
        may carry options: `resnet18:width=64`. By default `small_cnn` for digits, `efficientnet_lite0` for all others.
    preset : str, optional
        How an encoder is trained: `cpu`, `full` (`full_tiny` for TinyImageNet), `paper`, `digits`, `small`, `medium`,
        `cpu_binary` and `full_binary` for `binary_vgg` or, for a small `quicknet` with random weights, `cpu_hybrid`.
        By default `cpu_binary` for `binary_vgg`, `digits` for digits, else `cpu`.
        Methods that train the whole network all train alike within it, or with `paper` each as its authors did.
    binarizer : {"thermometer", "heaviside", "native", "none", "calibrated"}
        What an encoder is trained with. The features of `binary_vgg` are already binary: its default is `native`.
        With `calibrated` a trained encoder's thresholds are dropped (one to be trained has a thermometer), and learners
        take quantiles of task 0's features instead; bits per feature are then theirs: `GBM:p=2`.
    p : int
        Thermometer bits per feature of an encoder to be trained.
    f : int
        Width factor of a Heaviside binarizer to be trained.
    training_seed : int
        Seed of the encoder's training, separate from those of the class order and the learner.
    accelerator : str
        Where the encoder is trained and runs: `auto`, `cpu`, `cuda`, `mps`.
    devices : int
        Devices, and processes, for its training.
    precision : str
        Arithmetic of its training, as in Lightning Fabric.
    training : TrainingChanges, optional
        Options of its training that differ from the preset's. They also apply to methods that train the whole network.

    Examples
    --------
    >>> setting = Setting("digits", sizes=[5, 3, 2])
    >>> setting.encoder_name, setting.preset_name, setting.trains
    ('small_cnn', 'digits', True)
    >>> [len(task.classes) for task in setting.scenario()]
    [5, 3, 2]
    """

    dataset: str = "cifar100"
    image_size: int | None = None
    every: int = 1
    protocol: Literal["few-shot"] | None = None
    tasks: int | None = None
    base: int | None = None
    increment: int | None = None
    sizes: list[int] | None = None
    order: int | list[int] | None = 1993  # the field's convention since iCaRL
    classes: int | None = None
    samples_per_class: int | None = None
    draw: int = 0
    stream: Literal["online", "blurry", "longtail"] | None = None
    batch: int = 10  # Koh et al. 2022 have 16 to 64; smaller ones are harder
    encoder: str | None = None
    preset: str | None = None
    binarizer: Literal["thermometer", "heaviside", "native", "none", "calibrated"] = "thermometer"
    p: int = 1  # table 1: GBM^T_1
    f: int = 2  # table 1: GBM^H_2
    training_seed: int = 0
    accelerator: str = "auto"
    devices: int = 1
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    training: TrainingChanges | None = None

    def __post_init__(self) -> None:
        if self.protocol is not None:
            for option, value in protocol_options(self.protocol, self.dataset, vars(self)).items():
                object.__setattr__(self, option, value)  # so that a run's configuration says what the name means
        integer("draw", self.draw, 0)
        if self.preset is not None and self.preset not in PRESETS:
            hint = "; for that table: bitreplay reproduce table-1" if self.preset == "table-1" else ""
            raise InputError(f"preset must be one of {', '.join(PRESETS)}; got {self.preset!r}{hint}")
        name = self.encoder_name
        if name not in BACKBONES and not name.startswith(HF) and not (Path(name) / NETWORK).is_file():
            raise InputError(
                f"encoder must be one of {', '.join(BACKBONES)}, hf:NAME, or a folder written by `bitreplay train`; "
                f"got {name!r}"
            )
        integer("batch", self.batch, 1)
        self._check_binarizer()
        _ = self.training_options  # wrong ones are refused now, and not when the data has been read

    def _check_binarizer(self) -> None:
        name, calibrated = self.encoder_name, self.binarizer == "calibrated"
        if calibrated and self._is_binary:
            raise InputError(f"binarizer=calibrated needs features; those of {name} are already binary")
        if self.trains or not (self.encoder or calibrated):
            return
        if self.p != 1 or self.f != 2 or self.binarizer == "heaviside":
            own = f"bits per feature are an option of the learner: GBM:p={self.p}" if calibrated else "it has its own"
            raise InputError(f"p, f and binarizer are for an encoder to be trained, which {name} is not; {own}")

    @property
    def encoder_name(self) -> str:
        """The encoder without its options, or the default for this data set."""
        return self._encoder[0]

    @property
    def backbone_options(self) -> dict[str, Any]:
        """Options of the backbone: those of the preset, if it was made for this backbone, and those given."""
        name, given = self._encoder
        made_for, options = PRESET_BACKBONES[self.preset_name]
        return {**(options if name == made_for else {}), **given}

    @property
    def _encoder(self) -> tuple[str, dict[str, Any]]:
        text = self.encoder or ("small_cnn" if self.dataset == "digits" else "efficientnet_lite0")
        return parse_options(text) if text.partition(":")[0] in BACKBONES else (text, {})  # folders may have a colon

    @property
    def preset_name(self) -> str:
        """The preset, or the default for this data set."""
        if self.preset is None and self._is_binary:
            return "cpu_binary"
        return self.preset or ("digits" if self.dataset == "digits" else "cpu")

    @property
    def training_options(self) -> TrainingOptions:
        """How the encoder is trained: as in the preset, except for options given individually."""
        return PRESETS[self.preset_name].changed(self.training or {})

    @property
    def _is_binary(self) -> bool:
        return self.encoder_name in BACKBONES and BACKBONES[self.encoder_name].binary

    @property
    def _device(self) -> str:
        """The accelerator as torch names it; Lightning says "gpu"."""
        return {"gpu": "cuda"}.get(self.accelerator, self.accelerator)

    @property
    def trains(self) -> bool:
        """Whether the encoder is trained on task 0, rather than given."""
        return self.encoder_name in BACKBONES and not pretrained_on(self.encoder_name, self.backbone_options)

    def check_trains(self) -> None:
        """Refuse an encoder that is not trained here."""
        if not self.trains:
            why = "comes with weights" + (" and takes no training options" if self.training else "")
            raise InputError(f"{self.encoder_name} {why}; choose one to train, such as resnet18")

    def determinants(self) -> dict[str, Any]:
        """Everything that results depend on; a trained network counts by its content, not its location."""
        given = {name: value for name, value in asdict(self).items() if name not in (*NOT_RESULTS, *NAMES_ONLY)}
        what = {name: value for name, value in given.items() if value not in LATER.get(name, ())}
        name = self.encoder_name
        if name not in BACKBONES and not name.startswith(HF):
            name = content_hash(Path(name))
        return {**what, "encoder": options_text(name, self._encoder[1])}

    def notes(self) -> dict[str, str]:
        """What a reader of results must know about the tasks."""
        few = self.samples_per_class
        return {} if few is None else {"few-shot": f"{few} samples of every class after task 0"}

    def scenario(self) -> Scenario:
        """The tasks, or task 0 and the stretches of a stream."""
        whole = self.sizes is not None or self.increment is not None or self.base is not None
        scenario = make_scenario(
            load_dataset(self.dataset, image_size=self.image_size, every=self.every),
            tasks=self.tasks if whole or self.tasks is not None else 5,
            base=self.base,
            increment=self.increment,
            sizes=self.sizes,
            order=self.order,
            classes=self.classes,
            samples_per_class=self.samples_per_class,
            seed=self.draw,
        )
        return scenario if self.stream is None else as_stream(scenario, self.stream, self.batch, seed=self.draw)

    def trained(self, scenario: Scenario, *, progress: bool = True, folder: Path | None = None) -> TrainedNetwork:
        """The encoder's network after training on task 0, from the cache if already trained."""
        self.check_trains()
        if len(scenario[0].classes) < 2:
            raise InputError(
                "task 0 has one class, and nothing can be told apart there: say --base 2, or --sizes 3 2 2"
            )
        where: dict[str, Any] = {"folder": folder, "accelerator": self.accelerator, "devices": self.devices}
        return train_base(
            scenario[0], self.encoder_name, self.training_options, **self.how_trained(), **where, progress=progress
        )

    def how_trained(self) -> dict[str, Any]:
        """What a training is called with, besides task 0, backbone and options, that determines the network."""
        trained_with = "thermometer" if self.binarizer == "calibrated" else self.binarizer
        return {
            "backbone_options": self.backbone_options,
            "binarizer": "native" if self._is_binary and trained_with == "thermometer" else trained_with,
            "p": self.p,
            "f": self.f,
            "seed": self.training_seed,
            "precision": self.precision,
        }

    def training_context(self) -> TrainingContext:
        """The network for methods that train their own: the encoder's, or the one the preset is made for."""
        made_for, options = PRESET_BACKBONES[self.preset_name]
        name, options = (self.encoder_name, self.backbone_options) if self.encoder else (made_for, options)
        if name not in BACKBONES or BACKBONES[name].pretrained or BACKBONES[name].binary:
            raise InputError(
                f"methods that train the whole network start from an untrained one, such as resnet18; "
                f"got the encoder {name!r}"
            )
        changes = {*(self.training or {})} - {"evaluate_every"}  # which only looks on
        as_published = self.preset_name == "paper" and not changes
        budget = None if as_published else self.training_options
        return TrainingContext(name, options, budget, self._device, self.training_seed, self.precision)

    def make_encoder(self, scenario: Scenario, uses: Uses = "bits", *, progress: bool = True) -> Encoder:
        """The encoder, trained if necessary.

        Methods on features get the network from before the phase with a thermometer, if there is one: a phase that they
        do not need should not count against them.
        """
        calibrated = self.binarizer == "calibrated"
        if self.trains:
            plain = uses == "features" and not self._is_binary and (calibrated or self.binarizer == "thermometer")
            setting, stage = (replace(self, binarizer="none"), PLAIN) if plain else (self, "")
            trained = setting.trained(scenario, progress=progress)
            return encoder_of(trained, uses, self._device, stage, calibrated=calibrated)
        if self.encoder_name in BACKBONES or self.encoder_name.startswith(HF):
            return Encoder.from_pretrained(self.encoder_name, self._device, **self.backbone_options)
        return given_encoder(Path(self.encoder_name), scenario, uses, self._device, calibrated=calibrated)
