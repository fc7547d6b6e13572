"""Recipes: how a method trains its network, as its authors published it, and the same within a smaller budget.

A recipe says how long and how fast the whole network is trained. The method defines the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bitreplay.training import Augmentation, Optimizer, Schedule, TrainingOptions, annealed


@dataclass(frozen=True)
class Recipe:
    """How a network is trained for a task. The defaults are those of the GBM paper.

    Parameters
    ----------
    base_epochs, epochs : int
        Epochs for task 0, and for each later task.
    batch_size : int
        Images per step.
    optimizer : {"sgd", "adam"}
        SGD has a momentum of 0.9. Weight decay is not applied to biases and batch normalisation in either.
    learning_rate, weight_decay : float
        Options of the optimizer; the learning rate is the highest of the schedule.
    schedule : {"steps", "one_cycle", "cosine"}
        Learning rate over a task: times `factor` at each of the `milestones`; a linear rise over the first `warmup` of
        the task and a half cosine down to zero; or that half cosine alone.
    milestones : tuple of float
        When steps occur, as shares of the task's epochs, so that they fit any number of epochs.
    factor, warmup : float
        See `schedule`.
    augmentation : {"none", "paper", "strong"}
        See :mod:`bitreplay.data`.
    """

    base_epochs: int = 160  # sec. 4.1 of the GBM paper, as all of these up to the momentum
    epochs: int = 160
    batch_size: int = 128
    optimizer: Optimizer = "sgd"
    learning_rate: float = 0.1
    milestones: tuple[float, ...] = (50 / 160, 100 / 160, 150 / 160)
    factor: float = 0.1
    augmentation: Augmentation = "paper"
    momentum: float = 0.9
    weight_decay: float = 5e-4  # not in the GBM paper; LUCIR's and PyCIL's, the field's default
    schedule: Schedule = "steps"
    warmup: float = 0.2

    def within(self, budget: TrainingOptions) -> Recipe:
        """The recipe with the epochs, batches, schedule and augmentation that all methods of a comparison get.

        Every task gets as many epochs as a frozen encoder gets for task 0, both its phases together. Optimizer,
        learning rate and weight decay remain the method's: they depend on the scale of its loss.

        Examples
        --------
        >>> from bitreplay.training import PRESETS
        >>> short = Recipe(learning_rate=0.02).within(PRESETS["digits"])
        >>> short.epochs, short.schedule, short.learning_rate
        (18, 'one_cycle', 0.02)
        """
        epochs = budget.epochs + budget.ste_epochs
        return replace(
            self,
            base_epochs=epochs,
            epochs=epochs,
            batch_size=budget.batch_size,
            schedule=budget.schedule,
            warmup=budget.warmup,
            augmentation=budget.augmentation,
        )

    def part(self, share: float, slower: float, milestones: tuple[float, ...] | None) -> Recipe:
        """The recipe with a share of its epochs, a lower learning rate, and other milestones unless they are None.

        Examples
        --------
        >>> balanced = Recipe(epochs=40).part(0.75, 0.1, (1 / 3, 2 / 3))
        >>> balanced.epochs, round(balanced.learning_rate_at(0.5), 6)
        (30, 0.001)
        """
        base_epochs, epochs = (max(1, round(share * epochs)) for epochs in (self.base_epochs, self.epochs))
        rate, milestones = self.learning_rate * slower, self.milestones if milestones is None else milestones
        return replace(self, base_epochs=base_epochs, epochs=epochs, learning_rate=rate, milestones=milestones)

    def learning_rate_at(self, done: float) -> float:
        """Learning rate after a share `done` of a task's steps.

        Examples
        --------
        >>> recipe = Recipe()
        >>> [round(recipe.learning_rate_at(epoch / 160), 6) for epoch in (0, 49.9, 50, 159)]
        [0.1, 0.1, 0.01, 0.0001]
        """
        if self.schedule == "steps":
            return self.learning_rate * self.factor ** sum(done >= milestone for milestone in self.milestones)
        return annealed(self.learning_rate, done, self.warmup if self.schedule == "one_cycle" else 0.0)
