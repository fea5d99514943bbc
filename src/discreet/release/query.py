"""What is answered about a state: numbers on a public lattice.

Noise is drawn on integers, so answers are rounded to integers first: multiples of a step, one step a column.
The step is part of the public question, and the same for all columns whose ranges are comparable. For cells
of a grid it divides the cell, so nothing is lost; otherwise it is a power of two near a hundred-thousandth of
the range (in two dimensions; a thousandth in three, coarser beyond), and rounding moves an answer by at most
half a step. Everything that privacy rests on (hulls, protection, noise) uses the rounded answers.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Query", "Raster", "query_of"]

_FINE = {1: 24, 2: 17, 3: 10, 4: 6}
_SPARSE = 64
_ALIKE = 64


@dataclass(frozen=True)
class Raster:
    """Answers that lie on a coarse rectangle of ``rows`` by ``columns`` knots, ``pitch`` steps apart."""

    rows: int
    columns: int
    pitch: tuple[int, int]
    place: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Query:
    """The answer for each state: ``answers`` (N, d) and, in steps from ``origin``, ``units`` (N, d)."""

    answers: NDArray[np.float64]
    units: NDArray[np.int64]
    step: NDArray[np.float64]
    origin: NDArray[np.float64]

    @property
    def dimension(self) -> int:
        """How many numbers an answer has."""
        return self.units.shape[1]

    def points(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lattice points in the numbers of the query."""
        return self.origin + units * self.step

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the answers on their lattice: what a checkpoint belongs to."""
        return hashlib.sha256(
            b"|".join(array.tobytes() for array in (self.units, self.step, self.origin))
        ).hexdigest()

    @cached_property
    def values(self) -> NDArray[np.int64]:
        """A number for each state, the same for the same answer."""
        return np.unique(self.units, axis=0, return_inverse=True)[1].reshape(-1)

    @cached_property
    def raster(self) -> Raster | None:
        """The rectangle the answers lie on, if they are one or two numbers and fill it well enough."""
        if self.dimension > 2:
            return None
        low = self.units.min(axis=0)
        offsets = self.units - low
        pitch = np.maximum(np.gcd.reduce(offsets, axis=0), 1)
        knots = offsets // pitch
        if self.dimension == 1:
            knots, pitch = np.pad(knots, ((0, 0), (0, 1))), np.append(pitch, 1)
        columns, rows = (knots.max(axis=0) + 1).tolist()
        if rows * columns > _SPARSE * len(knots):
            return None
        place = knots[:, 1] * columns + knots[:, 0]
        return Raster(rows, columns, (int(pitch[0]), int(pitch[1])), place)


def query_of(answers: ArrayLike, states: int, cell: float | None = None) -> Query:
    """Put answers, one row (or number) a state, on a lattice; ``cell`` is a length they are multiples of."""
    try:
        table = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("a query is not made of numbers", wanted="one row of numbers a state") from None
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != states or not table.shape[1]:
        raise ParameterError(
            "a query does not fit the map", got=table.shape, wanted=f"{states} rows of one or more numbers"
        )
    if not np.isfinite(table).all():
        raise DataError("a query holds numbers that are not finite", remedy="Every state needs an answer.")
    origin = table[0]
    extent = np.abs(table - origin).max(axis=0)
    if not (extent < 1e150).all():
        raise DataError("the answers of a query are too far apart")
    depth = _FINE.get(table.shape[1], 4)
    step = np.array([_step(float(length), depth, cell) for length in extent])
    longest = step[extent > 0].max(initial=step.min())
    step = np.where(longest <= _ALIKE * step, longest, step)  # lengths of different columns compare
    units = np.rint((table - origin) / step).astype(np.int64)
    return Query(table, units, step, origin)


def _step(extent: float, depth: int, cell: float | None) -> float:
    """The step for a column: at most 2**depth of them span it."""
    if extent == 0:
        return 1.0
    unit = 1.0 if cell is None else cell
    return unit * 2.0 ** math.ceil(math.log2(extent / unit) - depth)
