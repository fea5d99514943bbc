"""The integer points in the span of some integer vectors, and coordinates for them.

Differences of public answers often lie on a line or in a plane. Noise on them must stay there exactly: a
tolerance would be a guess, and a point a little off the line would betray the state that it came from. So
everything here is integers: Euclid's algorithm on rows finds a unimodular U (an integer matrix whose inverse
is integer) with
    U g = (h, 0)   for all given vectors g, h of r numbers.
Then an integer point z lies in the span if and only if the last d - r numbers of U z are 0, the first r are
its coordinates, and every r integers are the coordinates of exactly one integer point of the span: multiply
by the first r columns of the inverse of U.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Span", "span_of"]

Rows = list[list[int]]


@dataclass(frozen=True, eq=False)
class Span:
    """The integer points of a subspace: ``basis`` (d, r), ``coordinates`` (r, d), ``equations`` (d - r, d)."""

    basis: NDArray[np.int64]
    coordinates: NDArray[np.int64]
    equations: NDArray[np.int64]

    @property
    def dimension(self) -> int:
        """Numbers a point has."""
        return self.basis.shape[0]

    @property
    def rank(self) -> int:
        """Numbers a point of the span needs."""
        return self.basis.shape[1]

    @property
    def whole(self) -> bool:
        """Whether the span is all of space, so that points are their own coordinates."""
        return self.rank == self.dimension

    def reduce(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Coordinates of points of the span, one row a point."""
        return points if self.whole else points @ self.coordinates.T

    def expand(self, coordinates: NDArray[np.int64]) -> NDArray[np.int64]:
        """The points that have these coordinates."""
        return coordinates if self.whole else coordinates @ self.basis.T


def span_of(vectors: NDArray[np.int64]) -> Span:
    """The span of integer vectors, one a row; exact."""
    size = vectors.shape[1]
    rows, columns = _identity(size), _identity(size)
    rank = 0
    while rank < size:
        rest = vectors @ np.array(rows[rank:], dtype=np.int64).T
        outside = np.flatnonzero(rest.any(axis=1))
        if outside.size == 0:
            break
        _clear(rows, columns, vectors[outside[0]].tolist(), rank)
        rank += 1
    if rank == size:
        rows, columns = _identity(size), _identity(size)
    _shorten(rows, columns, rank)
    forward = np.array(rows, dtype=np.int64).reshape(size, size)
    backward = np.array(columns, dtype=np.int64).reshape(size, size).T
    return Span(backward[:, :rank].copy(), forward[:rank], forward[rank:])


def _identity(size: int) -> Rows:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def _clear(rows: Rows, columns: Rows, vector: Sequence[int], first: int) -> None:
    """Euclid's algorithm: after it, U times the vector is 0 below row ``first``.

    ``columns`` holds the columns of the inverse: adding q times row j to row i of U takes q times column i
    from column j of its inverse.
    """
    image = [_dot(row, vector) for row in rows]
    for i in range(first + 1, len(rows)):
        while image[i]:
            quotient = image[first] // image[i]
            _add(rows[first], rows[i], -quotient)
            _add(columns[i], columns[first], quotient)
            image[first] -= quotient * image[i]
            for table in (rows, columns, image):
                table[first], table[i] = table[i], table[first]  # type: ignore[index]


def _shorten(rows: Rows, columns: Rows, rank: int) -> None:
    """Make the basis nearly orthogonal, pair by pair, so that coordinates stay small."""
    changed = rank > 1 and rank < len(rows)
    while changed:
        changed = False
        for i in range(rank):
            for j in range(rank):
                length = _dot(columns[j], columns[j])
                quotient = (2 * _dot(columns[i], columns[j]) + length) // (2 * length) if i != j else 0
                shorter = [a - quotient * b for a, b in zip(columns[i], columns[j], strict=True)]
                if quotient and _dot(shorter, shorter) < _dot(columns[i], columns[i]):
                    columns[i] = shorter
                    _add(rows[j], rows[i], quotient)
                    changed = True


def _add(row: list[int], other: Sequence[int], factor: int) -> None:
    for index, value in enumerate(other):
        row[index] += factor * value


def _dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))
