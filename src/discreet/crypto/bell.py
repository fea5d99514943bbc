"""Half a discrete Gaussian as an urn, with a proof of how far the urn's law is from the true one.

    P[y] = exp(-y^2 / 2v) / N for integers y,      N = sum of exp(-j^2 / 2v) over all integers j

A `Bell` draws the magnitude |y| from an `Urn` and a sign beside it: magnitudes have P[0] and 2 P[j], and the
sign of zero does not matter. Its law is weights / 2**n; ``distance`` is an upper bound on

    1/2 sum over y of |law - P|  =  1/2 sum over j < columns of |weights[j] / 2**n - P[|y| = j]|  +  1/2 tail.

**How it is proven.** MPFR rounds exponentials correctly in the direction it is told (`exponential`), so each
exp(-j^2 / 2v) lies between two integers over 2**places, and everything after that is integer arithmetic. What
lies beyond the last column is below a geometric series, since exp(-(j+1)^2 / 2v) / exp(-j^2 / 2v) falls with
j. No float takes part, so two parties find the same weights to the bit, on any machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.crypto.number import exponential
from discreet.crypto.urn import Urn
from discreet.errors import ParameterError

__all__ = ["DEEPEST", "Bell", "depth_of"]

DEEPEST = 12
"""Columns are at most 2**12: a table this long is still read in a millisecond."""

_SPARE = 48
"""Bits of the bounds beyond those of the weights."""

_WIDEST = 400


@dataclass(frozen=True)
class Bell:
    """A discrete Gaussian of a variance, as an urn of magnitudes; within ``distance`` of the true law."""

    variance: Fraction
    urn: Urn
    distance: Fraction

    @staticmethod
    def of(variance: Fraction, distance: Fraction) -> Bell:
        """The smallest urn found whose law is provably within a total variation of the true one."""
        if variance <= 0 or not 0 < distance < 1:
            raise ParameterError("no such discrete Gaussian", got=(float(variance), float(distance)))
        depth = depth_of(variance, distance)
        least = max(1, -math.floor(math.log2(distance)) - 4)
        for width in range(least, _WIDEST):
            bell = _bell(variance, depth, width)
            if bell.distance <= distance:
                return bell
        raise ParameterError(
            "no urn is as near as that", got=float(distance), wanted=f"at least 2**-{_WIDEST - 8}"
        )

    @property
    def largest(self) -> int:
        """No magnitude is larger."""
        return len(self.urn.keep) - 1

    @property
    def bits(self) -> int:
        """Uniform bits that a draw takes: those of the urn, and a sign."""
        return self.urn.bits + 1


def depth_of(variance: Fraction, distance: Fraction) -> int:
    """Bits of the largest magnitude, such that what lies beyond has at most seven eighths of the distance."""
    for depth in range(1, DEEPEST + 1):
        if _log_tail(float(variance), 2**depth) < math.log(distance * 7 / 8):
            return depth
    raise ParameterError(
        "a single urn cannot hold so wide a bell",
        got=math.sqrt(variance),
        wanted=f"at most {2**DEEPEST} columns",
    )


def _log_tail(variance: float, first: int) -> float:
    """The logarithm of P[|y| >= first], nearly."""
    rest = -math.expm1(-(2 * first + 1) / (2 * variance))
    whole = max(1.0, math.sqrt(2 * math.pi * variance))
    return math.log(2) - first**2 / (2 * variance) - math.log(rest) - math.log(whole)


@lru_cache(maxsize=256)
def _bell(variance: Fraction, depth: int, width: int) -> Bell:
    size, places = depth + width, depth + width + _SPARE
    chances, tail = _magnitudes(variance, 2**depth, places)
    weights = [round(Fraction(low + high, 2 << (places - size))) for low, high in chances]
    weights[0] += 2**size - sum(weights)  # what rounding left over, at most half a unit for each column
    shift = places - size
    off = sum(
        max(abs((weight << shift) - low), abs((weight << shift) - high))
        for weight, (low, high) in zip(weights, chances, strict=True)
    )
    return Bell(variance, Urn.fill(weights, depth, width), Fraction(off + tail, 2 << places))


def _magnitudes(variance: Fraction, count: int, places: int) -> tuple[list[tuple[int, int]], int]:
    """Bounds of P[|y| = j] for j < count, and an upper bound of the rest, all times 2**places."""
    reach = max(count, math.isqrt(math.ceil(2 * variance * places)) + 1)  # beyond it, less than exp(-places)
    bounds = [exponential(-j * j / (2 * variance), places) for j in range(reach + 1)]
    ratio = Fraction(exponential(-(2 * reach + 1) / (2 * variance), places)[1], 2**places)
    beyond = math.ceil(bounds[reach][1] / (1 - ratio))
    low = bounds[0][0] + 2 * sum(low for low, _ in bounds[1:reach])
    high = bounds[0][1] + 2 * sum(high for _, high in bounds[1:reach]) + 2 * beyond
    chances = [
        ((times * down << places) // high, -((-times * up << places) // low))
        for times, (down, up) in zip((1, *[2] * count), bounds[:count], strict=False)
    ]
    tail = 2 * (sum(high for _, high in bounds[count:reach]) + beyond)
    return chances, -((-tail << places) // low)
