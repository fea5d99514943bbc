"""A box of the earth cut into square cells, in metres.

A box of degrees is not square, so latitude and longitude are projected first: metres east and north of the
south-west corner, on the sphere, with the parallels of the middle latitude. Over a city this is right to a
few parts in a thousand, and a policy in metres means metres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.event import check_number
from discreet.errors import DomainError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Grid"]

_METRES_A_DEGREE = math.pi / 180 * 6_371_008.8
_MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class Grid:
    """Square cells of ``cell`` metres over ``box`` = (south, north, west, east) in degrees."""

    cell: float
    box: tuple[float, float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cell", check_number("cell", self.cell))
        if len(self.box) != 4:
            raise DomainError("a box has four sides", got=len(self.box), wanted="(south, north, west, east)")
        object.__setattr__(self, "box", tuple(check_number("a side of the box", side) for side in self.box))
        south, north, west, east = self.box
        if not (-85 <= south < north <= 85 and -180 <= west < east <= 180):
            raise DomainError(
                "this is not a box of the earth",
                got=self.box,
                wanted="south < north between -85 and 85 degrees, west < east between -180 and 180",
            )
        if not (math.isfinite(self.cell) and self.cell > 0):
            raise DomainError("cell is not a length", got=self.cell, wanted="metres above 0")
        if self.rows * self.columns > _MOST_CELLS:
            raise DomainError(
                "the cells are too many", got=self.rows * self.columns, wanted=f"at most {_MOST_CELLS:,}"
            )

    @property
    def metres(self) -> tuple[float, float]:
        """Metres a degree of longitude, and of latitude."""
        middle = math.radians((self.box[0] + self.box[1]) / 2)
        return _METRES_A_DEGREE * math.cos(middle), _METRES_A_DEGREE

    @property
    def columns(self) -> int:
        """How many cells lie side by side."""
        return max(1, math.ceil((self.box[3] - self.box[2]) * self.metres[0] / self.cell))

    @property
    def rows(self) -> int:
        """How many cells lie above each other."""
        return max(1, math.ceil((self.box[1] - self.box[0]) * self.metres[1] / self.cell))

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.rows * self.columns

    def places(self, lat: ArrayLike, lon: ArrayLike) -> NDArray[np.int64]:
        """The cell of each place, counted row by row from the south-west; -1 outside the box or for NaN."""
        north, east = np.asarray(lat, dtype=np.float64), np.asarray(lon, dtype=np.float64)
        south, top, west, right = self.box
        inside = (north >= south) & (north <= top) & (east >= west) & (east <= right)
        wide, tall = self.metres
        column = np.where(inside, (east - west) * wide // self.cell, 0).astype(np.int64)
        row = np.where(inside, (north - south) * tall // self.cell, 0).astype(np.int64)
        cell = np.minimum(row, self.rows - 1) * self.columns + np.minimum(column, self.columns - 1)
        return np.where(inside, cell, -1)

    def centers(self) -> NDArray[np.float64]:
        """The middle of every cell, in metres east and north of the south-west corner."""
        row, column = np.divmod(np.arange(self.size), self.columns)
        return (np.stack([column, row], axis=1) + 0.5) * self.cell

    def degrees(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Latitude and longitude of points in metres east and north."""
        wide, tall = self.metres
        lat, lon = self.box[0] + points[..., 1] / tall, self.box[2] + points[..., 0] / wide
        return np.stack([lat, lon], axis=-1)

    def to_dict(self) -> dict[str, Any]:
        """The grid as plain data."""
        return {"cell": self.cell, "box": list(self.box)}
