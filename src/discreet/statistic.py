"""A sum over people, of integers on a declared grid, with a bound on what one person can change.

A `Statistic` is the only thing that leaves the records. Its total is exact: `Totals` adds integers, so
chunks, workers and parties may sum in any order and get the same bits.

**Why no widening for chunks.** Rounding a chunk's float64 sum would need a bound on the rounding error of
every chunk that a person can touch; and removing one row moves the edge of every later chunk. So nothing is
rounded after it has been summed: each row is rounded to integers first, and its integers are so small that
float64 products and sums of a whole chunk stay below 2**53, where float64 arithmetic on integers is exact in
any order (`docs/decisions/0002`). One person then changes the total by exactly their own rows' integers.

**Coarsening.** The total may be far finer than the noise. `Statistic.coarsen` moves it to a grid of u units
by rounding to nearest, once, on the driver. Let a person add the integer vector q to the total s. Then
    |round((s + q) / u) - round(s / u)| <= |q| / u + 1   in every coordinate,
because each rounding is off by at most 1/2. So with m coordinates the bounds become
    L2:  bound / u + sqrt(m)        L1:  bound / u + m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["EXACT", "Statistic", "Totals"]

EXACT = 2.0**53
"""Integers up to this size are exact in float64."""

_FLUSH = 2**62


@dataclass(frozen=True)
class Statistic:
    """Integers summed over people, and the most that adding or removing one person changes them.

    **Reveals** everything about the rows until noise is added: handle it like the rows.

    ``total`` holds Python integers (dtype object), one a coordinate; ``grid`` is the value of one unit;
    ``l1`` and ``l2`` bound one person's change, in units; ``label`` says in words what was summed.
    """

    total: NDArray[Any]
    grid: float
    l1: float
    l2: float
    label: str

    def __post_init__(self) -> None:
        for name, bound in (("l1", self.l1), ("l2", self.l2)):
            if not (math.isfinite(bound) and bound > 0):
                raise ParameterError(
                    f"the {name} bound of a statistic must be a length", got=bound, wanted="> 0"
                )
        if not (math.isfinite(self.grid) and self.grid > 0):
            raise ParameterError("the grid of a statistic must be a length", got=self.grid, wanted="> 0")

    def __repr__(self) -> str:
        return f"Statistic({self.label}: {self.total.size} integers on a grid of {self.grid:g})"

    def coarsen(self, units: int) -> Statistic:
        """The same sums on a grid ``units`` times coarser, with the bounds widened as proven above."""
        if units <= 1:
            return self
        size = self.total.size
        rounded = np.array([(2 * int(value) + units) // (2 * units) for value in self.total], dtype=object)
        slack = 1 + 2.0**-40  # the divisions below are themselves rounded
        return Statistic(
            total=rounded,
            grid=self.grid * units,
            l1=(self.l1 / units + size) * slack,
            l2=(self.l2 / units + math.sqrt(size)) * slack,
            label=self.label,
        )


class Totals:
    """Adds arrays of chunks: integers exactly, whatever their number; floats in the order given.

    Integers are added in int64 and carried into Python integers before they could overflow.
    """

    def __init__(self) -> None:
        self._narrow: dict[str, NDArray[Any]] = {}
        self._wide: dict[str, NDArray[Any]] = {}
        self._room: dict[str, int] = {}

    def add(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Add one chunk's arrays, or another worker's totals, name by name."""
        for name, array in values.items():
            self._check(name, array)
            if array.dtype == object:
                self._carry(name, array)
            elif array.dtype == np.int64:
                self._add_narrow(name, array)
            elif name in self._narrow:
                self._narrow[name] = self._narrow[name] + array
            else:
                self._narrow[name] = array.copy()

    def _check(self, name: str, array: NDArray[Any]) -> None:
        """Refuse what numpy would quietly stretch to another shape."""
        held = self._narrow.get(name, self._wide.get(name))
        if held is not None and held.shape != array.shape:
            raise ParameterError(f"{name!r} changed its shape", got=array.shape, wanted=str(held.shape))

    def result(self) -> dict[str, NDArray[Any]]:
        """The sums: Python integers (dtype object) for integer arrays, float64 for floats."""
        for name in list(self._room):
            self._flush(name)
        return {**self._narrow, **self._wide}

    def _add_narrow(self, name: str, array: NDArray[np.int64]) -> None:
        size = max(int(array.max()), -int(array.min())) if array.size else 0
        if self._room.get(name, 0) + size >= _FLUSH:
            self._flush(name)
        if name in self._room:
            self._narrow[name] += array
        elif size >= _FLUSH:
            self._carry(name, array.astype(object))
            return
        else:
            self._narrow[name] = array.copy()
        self._room[name] = self._room.get(name, 0) + size

    def _flush(self, name: str) -> None:
        if self._room.pop(name, None) is not None:
            self._carry(name, self._narrow.pop(name).astype(object))

    def _carry(self, name: str, array: NDArray[Any]) -> None:
        self._wide[name] = self._wide[name] + array if name in self._wide else array.copy()
