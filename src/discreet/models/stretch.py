"""One sequence too long to be held with all its states: looked at stretch by stretch, forwards and back.

Going forwards only what arrives at each stretch is kept; going back, each stretch is walked again between
what arrives and what is left to come. That costs one more walk, and the memory of one stretch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.models.chain import TRUST, smooth_between
from discreet.models.semiring import Max, Sum
from discreet.models.sequences import Pack
from discreet.models.trellis import trace_back, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from discreet.models.chain import Chain, Smoothed
    from discreet.models.emission import Evidence
    from discreet.models.room import Room

__all__ = ["Doubtful", "decode_long", "is_long", "smooth_long", "stretches"]

_MOST = 2**22  # numbers, states times frames, up to which a sequence is looked at in one go
_STRETCH = 2**20


class Doubtful(ArithmeticError):
    """Floating point cannot hold this sequence so: it must be looked at in one go."""


def is_long(pack: Pack, states: int) -> bool:
    """Whether a pack is one sequence that is better looked at in stretches."""
    return len(pack.lengths) == 1 and pack.frames * states > _MOST


def stretches(frames: int, states: int) -> list[slice]:
    """The rows of each stretch."""
    size = max(256, _STRETCH // states)
    return [slice(start, min(start + size, frames)) for start in range(0, frames, size)]


def smooth_long(
    chain: Chain,
    parts: list[slice],
    evidence: Callable[[slice], Evidence],
    sums: Sum,
    room: Room,
) -> tuple[float, Iterator[tuple[slice, Smoothed]]]:
    """The log-likelihood, and the stretches from the last to the first, each to be used up at once."""
    arriving, states, likelihood = chain.start[:, None], None, 0.0
    kept: list[tuple[NDArray[np.float64], NDArray[np.float64] | None]] = []
    for part in parts:
        kept.append((arriving, states))
        likelihoods, shift = evidence(part)
        walked = walk(sums, arriving, chain.transition.T, likelihoods, _alone(part), room)
        last = walked.states[:, -1:]
        top = max(float(last.max()), 1e-300)
        likelihood += float(shift.sum() + walked.scale[0]) + np.log(top)
        states = last / top
        arriving = chain.transition.T @ states
    if states is None or not states.any():
        raise Doubtful
    total = likelihood + float(np.log(states.sum()))
    return total, _back(chain, parts, kept, evidence, sums, room)


def decode_long(
    chain: Chain, parts: list[slice], logs: Callable[[slice], NDArray[np.float64]], room: Room
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The log-probability of the best path (1,), and the path."""
    with np.errstate(divide="ignore"):
        arriving, matrix = np.log(chain.start[:, None]), np.log(chain.transition.T)
    kept: list[NDArray[np.float64]] = []
    best = np.empty(1)
    for part in parts:
        kept.append(arriving)
        states = walk(Max(), arriving, matrix, logs(part), _alone(part), room).states[:, -1:]
        best[0] = states.max()
        arriving = np.empty_like(states)
        Max().multiply(matrix, states, arriving)
    path = np.empty(parts[-1].stop, dtype=np.intp)
    for part, arriving in zip(reversed(parts), reversed(kept), strict=True):
        states = walk(Max(), arriving, matrix, logs(part), _alone(part), room).states
        if part.stop < len(path):
            states[:, -1] += matrix[path[part.stop]]
        path[part] = trace_back(states, matrix, _alone(part))
    return best, path


def _back(
    chain: Chain,
    parts: list[slice],
    kept: list[tuple[NDArray[np.float64], NDArray[np.float64] | None]],
    evidence: Callable[[slice], Evidence],
    sums: Sum,
    room: Room,
) -> Iterator[tuple[slice, Smoothed]]:
    leaving = np.ones((chain.states, 1))
    for part, (arriving, states) in zip(reversed(parts), reversed(kept), strict=True):
        smoothed, lowest = smooth_between(
            chain, evidence(part), _alone(part), sums, room, np.stack([arriving, leaving])
        )
        first = smoothed.after[:, :1]
        join = float((arriving * first).sum())
        if lowest.min() < TRUST or (states is not None and join < TRUST):
            raise Doubtful
        if states is not None:
            smoothed.before[:, :1] = states / join
        leaving = chain.transition @ first
        leaving /= max(float(leaving.max()), 1e-300)
        yield part, replace(smoothed, log_likelihood=np.zeros(1))


def _alone(part: slice) -> Pack:
    return Pack(np.arange(1), np.array([part.stop - part.start]), slice(0, part.stop - part.start))
