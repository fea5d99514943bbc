"""The E-step over one chunk of rows: plain in floats, private in integers that add up exactly.

Both are two matrix products around one exponential: log(w_k N(x | k)) is linear in the features
[pairs of x, 1, x], and the sums that EM needs are the responsibilities times the same features.

**The private sums are exact.** In unit coordinates a row is rounded to the grid 2**-20, |x_i| <= 1. Its
responsibilities become integers R_k = floor(r_k w c 2**20) with the row's weight w <= 1 and its clipping
factor c <= 1. A product x_i x_j is split into a high half on the grid 2**-20 and a low half of at most 2**-21
on the grid 2**-40. Every term of the second matrix product is then an integer number of some 2**-g, at most
2**40 of them; a block has at most 2**13 rows, so every partial sum is such an integer of at most 2**53 and
float64 holds it exactly, in whatever order BLAS adds.

**A row's integers depend on that row alone.** The first product is rounded, and BLAS rounds a column
otherwise when it stands in the ragged end of a matrix, or alone. So blocks always have the same width, and
the last one is filled up: then every column sees the same operations wherever it stands, which
`discreet.fit.steady` tries out before it relies on it. All else before floor is arithmetic element by
element, with two exceptions. Sums over components that are made for some columns only go component by
component (`add_rows`). And the test that says which rows are surely not clipped is so cautious that the
others get the same factor, bit for bit, where they are not clipped either. So totals are exactly sums over
rows of integers of each row, on machines of one kind: kinds of processors differ in the last bit of exp.

**The bound.** `Scales.cost` is the norm of a row's contribution as `fit.mixture.measure` releases it: it
depends on the responsibilities and on t_k = |z_k|^2, the squared length of the rounded row in component k's
local coordinates. The floats here compute t_k with a small error; ``slack`` (see `Sight.of`) bounds that
error and is added, so that t_k is never too small. Then
    c = min(1, limit / cost(r, t)) (1 - 2**-30).
Cost is homogeneous in r and increasing in t, and floor only shrinks, so the row contributes at most w limit;
the last factor covers the relative rounding errors of cost, c and R (each below 2**-40 for up to a thousand
components). Nothing is assumed of r but r_k >= 0 and sum r_k = 1: so exponents may be cut off where they are
too small to matter. The rows of one person have weights that sum to at most rows_per_person, so one person
contributes at most rows_per_person * limit: the triangle inequality.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.fit.mixture.scales import add_rows
from discreet.fit.steady import multiply
from discreet.models.moments import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.domain import Region
    from discreet.fit.mixture.scales import Scales
    from discreet.models.moments import Frame
    from discreet.records import Chunk

__all__ = ["BITS", "Sight", "plain_sums", "private_sums"]

BITS = 20
"""A row lies on the grid 2**-BITS of its region; a responsibility is a number of 2**-BITS."""

_ROUND = 1.5 * 2.0 ** (52 - BITS)  # adding and subtracting it rounds to the grid 2**-BITS
_SAFETY = 1 - 2.0**-30
_MOST_ROWS = 8192  # 2**13: the proof above allows no more
_FEWEST_ROWS = 16
_LINE = 8  # numbers in a cache line
_BUFFER_BYTES = 2**24
_LOWEST_LEVEL = -(2.0**16)  # instead of the logarithm of a weight of zero
_LOWEST = -700.0  # exp of less is no normal number, and takes ten times as long
_NOTHING = 2.0**-300  # densities below might lose their squares, or feel that exponents are cut off


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

        The error of t_k = -2 (form_k - level_k): form_k is a sum of 1 + d + pairs products whose coefficients
        are themselves sums of d products; together with the level they are at most
        |A|^2 (|x| + |m|)^2 + 2 |level| in size, with |A| the Frobenius norm of the frame's inverse. Rounding
        is relative 2**-53 an operation; more than twice the count of operations is allowed.
        """
        slopes, constants = frame.natural(pairs)
        dimension = frame.means.shape[1]
        operations = 2 * (1 + dimension + 2 * len(pairs.rows)) + 8 * dimension + 32
        size = np.sum(frame.inverses**2, axis=(1, 2))
        reach = np.sqrt(dimension) + np.linalg.norm(frame.means, axis=1)
        slack = operations * 2.0**-52 * (size * reach**2 + 2 * np.abs(_levels(constants)))
        return Sight(region, pairs, slopes, constants, slack, scales)

    @cached_property
    def levels(self) -> NDArray[np.float64]:
        """The constants, less the largest of them: so no exponent is far above 0."""
        return _levels(self.constants)

    @cached_property
    def coefficients(self) -> NDArray[np.float64]:
        """The slopes in the order of the features here, [pairs, 1, x], with the levels added."""
        coefficients = np.roll(self.slopes, len(self.pairs.rows), axis=1)
        coefficients[:, len(self.pairs.rows)] += self.levels
        return coefficients

    @cached_property
    def block(self) -> int:
        """Rows to handle at a time, so that buffers stay small whatever the number of features."""
        features = 1 + self.pairs.dimension + 3 * len(self.pairs.rows)
        rows = _BUFFER_BYTES // (8 * (features + 2 * len(self.constants)))
        return 2 ** (min(_MOST_ROWS, max(_FEWEST_ROWS, rows)).bit_length() - 1)


class _Shares(NamedTuple):
    """For a block of rows: the exponents of all components, how dense each is, the sum of that over the
    components, and what was taken off the exponents before.
    """

    forms: NDArray[np.float64]
    dense: NDArray[np.float64]
    total: NDArray[np.float64]
    shift: NDArray[np.float64]


class _Buffers(threading.local):
    """Work space that a thread keeps between chunks: fresh pages cost as much as the arithmetic."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[np.float64]] = {}

    def take(self, name: str, rows: int, columns: int) -> NDArray[np.float64]:
        held = self._held.get(name)
        if held is None or held.shape != (rows, columns):
            room = np.empty(rows * columns + _LINE)
            start = -(room.ctypes.data // 8) % _LINE  # in every thread at the same place of a cache line
            held = self._held[name] = room[start : start + rows * columns].reshape(rows, columns)
        return held


_buffers = _Buffers()


def plain_sums(chunk: Chunk, sight: Sight) -> dict[str, NDArray[Any]]:
    """Sums of r, r x and r x_i x_j in floats, and the log-likelihood. Not private in any way."""
    count, top = len(sight.pairs.rows), float(sight.constants.max())
    sums = np.zeros(sight.slopes.shape)
    likelihood = 0.0
    for values, weight in _blocks(chunk, sight.block):
        features = _buffers.take("features", sight.slopes.shape[1], sight.block)
        _see(values, sight.region, features)
        _multiply_pairs(features[count + 1 :], sight.pairs, features[:count])
        _, dense, total, shift = _share(features, sight, keep=False)
        evidence = np.log(total)
        evidence += shift
        likelihood += float(evidence @ weight + top * weight.sum())
        dense *= np.divide(weight, total, out=total)
        sums += dense @ features.T
    ordered = np.concatenate([sums[:, count:], sums[:, :count]], axis=1)
    return {"sums": ordered, "likelihood": np.array(likelihood)}


def private_sums(chunk: Chunk, sight: Sight) -> dict[str, NDArray[Any]]:
    """Exact integer sums of R, R x, R high(x_i x_j) and R low(x_i x_j); see the proof above."""
    pairs, scales = sight.pairs, sight.scales
    dimension, count = pairs.dimension, len(pairs.rows)
    one, high, low = count, count + 1 + dimension, 2 * count + 1 + dimension
    units = np.concatenate([[1.0], np.full(dimension + count, 2.0**BITS), np.full(count, 2.0 ** (2 * BITS))])
    sums = np.zeros((len(sight.constants), len(units)), dtype=np.int64)
    for values, weight in _blocks(chunk, sight.block):
        features = _buffers.take("halves", low + count, sight.block)
        _see(values, sight.region, features[:high])
        points, products = features[one + 1 : high], features[:count]
        _round(points, points)
        _multiply_pairs(points, pairs, products)
        _halve(products, features[high:low], features[low:])
        shares = _share(features[:high], sight, keep=True)
        factor = 1 / shares.total if scales is None else _clip(shares, sight, scales)
        factor *= _SAFETY * 2.0**BITS
        factor *= weight
        whole = np.multiply(shares.dense, factor, out=shares.dense)
        np.floor(whole, out=whole)
        exact = whole @ features[one:].T
        exact *= units
        sums += exact.astype(np.int64)
    return {"sums": sums}


def _blocks(chunk: Chunk, block: int) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The rows in blocks of equal width, and what each row weighs; what fills up the last weighs nothing."""
    dimension, rows = chunk.values.shape
    weight = _buffers.take("weight", 1, block)[0]
    for start in range(0, rows, block):
        stop = min(start + block, rows)
        size, values = stop - start, chunk.values[:, start:stop]
        weight[:size] = 1 if chunk.weights is None else chunk.weights[start:stop]
        if size < block:
            weight[size:] = 0
            values = _buffers.take("filled", dimension, block)
            values[:, :size] = chunk.values[:, start:stop]
            values[:, size:] = 0
        yield values, weight


def _see(values: NDArray[np.float64], region: Region, features: NDArray[np.float64]) -> None:
    """Write 1 and the rows in unit coordinates into the last lines."""
    features[-1 - len(values)] = 1
    region.to_unit(values, features[-len(values) :])


def _round(values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    np.add(values, _ROUND, out=out)
    out -= _ROUND


def _halve(values: NDArray[np.float64], high: NDArray[np.float64], low: NDArray[np.float64]) -> None:
    """values = high + low, exactly; a few rows of the matrix at a time, which stay in the cache."""
    for start in range(0, len(values), 8):
        lines = slice(start, start + 8)
        _round(values[lines], high[lines])
        np.subtract(values[lines], high[lines], out=low[lines])


def _multiply_pairs(points: NDArray[np.float64], pairs: Pairs, out: NDArray[np.float64]) -> None:
    if len(pairs.rows) == pairs.dimension:
        np.multiply(points, points, out=out)
        return
    start = 0
    for row in range(pairs.dimension):
        stop = start + pairs.dimension - row
        np.multiply(points[row], points[row:], out=out[start:stop])
        start = stop


def _share(features: NDArray[np.float64], sight: Sight, *, keep: bool) -> _Shares:
    """Exponentials of all forms; where all are next to nothing, the row's largest form is taken off first."""
    shape = (len(sight.constants), features.shape[1])
    forms = multiply(sight.coefficients, features, _buffers.take("forms", *shape))
    shares = _buffers.take("shares", *shape) if keep else forms
    np.exp(np.maximum(forms, _lowest(shape[1]), out=shares), out=shares)
    total = shares.sum(axis=0)
    shift = np.zeros(shape[1])
    if total.min() < _NOTHING:
        alone = np.flatnonzero(total < _NOTHING)
        if not keep:
            forms = multiply(sight.coefficients, features, _buffers.take("again", *shape))
        own = forms.take(alone, axis=1)
        shift[alone] = own.max(axis=0)
        own -= shift[alone]
        np.exp(np.maximum(own, _LOWEST, out=own), out=own)
        shares[:, alone] = own
        total[alone] = add_rows(own)
    return _Shares(forms, shares, total, shift)


def _clip(shares: _Shares, sight: Sight, scales: Scales) -> NDArray[np.float64]:
    """min(1, limit / cost) / total. Only where the mean of t is not small must the cost be known.

    The mean of t is computed here from the same floats as t below, so it is off by less than 2**-30, and
    `Scales.near` leaves room for 2**-20: a row passed over would have got the factor 1 / total there too.
    """
    forms, dense, total, _ = shares
    factor = 1 / total
    lengths = (sight.slack + 2 * sight.levels) @ dense
    lengths -= 2 * np.einsum("kn,kn->n", forms, dense)
    far = np.flatnonzero(lengths > scales.near * total)
    if len(far):
        each = forms.take(far, axis=1)
        each -= sight.levels[:, None]
        each *= -2
        each += sight.slack[:, None]
        np.maximum(each, 0.0, out=each)
        factor[far] = scales.clip(dense.take(far, axis=1), total[far], each)
    return factor


def _lowest(columns: int) -> NDArray[np.float64]:
    line = _buffers.take("lowest", 1, columns)  # a line is compared faster than a number
    line[:] = _LOWEST
    return line[0]


def _levels(constants: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(constants - constants.max(), _LOWEST_LEVEL)
