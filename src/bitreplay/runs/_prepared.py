"""Prepared: what learners need to run: a setting's tasks, and an encoder or a network to train."""

from __future__ import annotations

import numpy as np

from bitreplay.data import Samples
from bitreplay.encoder import Encoder
from bitreplay.learners import TrainingContext, Uses
from bitreplay.runs._setting import Setting


class Prepared:
    """A setting's tasks, and its encoder, made on first use because it may have to be trained.

    Examples
    --------
    >>> prepared = Prepared(Setting("digits", tasks=5))  # nothing is trained yet
    >>> len(prepared.scenario), prepared.setting.trains
    (6, True)
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.scenario = setting.scenario()
        self._encoders: dict[Uses, Encoder] = {}

    @property
    def encoder(self) -> Encoder:
        """The encoder of methods on bits."""
        return self.encoder_for("bits")

    def training_context(self) -> TrainingContext:
        """The context for methods that train their own network."""
        return self.setting.training_context()

    def encoder_for(self, uses: Uses) -> Encoder:
        """The encoder, with the features of all images computed: that is not part of any learner's time."""
        if uses not in self._encoders:
            if self.setting.training:
                self.setting.check_trains()  # for methods that train a network of their own, they are options of that
            encoder = self.setting.make_encoder(self.scenario, uses)
            if encoder.key:
                for part in ("train", "test"):
                    encoder.features(Samples(self.scenario.dataset, part, np.empty(0, dtype=np.int64)))
            self._encoders[uses] = encoder
        return self._encoders[uses]
