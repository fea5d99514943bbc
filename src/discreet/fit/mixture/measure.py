"""Measure the local moments of a mixture with noise: one release of one vector.

**Reveals** the noisy vector, to whoever is given the result. **Costs** one event. **Trusts** the curator.

The frame is first put on a grid (`GridFrame`): integer means and integer inverse roots. The exact integer
sums of `fit.mixture.kernel` are then carried into local coordinates in exact integer arithmetic on the
driver, so that the vector before noise is a sum over rows of what `fit.mixture.scales` bounds, rounded once
to the grid of a `Statistic`, whose bound is widened for that rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.fit.mixture.kernel import BITS, Sight, private_sums
from discreet.models.moments import Frame, Moments
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.domain import Region
    from discreet.fit.mixture.scales import Scales
    from discreet.models.moments import Pairs
    from discreet.records import Engine, Records

__all__ = ["GridFrame", "Layout", "gather", "localise", "rescale", "second_weights", "sum_exactly"]

_INVERSE_BITS = 30
_GRID_BITS = 36  # a unit of the statistic is 2**-36, far below any noise


@dataclass(frozen=True)
class GridFrame:
    """A frame whose means are multiples of 2**-20 and whose inverse roots are multiples of 2**-30."""

    frame: Frame
    means: NDArray[Any]
    inverses: NDArray[Any]

    @staticmethod
    def of(frame: Frame) -> GridFrame:
        """The nearest frame on the grid, with means inside the unit box; it is used for everything after."""
        means = np.rint(np.clip(frame.means, -1, 1) * 2.0**BITS)
        inverses = np.rint(frame.inverses * 2.0**_INVERSE_BITS)
        exact = Frame(
            frame.weights,
            means * 2.0**-BITS,
            np.asarray(np.linalg.inv(inverses * 2.0**-_INVERSE_BITS), dtype=np.float64),
            inverses * 2.0**-_INVERSE_BITS,
        )
        return GridFrame(exact, _integers(means), _integers(inverses))


@dataclass(frozen=True)
class Layout:
    """Where the blocks of a released vector lie, and how to read noisy moments from it."""

    components: int
    pairs: Pairs
    scales: Scales

    @property
    def tied(self) -> bool:
        """Whether one second moment serves all components."""
        return self.scales.covariance_type == "tied"

    @property
    def second_shape(self) -> tuple[int, int]:
        """Second blocks and entries of each: spherical covariances release one sum of squares."""
        entries = 1 if self.scales.covariance_type == "spherical" else len(self.pairs.rows)
        return (1 if self.tied else self.components, entries)

    @property
    def size(self) -> int:
        """How many numbers are released."""
        blocks, entries = self.second_shape
        return self.components * (1 + self.pairs.dimension) + blocks * entries

    @property
    def second_weights(self) -> NDArray[np.float64]:
        """The multiplier of each entry of a second block, never rounded up."""
        if self.second_shape[1] == 1:
            return np.array([self.scales.second])
        return second_weights(self.pairs, self.scales.second)

    def read(self, noisy: NDArray[np.float64], deviation: float) -> Moments:
        """Noisy local moments from the released vector, whose entries carry noise of this deviation."""
        components, dimension = self.components, self.pairs.dimension
        counts = noisy[:components] / self.scales.count
        first = noisy[components : components * (1 + dimension)].reshape(components, dimension)
        blocks = noisy[components * (1 + dimension) :].reshape(self.second_shape) / self.second_weights
        noise_second = deviation / self.scales.second
        if self.second_shape[1] == 1 and dimension > 1:
            blocks = np.repeat(blocks / dimension, dimension, axis=1)
            noise_second /= dimension
        return Moments(
            counts,
            first / self.scales.first,
            self.pairs.unpack(blocks),
            deviation / self.scales.count,
            deviation / self.scales.first,
            noise_second,
        )


def sum_exactly(
    records: Records, grid: GridFrame, region: Region, layout: Layout, engine: Engine | None
) -> NDArray[Any]:
    """One pass over the rows: the integer sums of every feature for every component."""
    sight = Sight.of(grid.frame, region, layout.pairs, layout.scales)
    return records.map_reduce(private_sums, sight, engine=engine)["sums"]


def gather(sums: NDArray[Any], grid: GridFrame, layout: Layout, per_person: float, label: str) -> Statistic:
    """Carry integer sums into local coordinates and onto one grid, with the bound for one person.

    Let v be a person's exact vector, |v| <= per_person * limit, and u the value of a unit. Rounding the total
    changes a difference by at most 1 a coordinate, so the bound is |v| / u + sqrt(m), or + m for L1.
    """
    counts, first, second = localise(sums, grid, layout.pairs)
    if layout.tied:
        second = second.sum(axis=0, keepdims=True)
    if layout.second_shape[1] == 1:
        second = second.sum(axis=1, keepdims=True)
    first_bits = 2 * BITS + _INVERSE_BITS
    second_bits = 3 * BITS + 2 * _INVERSE_BITS
    total = np.concatenate(
        [
            rescale(counts, np.full(counts.shape, layout.scales.count), BITS),
            rescale(first, np.full(first.shape, layout.scales.first), first_bits),
            rescale(second, np.broadcast_to(layout.second_weights, second.shape), second_bits),
        ]
    )
    units = per_person * layout.scales.limit * 2.0**_GRID_BITS
    size = len(total)
    if layout.scales.norm == "l2":
        l2 = (units + math.sqrt(size)) * (1 + 2.0**-40)
        l1 = l2 * math.sqrt(size)
    else:
        l1 = (units + size) * (1 + 2.0**-40)
        l2 = l1
    return Statistic(total, 2.0**-_GRID_BITS, l1, l2, label)


def localise(
    sums: NDArray[Any], grid: GridFrame, pairs: Pairs
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Exact sums of R, R z and R z z' (packed): integers of 2**-20, 2**-70 and 2**-120."""
    dimension, count = pairs.dimension, len(pairs.rows)
    means, inverses = grid.means, grid.inverses
    counts, first = sums[:, 0], sums[:, 1 : 1 + dimension]
    packed = sums[:, 1 + dimension : 1 + dimension + count] * 2**BITS + sums[:, 1 + dimension + count :]
    left, right = first[:, pairs.rows], first[:, pairs.columns]
    mean_left, mean_right = means[:, pairs.rows], means[:, pairs.columns]
    packed = packed - left * mean_right - mean_left * right + mean_left * mean_right * counts[:, None]
    centred = first - means * counts[:, None]
    if count == dimension:
        roots = np.array([np.diagonal(inverse) for inverse in inverses], dtype=object)
        return counts, roots * centred, roots * roots * packed
    local_first = np.array([a @ c for a, c in zip(inverses, centred, strict=True)], dtype=object)
    local_second = np.empty_like(packed)
    for k, inverse in enumerate(inverses):
        square = np.zeros((dimension, dimension), dtype=object)
        square[pairs.rows, pairs.columns] = packed[k]
        square[pairs.columns, pairs.rows] = packed[k]
        local_second[k] = (inverse @ square @ inverse.T)[pairs.rows, pairs.columns]
    return counts, local_first, local_second


def second_weights(pairs: Pairs, scale: float = 1.0) -> NDArray[np.float64]:
    """Multipliers that give packed entries the norm of their matrix: multiples of 2**-30, never too large."""
    return np.floor(scale * np.sqrt(pairs.twice) * 2.0**30) * 2.0**-30


def rescale(
    values: NDArray[Any], weights: NDArray[np.float64], bits: int, grid_bits: int = _GRID_BITS
) -> NDArray[Any]:
    """round(value * 2**-bits * weight / 2**-grid_bits), exactly; weights are multiples of 2**-30."""
    factors = _integers(weights * 2.0**30)
    shift = bits + 30 - grid_bits
    half = 1 << (shift - 1)
    scaled = [(int(v) * int(f) + half) >> shift for v, f in zip(values.ravel(), factors.ravel(), strict=True)]
    return np.array(scaled, dtype=object)


def _integers(values: NDArray[np.float64]) -> NDArray[Any]:
    whole = np.empty(values.shape, dtype=object)
    whole.ravel()[:] = [int(value) for value in values.ravel()]
    return whole
