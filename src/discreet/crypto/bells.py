"""A discrete Gaussian of any width from small ones: which to add, and how near their sum is, proven.

    z = x0 + 2**a (x1 + 2**a (x2 + ...)),     x_i discrete Gaussians of variances v0, v1, ...

**Why the sum is nearly a discrete Gaussian.** Let z = x + k y with variances s and t, and v = s + k^2 t. The
chance of z is a sum over y, and completing the square gives

    P[z]  proportional to  exp(-z^2 / 2v) S(c),
    S(c) = sum over integers y of exp(-(y - c)^2 / 2w),    w = s t / v,

with c depending on z. By Poisson's summation formula S(c) / sqrt(2 pi w) = 1 + 2 sum over n >= 1 of
exp(-2 pi^2 w n^2) cos(2 pi n c), so it is within d of 1 for every c, where with e = exp(-2 pi^2 w)

    d  <=  2 (e + e^4 + e^9 + ...)  <=  2 e / (1 - e^3).

Hence the law of z is within a factor (1 + d) / (1 - d) of the discrete Gaussian of variance v everywhere, and
within d / (1 - d) in total variation. (The convolution of Micciancio and Walter, Crypto 2017, with the
constants kept; w must pass about 2.6 for d = 2**-72, whence the first of the two needs a deviation of 1.6 k.)

Variances are rational numbers with v0 + 4**a v1 exactly as wanted, so every real deviation that a float can
hold is met. Errors add up: of every urn (`discreet.crypto.bell`) and of every sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.crypto.bell import Bell, depth_of
from discreet.crypto.circuit import ZERO
from discreet.crypto.number import exponential
from discreet.crypto.words import add
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.crypto.circuit import Bit, Builder, Word

__all__ = ["Bells", "bells", "off_by"]

NARROWEST, WIDEST = 0.125, 2.0**40

_PI_SQUARED = Fraction(98696044010893586, 10**16)
"""Below pi squared, 9.86960440108935861..."""

_PLACES = 512


@dataclass(frozen=True)
class Bells:
    """The terms of a sum, first to last; every term counts 2**``shift`` times as much as the one before."""

    variance: Fraction
    shift: int
    terms: tuple[Bell, ...]
    distance: Fraction

    @property
    def bits(self) -> int:
        """Uniform bits that a draw takes."""
        return sum(bell.bits for bell in self.terms)

    @property
    def largest(self) -> int:
        """No draw is larger in magnitude."""
        return sum(bell.largest << self.shift * at for at, bell in enumerate(self.terms))

    def pick(self, uniform: int) -> int:
        """The value of a number of ``bits`` bits, in the clear: the oracle of `draw`."""
        total = 0
        for at, bell in enumerate(self.terms):
            column = uniform % 2**bell.urn.depth
            level = (uniform >> bell.urn.depth) % 2**bell.urn.width
            minus = uniform >> bell.urn.bits & 1
            total += (-1) ** minus * bell.urn.pick(column, level) << self.shift * at
            uniform >>= bell.bits
        return total

    def draw(self, build: Builder, uniform: Word, width: int) -> tuple[Word, Bit]:
        """The same in a circuit: a word modulo 2**width and a bit that must be added to it.

        -m is the inverse of m, plus one; that one is the carry of the next addition, so signs are free. The
        last carry is left to whoever adds the word to something.
        """
        total: Word = []
        carry: Bit = ZERO
        ends = [sum(bell.bits for bell in self.terms[:at]) for at in range(len(self.terms) + 1)]
        for at in reversed(range(len(self.terms))):
            bell, own = self.terms[at], uniform[ends[at] : ends[at + 1]]
            minus = own[-1]
            magnitude = bell.urn.draw(build, own[:-1])
            room = min(width, (self.largest >> self.shift * at).bit_length() + 1)
            word = [build.xor(bit, minus) for bit in magnitude]
            word = (word + [minus] * room)[:room]
            if total:
                later = (total + [total[-1]] * room)[: room - self.shift]
                word[self.shift :] = add(build, word[self.shift :], later, carry)
            total, carry = word, minus
        return (total + [total[-1]] * width)[:width], carry


def off_by(first: Fraction, second: Fraction, factor: int) -> Fraction:
    """How far x + factor y may be from a discrete Gaussian, for ones of these variances."""
    both = first * second / (first + factor**2 * second)
    falling = Fraction(exponential(-2 * _PI_SQUARED * both, _PLACES)[1], 2**_PLACES)
    apart = 2 * falling / (1 - falling**3)
    if apart >= Fraction(1, 2):
        raise ParameterError("these bells are too narrow to be added", got=float(both))
    return apart / (1 - apart)


@lru_cache(maxsize=64)
def bells(deviation: float, distance: Fraction) -> Bells:
    """The cheapest sum found within a total variation of the discrete Gaussian of this standard deviation."""
    if not NARROWEST <= deviation <= WIDEST:
        raise ParameterError(
            "no discrete Gaussian of this deviation", got=deviation, wanted=f"{NARROWEST} to 2**40"
        )
    variance = Fraction(deviation) ** 2
    plans = [
        plan
        for shift in range(1, 10)
        for count in range(1, 44)
        if (shift == 1 or count > 1) and (plan := _split(variance, shift, count, distance / (2 * count)))
    ]
    affordable = [(cost, plan) for plan in plans if (cost := _cost(plan, distance)) is not None]
    _, (shift, variances) = min(affordable)
    return _assembled(variance, shift, variances, distance)


def _split(
    variance: Fraction, shift: int, count: int, distance: Fraction
) -> tuple[int, tuple[Fraction, ...]] | None:
    """Variances of so many terms, all but the last as small as the distance of every sum allows."""
    parts: list[Fraction] = []
    # 2 exp(-2 pi^2 w) slightly below the distance
    least = (math.log(2) - math.log(distance)) / (2 * math.pi**2) * (1 + 1e-6)
    for _ in range(count - 1):
        room = 1 - 4 * least * 4**shift / float(variance)
        if room <= 0:
            return None
        narrow = 2 * least * 4**shift / (1 + math.sqrt(room))
        first = Fraction(math.ceil(narrow * (1 + 1e-9) * 4096), 4096)
        rest = (variance - first) / 4**shift
        if rest <= 0 or float(first * rest / variance) < least:
            return None
        parts.append(first)
        variance = rest
    return shift, (*parts, variance)


def _cost(plan: tuple[int, tuple[Fraction, ...]], distance: Fraction) -> float | None:
    """AND gates of a draw, nearly; None if a term is too wide for one urn."""
    shift, variances = plan
    part = _part(variances, distance)
    try:
        depths = [depth_of(variance, part) for variance in variances]
    except ParameterError:
        return None
    later = len(depths) - 1
    carries = (
        shift * later * (later + 1) / 2 + (depths[-1] + 1) * later
    )  # ever wider sums, from the inside out
    return sum(2**depth + depth - math.log2(part) for depth in depths) + carries


def _part(variances: Sequence[Fraction], distance: Fraction) -> Fraction:
    """The distance that each urn may have."""
    return distance if len(variances) == 1 else distance / (2 * len(variances))


def _assembled(variance: Fraction, shift: int, variances: tuple[Fraction, ...], distance: Fraction) -> Bells:
    terms = tuple(Bell.of(one, _part(variances, distance)) for one in variances)
    apart = sum((bell.distance for bell in terms), Fraction(0))
    whole = variances[-1]
    for first in reversed(variances[:-1]):
        apart += off_by(first, whole, 2**shift)
        whole = first + 4**shift * whole
    assert whole == variance, "variances must add up"
    assert apart <= distance, "the distance is not met"
    return Bells(variance, shift, terms, apart)
