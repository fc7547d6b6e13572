"""Runs for reports, without a learner."""

from bitreplay.evaluation import History, RunResult
from tests.evaluation.examples import plausible_history

SIZES = (4, 2, 1, 2)
NOTES = {"encoder": "efficientnet_lite0", "pretrained": "ImageNet"}


def run(name, seed, accuracy, *, loss=0.01, learner="GBM", notes=NOTES, sizes=SIZES, **options):
    history = plausible_history(
        sizes, accuracy, seed=1000 * seed + 7, loss=loss, learner=learner, notes=notes, **options
    )
    return RunResult(name, seed, history)


def comparison(seeds=(0, 1, 2), notes=NOTES, samples=400):
    """A clear winner, a clear loser, both bounds; names that need escaping."""
    return [
        made
        for seed in seeds
        for made in (
            run("GBM, K=8", seed, 0.9, notes=notes, samples=samples, bits_per_class=24_000),
            run('a|b <&> "c"', seed, 0.7, notes=notes, samples=samples, learner="FeTrIL", working_set=100_000),
            run(
                "FineTuning", seed, 0.9, loss=0.8, notes=notes, samples=samples, learner="FineTuning", bits_per_class=0
            ),
            run("Joint", seed, 0.95, notes=notes, samples=samples, learner="Joint", bits_per_class=10**6),
        )
    ]


def one_state(name, seed, right, count=100, learner="GBM"):
    """A single task of two classes: `right` of `count` answers are right."""
    table = [[right, count - right], [0, 0]]
    history = History.empty(learner).append((0, 1), table, memory_bits=0, working_set_bits=0, seconds=0)
    return RunResult(name, seed, history)
