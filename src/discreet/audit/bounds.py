"""Lower bounds, that hold with confidence, on the epsilon of a mechanism, from the scores of an attack.

A bound is a statement "if the mechanism were (epsilon, delta)-private for a smaller epsilon, such scores
would turn up in at most one experiment out of 1 / (1 - confidence)". It is valid for any attack; a poor
attack gives a low bound, never a wrong one. Runs must be independent of each other.

* `epsilon_lower`, `epsilon_from_counts`: any mechanism. Event probabilities by Clopper-Pearson, then
  epsilon >= log((P[E | one world] - delta) / P[E | other world]).
* `mu_lower`, `gaussian_epsilon_lower`: only for mechanisms that claim Gaussian privacy. One threshold with
  error rates a and b shows mu >= Phi^-1(1 - a) - Phi^-1(b), and mu bounds epsilon at every delta.
* `one_run`: many canaries inserted or not by independent coins in a single run (Steinke, Nasr, Jagielski,
  "Privacy auditing with one training run", 2023, theorem 5.2).

The event is chosen on a third of the runs and tested on the others, so that choosing costs no confidence.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.gaussian import gaussian_epsilon
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "best_event",
    "check_confidence",
    "epsilon_from_counts",
    "epsilon_lower",
    "gaussian_epsilon_lower",
    "mu_lower",
    "one_run",
    "proportion_above",
    "proportion_below",
    "split",
]

_THRESHOLDS = 400
_EPSILON_CAP = 200.0


def epsilon_lower(scores0: ArrayLike, scores1: ArrayLike, delta: float, confidence: float = 0.95) -> float:
    """The epsilon that scores of two worlds prove at this delta, at least 0.

    Events are "score at least t" and "score below t", in either order of the worlds.
    """
    _check_delta(delta)
    error = check_confidence(confidence)
    choose0, test0 = split(scores0)
    choose1, test1 = split(scores1)
    levels = _levels(choose0, choose1)
    hits0, hits1 = _at_least(choose0, levels), _at_least(choose1, levels)
    events0 = np.concatenate([hits0, choose0.size - hits0])
    events1 = np.concatenate([hits1, choose1.size - hits1])
    index, up = best_event(events0, choose0.size, events1, choose1.size, delta, error)
    level, complement = levels[index % levels.size], index >= levels.size
    count0, count1 = int(np.sum((test0 >= level) != complement)), int(np.sum((test1 >= level) != complement))
    if up:
        return _directed(count1, test1.size, count0, test0.size, delta, error)
    return _directed(count0, test0.size, count1, test1.size, delta, error)


def epsilon_from_counts(
    hits0: int, runs0: int, hits1: int, runs1: int, delta: float, confidence: float = 0.95
) -> float:
    """The epsilon that one event, fixed beforehand, proves by its counts in two worlds, at least 0.

    The event and its opposite are used in either order of the worlds; all four hold together.
    """
    _check_delta(delta)
    error = check_confidence(confidence) / 2
    return max(
        _directed(hits1, runs1, hits0, runs0, delta, error),
        _directed(hits0, runs0, hits1, runs1, delta, error),
        _directed(runs1 - hits1, runs1, runs0 - hits0, runs0, delta, error),
        _directed(runs0 - hits0, runs0, runs1 - hits1, runs1, delta, error),
    )


def mu_lower(scores0: ArrayLike, scores1: ArrayLike, confidence: float = 0.95) -> float:
    """The mu that scores of two worlds prove of a mechanism claiming Gaussian privacy, at least 0."""
    error = check_confidence(confidence)
    choose0, test0 = split(scores0)
    choose1, test1 = split(scores1)
    levels = _levels(choose0, choose1)
    careful = error / 50  # the luckiest of many thresholds should not win by its luck
    over0, over1 = _at_least(choose0, levels), _at_least(choose1, levels)
    guesses = [
        _mu(over0, choose0.size, over1, choose1.size, careful),
        _mu(over1, choose1.size, over0, choose0.size, careful),
    ]
    flipped = bool(guesses[1].max() > guesses[0].max())
    chosen = int(np.argmax(guesses[flipped]))
    level = levels[chosen : chosen + 1]
    low, high = (test1, test0) if flipped else (test0, test1)
    proven = _mu(_at_least(low, level), low.size, _at_least(high, level), high.size, error)
    return max(0.0, float(proven[0]))


def gaussian_epsilon_lower(
    scores0: ArrayLike, scores1: ArrayLike, delta: float, confidence: float = 0.95
) -> float:
    """`mu_lower` in terms of epsilon at this delta: for mechanisms that claim Gaussian privacy only."""
    _check_delta(delta)
    if delta == 0:
        raise ParameterError(
            "Gaussian privacy has no finite epsilon at delta 0", got=delta, wanted="0 < delta < 1"
        )
    mu = mu_lower(scores0, scores1, confidence)
    return gaussian_epsilon(mu, delta) if mu > 0 else 0.0


def one_run(correct: int, guesses: int, canaries: int, delta: float, confidence: float = 0.95) -> float:
    """The epsilon that one run with many canaries proves, at least 0.

    Each of ``canaries`` was inserted or left out by its own fair coin; the attacker guessed ``guesses`` of
    these coins (and abstained on the others) and was right ``correct`` times.
    """
    _check_delta(delta)
    error = check_confidence(confidence)
    if not 0 <= correct <= guesses <= canaries:
        raise ParameterError(
            "impossible counts",
            got=(correct, guesses, canaries),
            wanted="0 <= correct <= guesses <= canaries",
        )
    if _one_run_chance(correct, guesses, canaries, 0.0, delta) > error:
        return 0.0
    low, high = 0.0, 1.0
    while high < _EPSILON_CAP and _one_run_chance(correct, guesses, canaries, high, delta) <= error:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if _one_run_chance(correct, guesses, canaries, middle, delta) <= error:
            low = middle
        else:
            high = middle
    return low


def proportion_below(hits: ArrayLike, runs: ArrayLike, error: float) -> NDArray[np.float64]:
    """Clopper-Pearson: the true rate is smaller than this with probability at most ``error``."""
    from scipy.special import betaincinv

    hits, runs = np.asarray(hits, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    found = betaincinv(np.maximum(hits, 1), runs - hits + 1, error)
    return np.where(hits == 0, 0.0, found)


def proportion_above(hits: ArrayLike, runs: ArrayLike, error: float) -> NDArray[np.float64]:
    """Clopper-Pearson: the true rate is larger than this with probability at most ``error``."""
    hits, runs = np.asarray(hits, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    return 1 - proportion_below(runs - hits, runs, error)


def best_event(
    hits0: NDArray[np.int64],
    runs0: int,
    hits1: NDArray[np.int64],
    runs1: int,
    delta: float,
    error: float,
) -> tuple[int, bool]:
    """The most telling of many events, by its counts: its index, and whether it is likelier in world 1.

    What these runs prove about the chosen event must not be used: test it on other runs.
    """
    careful = error / 2  # the luckiest of many events should not win by its luck
    up = _directed_all(hits1, runs1, hits0, runs0, delta, careful)
    down = _directed_all(hits0, runs0, hits1, runs1, delta, careful)
    rising = bool(up.max() >= down.max())
    return int(np.argmax(up if rising else down)), rising


def split(scores: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Every third score to choose an event with; the others to test it."""
    array = np.asarray(scores, dtype=np.float64).ravel()
    if array.size < 6 or np.isnan(array).any():
        raise ParameterError(
            "these scores cannot be tested", got=f"{array.size} scores", wanted="at least 6 numbers, none NaN"
        )
    chosen = np.arange(array.size) % 3 == 0
    return array[chosen], array[~chosen]


def check_confidence(confidence: float) -> float:
    """How often the bound may be wrong: one minus the confidence."""
    if not 0 < confidence < 1:
        raise ParameterError("not a confidence", got=confidence, wanted="0 < confidence < 1")
    return 1 - confidence


def _check_delta(delta: float) -> None:
    if not 0 <= delta < 1:
        raise ParameterError("not a delta", got=delta, wanted="0 <= delta < 1")


def _levels(scores0: NDArray[np.float64], scores1: NDArray[np.float64]) -> NDArray[np.float64]:
    """At most some hundred thresholds, spread evenly over the ranks of all scores."""
    levels = np.unique(np.concatenate([scores0, scores1]))
    if levels.size <= _THRESHOLDS:
        return levels
    return levels[np.linspace(0, levels.size - 1, _THRESHOLDS).astype(np.int64)]


def _at_least(scores: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    return scores.size - np.searchsorted(np.sort(scores), levels, side="left").astype(np.int64)


def _directed(hits: int, runs: int, base_hits: int, base_runs: int, delta: float, error: float) -> float:
    one = _directed_all(np.array([hits]), runs, np.array([base_hits]), base_runs, delta, error)
    return max(0.0, float(one[0]))


def _directed_all(
    hits: NDArray[np.int64],
    runs: int,
    base_hits: NDArray[np.int64],
    base_runs: int,
    delta: float,
    error: float,
) -> NDArray[np.float64]:
    """log((P - delta) / Q) from bounds that hold together: half the error for each."""
    rate = proportion_below(hits, runs, error / 2) - delta
    base = proportion_above(base_hits, base_runs, error / 2)
    return np.where(rate > 0, np.log(np.maximum(rate, 1e-300)) - np.log(base), -np.inf)


def _mu(
    false: NDArray[np.int64], runs0: int, true: NDArray[np.int64], runs1: int, error: float
) -> NDArray[np.float64]:
    from scipy.special import ndtri

    wrong = proportion_above(false, runs0, error / 2)
    missed = proportion_above(runs1 - true, runs1, error / 2)
    return np.where((wrong < 1) & (missed < 1), -ndtri(wrong) - ndtri(missed), -np.inf)


def _one_run_chance(correct: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """How likely so many right guesses are, at most, if the mechanism is (epsilon, delta)-private."""
    from scipy.special import betainc

    rate = 1 / (1 + math.exp(-epsilon))
    counts = np.arange(correct, -1, -1, dtype=np.float64)  # P[Binomial >= v], P[>= v - 1], ... P[>= 0] = 1
    positive = np.maximum(counts, 1)
    tails = np.where(counts > 0, betainc(positive, guesses - positive + 1, rate), 1.0)
    steps = np.arange(1, correct + 1)
    worst = float(np.max((tails[1:] - tails[0]) / steps)) if correct else 0.0
    return min(1.0, float(tails[0]) + 2 * canaries * delta * max(0.0, worst))
