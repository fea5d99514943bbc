"""The sensitivity hull of a policy graph on a constraint set, and how many states it hides each state among.

**Hull.** K is the convex hull of the differences f(i) - f(j) of the answers of all joined states i and j that
are possible (definition 5.1 of the paper). Only the differences count, and there are few different ones on a
grid, so edges are sorted by their difference once; a constraint set then only says which differences occur.
For a clique it is enough to look at the corners of the hull of its answers, because the differences of a set
and of its hull have the same hull.

**Protection.** The degree of protection of a state is the number of possible states j with f(j) in f(i) + K,
itself included (definition 5.2): noise on K hides them all, joined or not, at the same epsilon. A state with
degree 1 is exposed. On a raster the body's rows are intervals, so a row of prefix sums counts them; otherwise
pairs are tested, exactly, and kept as a sparse matrix for as long as the body stays the same.

A degree of two says that *one* other state is hidden with it, whose probability may be tiny. So two more
numbers: the same counted by distinct answers (states with equal answers are indistinguishable in any case, and
the answer itself may still be obvious), and weighted by the prior (`weigh`).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.mechanisms.body import body_of, diamond

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.mechanisms.body import Body
    from discreet.release.policy import Policy
    from discreet.release.query import Query, Raster

__all__ = ["Nearby", "Sensitivity"]

_CHUNK = 2**22
_ALL_PAIRS = 400


class Sensitivity:
    """The differences of a policy's edges under a query, ready for any constraint set."""

    def __init__(self, policy: Policy, query: Query, laplace: bool = False) -> None:
        self._first, self._second = policy.pairs.T
        self._cliques = policy.cliques
        self._query = query
        self._make: Callable[[NDArray[np.int64]], Body] = diamond if laplace else body_of
        moves = query.units[self._first] - query.units[self._second]
        self._classes, which = np.unique(_forward(moves), axis=0, return_inverse=True)
        self._class = which.reshape(-1)

    def body(self, possible: NDArray[np.bool_], more: NDArray[np.int64] | None = None) -> Body:
        """The hull on the possible states; ``more`` are differences of repair edges."""
        moves = [self._edges(possible), *(self._clique(labels, possible) for labels in self._cliques)]
        return self.hull(np.concatenate([*moves, *([] if more is None else [more])]))

    def hull(self, moves: NDArray[np.int64]) -> Body:
        """The body for some differences: their hull, or the smallest l1 ball for Laplace noise."""
        return self._make(moves)

    def _edges(self, possible: NDArray[np.bool_]) -> NDArray[np.int64]:
        inside = possible[self._first] & possible[self._second]
        present = np.bincount(self._class[inside], minlength=len(self._classes)) > 0
        return self._classes[present]

    def _clique(self, labels: NDArray[np.int64], possible: NDArray[np.bool_]) -> NDArray[np.int64]:
        chosen = np.flatnonzero(possible & (labels >= 0))
        ordered = chosen[np.argsort(labels[chosen], kind="stable")]
        cuts = np.flatnonzero(np.diff(labels[ordered])) + 1
        groups = np.split(self._query.units[ordered], cuts)
        return np.concatenate([_differences(group) for group in groups])


class Nearby:
    """Sums over the states whose answers lie in f(i) + K, for every state i."""

    def __init__(self, query: Query, body: Body) -> None:
        self._query = query
        self._body = body

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each state the total weight of the states near it; ``weights`` is (N,) or (N, people)."""
        raster = self._query.raster
        if raster is not None and self._body.rank:
            return self._on_raster(weights, raster)
        return self.matrix @ weights

    def of(self, state: int) -> NDArray[np.bool_]:
        """Which states lie near one state."""
        return self._body.contains(self._query.units - self._query.units[state])

    @cached_property
    def matrix(self) -> Any:
        """The pairs as a sparse matrix, diagonal included."""
        from scipy.sparse import csr_matrix

        units = self._query.units
        block = max(1, _CHUNK // (len(units) * max(1, len(self._body.offsets))))
        rows: list[NDArray[np.int64]] = []
        columns: list[NDArray[np.int64]] = []
        for start in range(0, len(units), block):
            some = units[start : start + block]
            moves = (units[None, :, :] - some[:, None, :]).reshape(-1, units.shape[1])
            found = np.flatnonzero(self._body.contains(moves))
            rows.append(found // len(units) + start)
            columns.append(found % len(units))
        i, j = np.concatenate(rows), np.concatenate(columns)
        return csr_matrix((np.ones(len(i)), (i, j)), shape=(len(units), len(units)))

    def _on_raster(self, weights: NDArray[np.float64], raster: Raster) -> NDArray[np.float64]:
        people = weights.shape[1:]
        table = np.zeros((raster.rows * raster.columns, *people))
        np.add.at(table, raster.place, weights)
        table = table.reshape(raster.rows, raster.columns, *people)
        sums = np.zeros((raster.rows, raster.columns + 1, *people))
        np.cumsum(table, axis=1, out=sums[:, 1:])
        result = np.zeros_like(table)
        at = np.arange(raster.columns)
        for row, low, high in self._intervals:
            here, there = max(0, -row), min(raster.rows, raster.rows - row)
            right, left = np.minimum(at + high + 1, raster.columns), np.maximum(at + low, 0)
            right, left = np.maximum(right, 0), np.minimum(left, raster.columns)
            part = sums[here + row : there + row]
            result[here:there] += part[:, np.maximum(right, left)] - part[:, left]
        return result.reshape(-1, *people)[raster.place]

    @cached_property
    def _intervals(self) -> list[tuple[int, int, int]]:
        """For each row of the raster that the body meets: the row and the first and last knot inside."""
        raster = self._query.raster
        assert raster is not None
        reach = np.abs(self._body.corners).max(axis=0) // np.array(raster.pitch)[: self._query.dimension]
        wide, tall = int(reach[0]), int(reach[1]) if self._query.dimension == 2 else 0
        wide, tall = min(wide, raster.columns), min(tall, raster.rows)
        across, up = np.meshgrid(np.arange(-wide, wide + 1), np.arange(-tall, tall + 1))
        moves = np.stack([across.reshape(-1), up.reshape(-1)], axis=1) * np.array(raster.pitch)
        inside = self._body.contains(moves[:, : self._query.dimension].astype(np.int64)).reshape(across.shape)
        found: list[tuple[int, int, int]] = []
        for index in np.flatnonzero(inside.any(axis=1)):
            knots = np.flatnonzero(inside[index]) - wide
            found.append((int(index) - tall, int(knots[0]), int(knots[-1])))
        return found


def _forward(moves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of a move and its negative the one whose first number that is not zero is positive."""
    if not len(moves):
        return moves
    first = np.argmax(moves != 0, axis=1)
    return moves * np.where(moves[np.arange(len(moves)), first] < 0, -1, 1)[:, None]


def _differences(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Differences whose hull is that of all differences of the points."""
    points = np.unique(points, axis=0)
    if len(points) > _ALL_PAIRS:
        points = _corners(points)
    i, j = np.triu_indices(len(points), k=1)
    return points[i] - points[j]


def _corners(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """The corners of the hull of many points, or a superset of them."""
    from scipy.spatial import ConvexHull, QhullError

    if points.shape[1] == 1:
        return points[[0, -1]]
    try:
        return points[ConvexHull(points.astype(np.float64)).vertices]
    except QhullError:  # they lie in a plane: all of them
        return points
