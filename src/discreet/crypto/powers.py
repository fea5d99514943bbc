"""Powers of long integers, many at a time: of one base by a table, and products of powers by buckets.

**Fixed base** (Brickell, Gordon, McCurley, Wilson 1992). With digits d_i of base 2**w, base**e is the
product of table[i][d_i] = base**(d_i 2**(w i)): one product a digit instead of w squarings and more.

**Product of powers** (Pippenger 1980). Exponents are written in signed digits |d| <= 2**(w-1) to base 2**w.
For one digit, all bases with the same |d| are multiplied into bucket |d|, a negative digit taking the
inverse of the base; then prod_d bucket_d**d is formed by running products from the top: two products a
bucket, whatever the number of bases. Digits are combined by w squarings. The width is the one with the
fewest products.

**Does not protect**: both read tables at places that depend on the exponent, so somebody who shares the
processor's cache could learn about it. Exponents of the first kind are fresh random numbers, of the second
the weights of whoever computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.number import inverse, long
from discreet.errors import ParameterError, RangeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.randomness import Bits

__all__ = ["FixedBase", "products_of_powers"]


@dataclass(frozen=True)
class FixedBase:
    """Powers of one base with exponents of up to ``digits * width`` bits.

    **Costs** digits * 2**width products and as many numbers of memory to make, one product a digit to use.
    """

    modulus: int
    width: int
    table: list[list[int]]

    @staticmethod
    def of(base: int, modulus: int, bits: int, width: int) -> FixedBase:
        """The table for exponents of at least ``bits`` bits."""
        base, modulus = long(base), long(modulus)
        table: list[list[int]] = []
        for _ in range(-(-bits // width)):
            row = [long(1)]
            for _ in range(2**width):
                row.append(row[-1] * base % modulus)
            base = row.pop()
            table.append(row)
        return FixedBase(modulus, width, table)

    def draw(self, count: int, bits: Bits) -> list[list[int]]:
        """Digits of uniform exponents below 2**(digits width)."""
        return bits.integers(0, 1 << self.width, (count, len(self.table))).tolist()

    def power(self, digits: Sequence[int]) -> int:
        """base to the power sum_i digits[i] 2**(width i)."""
        modulus = self.modulus
        product = self.table[0][digits[0]]
        for row, digit in zip(self.table[1:], digits[1:], strict=True):
            product = product * row[digit] % modulus
        return product


def products_of_powers(bases: Sequence[int], exponents: NDArray[np.int64], modulus: int) -> list[int]:
    """prod_i bases[i] ** exponents[i, j], for every column j.

    Bases must be invertible if an exponent is negative. Raises `RangeError` for exponents above 2**62.
    """
    if exponents.shape[0] != len(bases) or exponents.ndim != 2:
        wanted = f"({len(bases)}, columns)"
        raise ParameterError("exponents do not belong to these bases", got=exponents.shape, wanted=wanted)
    if exponents.size and not (exponents.min() >= -(2**62) and exponents.max() <= 2**62):
        raise RangeError("an exponent is too large", wanted="at most 2**62 in size")
    modulus = long(modulus)
    bases = [long(base) for base in bases]
    bits = int(np.abs(exponents).max(initial=0)).bit_length()
    width = min(range(1, 16), key=lambda width: _price(len(bases), bits, width))
    digits = _digits(exponents, width)
    inverses = _inverses(bases, modulus) if (digits < 0).any() else bases
    return [_combined(bases, inverses, column, width, modulus) for column in digits.transpose(2, 0, 1)]


def _price(count: int, bits: int, width: int) -> int:
    return -(-max(bits, 1) // width) * (count + 2**width + width)


def _digits(exponents: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Signed digits (digit, base, column), the lowest first; the highest may be 2**(width-1)."""
    half, mask = 1 << (width - 1), (1 << width) - 1
    digits: list[NDArray[np.int64]] = []
    rest = exponents.astype(np.int64)
    while (np.abs(rest) > half).any():
        digits.append(((rest + half) & mask) - half)
        rest = (rest - digits[-1]) >> width
    return np.stack([*digits, rest])


def _inverses(numbers: list[int], modulus: int) -> list[int]:
    """1 / number for all, by one inversion and three products each (Montgomery)."""
    before = [long(1)]
    for number in numbers:
        before.append(before[-1] * number % modulus)
    rest = inverse(before.pop(), modulus)
    result: list[int] = []
    for number, product in zip(reversed(numbers), reversed(before), strict=True):
        result.append(product * rest % modulus)
        rest = rest * number % modulus
    return result[::-1]


def _combined(
    bases: list[int], inverses: list[int], digits: NDArray[np.int64], width: int, modulus: int
) -> int:
    """One product of powers from its digits (digit, base), by Horner's rule from the highest."""
    total = long(1)
    for row in digits[::-1].tolist():
        for _ in range(width):
            total = total * total % modulus
        total = total * _bucketed(bases, inverses, row, 1 << (width - 1), modulus) % modulus
    return total


def _bucketed(bases: list[int], inverses: list[int], digits: list[int], most: int, modulus: int) -> int:
    """prod bases[i] ** digits[i] for small digits."""
    buckets: list[int] = [0] * (most + 1)  # 0 stands for empty
    for base, back, digit in zip(bases, inverses, digits, strict=True):
        if digit:
            place, factor = (digit, base) if digit > 0 else (-digit, back)
            held = buckets[place]
            buckets[place] = held * factor % modulus if held else factor
    running = total = long(1)
    for held in reversed(buckets[1:]):
        if held:
            running = running * held % modulus
        total = total * running % modulus
    return total
