"""log(e^x + e^y) in a circuit: the larger of the two, plus a table of what the smaller one adds.

    log(e^x + e^y) = max(x, y) + f(|x - y|),      f(d) = log(1 + e^-d),  convex, falling from log 2 to 0

Words hold x times 2**fraction. f is a step function on intervals whose lengths are powers of two, short where
f is steep: an interval is halved until f strays from the value by no more than the wanted error. The tree of
halvings is decoded by one AND gate an interval; every output bit is a free sum of intervals' bits.

**Error.** `Table.error` bounds |circuit - log(e^x + e^y)| for all x, y of the width, rounding included; it is
found by trying every difference. The value of an interval is the mean of f on it, so errors of many sums
mostly cancel. Log-sum is a contraction (a change of both arguments by at most e changes it by at most e), so
errors add at most: n joined terms over T steps are off by at most T ceil(log2 n) `Table.error`; in practice
by far less (see `benchmarks/recursion.py`).

**Width.** Only the difference x - y must fit into a signed word; the sum may wrap, as shares do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.words import add, choose, subtract
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.crypto.circuit import Bit, Builder, Word

__all__ = ["Step", "Table", "log_sum", "table"]


@dataclass(frozen=True)
class Step:
    """Differences from ``start`` to before ``start + length`` add ``value``, all in units of 2**-fraction."""

    start: int
    length: int
    value: int


@dataclass(frozen=True)
class Table:
    """f as a step function: differences of 2**``reach`` units and more add nothing; ``error`` is in nats."""

    fraction: int
    reach: int
    steps: tuple[Step, ...]
    error: float

    def plain(self, x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the circuit computes, on integers in the clear."""
        difference = x - y
        apart = np.where(difference < 0, -difference - 1, difference)
        ends = np.array([step.start for step in self.steps] + [2**self.reach])
        values = np.array([step.value for step in self.steps] + [0])
        return np.maximum(x, y) + values[np.searchsorted(ends, apart, side="right") - 1]


@lru_cache(maxsize=16)
def table(fraction: int, error: float) -> Table:
    """The table for words with so many fractional bits, off by no more than ``error`` nats."""
    least = 1.5 * 2.0**-fraction
    if not 1 <= fraction <= 16 or not least <= error <= 0.5:
        raise ParameterError(
            "no such table",
            got=(fraction, error),
            wanted=f"1 to 16 fractional bits, an error of {least:g} to 0.5",
        )
    reach = fraction
    while math.log1p(math.exp(-(2.0**reach) / 2**fraction)) > error / 4:  # beyond, the error has one sign
        reach += 1
    exact = np.log1p(np.exp(-np.arange(2**reach + 1) / 2**fraction))
    steps = tuple(_halve(exact, 0, 2**reach, fraction, error))
    beyond = float(exact[-1])
    return Table(fraction, reach, steps, max(beyond, *(_stray(exact, step, fraction) for step in steps)))


def _halve(exact: NDArray[np.float64], start: int, length: int, fraction: int, error: float) -> list[Step]:
    """Steps for an interval; a negative difference -d arrives as d - 1, so the right border counts too."""
    mean = float(np.mean(exact[start : start + length + 1]))
    step = Step(start, length, round(mean * 2**fraction))
    if length == 1 or _stray(exact, step, fraction) <= error:
        return [step]
    half = length // 2
    return _halve(exact, start, half, fraction, error) + _halve(exact, start + half, half, fraction, error)


def _stray(exact: NDArray[np.float64], step: Step, fraction: int) -> float:
    around = exact[step.start : step.start + step.length + 1]
    return float(np.max(np.abs(around - step.value / 2**fraction)))


def log_sum(build: Builder, x: Word, y: Word, using: Table) -> Word:
    """log(e^x + e^y) for words with ``using.fraction`` fractional bits, off by at most ``using.error``."""
    if len(x) < using.reach + 2:
        raise ParameterError(
            "a word is too narrow for its table", got=len(x), wanted=f"{using.reach + 2} bits"
        )
    difference = subtract(build, x, y)
    negative = difference[-1]
    apart = [build.xor(bit, negative) for bit in difference[:-1]]
    near = build.all([build.invert(bit) for bit in apart[using.reach :]])
    inside = _decode(build, using, near, apart[: using.reach])
    width = max(step.value for step in using.steps).bit_length()
    added = [
        build.sum([bit for step, bit in zip(using.steps, inside, strict=True) if step.value >> place & 1])
        for place in range(width)
    ]
    larger = choose(build, negative, y, x)
    return add(build, larger, added + build.constant(0, len(x) - width))


def _decode(build: Builder, using: Table, near: Bit, apart: Word) -> list[Bit]:
    """One bit for every step: whether the difference lies in it. Halves an interval with one AND gate."""
    steps = {(step.start, step.length) for step in using.steps}
    found: list[Bit] = []

    def descend(start: int, place: int, inside: Bit) -> None:
        if (start, 2**place) in steps:
            found.append(inside)
            return
        upper = build.both(inside, apart[place - 1])
        descend(start, place - 1, build.xor(inside, upper))
        descend(start + 2 ** (place - 1), place - 1, upper)

    descend(0, using.reach, near)
    return found
