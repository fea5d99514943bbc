"""What a fitted model says about sequences: likelihoods, probabilities of states, best paths.

Sequences are looked at pack by pack, so that memory beside the data and the answer is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.models.sequences import frames_for, pack_sequences
from discreet.records.blas import single_blas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.fit.hmm.data import Sequences
    from discreet.models.hmm import HMM, View

__all__ = ["paths", "posteriors", "scores"]


def scores(model: HMM, data: Sequences) -> NDArray[np.float64]:
    """The log-likelihood of each sequence, (S,)."""
    likelihoods = np.empty(len(data.lengths))
    for view in _views(model, data):
        likelihoods[view.pack.sequences] = model.score(view)
    return likelihoods


def posteriors(model: HMM, data: Sequences) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The log-likelihood of each sequence (S,), and the probability of each state at each row (F, N)."""
    likelihoods, shares = np.empty(len(data.lengths)), np.empty((data.frames, model.chain.states))
    for view in _views(model, data):
        smoothed = model.smooth(view)
        likelihoods[view.pack.sequences] = smoothed.log_likelihood
        shares[view.pack.rows] = smoothed.shares.T
    return likelihoods, shares


def paths(model: HMM, data: Sequences) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The log-probability of the best path of each sequence (S,), and the paths, stacked (F,)."""
    likelihoods, stacked = np.empty(len(data.lengths)), np.empty(data.frames, dtype=np.intp)
    for view in _views(model, data):
        likelihoods[view.pack.sequences], stacked[view.pack.rows] = model.decode(view)
    return likelihoods, stacked


def _views(model: HMM, data: Sequences) -> Iterator[View]:
    with single_blas():
        for pack in pack_sequences(data.lengths, frames_for(model.chain.states)):
            yield model.look(data.rows, pack)
