"""What can be inferred from a whole stream of releases: forward, backward, and the most likely path.

All in logarithms: over time, odds can pass what a double holds, and just then they matter. With l_t(s) the
logarithm of the law of release t from state s, and M the transitions,
    forward    a_t(s) = l_t(s) + log sum_r exp(a_(t-1)(r)) M(r, s),     a_0 = log start,
    backward   b_T = 0,   b_t(s) = log sum_r M(s, r) exp(l_(t+1)(r) + b_(t+1)(r)),
and the smoothed posterior of s_t is proportional to exp(a_t + b_t). The most likely path has max for sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.release.belief import exponents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.release.map import Map
    from discreet.release.stream import Past

__all__ = ["Smoothed", "best_path", "likelihoods", "smooth"]


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Logarithms of beliefs about each step, (steps, states): before its release, right after it, and at the end."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    at_end: NDArray[np.float64]


def likelihoods(past: Sequence[Past]) -> NDArray[np.float64]:
    """The logarithm of the law of each release from each state, up to a constant a step."""
    states = np.arange(len(past[0].scenes[0].possible))
    table = np.zeros((len(past), len(states)))
    for row, one in zip(table, past, strict=True):
        for scene, units in zip(one.scenes, one.units, strict=True):
            row -= exponents(scene, units[None], states)[:, 0]
    return table


def smooth(world: Map, start: NDArray[np.float64], past: Sequence[Past]) -> Smoothed:
    """The beliefs of somebody who knows the map, the policy and all releases."""
    law = likelihoods(past)
    ahead, back = _Chain(world.transitions.T), _Chain(world.transitions)
    before, forward = np.empty_like(law), np.empty_like(law)
    with np.errstate(divide="ignore"):
        belief = np.log(start)
    for t in range(len(law)):
        before[t] = _normal(ahead.sums(belief))
        forward[t] = belief = _normal(before[t] + law[t])
    at_end = forward.copy()
    backward = np.zeros(law.shape[1])
    for t in range(len(law) - 2, -1, -1):
        backward = back.sums(law[t + 1] + backward)
        backward -= backward.max()
        at_end[t] = _normal(forward[t] + backward)
    return Smoothed(before, forward, at_end)


def best_path(world: Map, start: NDArray[np.float64], past: Sequence[Past]) -> NDArray[np.int64]:
    """The single most likely sequence of states (Viterbi)."""
    law = likelihoods(past)
    chain = _Chain(world.transitions.T)
    with np.errstate(divide="ignore"):
        score = np.log(start)
    steps: list[NDArray[np.int64]] = []
    for row in law:
        best, origin = chain.best(score)
        score = best + row
        steps.append(origin)
    path = [int(score.argmax())]
    for origin in reversed(steps[1:]):
        path.append(int(origin[path[-1]]))
    return np.array(path[::-1], dtype=np.int64)


class _Chain:
    """Sums over the neighbours of each state, row by row of a sparse matrix, in logarithms."""

    def __init__(self, matrix: Any) -> None:
        rows = matrix.tocsr()
        self._columns = rows.indices
        self._log = np.log(rows.data)
        self._filled = np.flatnonzero(np.diff(rows.indptr))
        self._starts = rows.indptr[self._filled]
        self._counts = np.diff(rows.indptr)[self._filled]
        self._size = rows.shape[0]

    def sums(self, belief: NDArray[np.float64]) -> NDArray[np.float64]:
        """log sum_r matrix(s, r) exp(belief(r)) for every s."""
        terms = belief[self._columns] + self._log
        top = np.maximum.reduceat(terms, self._starts)
        shift = np.where(np.isfinite(top), top, 0.0)
        total = np.add.reduceat(np.exp(terms - np.repeat(shift, self._counts)), self._starts)
        result = np.full(self._size, -np.inf)
        with np.errstate(divide="ignore"):
            result[self._filled] = np.log(total) + shift
        return result

    def best(self, belief: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The largest term of each sum, and where it comes from."""
        terms = belief[self._columns] + self._log
        top = np.maximum.reduceat(terms, self._starts)
        places = np.where(terms == np.repeat(top, self._counts), np.arange(len(terms)), len(terms))
        first = np.minimum.reduceat(places, self._starts)
        result, origin = np.full(self._size, -np.inf), np.zeros(self._size, dtype=np.int64)
        result[self._filled], origin[self._filled] = top, self._columns[first]
        return result, origin


def _normal(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    top = logs.max()
    return logs - (top + np.log(np.exp(logs - top).sum()))
