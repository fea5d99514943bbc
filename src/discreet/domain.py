"""What is declared about the data before anybody looks at it: columns, regions, persons.

Nothing here is ever inferred from private rows. Values outside a declared region are clipped into it, and
how many were clipped is not reported: that number is private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.errors import DomainError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Ball", "Box", "Region", "code_type", "declare_region", "region_from_dict"]


_SHORTEST, _LONGEST = 1e-150, 1e150  # lengths whose squares and inverses are ordinary numbers


class Region(Protocol):
    """A declared part of space. Unit coordinates u stand for the point center + scale * u."""

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        ...

    @property
    def center(self) -> NDArray[np.float64]:
        """The point that unit coordinates call the origin, one number a coordinate."""
        ...

    @property
    def scale(self) -> NDArray[np.float64]:
        """How long one unit is along each coordinate."""
        ...

    @property
    def reach(self) -> float:
        """The largest Euclidean norm that a point of the region has in unit coordinates."""
        ...

    def to_unit(
        self, values: NDArray[np.float64], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Clip points, one a column, into the region and return them in unit coordinates."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain data."""
        ...


@dataclass(frozen=True)
class Box:
    """Every coordinate lies between its own low and high; unit coordinates lie in [-1, 1]."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high) or not self.low:
            raise DomainError(
                "bounds need one low and one high for each column",
                got=(len(self.low), len(self.high)),
                wanted="two sequences of the same length",
            )
        for low, high in zip(self.low, self.high, strict=True):
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise DomainError(
                    "bounds are not an interval",
                    got=(low, high),
                    wanted="finite numbers with low < high",
                    remedy="Declare bounds from what is publicly known, never from the rows.",
                )
            if not max(1e-12 * max(abs(low), abs(high)), _SHORTEST) < high - low < _LONGEST:
                raise DomainError(
                    "bounds are too close together, or too far apart, for 64-bit numbers", got=(low, high)
                )

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.low)

    @property
    def center(self) -> NDArray[np.float64]:
        """The middle of the box."""
        low, high = np.array(self.low), np.array(self.high)
        return low + (high - low) / 2

    @property
    def scale(self) -> NDArray[np.float64]:
        """Half the width of the box along each coordinate."""
        return (np.array(self.high) - np.array(self.low)) / 2

    @property
    def reach(self) -> float:
        """A corner of the unit cube: the square root of the dimension."""
        return math.sqrt(self.dimension)

    def to_unit(
        self, values: NDArray[np.float64], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Clip each coordinate into [low, high] and map it to [-1, 1]."""
        with np.errstate(over="ignore"):  # far values become infinite and are clipped
            unit = np.subtract(values, self.center[:, None], out=out)
            unit *= (1 / self.scale)[:, None]
        return np.clip(unit, -1.0, 1.0, out=unit)

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain data."""
        return {"kind": "box", "low": list(self.low), "high": list(self.high)}


@dataclass(frozen=True)
class Ball:
    """All points within a radius of a center; unit coordinates have norm at most 1."""

    middle: tuple[float, ...]
    radius: float

    def __post_init__(self) -> None:
        if not _SHORTEST <= self.radius <= _LONGEST:
            raise DomainError("the radius is not a length", got=self.radius, wanted="a finite number above 0")
        if not self.middle or not all(math.isfinite(value) for value in self.middle):
            raise DomainError(
                "the center is not a point", got=self.middle, wanted="one finite number a column"
            )

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.middle)

    @property
    def center(self) -> NDArray[np.float64]:
        """The center of the ball."""
        return np.array(self.middle)

    @property
    def scale(self) -> NDArray[np.float64]:
        """The radius, for every coordinate."""
        return np.full(self.dimension, self.radius)

    @property
    def reach(self) -> float:
        """Unit coordinates have norm at most 1."""
        return 1.0

    def to_unit(
        self, values: NDArray[np.float64], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Pull points outside the ball to its surface and divide by the radius."""
        with np.errstate(over="ignore"):
            unit = np.subtract(values, self.center[:, None], out=out)
            unit *= 1 / self.radius
        np.clip(unit, -1e100, 1e100, out=unit)  # so that no square overflows
        norm = np.sqrt(_squared_lengths(unit))
        np.maximum(norm, 1.0, out=norm)
        unit /= norm
        return unit

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain data."""
        return {"kind": "ball", "center": list(self.middle), "radius": self.radius}


def _squared_lengths(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each column, added line by line: numpy's own sums have another order where a column is alone."""
    total = columns[0] * columns[0]
    for line in columns[1:]:
        total += line * line
    return total


def declare_region(
    dimension: int,
    *,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    radius: float | None = None,
    center: ArrayLike = 0.0,
) -> Region:
    """Make a region from either ``bounds=(low, high)`` or ``radius=`` and ``center=``.

    A single number stands for every column.
    """
    if (bounds is None) == (radius is None):
        raise DomainError(
            "the region of the data is not declared" if bounds is None else "the region is declared twice",
            wanted="either bounds=(low, high) or radius=",
            remedy="There is no default: bounds taken from the rows would reveal them.",
        )
    if radius is not None:
        return Ball(_spread(center, dimension, "center"), float(radius))
    try:
        low, high = bounds  # type: ignore[misc]
    except (TypeError, ValueError):
        raise DomainError("bounds are not a pair", wanted="bounds=(low, high)") from None
    return Box(_spread(low, dimension, "low"), _spread(high, dimension, "high"))


def region_from_dict(plain: dict[str, Any]) -> Region:
    """Read back what ``to_dict`` wrote."""
    if plain["kind"] == "ball":
        return Ball(tuple(plain["center"]), plain["radius"])
    return Box(tuple(plain["low"]), tuple(plain["high"]))


def _spread(value: ArrayLike, dimension: int, name: str) -> tuple[float, ...]:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise DomainError(
            f"{name} is not made of numbers", wanted="a number or one number a column"
        ) from None
    if array.ndim == 0:
        return (float(array),) * dimension
    if array.shape != (dimension,):
        raise DomainError(
            f"{name} does not fit the columns", got=array.shape, wanted=f"one number or {dimension} numbers"
        )
    sequence: Sequence[float] = array.tolist()
    return tuple(sequence)


def code_type(states: int) -> np.dtype[Any]:
    """The smallest signed integers that number so many declared states."""
    return np.dtype(np.int8 if states <= 2**7 else np.int16 if states <= 2**15 else np.int32)
