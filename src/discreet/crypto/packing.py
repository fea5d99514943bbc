"""Many signed numbers in one long integer, and real numbers on a grid, with bounds that cannot be passed
unseen.

**Slots.** sum_i v_i 2**(w i), i < s. If |v_i| < 2**(w-1) for all i, the sum's size is below 2**(w s - 1),
and the v_i are its digits in [-2**(w-1), 2**(w-1)): the lowest is the sum modulo 2**w, centred; subtract
and go on. Sums and multiples of packed integers are packed sums and multiples as long as the bound holds
for the result. So a `Packing` is made for the largest number that the whole computation can reach, masks
included; it chooses w with 2**(w-1) > largest and s with w s <= bits of the modulus - 2, so that the packed
integer stays within half the modulus. Nothing is ever checked after the fact: a carry into a neighbour
could not be seen there.

**Grid.** A real number x is round(x 2**f). A product has 2 f bits behind the point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.number import long
from discreet.errors import ParameterError, RangeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Grid", "Packing"]


@dataclass(frozen=True)
class Packing:
    """Slots for signed integers up to ``largest``, in integers below half of a modulus of ``bits`` bits."""

    largest: int
    bits: int

    def __post_init__(self) -> None:
        if self.largest < 0 or self.slots < 1:
            raise RangeError(
                "the largest number that can occur does not fit one slot",
                wanted=f"below 2**{self.bits - 3}",
                remedy="Take fewer bits or a longer key.",
            )

    @property
    def width(self) -> int:
        """w: bits of a slot, the sign among them."""
        return self.largest.bit_length() + 1

    @property
    def slots(self) -> int:
        """s: how many numbers go into one integer."""
        return (self.bits - 2) // self.width

    @property
    def whole(self) -> int:
        """The largest size of a packed integer."""
        return sum(self.largest << (self.width * slot) for slot in range(self.slots))

    def pack(self, values: Sequence[int]) -> list[int]:
        """Packed integers; the last one padded with zeros.

        Raises `RangeError`, without saying the value, if one is larger than ``largest``.
        """
        numbers = [int(value) for value in values]
        if any(abs(number) > self.largest for number in numbers):
            wanted = f"at most {self.largest.bit_length()} bits"
            raise RangeError("a value does not fit its slot", wanted=wanted)
        starts = range(0, len(numbers), self.slots)
        return [self._joined(numbers[start : start + self.slots]) for start in starts]

    def _joined(self, numbers: list[int]) -> int:
        whole = long(0)
        for number in reversed(numbers):
            whole = (whole << self.width) + number
        return whole

    def unpack(self, packed: Sequence[int], count: int) -> list[int]:
        """The numbers again. Right if none has become larger than ``largest`` in size."""
        return [number for whole in packed for number in self._split(whole)][:count]

    def _split(self, whole: int) -> list[int]:
        numbers: list[int] = []
        mask, half = (1 << self.width) - 1, 1 << (self.width - 1)
        for _ in range(self.slots):
            digit = ((whole + half) & mask) - half
            numbers.append(int(digit))
            whole = (whole - digit) >> self.width
        return numbers


@dataclass(frozen=True)
class Grid:
    """Real numbers in [-2**whole, 2**whole) as integers with ``fraction`` bits behind the point."""

    whole: int
    fraction: int

    def __post_init__(self) -> None:
        if self.whole < 0 or self.fraction < 0 or self.whole + self.fraction > 52:
            raise ParameterError(
                "a grid of doubles has at most 52 bits", got=(self.whole, self.fraction), wanted=">= 0 each"
            )

    @property
    def largest(self) -> int:
        """The largest size of an integer on the grid."""
        return 1 << (self.whole + self.fraction)

    def integers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Rounded to nearest.

        Raises `RangeError`, without saying the value, if one is outside or not a number.
        """
        scaled = np.rint(np.ldexp(np.asarray(values, dtype=np.float64), self.fraction))
        if not (np.abs(scaled) <= self.largest).all():
            raise RangeError(
                "a number is outside of the grid", wanted=f"-2**{self.whole} to 2**{self.whole}",
                remedy="Clip to the declared range first.",
            )  # fmt: skip
        return scaled.astype(np.int64)

    def reals(self, integers: NDArray[np.int64], products: int = 1) -> NDArray[np.float64]:
        """Back from integers that are sums of products of so many grid numbers."""
        return np.ldexp(integers.astype(np.float64), -self.fraction * products)
