"""Where numbers lie in polynomials, so that one product of polynomials is a piece of a larger job.

`Matrix`: X (rows x inner, encrypted) times W (inner x columns, plain). A piece of m rows, k inner and n
columns, m k n <= N, is the product of
    x(z) = sum X[i, c] z^(i k n + c)      and      w(z) = sum W[c, j] z^(j k + k - 1 - c),
whose coefficient i k n + j k + k - 1 is sum_c X[i, c] W[c, j]: exponents i k n + j k + k - 1 + (c - c')
with |c - c'| < k meet that one only for c = c'. The highest is m k n + k - 2, so what wraps around modulo
z^N + 1 falls on exponents below k - 1, which are not read. (Huang, Lu, Hong, Ding, "Cheetah", 2022; Hao et
al., "Iron".)

`Correlation`: a short query against every window of a long series, sum_c query[c] series[r + c].
A piece of N values of the series, each beginning N - length + 1 after the last, is multiplied by
sum query[c] z^(length - 1 - c); coefficients length - 1 ... N - 1 are windows, the others wrap around.

Both pad with zeros; what padding yields is a share of zero, and is cut off by `read`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Correlation", "Matrix"]

# What a piece costs, in milliseconds, measured at N = 8192: make and send an input, an answer, one product.
_INPUT, _ANSWER, _PRODUCT = 1.9, 3.0, 0.06


@dataclass(frozen=True)
class Matrix:
    """A product of matrices, (rows x inner) encrypted by (inner x columns) plain, cut into pieces."""

    rows: int
    inner: int
    columns: int
    degree: int = 8192

    def __post_init__(self) -> None:
        if min(self.rows, self.inner, self.columns) < 1:
            raise ParameterError(
                "a product of matrices has sides", got=(self.rows, self.inner, self.columns), wanted=">= 1"
            )

    @cached_property
    def piece(self) -> tuple[int, int, int]:
        """Rows, inner and columns of a piece: the cheapest that fit."""
        return min(self._pieces(), key=self._price)

    def _pieces(self) -> Iterator[tuple[int, int, int]]:
        for rows in _shares(self.rows, self.degree):
            for inner in _shares(self.inner, self.degree // rows):
                room = self.degree // (rows * inner)
                yield rows, inner, -(-self.columns // -(-self.columns // room))

    def _price(self, piece: tuple[int, int, int]) -> float:
        a, b, d = self._counts(piece)
        return _INPUT * a * b + _ANSWER * a * d + _PRODUCT * a * b * d

    def _counts(self, piece: tuple[int, int, int]) -> tuple[int, int, int]:
        sides = (self.rows, self.inner, self.columns)
        rows, inner, columns = (-(-side // part) for side, part in zip(sides, piece, strict=True))
        return rows, inner, columns

    @property
    def counts(self) -> tuple[int, int, int]:
        """Pieces along rows, inner and columns: inputs are rows x inner, answers rows x columns."""
        return self._counts(self.piece)

    @property
    def opened(self) -> int:
        """Coefficients that are opened, with padding."""
        a, _, d = self.counts
        return a * d * self.positions.size

    def weight(self, largest: int) -> int:
        """The largest sum of |weights| that meet in an answer, for weights up to ``largest``."""
        return self.inner * self.piece[2] * largest

    @property
    def together(self) -> int:
        """Columns whose weights meet in an answer."""
        return self.piece[2]

    @cached_property
    def positions(self) -> NDArray[np.intp]:
        """The coefficients that are read."""
        m, k, n = self.piece
        return (np.arange(m)[:, None] * (k * n) + np.arange(n) * k + k - 1).ravel()

    def left(self, matrix: NDArray[np.int64]) -> NDArray[np.int64]:
        """Polynomials (row pieces, inner pieces, N) of the encrypted matrix."""
        (m, k, n), (a, b, _) = self.piece, self.counts
        padded = np.zeros((a * m, b * k), dtype=np.int64)
        padded[: self.rows, : self.inner] = _shaped(matrix, (self.rows, self.inner))
        spread = np.zeros((a, b, m, n, k), dtype=np.int64)
        spread[:, :, :, 0] = padded.reshape(a, m, b, k).transpose(0, 2, 1, 3)
        return _filled(spread.reshape(a, b, m * n * k), self.degree)

    def right(self, matrix: NDArray[np.int64]) -> NDArray[np.int64]:
        """Polynomials (inner pieces, column pieces, N) of the plain matrix."""
        (_, k, n), (_, b, d) = self.piece, self.counts
        padded = np.zeros((b * k, d * n), dtype=np.int64)
        padded[: self.inner, : self.columns] = _shaped(matrix, (self.inner, self.columns))
        turned = padded.reshape(b, k, d, n)[:, ::-1].transpose(0, 2, 3, 1)
        return _filled(turned.reshape(b, d, n * k), self.degree)

    def read(self, opened: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The product (rows x columns) from opened coefficients (row pieces, column pieces, positions)."""
        (m, _, n), (a, _, d) = self.piece, self.counts
        whole = opened.reshape(a, d, m, n).transpose(0, 2, 1, 3).reshape(a * m, d * n)
        return whole[: self.rows, : self.columns]


@dataclass(frozen=True)
class Correlation:
    """Every window of a plain series against an encrypted query."""

    query: int
    series: int
    degree: int = 8192

    def __post_init__(self) -> None:
        if not 1 <= self.query <= min(self.series, self.degree // 2):
            wanted = f"1 to {min(self.series, self.degree // 2)} values"
            raise ParameterError("the query does not fit", got=self.query, wanted=wanted)

    @property
    def windows(self) -> int:
        """How many windows there are."""
        return self.series - self.query + 1

    @property
    def counts(self) -> tuple[int, int, int]:
        """Pieces along rows, inner and columns, as in `Matrix`."""
        return 1, 1, -(-self.windows // self.positions.size)

    @property
    def opened(self) -> int:
        """Coefficients that are opened, with padding."""
        return self.counts[2] * self.positions.size

    def weight(self, largest: int) -> int:
        """The largest sum of |values| that meet in an answer."""
        return self.degree * largest

    @property
    def together(self) -> int:
        """Windows whose values meet in an answer: as many as begin in a piece, at most."""
        return self.degree

    @property
    def positions(self) -> NDArray[np.intp]:
        """The coefficients that are read."""
        return np.arange(self.query - 1, self.degree)

    def left(self, query: NDArray[np.int64]) -> NDArray[np.int64]:
        """The polynomial (1, 1, N) of the query."""
        turned = _shaped(query, (self.query,))[::-1]
        return _filled(turned[None, None], self.degree)

    def right(self, series: NDArray[np.int64]) -> NDArray[np.int64]:
        """Polynomials (1, pieces, N) of the series, overlapping."""
        pieces, step = self.counts[2], self.positions.size
        padded = np.zeros(step * (pieces - 1) + self.degree, dtype=np.int64)
        padded[: self.series] = _shaped(series, (self.series,))
        return padded[np.arange(pieces)[:, None] * step + np.arange(self.degree)][None]

    def read(self, opened: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """One number a window."""
        return opened.ravel()[: self.windows]


def _shares(whole: int, most: int) -> list[int]:
    """Sizes of equal parts, for every number of parts that differs; none larger than ``most``."""
    root = math.isqrt(whole)
    counts = {*range(1, root + 2), *(-(-whole // size) for size in range(1, root + 2))}
    sizes = {-(-whole // count) for count in counts if count <= whole}
    return sorted(size for size in sizes if size <= most) or [most]


def _shaped(values: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    if values.shape != shape:
        raise ParameterError("an array has another shape than agreed", got=values.shape, wanted=str(shape))
    return values


def _filled(values: NDArray[np.int64], degree: int) -> NDArray[np.int64]:
    """Zeros up to the degree."""
    whole = np.zeros((*values.shape[:-1], degree), dtype=np.int64)
    whole[..., : values.shape[-1]] = values
    return whole
