"""Named training presets: sets of options, and the backbone each was made for."""

from __future__ import annotations

from typing import Any

from bitreplay.training._options import TrainingOptions

PRESETS: dict[str, TrainingOptions] = {
    "paper": TrainingOptions(),
    # Ours: for 50 classes of CIFAR-100, two CPU cores and the slim ResNet-18 below: 36 minutes by the time of a step on
    # idle cores, 48 with other jobs running. Images of 28 pixels would take nearly as long as those of 32.
    "cpu": TrainingOptions(
        epochs=24,
        ste_epochs=3,
        learning_rate=0.2,
        ste_learning_rate=0.05,
        nesterov=True,
        schedule="one_cycle",
        ste_schedule="one_cycle",
        augmentation="strong",
        image_sizes=(16, 24, 32),
        evaluate_every=6,
    ),
    # Ours: between the two: the paper's network at its full size, in hours on two CPU cores (half of the epochs at 16
    # pixels, where they take a fifth of the time).
    "full": TrainingOptions(
        epochs=32,
        ste_epochs=3,
        learning_rate=0.2,
        ste_learning_rate=0.02,
        nesterov=True,
        schedule="one_cycle",
        augmentation="strong",
        image_sizes=(16, 16, 24, 32),
        evaluate_every=4,
    ),
    # Ours: as `full`, for TinyImageNet with 100 images of a class: two fifths of the images and two and a half times
    # the epochs take as many steps. With a stem of stride 2, images of 64 pixels cost what those of 32 do there.
    "full_tiny": TrainingOptions(
        epochs=80,
        ste_epochs=8,
        learning_rate=0.2,
        ste_learning_rate=0.02,
        nesterov=True,
        schedule="one_cycle",
        augmentation="strong",
        image_sizes=(32, 32, 48, 64),
        evaluate_every=10,
    ),
    # Ours: seconds on a CPU, for scikit-learn's 8x8 digits and the small CNN. Digits have a direction: no flips.
    "digits": TrainingOptions(
        epochs=12,
        ste_epochs=6,
        batch_size=32,
        learning_rate=0.1,
        ste_learning_rate=0.05,
        nesterov=True,
        schedule="one_cycle",
        ste_schedule="one_cycle",
        augmentation="none",
    ),
    # Ours: for comparisons in which every method trains its own network, task by task, on a CPU.
    "small": TrainingOptions(
        epochs=8,
        ste_epochs=2,
        batch_size=64,
        ste_learning_rate=0.03,
        schedule="one_cycle",
        ste_schedule="one_cycle",
        evaluate_every=5,
    ),
    # Ours: the same with epochs enough to reward learning, for networks twice as wide (table 1 at full scale). A method
    # that trains the whole network gets the epochs of both phases in every task.
    "medium": TrainingOptions(
        epochs=27,
        ste_epochs=3,  # as "full" and "cpu"
        batch_size=64,  # main.py of PASS and IL2A, whose rate and weights belong to it; as "small"
        learning_rate=0.1,  # sec. 4.1
        ste_learning_rate=0.02,  # as "full"
        schedule="one_cycle",  # as all short schedules here
        augmentation="paper",  # sec. 4.1
        evaluate_every=9,
    ),
    # Ours: 54 minutes on two busy CPU cores, with 50 classes of CIFAR-100 and the binary network of ~1 Mbit, which then
    # reaches 39.6 % accuracy.
    "cpu_binary": TrainingOptions(
        epochs=20,
        learning_rate=5e-3,  # ours: of 1e-3, 5e-3 and 2e-2, the lowest loss after 120 steps on ten classes at 16 px
        schedule="one_cycle",
        augmentation="paper",
        evaluate_every=5,
        optimizer="adam",
        head="binary",  # ours: in the same trial ahead of a linear one
    ),
    # Ours: the same for five times as long: larq's guide expects binary networks to need many more epochs than others.
    # Its rate, which anneals to zero all the while, has not been chosen again.
    "full_binary": TrainingOptions(
        epochs=100,
        learning_rate=5e-3,
        schedule="one_cycle",
        augmentation="paper",
        evaluate_every=10,
        optimizer="adam",
        head="binary",
    ),
    # Ours: for the small QuickNet below, a hybrid network: binary weights inside, others at its ends. On 50 classes of
    # CIFAR-100 90 s an epoch on one core; 58.8 % accuracy after both phases.
    "cpu_hybrid": TrainingOptions(
        epochs=16,
        ste_epochs=3,
        learning_rate=5e-3,
        ste_learning_rate=1e-3,
        schedule="one_cycle",
        ste_schedule="one_cycle",
        augmentation="paper",
        image_sizes=(64,),
        evaluate_every=5,
        optimizer="adam",
    ),
}

# The backbone, with its options, that each preset was made for.
PRESET_BACKBONES: dict[str, tuple[str, dict[str, Any]]] = {
    "paper": ("resnet18", {}),
    "cpu": ("resnet18", {"width": 48, "stem_stride": 2}),
    "full": ("resnet18", {}),
    "full_tiny": ("resnet18", {"stem_stride": 2}),
    "digits": ("small_cnn", {}),
    "small": ("resnet18", {"width": 16, "stem_stride": 2}),
    "medium": ("resnet18", {"width": 32, "stem_stride": 2}),
    "cpu_binary": ("binary_vgg", {}),
    "full_binary": ("binary_vgg", {}),
    "cpu_hybrid": (
        "quicknet",
        {"weights": None, "blocks": (2, 2, 2, 2), "filters": (32, 64, 128, 256), "tap": "pooled", "image_size": 64},
    ),
}
