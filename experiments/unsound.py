"""Training as paper 000 published it. NOT DIFFERENTIALLY PRIVATE: for experiments that show so, only.

The paper adds Lap(L / epsilon) to every expected transition count and to every expected emission count of D
sequences of length L. L bounds what one sequence changes in either table *for fixed parameters*.

* With noise in the last round alone the parameters come from 79 rounds on the same sequences without any
  noise. The counts of that round then change by far more than L when one sequence is left out
  (`experiments.dice_violation` measures it), so no epsilon can be stated from L.
* With noise in every round, epsilon / rounds each, the sensitivity holds, but two tables of epsilon each are
  released, the start distribution is released without noise, and when to stop is decided by the data.

Counts below one are set to one and rows renormalised: the paper is silent about negative counts.
"""

from __future__ import annotations

import numpy as np

from discreet.fit.hmm.data import Sequences
from discreet.fit.hmm.plain import count_all, make_views
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.hmm import HMM, Counts

__all__ = ["counts_of_the_last_round", "noise_at_the_end_not_private", "noise_every_time_as_published"]

ROUNDS, THRESHOLD = 80, 1e-5


def noise_at_the_end_not_private(
    start: HMM, throws: Sequences, epsilon: float, draw: np.random.Generator
) -> HMM:
    """Figures 5 to 10: plain rounds, and noise on the counts of the last one. Not differentially private."""
    counts, model = counts_of_the_last_round(start, throws)
    return _noisy(model, counts, int(throws.lengths.max()) / epsilon, draw)


def noise_every_time_as_published(
    start: HMM, throws: Sequences, epsilon: float, draw: np.random.Generator
) -> HMM:
    """Figures 11 and 12: noise in every round, each with its part of epsilon. Costs 2 epsilon, and more."""
    model, views = start, make_views(start, throws)
    scale = ROUNDS * int(throws.lengths.max()) / epsilon
    for _ in range(ROUNDS):
        before = model
        model = _noisy(model, count_all(model, views, throws, workers=1), scale, draw)
        if _moved(before, model) < THRESHOLD:
            break
    return model


def counts_of_the_last_round(
    start: HMM, throws: Sequences, weights: np.ndarray | None = None
) -> tuple[Counts, HMM]:
    """The counts that the published algorithm adds its noise to, and the model they were taken under.

    ``weights`` of 0 leave sequences out.
    """
    if weights is not None:
        throws = Sequences(throws.rows, throws.lengths, None, weights)
    model, views = start, make_views(start, throws)
    for _ in range(ROUNDS - 1):
        before = model
        model = model.maximise(count_all(model, views, throws, workers=1))
        if _moved(before, model) < THRESHOLD:
            break
    return count_all(model, views, throws, workers=1), model


def _noisy(model: HMM, counts: Counts, scale: float, draw: np.random.Generator) -> HMM:
    chain = model.maximise(counts).chain
    return HMM(
        Chain(chain.start, _shares(counts.transitions, scale, draw)),
        Categorical(_shares(counts.emissions, scale, draw)),
    )


def _shares(counts: np.ndarray, scale: float, draw: np.random.Generator) -> np.ndarray:
    noisy = np.maximum(counts + draw.laplace(scale=scale, size=counts.shape), 1.0)
    return noisy / noisy.sum(axis=1, keepdims=True)


def _moved(before: HMM, after: HMM) -> float:
    return max(
        float(np.abs(before.chain.transition - after.chain.transition).max()),
        float(np.abs(before.emission.probabilities - after.emission.probabilities).max()),
    )
