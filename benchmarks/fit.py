"""Ten EM steps on a uint8 matrix through the public `fit`, against StepMix, pomegranate and plain NumPy.

Then the paper's whole protocol for 100 classes against the same in plain NumPy, on one thread and on two; whether the
likelihoods agree; and the peak memory of a fit. Packing, casts and checks of the input count for everybody.
"""

import functools
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import numpy.typing as npt
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from stepmix.stepmix import StepMix

import timing
from bitreplay import BernoulliMixture, EMOptions, pack
from bitreplay.mixture import fit_mixtures
from bitreplay.mixture._run import start
from synthetic import Bits, classes_of_bits, clustered_bits
from timing import MEGABYTE, Row, alternate, extra_memory, in_new_process

Floats = npt.NDArray[np.floating]
Parameters = tuple[Floats, Floats]  # prototypes (K, D), mixing weights (K,)

STEPS = 10
SIZES = {  # (N, D, K): at least so many times faster than StepMix, than pomegranate
    (500, 512, 8): (10, 70),
    (500, 2048, 8): (None, None),
    (5000, 512, 8): (25, None),
    (2400, 12544, 8): (25, None),
}
TOO_SLOW = 1_000_000  # N * D from which one fit by pomegranate takes more than a second
TEN_STEPS = EMOptions(n_components=8, n_init=1, warmup_iter=0, tol=0, max_iter=STEPS, min_count=0)
PROTOCOL = EMOptions(n_components=8, min_count=0)  # the paper's, without re-seeding, which plain NumPy has not
AGREEMENT = 1e-3  # nats per sample

warnings.filterwarnings("ignore", category=ConvergenceWarning)  # ten steps are what was asked for


# ---------------------------------------------------------------------- the contenders


def ours(bits: Bits) -> BernoulliMixture:
    options = {name: getattr(TEN_STEPS, name) for name in ("n_init", "warmup_iter", "tol", "max_iter", "min_count")}
    return BernoulliMixture(TEN_STEPS.n_components, random_state=0, **options).fit(bits)


def stepmix(bits: Bits, k: int) -> StepMix:
    model = StepMix(
        k,
        measurement="bernoulli",
        n_init=1,
        max_iter=STEPS,
        abs_tol=0,
        rel_tol=0,
        random_state=0,
        progress_bar=0,
    )
    return model.fit(bits)


def pomegranate(bits: Bits, start: Parameters) -> object:
    """Pomegranate from a given start, so that its own, by k-means, costs it nothing."""
    from pomegranate.distributions import Bernoulli  # here, because the import compiles for seconds
    from pomegranate.gmm import GeneralMixtureModel

    prototypes, weights = start
    components = [Bernoulli(torch.tensor(mu, dtype=torch.float32)) for mu in prototypes]
    model = GeneralMixtureModel(components, priors=weights.tolist(), max_iter=STEPS, tol=-np.inf)
    return model.fit(torch.from_numpy(bits).float())


def plain(bits: Bits, start: Parameters, dtype: type = np.float32) -> tuple[Parameters, float]:
    """Two matrix products per step, as one would write it in NumPy; with the likelihood that was reached."""
    floats = bits.astype(dtype)
    state = tuple(part.astype(dtype) for part in start)
    for _ in range(STEPS):
        responsibilities, _ = e_step(floats, *state)
        state = m_step(floats, responsibilities)
    return state, e_step(floats, *state)[1]


def e_step(floats: Floats, prototypes: Floats, weights: Floats) -> tuple[Floats, float]:
    """Responsibilities, and the marginal log-likelihood per sample."""
    mu = np.clip(prototypes, TEN_STEPS.clamp, 1 - TEN_STEPS.clamp)
    log_zero = np.log1p(-mu)
    offsets = log_zero.sum(axis=1, dtype=np.float64) + np.log(weights)
    joint = floats @ (np.log(mu) - log_zero).T
    joint += offsets.astype(floats.dtype)
    top = joint.max(axis=1, keepdims=True)
    joint -= top
    if floats.dtype == np.float32:
        np.maximum(joint, -60, out=joint)  # denormal responsibilities would make the other product ten times slower
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    return joint, float((top + np.log(total)).mean(dtype=np.float64))


def m_step(floats: Floats, responsibilities: Floats) -> Parameters:
    counts = responsibilities.sum(axis=0) + np.finfo(floats.dtype).tiny  # some may be empty
    return (responsibilities.T @ floats) / counts[:, None], counts / len(floats)


def plain_protocol(bits: Bits, generator: np.random.Generator) -> tuple[Parameters, float]:
    """Five starts of three steps; the best after them goes on to the stop rule. No E-step is made twice."""
    floats, options = bits.astype(np.float32), PROTOCOL
    centroid = floats.mean(axis=0, dtype=np.float64)
    best: tuple[float, Parameters, Floats] | None = None
    for run in [start(0, centroid, options.n_components, options, generator) for _ in range(options.n_init)]:
        state: Parameters = run.prototypes.astype(np.float32), run.weights.astype(np.float32)
        responsibilities, objective = e_step(floats, *state)
        for _ in range(options.warmup_iter):
            state = m_step(floats, responsibilities)
            responsibilities, objective = e_step(floats, *state)
        if best is None or objective > best[0]:
            best = objective, state, responsibilities
    assert best is not None
    objective, state, responsibilities = best
    for _ in range(options.max_iter):
        before = objective
        state = m_step(floats, responsibilities)
        responsibilities, objective = e_step(floats, *state)
        if abs(objective - before) < options.tol * abs(objective):
            break
    return state, objective


def our_start(bits: Bits) -> Parameters:
    """The start that `ours` draws."""
    generator = np.random.default_rng(check_random_state(0).randint(2**31))
    run = start(0, bits.mean(axis=0), TEN_STEPS.n_components, TEN_STEPS, generator)
    return run.prototypes, run.weights


# ---------------------------------------------------------------------- what is measured


def ten_steps(n: int, d: int, k: int, *, seconds: float) -> list[Row]:
    """Times against every peer, and how far the likelihoods lie apart."""
    bits = clustered_bits(n, d, k)
    begin = our_start(bits)
    contenders = {
        "ours": functools.partial(ours, bits),
        "NumPy": functools.partial(plain, bits, begin),
        "StepMix": functools.partial(stepmix, bits, k),
    }
    if n * d < TOO_SLOW:
        contenders["pomegranate"] = functools.partial(pomegranate, bits, begin)
    times = alternate(contenders, seconds=seconds, once=("StepMix",) if n * d > TOO_SLOW * 20 else ())
    required = dict(zip(("StepMix", "pomegranate"), SIZES[n, d, k], strict=True))
    name = f"fit, {STEPS} EM steps, ({n}, {d}, {k})"
    mine = times.pop("ours")
    rows = [Row(name, mine.best, "s", "faster", required.get(peer), peer, time.best) for peer, time in times.items()]

    reached, theirs = mine.result.score(bits), times["StepMix"].result.score(bits)
    _, single = times["NumPy"].result
    _, exact = plain(bits, begin, np.float64)
    print(
        f"({n}, {d}, {k}): nats per sample: ours {reached:.4f}, NumPy float64 {exact:.4f}, float32 {single:.4f}; "
        f"StepMix, from its own start and with its own clamp, {theirs:.4f}",
        flush=True,
    )
    rows.append(Row(f"{name}: from NumPy's likelihood", abs(reached - exact), "nats", "limit", AGREEMENT))
    return rows


@functools.cache
def part_of_samples(first: int, classes: int, n: int, d: int) -> list[Bits]:
    return list(classes_of_bits(classes, n, d, first).values())


def fit_part(part: tuple[int, int, int, int]) -> None:
    """Fit some classes in this process, which keeps their samples for the next call."""
    fit_mixtures(part_of_samples(*part), PROTOCOL)


def protocol(*, seconds: float, classes: int = 100, n: int = 500, d: int = 512) -> list[Row]:
    """The paper's protocol for many classes."""
    samples = list(classes_of_bits(classes, n, d).values())

    def fit(n_jobs: int) -> list:
        return fit_mixtures(samples, PROTOCOL, n_jobs=n_jobs)

    def fit_plain() -> list:
        return [plain_protocol(bits, np.random.default_rng(seed)) for seed, bits in enumerate(samples)]

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        halves = [(first, classes // 2, n, d) for first in (0, classes // 2)]
        calls = {
            "one": functools.partial(fit, 1),
            "two": functools.partial(fit, 2),
            "processes": lambda: list(pool.map(fit_part, halves)),
            "NumPy": fit_plain,
        }
        times = alternate(calls, rounds=20, seconds=seconds)
    one, two = times["one"].best, times["two"].best
    what = f"fit, the paper's protocol, {classes} classes of ({n}, {d}, {PROTOCOL.n_components})"
    single, double, plain_fits = (times[name].result for name in ("one", "two", "NumPy"))
    gap = np.mean([mixture.lower_bounds[-1] for mixture in single]) - np.mean([reached for _, reached in plain_fits])
    differing = sum(
        np.count_nonzero(a.prototypes != b.prototypes) + np.count_nonzero(a.weights != b.weights)
        for a, b in zip(single, double, strict=True)
    )
    return [
        Row(what, one, "s", "faster", 3.5, "NumPy", times["NumPy"].best),
        Row(f"{what}, two threads", two, "s", "faster", 1.7, "one thread", one),
        # What two cores give at best at the time: on a shared machine that may be far from twice as much.
        Row(f"{what}, two processes", times["processes"].best, "s", "faster", None, "one thread", one),
        Row(f"{what}: from NumPy's likelihood", abs(float(gap)), "nats", "limit", AGREEMENT),
        Row(f"{what}: differ between one and two threads", int(differing), "values", "limit", 0),
    ]


def memory_of_fit(contender: str, n: int, d: int, k: int) -> int:
    """Peak extra bytes of one fit; in a process of its own."""
    calls = {
        "ours": ours,
        "packed": lambda bits: ours(bits),
        "NumPy": lambda bits: plain(bits, our_start(bits)),
        "StepMix": lambda bits: stepmix(bits, k),
    }
    timing.use_one_thread()
    convert = pack if contender == "packed" else np.asarray
    calls[contender](
        convert(clustered_bits(64, 2 * 1024, k))
    )  # imports, compiles; wide, as the kernels differ by width
    bits = convert(clustered_bits(n, d, k))
    return extra_memory(lambda: calls[contender](bits))


def memory(n: int = 2400, d: int = 12544, k: int = 8) -> list[Row]:
    """Peak extra memory of fits; packed bits are not counted, whoever packed them."""
    extra = {
        name: in_new_process("fit", "memory_of_fit", name, n, d, k) for name in ("packed", "ours", "NumPy", "StepMix")
    }
    packed_input = n * d / 8
    name = f"peak extra memory of a fit, ({n}, {d}, {k})"
    limit = 20 * MEGABYTE
    return [
        Row(f"{name}, packed bits", extra["packed"], "B", "limit", limit),
        Row(f"{name}, uint8, beyond packed bits", extra["ours"] - packed_input, "B", "limit", limit),
        *(
            Row(f"{name}, uint8", extra["ours"], "B", "within", None, peer, extra[peer])
            for peer in ("NumPy", "StepMix")
        ),
    ]


def rows(short: bool) -> list[Row]:
    seconds = 2.0 if short else 10.0
    measured = [row for size in SIZES for row in ten_steps(*size, seconds=seconds)]
    return measured + protocol(seconds=1.5 * seconds) + memory()


if __name__ == "__main__":
    timing.main(__doc__, rows)
