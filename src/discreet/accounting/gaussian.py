"""Gaussian differential privacy in closed form: mu, epsilon, delta, each from the other two.

A release that adds Gaussian noise of standard deviation s to something that one unit moves by at most D is
mu-Gaussian private with mu = D / s; releases add up as mu**2; and mu-Gaussian privacy is the same as

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e**epsilon Phi(-mu/2 - epsilon/mu)      for every epsilon >= 0

(Dong, Roth and Su 2022; Balle and Wang 2018). Nothing is lost in this conversion.

**How it is computed.** With a = epsilon/mu - mu/2 and b = a + mu, and M the Mills ratio (1 - Phi) / phi, the
identity e**epsilon phi(b) = phi(a) gives delta = phi(a) (M(a) - M(b)), which keeps its digits far out in the
tail. For small mu the difference is taken by a Taylor series about the middle; for a below zero, where M
would overflow, by logarithms of Phi.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["gaussian_delta", "gaussian_epsilon", "gaussian_mu", "pure_mu"]

_SMALL = 1e-2
_ROUNDING = 1e-13  # what exp and log may be off by, relative to delta
_LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The smallest delta for which mu-Gaussian privacy is (epsilon, delta)-differential privacy."""
    return math.exp(_log_delta(mu, epsilon))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon for which mu-Gaussian privacy is (epsilon, delta)-differential privacy.

    Infinite for delta 0. Rounded up: `gaussian_delta` of the result is at most delta.
    """
    if mu == 0 or delta >= 1:
        return 0.0
    if delta <= 0 or math.isinf(mu):
        return math.inf
    target = math.log(delta) - _ROUNDING
    if _log_delta(mu, 0.0) <= target:
        return 0.0
    high = mu * mu / 2 + mu * math.sqrt(-2 * target)  # what zero-concentrated privacy proves
    root = _root(lambda epsilon: _log_delta(mu, epsilon) - target, 0.0, high)
    return _settle(root, lambda epsilon: _log_delta(mu, epsilon) <= target, up=True)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which mu-Gaussian privacy is (epsilon, delta)-differential privacy.

    Zero for delta 0. Rounded down: `gaussian_delta` of the result is at most delta.
    """
    if math.isinf(epsilon):
        return math.inf
    if delta <= 0:
        return 0.0
    target = math.log(delta) - _ROUNDING
    low, high = _bracket(lambda mu: _log_delta(mu, epsilon) <= target)
    root = math.exp(
        _root(lambda log: _log_delta(math.exp(log), epsilon) - target, math.log(low), math.log(high))
    )
    return _settle(root, lambda mu: _log_delta(mu, epsilon) <= target, up=False)


def pure_mu(epsilon: float) -> float:
    """A mu for which every epsilon-differentially private release (delta 0) is mu-Gaussian private.

    mu = -2 Phi^-1(1 / (1 + e**epsilon)). Proof: the trade-off curve of pure epsilon is made of two straight
    pieces through (0, 1), (c, c) and (1, 0) with c = 1 / (1 + e**epsilon). The Gaussian curve of this mu
    passes through the same three points and is convex, so it lies below both pieces.
    """
    from scipy.special import ndtri_exp

    log_c = -epsilon - math.log1p(math.exp(-epsilon))
    return -2 * float(ndtri_exp(log_c)) * (1 + 1e-12)


def _log_delta(mu: float, epsilon: float) -> float:
    if mu <= 0:
        return -math.inf
    low = epsilon / mu - mu / 2
    if math.isinf(low) or low > 1e150:
        return -math.inf
    if low < 0:
        return _log_delta_near(mu, epsilon)
    gap = _mills_slope(epsilon / mu, mu) if mu < _SMALL else _mills(low) - _mills(low + mu)
    return -low * low / 2 - _LOG_ROOT_TAU + math.log(gap) if gap > 0 else -math.inf


def _log_delta_near(mu: float, epsilon: float) -> float:
    """For epsilon below mu**2 / 2: Phi(-a) is at least one half, so little can cancel."""
    from scipy.special import log_ndtr

    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    share = -math.expm1(second - first)
    return first + math.log(share) if share > 0 else -math.inf


def _mills(x: float) -> float:
    from scipy.special import erfcx

    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def _mills_slope(middle: float, width: float) -> float:
    """M(middle - width/2) - M(middle + width/2) for a small width, without cancelling it away.

    Odd Taylor terms only: M' = x M - 1 and M''' = (x**3 + 3 x) M - (x**2 + 2). Far out, where these cancel
    as well, the asymptotic series of M is differentiated instead.
    """
    x = middle
    if x > 30:
        inverse = 1 / (x * x)
        first = -inverse * (1 - 3 * inverse + 15 * inverse**2 - 105 * inverse**3)
        third = -6 * inverse**2
    else:
        ratio = _mills(x)
        first = x * ratio - 1
        third = (x**3 + 3 * x) * ratio - (x * x + 2)
    return -(width * first + width**3 / 24 * third)


def _bracket(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Two numbers a factor of two apart: the condition holds at the first and fails at the second."""
    value = 1.0
    if holds(value):
        while holds(value * 2):
            value *= 2
        return value, value * 2
    while not holds(value / 2):
        value /= 2
        if value < 1e-300:
            raise ParameterError("epsilon and delta are too small to be met by any noise")
    return value / 2, value


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Bisection until the interval stops shrinking: slow, certain, at most some hundred steps."""
    sign = function(low) > 0
    for _ in range(200):
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        if (function(middle) > 0) == sign:
            low = middle
        else:
            high = middle
    return high


def _settle(value: float, holds: Callable[[float], bool], *, up: bool) -> float:
    """Move by rounding-error steps to the safe side of a root, until the condition holds."""
    step = 2.0**-52
    while not holds(value):
        value *= 1 + step if up else 1 - step
        step *= 2
    return value
