"""Conditional probabilities from one noisy table: what a count probably was, and whom to ask where few are.

**A cell.** A released count is y = x + noise, noise normal with deviation s, and x cannot be negative. A row
of J states starts from a Dirichlet belief with weights a_j that sum to ``prior``; in terms of counts, x has
the density x^(a - 1). Its mean given y is
    E[x | y] = s a D_(-a-1)(-t) / D_(-a)(-t),    t = y / s,
D the parabolic cylinder functions: about y where y is many deviations large, and small but never 0 where the
noise drowned it. To that the prior is added as it would be without noise: row = (E[x | y] + a) / sum.

**A row.** Where a configuration of the parents holds few people beside the noise, its row says little, and is
mixed with what a configuration of fewer parents says:
    row = w (row of its own) + (1 - w) (mean of the rows with one parent less),    w = m^2 / (m^2 + c^2 s^2),
m the noisy number of people in the row: the best linear weight if rows scatter about those above them by
1 / c. With no parent left, the node's own margin; c is 0.7. The weights a_j lean by three parts in ten
towards the row above. Both numbers were chosen once, on twelve networks (`docs/network.md`), and are part of
the recipe: nothing here is chosen by looking at rows.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["conditional", "likely_counts"]

_SCATTER = 0.7  # c above
_LEAN = 0.3
_MOST_LEVELS = 64  # how many sets of parents are asked; with more than six parents only none, and all
_FAR = 12.0
_LARGEST_WEIGHT = 20.0


def likely_counts(
    noisy: NDArray[np.float64], deviation: float, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """E[x | y] for counts x >= 0 with density x^(weight - 1), seen with normal noise."""
    from scipy.special import pbdv

    scaled = noisy / deviation
    a = np.minimum(np.broadcast_to(weights, noisy.shape), _LARGEST_WEIGHT)
    near = np.clip(scaled, -_FAR, _FAR)
    mean = a * pbdv(-a - 1, -near)[0] / pbdv(-a, -near)[0]
    # far out the tails of both integrals are those of a power, and of a narrow bell
    mean = np.where(scaled < -_FAR, a / np.maximum(-scaled, _FAR), mean)
    mean = np.where(scaled > _FAR, scaled + (a - 1) / np.maximum(scaled, _FAR), mean)
    return deviation * np.maximum(mean, 1e-12)


def conditional(table: NDArray[np.float64], deviation: float, prior: float) -> NDArray[np.float64]:
    """Rows of probabilities for the last axis from noisy counts; every cell has the same deviation."""
    axes = tuple(range(table.ndim - 1))
    size = table.shape[-1]
    rows: dict[tuple[int, ...], NDArray[np.float64]] = {}
    rows[()] = _level(table, (), np.full(size, 1 / size), deviation, prior)
    everyone = 2 ** len(axes) <= _MOST_LEVELS
    for count in range(1, len(axes) + 1) if everyone else [len(axes)]:
        for chosen in combinations(axes, count):
            above = (
                [rows[tuple(a for a in chosen if a != axis)] for axis in chosen] if everyone else [rows[()]]
            )
            shape = [table.shape[axis] if axis in chosen else 1 for axis in axes]
            base = sum(np.broadcast_to(row, (*shape, size)) for row in above) / len(above)
            rows[chosen] = _level(table, chosen, np.asarray(base), deviation, prior)
    return np.ascontiguousarray(rows[axes])


def _level(
    table: NDArray[np.float64],
    chosen: tuple[int, ...],
    base: NDArray[np.float64],
    deviation: float,
    prior: float,
) -> NDArray[np.float64]:
    """Rows given some of the parents; the axes of the others have length one."""
    gone = tuple(axis for axis in range(table.ndim - 1) if axis not in chosen)
    noisy = table.sum(axis=gone, keepdims=True)
    spread = deviation * math.sqrt(table.size / noisy.size)
    base = np.broadcast_to(base, noisy.shape)
    weights = prior * ((1 - _LEAN) / table.shape[-1] + _LEAN * base)
    counts = likely_counts(noisy, spread, weights) + weights
    mass = np.maximum(noisy.sum(axis=-1, keepdims=True), 0.0) ** 2
    trust = mass / (mass + (_SCATTER * spread) ** 2)
    return trust * counts / counts.sum(axis=-1, keepdims=True) + (1 - trust) * base
