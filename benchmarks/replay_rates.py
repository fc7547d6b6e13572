"""Learning rate of a linear G behind a network that was trained here, on held-out samples of task 0 alone.

Task 0's training samples are divided, four fifths to learn from and one to test with, and its classes come in six
tasks: no test sample and no later class has a say. The network itself has seen all of these samples.

python benchmarks/replay_rates.py --dataset cifar100 --tasks 10 --encoder binary_vgg
"""

import cyclopts

from bitreplay import metrics
from bitreplay.data import from_arrays, make_scenario
from bitreplay.encoder import Encoder
from bitreplay.evaluation import evaluate
from bitreplay.learners import FrozenLearner
from bitreplay.learners.frozen._gbm import GBM
from bitreplay.learners.frozen._latent_replay import LatentReplay
from bitreplay.runs import Setting

RATES = (0.1, 0.03, 0.01, 0.003, 0.001)
HELD_OUT = 5  # every fifth sample


def main(
    dataset: str = "cifar100", tasks: int = 10, encoder: str = "binary_vgg", preset: str | None = None, epochs: int = 2
) -> None:
    """Average accuracy of latent replay and GBM for every rate.

    Parameters
    ----------
    dataset, tasks, encoder, preset
        The network, as for `bitreplay train`.
    epochs : int
        Of G, for each task.
    """
    setting = Setting(dataset=dataset, tasks=tasks, encoder=encoder, preset=preset)
    scenario = setting.scenario()
    own = Encoder.from_trained(setting.trained(scenario))
    samples = scenario[0].train
    places = {int(label): place for place, label in enumerate(scenario[0].classes)}
    images, labels = samples.images, [places[int(label)] for label in samples.labels]
    test = [row % HELD_OUT == 0 for row in range(len(labels))]
    parts = [[row for row in range(len(labels)) if test[row] is chosen] for chosen in (False, True)]
    arrays = [part for rows in parts for part in (images[rows], [labels[row] for row in rows])]
    held_out = from_arrays(*arrays, name=f"{dataset}, task 0")
    n_classes = len(places)
    inner = make_scenario(held_out, base=n_classes // 2, increment=n_classes // 10)

    def average(method: LatentReplay | GBM) -> float:
        return 100 * metrics.average(evaluate(FrozenLearner(method, own), inner))

    print(f"{encoder} on {dataset}: average accuracy on held-out samples of task 0")
    print("learning rate  LR E = 20  LR, all samples  GBM K = 1  GBM K = 8")
    for rate in RATES:
        how = {"epochs": epochs, "learning_rate": rate}
        gbm = {"bits": 8, "head": "replay", "objective": "expected", **how}
        found = [average(LatentReplay(exemplars=e, **how)) for e in (20, 500)]
        found += [average(GBM(prototypes=k, **gbm)) for k in (1, 8)]
        print(f"{rate:13g}  {found[0]:9.1f}  {found[1]:15.1f}  {found[2]:9.1f}  {found[3]:9.1f}", flush=True)
    print(f"closed form, K = 1 and 8: {average(GBM(prototypes=1)):.1f}, {average(GBM(prototypes=8)):.1f}")


if __name__ == "__main__":
    cyclopts.run(main)
