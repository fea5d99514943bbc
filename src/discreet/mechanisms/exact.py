"""Exact discrete Laplace and Gaussian noise from uniform integers, whole arrays at a time.

The seeded (reproducible) runs use these samplers, and they are the second opinion on OpenDP's. Nothing is
rounded: every decision is a comparison of uniform integers, after Canonne, Kamath, Steinke, "The Discrete
Gaussian for Differential Privacy" (2020), algorithms 1 to 3.

With a scale p/q and integers y:
    Geometric  P[y] proportional to exp(-y q / p), y >= 0
    Laplace    P[y] proportional to exp(-|y| q / p)
    Gaussian   P[y] proportional to exp(-y^2 q^2 / (2 p^2))

**How.** A coin with bias exp(-g), g in [0, 1], is tossed by throwing coins of bias g/1, g/2, g/3, ... until
the first one fails; the toss is *yes* if that one had an odd number. Magnitudes: draw u uniform in [0, p),
keep it with exp(-u/p), count the successes v of coins exp(-1); u + p v is geometric with scale p, and its
quotient by q is geometric with scale p/q. A sign makes it Laplace (minus zero is thrown away). A Laplace
value of the same scale, kept with probability
    exp(-(|y| - p/q)^2 q^2 / (2 p^2)) = exp(-(n + r/p)^2 / 2),   n p + r = |q |y| - p|,   0 <= r < p,
is Gaussian. That coin is the product of n^2 coins exp(-1/2), n coins exp(-r/p) and one coin
exp(-(r/p)^2 / 2), and bias (r/p)^2 / 2k is two coins r/p and one coin 1/2k.

**Why int64 is enough.** Uniform draws are below p <= 2**50 or below small counters. The only larger numbers
are u + p v and q |y| <= u + p v; they pass 2**62 only when v >= 2**12 - 1, which has probability
exp(-4095). Counters of coins grow as slowly.

**Costs** about 0.2 microseconds a Laplace value and 0.4 a Gaussian one, in arrays. Running time depends on
the noise, so whoever can time single draws learns about them; that is as true of OpenDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.randomness import Bits

__all__ = ["discrete_gaussian", "discrete_geometric", "discrete_laplace"]

_LARGEST_NUMERATOR = 2**50
_LARGEST_DENOMINATOR = 2**60


def discrete_geometric(scale: Fraction | int, size: int, bits: Bits) -> NDArray[np.int64]:
    """Integers from 0 with P[y] proportional to exp(-y / scale)."""
    numerator, denominator = _parts(scale)
    return _collect(size, 1.7, lambda count: _magnitude(numerator, denominator, count, bits))


def discrete_laplace(scale: Fraction | int, size: int, bits: Bits) -> NDArray[np.int64]:
    """Integers with P[y] proportional to exp(-|y| / scale)."""
    numerator, denominator = _parts(scale)
    return _collect(size, 1.7, lambda count: _laplace(numerator, denominator, count, bits))


def discrete_gaussian(scale: Fraction | int, size: int, bits: Bits) -> NDArray[np.int64]:
    """Integers with P[y] proportional to exp(-y^2 / (2 scale^2))."""
    numerator, denominator = _parts(scale)

    def candidates(count: int) -> NDArray[np.int64]:
        drawn = _collect(count, 1.7, lambda tries: _laplace(numerator, denominator, tries, bits))
        excess = np.abs(denominator * np.abs(drawn) - numerator)
        return drawn[_bell(excess, numerator, bits)]

    return _collect(size, 1.4, candidates)


def _parts(scale: Fraction | int) -> tuple[int, int]:
    if not (0 < scale.numerator <= _LARGEST_NUMERATOR and scale.denominator <= _LARGEST_DENOMINATOR):
        raise ParameterError(
            "the scale of exact noise is out of range",
            got=scale,
            wanted="a fraction p/q with 0 < p <= 2**50 and q <= 2**60",
        )
    return scale.numerator, scale.denominator


def _collect(size: int, tries: float, candidates: Callable[[int], NDArray[np.int64]]) -> NDArray[np.int64]:
    """The first ``size`` values of a stream whose rejected values are left out."""
    kept: list[NDArray[np.int64]] = []
    missing = size
    while missing > 0:
        kept.append(candidates(int(missing * tries) + 8)[:missing])
        missing -= kept[-1].size
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)


def _laplace(numerator: int, denominator: int, count: int, bits: Bits) -> NDArray[np.int64]:
    """Laplace values from ``count`` candidates, of which some are rejected."""
    magnitude = _magnitude(numerator, denominator, count, bits)
    negative = bits.integers(0, 2, magnitude.size) == 1
    return np.where(negative, -magnitude, magnitude)[~(negative & (magnitude == 0))]


def _magnitude(numerator: int, denominator: int, count: int, bits: Bits) -> NDArray[np.int64]:
    """Geometric values from ``count`` candidates, of which some are rejected."""
    low = bits.integers(0, numerator, count)
    low = low[_falling(low, numerator, bits)]
    return (low + numerator * _successes(low.size, bits)) // denominator


def _successes(count: int, bits: Bits) -> NDArray[np.int64]:
    """How many coins of bias exp(-1) come up before the first that does not."""
    result = np.zeros(count, dtype=np.int64)
    alive = np.arange(count)
    while alive.size:
        alive = alive[_falling(np.ones(alive.size, dtype=np.int64), 1, bits)]
        result[alive] += 1
    return result


def _bell(excess: NDArray[np.int64], numerator: int, bits: Bits) -> NDArray[np.bool_]:
    """Coins of bias exp(-(excess / numerator)^2 / 2)."""
    whole, rest = np.divmod(excess, numerator)
    result = _alternate(rest.size, lambda chosen: _twice(rest[chosen], numerator, bits), 2, bits)
    _repeat(result, whole**2, lambda chosen: _falling(np.ones(chosen.size, dtype=np.int64), 2, bits))
    _repeat(result, whole, lambda chosen: _falling(rest[chosen], numerator, bits))
    return result


def _repeat(
    result: NDArray[np.bool_],
    times: NDArray[np.int64],
    toss: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
) -> None:
    """Turn a result to *no* unless ``times`` further coins all come up."""
    done = 0
    while (chosen := np.flatnonzero(result & (times > done))).size:
        result[chosen] = toss(chosen)
        done += 1


def _falling(numerators: NDArray[np.int64], denominator: int, bits: Bits) -> NDArray[np.bool_]:
    """Coins of bias exp(-numerator / denominator), for 0 <= numerator <= denominator."""

    def toss(chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
        return bits.integers(0, denominator, chosen.size) < numerators[chosen]

    return _alternate(numerators.size, toss, 1, bits)


def _twice(numerators: NDArray[np.int64], denominator: int, bits: Bits) -> NDArray[np.bool_]:
    """Coins of bias (numerator / denominator)^2."""
    result = bits.integers(0, denominator, numerators.size) < numerators
    again = np.flatnonzero(result)
    result[again] = bits.integers(0, denominator, again.size) < numerators[again]
    return result


def _alternate(
    size: int, toss: Callable[[NDArray[np.int64]], NDArray[np.bool_]], step: int, bits: Bits
) -> NDArray[np.bool_]:
    """Coins of bias exp(-g / step), where ``toss`` throws coins of bias g (algorithm 1).

    Round k goes on with bias g / (step k): a coin 1 / (step k), then a coin g.
    """
    result = np.zeros(size, dtype=np.bool_)
    alive = np.arange(size)
    k = 1
    while alive.size:
        on = bits.integers(0, step * k, alive.size) == 0
        on[on] = toss(alive[on])
        if k % 2:
            result[alive[~on]] = True
        alive = alive[on]
        k += 1
    return result
