"""What a recursion over a trellis means: how paths join and how they go on, in circuits and in the clear.

| semiring | paths join | a path goes on | words |
|---|---|---|---|
| `logsum` | log(e^x + e^y), off by a stated error | x + y | fixed point |
| `max` | larger | x + y | fixed point |
| `or` | or | and | one bit |

Numbers are shared modulo 2**width, bits modulo 2. In the first two, adding the same number to all arguments
adds it to the result, even modulo 2**width: so a share can be added to the transitions before they enter the
circuit, and a mask to the last weights, for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.crypto.logsum import log_sum, table
from discreet.crypto.words import add, choose, fold, subtract
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.crypto.circuit import Builder, Word

__all__ = ["Kind", "Semiring"]

Kind = Literal["logsum", "max", "or"]


@dataclass(frozen=True)
class Semiring:
    """A semiring on words of ``width`` bits, ``fraction`` of them fractional; ``error`` is of one log-sum."""

    kind: Kind
    width: int
    fraction: int
    error: float

    def __post_init__(self) -> None:
        if self.kind not in ("logsum", "max", "or"):
            raise ParameterError("no such semiring", got=self.kind, wanted="logsum, max or or")
        if (self.kind == "or" and self.width != 1) or (self.kind != "or" and not 4 <= self.width <= 62):
            raise ParameterError(
                "words have the wrong width", got=self.width, wanted="1 for or, else 4 to 62"
            )
        if self.kind != "or" and not 0 <= self.fraction < self.width - 2:
            raise ParameterError(
                "too many fractional bits", got=self.fraction, wanted=f"0 to {self.width - 3}"
            )
        if self.kind == "logsum" and self.width < table(self.fraction, self.error).reach + 2:
            raise ParameterError(
                "words are too narrow for log-sum",
                got=self.width,
                wanted=f"{table(self.fraction, self.error).reach + 2}",
            )

    @property
    def slack(self) -> float:
        """The most that one join is off, in nats."""
        return table(self.fraction, self.error).error if self.kind == "logsum" else 0.0

    def join(self, build: Builder, words: Sequence[Word]) -> Word:
        """The sum of paths."""
        if self.kind == "or":
            return [build.any([word[0] for word in words])]
        if self.kind == "max":
            return fold(words, lambda a, b: _larger(build, a, b))
        using = table(self.fraction, self.error)
        return fold(words, lambda a, b: log_sum(build, a, b, using))

    def extend(self, build: Builder, path: Word, by: Word) -> Word:
        """A path that goes on."""
        return [build.both(path[0], by[0])] if self.kind == "or" else add(build, path, by)

    def plain(self, paths: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
        """`join` in the clear, on integers, exactly as the circuit does it: neighbours two by two."""
        if self.kind != "logsum":
            return paths.max(axis=axis)
        using = table(self.fraction, self.error)
        parts = [np.take(paths, number, axis=axis) for number in range(paths.shape[axis])]
        return fold(parts, using.plain)


def _larger(build: Builder, a: Word, b: Word) -> Word:
    """The larger of two words whose difference fits, even if they wrapped: by the sign of a - b."""
    return choose(build, subtract(build, a, b)[-1], b, a)
