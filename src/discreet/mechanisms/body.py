"""A symmetric convex body with integer corners: the set of moves that noise must hide.

The body is the convex hull of some integer vectors and their negatives. It is kept in three exact forms:
corners (for more hulls), halves of its facets as simplices (for volume and moments), and inequalities
    |a_k . x| <= b_k,   integers a_k and b_k > 0, one a pair of opposite facets,
whose b_k is the largest value that any of the given vectors reaches. So the inequalities hold for every
given vector exactly, whatever the library that proposed the facets in three or more dimensions rounded: if
it erred, the body would be a little larger, and privacy would not suffer.

Vectors on a line or in a plane make a flat body; everything then happens in the integer coordinates of their
span (`discreet.mechanisms.span`). No vector, or zeros only, make a body of rank 0, which hides nothing: no
noise can be drawn from it.

**Growth.** Adding v and -v outside the body adds, on each side, the pyramids from v over the facets that v
sees. No facet is seen from v and -v: a.v > b and -a.v > b exclude each other; nor does -v see a new facet
through v, whose outward normal n has n.v > 0. So the added volume is exactly
    2 * sum over facets of max(0, a.v - b) / r!   with a.v - b = r! times the pyramid,
which is what `growth` sums for many v at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, TooLargeError
from discreet.mechanisms.span import Span, span_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LONGEST", "Body", "body_of", "diamond"]

LONGEST = {1: 2**40, 2: 2**19, 3: 2**13, 4: 2**9}
"""The largest coordinate of a vector in so many dimensions, so that 64-bit integers hold every product."""

_SHORTEST_LIMIT = 2**8
_MOST_DIMENSIONS = 6
_MANY = 64


@dataclass(frozen=True, eq=False)
class Body:
    """A symmetric convex body. All arrays but ``corners`` are in the coordinates of the span.

    ``corners`` (n, d) are points whose hull it is; ``simplices`` (k, r, r) are one of each pair of opposite
    facets, cut into simplices, a corner a row; ``normals`` (f, r) and ``offsets`` (f,) are the inequalities.
    """

    span: Span
    corners: NDArray[np.int64]
    simplices: NDArray[np.int64]
    normals: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @property
    def rank(self) -> int:
        """How many dimensions it has."""
        return self.span.rank

    @property
    def dimension(self) -> int:
        """How many dimensions the space has."""
        return self.span.dimension

    @cached_property
    def key(self) -> bytes:
        """The same for the same body."""
        return np.concatenate([self.normals, self.offsets[:, None]], axis=1).tobytes() + bytes([self.rank])

    @cached_property
    def pyramids(self) -> NDArray[np.int64]:
        """r! times the volume of the cone from the origin over each simplex: an integer."""
        return np.array([abs(_determinant(simplex)) for simplex in self.simplices.tolist()], dtype=np.int64)

    @cached_property
    def volume(self) -> float:
        """Its volume within its span, in cells of the span's lattice; 0 if it is a point."""
        return 2 * float(self.pyramids.sum()) / math.factorial(self.rank) if self.rank else 0.0

    @property
    def area(self) -> float:
        """Its volume in space: 0 if it is flat."""
        return self.volume if self.span.whole else 0.0

    @cached_property
    def moment(self) -> NDArray[np.float64]:
        """The mean of x x' for a point x uniform in the body, in space.

        Over the simplex with corners 0, v_1 ... v_r it is (sum v_i v_i' + (sum v_i)(sum v_i)') / ((r+1)(r+2)).
        """
        if not self.rank:
            return np.zeros((self.dimension, self.dimension))
        corners = self.simplices.astype(np.float64)
        sums = corners.sum(axis=1)
        each = np.einsum("kij,kil->kjl", corners, corners) + np.einsum("kj,kl->kjl", sums, sums)
        mean = np.einsum("k,kjl->jl", self.pyramids / self.pyramids.sum(), each)
        basis = self.span.basis.astype(np.float64)
        return basis @ mean @ basis.T / ((self.rank + 1) * (self.rank + 2))

    def project(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values a_k . x of points, one column a point; exact below 2**53."""
        return self.normals.astype(np.float64) @ self.span.reduce(points).T.astype(np.float64)

    def gauge(self, moves: NDArray[np.int64]) -> NDArray[np.float64]:
        """The smallest r for which r times the body contains each move; infinite off the span."""
        result = np.zeros(len(moves))
        if self.rank:
            result = (np.abs(self.project(moves)) / self.offsets[:, None]).max(axis=0)
        outside = (moves @ self.span.equations.T).any(axis=1)
        result[outside] = np.inf
        return result

    def contains(self, moves: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the body contains each move; exact."""
        inside = ~(moves @ self.span.equations.T).any(axis=1)
        if self.rank:
            inside &= (np.abs(self.project(moves)) <= self.offsets[:, None]).all(axis=0)
        return np.asarray(inside)

    def growth(self, moves: NDArray[np.int64]) -> NDArray[np.float64]:
        """How much volume adding each move, and its negative, would add to a body of full rank."""
        outer = np.zeros(len(moves))
        points = moves.astype(np.float64).T
        normals = np.array([_cross(simplex) for simplex in self.simplices.tolist()], dtype=np.float64)
        for normal, pyramid in zip(normals, self.pyramids, strict=True):
            outer += np.maximum(np.abs(normal @ points) - pyramid, 0.0)
        return 2 * outer / math.factorial(self.rank)

    def joined(self, moves: NDArray[np.int64]) -> Body:
        """The hull of the body and more moves, and of their negatives."""
        return body_of(np.concatenate([self.corners, moves]))


def body_of(vectors: NDArray[np.int64]) -> Body:
    """The convex hull of integer vectors, one a row, and their negatives."""
    dimension = vectors.shape[1]
    if not 1 <= dimension <= _MOST_DIMENSIONS:
        raise ParameterError(
            "a query has too many dimensions", got=dimension, wanted=f"1 to {_MOST_DIMENSIONS}"
        )
    limit = LONGEST.get(dimension, _SHORTEST_LIMIT)
    if vectors.size and np.abs(vectors).max() > limit:
        raise TooLargeError(
            "the answers of a query lie too far apart for their lattice",
            wanted=f"differences of at most {limit} steps",
            remedy="Use a coarser step for the query.",
        )
    vectors = _distinct(vectors)
    span = span_of(vectors)
    points = span.reduce(vectors)
    make = {0: _point, 1: _interval, 2: _polygon}.get(span.rank, _polytope)
    simplices = make(points)
    normals, offsets = _inequalities(simplices, points)
    corners = np.unique(simplices.reshape(-1, span.rank), axis=0) if span.rank else points[:0]
    return Body(span, span.expand(corners), simplices, normals, offsets)


def diamond(vectors: NDArray[np.int64]) -> Body:
    """The smallest l1 ball around the vectors: K-norm noise on it is independent Laplace noise.

    It holds the convex hull of the vectors, so it hides them too, with more noise unless d = 1.
    """
    reach = int(np.abs(vectors).sum(axis=1).max()) if len(vectors) else 0
    return body_of(reach * np.eye(vectors.shape[1], dtype=np.int64))


def _distinct(vectors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each vector once, without zero, and of v and -v only one."""
    vectors = vectors[vectors.any(axis=1)]
    first = np.argmax(vectors != 0, axis=1)
    sign = np.sign(vectors[np.arange(len(vectors)), first]) if len(vectors) else np.ones(0, dtype=np.int64)
    return np.unique(vectors * sign[:, None], axis=0)


def _point(points: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.zeros((0, 0, 0), dtype=np.int64)


def _interval(points: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.abs(points).max(axis=0).reshape(1, 1, 1)


def _polygon(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Andrew's monotone chain on exact integers; the lower chain is one half, the upper its mirror image."""
    both = _extreme(np.concatenate([points, -points]))
    chain: list[tuple[int, int]] = []
    for x, y in sorted(map(tuple, both.tolist())):
        while len(chain) > 1 and _turn(chain[-2], chain[-1], (x, y)) <= 0:
            chain.pop()
        chain.append((x, y))
    return np.array([[chain[k], chain[k + 1]] for k in range(len(chain) - 1)], dtype=np.int64)


def _turn(first: tuple[int, int], second: tuple[int, int], third: tuple[int, int]) -> int:
    return (second[0] - first[0]) * (third[1] - first[1]) - (second[1] - first[1]) * (third[0] - first[0])


def _extreme(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out what lies strictly inside the polygon of the outermost points in sixteen directions."""
    if len(points) <= _MANY:
        return points
    angles = np.arange(16) * (np.pi / 8)
    outer = points[(points @ np.array([np.cos(angles), np.sin(angles)])).argmax(axis=0)]
    corners = np.unique(outer, axis=0)
    around = corners[np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))]
    keep = np.zeros(len(points), dtype=np.bool_)
    for (x1, y1), (x2, y2) in zip(around, np.roll(around, -1, axis=0), strict=True):
        keep |= (x2 - x1) * (points[:, 1] - y1) - (y2 - y1) * (points[:, 0] - x1) <= 0
    return points[keep]


def _polytope(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Facets proposed by Qhull, as simplices; of two opposite ones, one."""
    from scipy.spatial import ConvexHull

    both = np.concatenate([points, -points])
    hull = ConvexHull(both.astype(np.float64), qhull_options="Qt")
    simplices = [simplex for simplex in both[hull.simplices] if _determinant(simplex.tolist())]
    return _halves(np.array(simplices, dtype=np.int64))


def _halves(simplices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of opposite facets, the one whose normal points forward; both may be cut into simplices differently."""
    normals = np.array([_primitive(simplex) for simplex in simplices.tolist()], dtype=np.int64)
    first = np.argmax(normals != 0, axis=1)
    return simplices[normals[np.arange(len(normals)), first] > 0]


def _inequalities(
    simplices: NDArray[np.int64], points: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The outward normals of the facets, and how far out the farthest given vector lies."""
    rank = points.shape[1]
    if not len(simplices):
        return np.zeros((0, rank), dtype=np.int64), np.zeros(0, dtype=np.int64)
    normals = np.unique([_primitive(simplex) for simplex in simplices.tolist()], axis=0).astype(np.int64)
    return normals, np.abs(points @ normals.T).max(axis=0)


def _primitive(simplex: list[list[int]]) -> list[int]:
    """The outward normal of a facet, without common divisors."""
    normal = _cross(simplex)
    divisor = math.gcd(*normal)
    value = sum(a * b for a, b in zip(normal, simplex[0], strict=True))
    return [(part if value > 0 else -part) // divisor for part in normal]


def _cross(simplex: list[list[int]]) -> list[int]:
    """The vector n with n . x = det(x - v_1, v_2 - v_1, ...) + det(v_1, ...), up to sign; exact integers."""
    origin = simplex[0]
    edges = [[a - b for a, b in zip(corner, origin, strict=True)] for corner in simplex[1:]]
    return [
        (-1) ** axis * _determinant([[*edge[:axis], *edge[axis + 1 :]] for edge in edges])
        for axis in range(len(origin))
    ]


def _determinant(rows: list[list[int]]) -> int:
    """Laplace's expansion on Python integers; matrices are small."""
    if not rows:
        return 1
    if len(rows) == 1:
        return rows[0][0]
    if len(rows) == 2:
        return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]
    return sum(
        (-1) ** axis * value * _determinant([[*row[:axis], *row[axis + 1 :]] for row in rows[1:]])
        for axis, value in enumerate(rows[0])
        if value
    )
