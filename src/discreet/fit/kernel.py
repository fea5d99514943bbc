"""The E-step over one chunk of rows: plain in floats, private in integers that add up exactly.

Both are two matrix products around one exponential: log(w_k N(x | k)) is linear in the features
[1, x, pairs of x], and the sums that EM needs are the responsibilities times the same features.

**The private sums are exact.** In unit coordinates a row is rounded to the grid 2**-20, |x_i| <= 1. Its
responsibilities become integers R_k = floor(r_k w c 2**20) with the row's weight w <= 1 and its clipping
factor c <= 1. A product x_i x_j is split into a high half on the grid 2**-20 and a low half of at most 2**-21
on the grid 2**-40. Every term of the second matrix product is then an integer number of some 2**-g, at most
2**40 of them; a chunk has at most 2**13 rows, so every partial sum is such an integer of at most 2**53 and
float64 holds it exactly, in whatever order BLAS adds. Totals are exactly sums over rows of integers that
depend on that row alone.

**The bound.** `Scales.cost` is the norm of a row's contribution as `fit.measure` releases it: it depends on
the responsibilities and on t_k = |z_k|^2, the squared length of the rounded row in component k's local
coordinates. The floats here compute t_k with a small error; ``slack`` (see `Sight.of`) bounds that error and
is added, so that t_k is never too small. Then
    c = min(1, limit / cost(r, t)) (1 - 2**-30).
Cost is homogeneous in r and increasing in t, and floor only shrinks, so the row contributes at most w limit;
the last factor covers the relative rounding errors of cost, c and R (each below 2**-40 for up to a thousand
components). The rows of one person have weights that sum to at most rows_per_person, so one person
contributes at most rows_per_person * limit: the triangle inequality.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.moments import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.domain import Region
    from discreet.fit.scales import Scales
    from discreet.models.moments import Frame
    from discreet.records import Chunk

__all__ = ["BITS", "Sight", "plain_sums", "private_sums"]

BITS = 20
"""A row lies on the grid 2**-BITS of its region; a responsibility is a number of 2**-BITS."""

_ROUND = 1.5 * 2.0 ** (52 - BITS)  # adding and subtracting it rounds to the grid 2**-BITS
_SAFETY = 1 - 2.0**-30
_MOST_ROWS = 8192  # 2**13: the proof above allows no more
_BUFFER_BYTES = 2**25


@dataclass(frozen=True)
class Sight:
    """What a map function must know to look at rows: the region, and the mixture in natural parameters."""

    region: Region
    pairs: Pairs
    slopes: NDArray[np.float64]
    constants: NDArray[np.float64]
    slack: NDArray[np.float64]
    scales: Scales | None

    @staticmethod
    def of(frame: Frame, region: Region, pairs: Pairs, scales: Scales | None = None) -> Sight:
        """See rows of this region through this frame.

        The error of t_k: it is a sum of 1 + d + 2 pairs products whose coefficients are themselves sums of d
        products, all together at most |A|^2 (|x| + |m|)^2 in size, with |A| the Frobenius norm of the frame's
        inverse. Rounding is relative 2**-53 an operation; twice the count of operations is allowed.
        """
        slopes, constants = frame.natural(pairs)
        dimension = frame.means.shape[1]
        operations = 2 * (1 + dimension + 2 * len(pairs.rows)) + 8 * dimension + 32
        size = np.sum(frame.inverses**2, axis=(1, 2))
        reach = np.sqrt(dimension) + np.linalg.norm(frame.means, axis=1)
        slack = operations * 2.0**-52 * size * reach**2
        return Sight(region, pairs, slopes, constants, slack, scales)

    @property
    def block(self) -> int:
        """Rows to handle at a time, so that buffers stay small whatever the number of features."""
        features = 1 + self.pairs.dimension + 2 * len(self.pairs.rows)
        rows = _BUFFER_BYTES // (8 * (features + 3 * len(self.constants)))
        return int(min(_MOST_ROWS, max(64, rows)))


class _Buffers(threading.local):
    """Work space that a thread keeps between chunks: fresh pages cost as much as the arithmetic."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[np.float64]] = {}

    def take(self, name: str, rows: int, columns: int) -> NDArray[np.float64]:
        held = self._held.get(name)
        if held is None or held.shape[0] != rows or held.shape[1] < columns:
            held = self._held[name] = np.empty((rows, columns))
        return held[:, :columns] if held.shape[1] != columns else held


_buffers = _Buffers()


def plain_sums(chunk: Chunk, sight: Sight) -> dict[str, NDArray[Any]]:
    """Sums of r, r x and r x_i x_j in floats, and the log-likelihood. Not private in any way."""
    slopes, pairs = sight.slopes, sight.pairs
    dimension, components = pairs.dimension, len(sight.constants)
    sums = np.zeros((components, slopes.shape[1]))
    likelihood = 0.0
    for values, weights in _blocks(chunk, sight.block):
        rows = values.shape[1]
        features = _buffers.take("features", slopes.shape[1], rows)
        features[0] = 1
        sight.region.to_unit(values, features[1 : 1 + dimension])
        _multiply_pairs(features[1 : 1 + dimension], pairs, features[1 + dimension :])
        shares = np.matmul(slopes, features, out=_buffers.take("shares", components, rows))
        shares += sight.constants[:, None]
        top, total = _exponentiate(shares)
        evidence = top + np.log(total)
        scale = 1 / total if weights is None else weights / total
        likelihood += float(evidence.sum() if weights is None else evidence @ weights)
        shares *= scale
        sums += shares @ features.T
    return {"sums": sums, "likelihood": np.array(likelihood)}


def private_sums(chunk: Chunk, sight: Sight) -> dict[str, NDArray[Any]]:
    """Exact integer sums of R, R x, R high(x_i x_j) and R low(x_i x_j); see the proof above."""
    pairs, scales = sight.pairs, sight.scales
    dimension, count = pairs.dimension, len(pairs.rows)
    components = len(sight.constants)
    high, low = 1 + dimension, 1 + dimension + count
    slopes = np.concatenate([sight.slopes, sight.slopes[:, high:]], axis=1)
    units = np.concatenate([[1.0], np.full(dimension + count, 2.0**BITS), np.full(count, 2.0 ** (2 * BITS))])
    sums = np.zeros((components, low + count), dtype=np.int64)
    for values, weights in _blocks(chunk, sight.block):
        rows = values.shape[1]
        features = _buffers.take("features", low + count, rows)
        features[0] = 1
        points = features[1:high]
        sight.region.to_unit(values, points)
        _round(points, points)
        _multiply_pairs(points, pairs, features[low:])
        _round(features[low:], features[high:low])
        features[low:] -= features[high:low]
        shares = np.matmul(slopes, features, out=_buffers.take("shares", components, rows))
        lengths = np.multiply(shares, -2.0, out=_buffers.take("lengths", components, rows))
        lengths += sight.slack[:, None]
        np.maximum(lengths, 0.0, out=lengths)
        shares += sight.constants[:, None]
        _, total = _exponentiate(shares)
        factor = 1 / total if scales is None else scales.clip(shares, total, lengths)
        factor *= _SAFETY * 2.0**BITS
        if weights is not None:
            factor *= weights
        shares *= factor
        np.floor(shares, out=shares)
        exact = shares @ features.T
        sums += (exact * units).astype(np.int64)
    return {"sums": sums}


def _blocks(chunk: Chunk, block: int) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64] | None]]:
    rows = chunk.values.shape[1]
    if rows <= block:
        yield chunk.values, chunk.weights
        return
    for start in range(0, rows, block):
        stop = min(start + block, rows)
        yield chunk.values[:, start:stop], None if chunk.weights is None else chunk.weights[start:stop]


def _round(values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    np.add(values, _ROUND, out=out)
    out -= _ROUND


def _multiply_pairs(points: NDArray[np.float64], pairs: Pairs, out: NDArray[np.float64]) -> None:
    if len(pairs.rows) == pairs.dimension:
        np.multiply(points, points, out=out)
        return
    start = 0
    for row in range(pairs.dimension):
        stop = start + pairs.dimension - row
        np.multiply(points[row], points[row:], out=out[start:stop])
        start = stop


def _exponentiate(shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Turn log densities into densities relative to the largest, in place; that largest, and their sum."""
    top = shares.max(axis=0)
    shares -= top
    np.exp(shares, out=shares)
    return top, shares.sum(axis=0)
