"""Draw a value with any public law on a grid, inside a circuit, by one lookup and one comparison.

The alias method (Walker 1977) in integers: an urn has 2**depth columns of 2**width units each, and every
column holds at most two values, its own and one **other**:

    column i   units below keep[i] belong to value i, the rest to other[i]
    draw       a uniform column i and a uniform level u;   value = i if u < keep[i] else other[i]

`Urn.fill` lays weights that sum to 2**(depth + width) into the columns without rounding, so the law of a
draw is *exactly* weight / 2**(depth + width): all that has to be proven is how near the weights are to the
law that is wanted. Comparing one level with every cumulative threshold would cost an AND gate a bit a
threshold, and a search tree one comparison a level of the tree; here it is one comparison in all.

**Costs** 2**depth - 2 AND gates to decode the column, ``width`` to compare, ``depth`` to choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.crypto.lookup import decode, look_up
from discreet.crypto.words import choose, less
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.crypto.circuit import Builder, Word

__all__ = ["Urn"]


@dataclass(frozen=True)
class Urn:
    """2**``depth`` columns of 2**``width`` units; what lies in them, as the module says."""

    depth: int
    width: int
    keep: tuple[int, ...]
    other: tuple[int, ...]

    def __post_init__(self) -> None:
        columns = 2**self.depth
        if self.depth < 1 or self.width < 1 or {len(self.keep), len(self.other)} != {columns}:
            raise ParameterError("an urn has 2**depth columns", got=(self.depth, self.width, len(self.keep)))
        if min(self.keep + self.other) < 0 or max(self.keep) >> self.width or max(self.other) >= columns:
            raise ParameterError("a column of an urn holds what is not there")

    @staticmethod
    def fill(weights: Sequence[int], depth: int, width: int) -> Urn:
        """The urn from which value i is drawn with probability weights[i] / 2**(depth + width), exactly."""
        whole = 2**width
        if len(weights) > 2**depth or min(weights) < 0 or sum(weights) != whole * 2**depth:
            raise ParameterError(
                "weights do not fill the urn", got=len(weights), wanted=f"a sum of 2**{depth + width}"
            )
        left = [*weights, *[0] * (2**depth - len(weights))]
        keep, other = [0] * len(left), list(range(len(left)))
        short = [value for value, weight in enumerate(left) if weight < whole]
        long = [value for value, weight in enumerate(left) if weight >= whole]
        while short:
            value, giver = short.pop(), long[-1]
            keep[value], other[value] = left[value], giver
            left[giver] -= whole - left[value]
            if left[giver] < whole:
                short.append(long.pop())
        return Urn(depth, width, tuple(keep), tuple(other))

    @property
    def bits(self) -> int:
        """Uniform bits that a draw takes: the column, then the level."""
        return self.depth + self.width

    @property
    def weights(self) -> tuple[int, ...]:
        """The law of a draw, times 2**(depth + width)."""
        total = [0] * len(self.keep)
        for value, (kept, other) in enumerate(zip(self.keep, self.other, strict=True)):
            total[value] += kept
            total[other] += 2**self.width - kept
        return tuple(total)

    def pick(self, column: int, level: int) -> int:
        """The value of one column and level, in the clear: the oracle of `draw`."""
        return column if level < self.keep[column] else self.other[column]

    def draw(self, build: Builder, uniform: Word) -> Word:
        """The same in a circuit, from uniform bits: those of the column, then of the level."""
        column, level = uniform[: self.depth], uniform[self.depth :]
        lines = decode(build, column)
        kept = less(build, level, look_up(build, lines, self.keep, self.width), signed=False)
        return choose(build, kept, column, look_up(build, lines, self.other, self.depth))
