"""Renyi and zero-concentrated privacy: looser than `accountant`, quick, and never in danger of hanging.

The conversion is Canonne, Kamath and Steinke (2020, proposition 12): for every order a > 1, Renyi privacy
r(a) implies

    epsilon = r(a) + log(1 - 1/a) - (log delta + log a) / (a - 1).

Every order gives a valid bound, so a fixed table of orders is as sound as a search.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from discreet.accounting.event import Event

__all__ = ["concentrated_epsilon", "renyi_delta", "renyi_epsilon"]

_ORDERS: NDArray[np.float64] = 1 + np.logspace(-4, 10, 1400)


def renyi_epsilon(events: Iterable[Event], delta: float) -> float:
    """An epsilon that Renyi composition proves at this delta (infinite for delta 0)."""
    if delta <= 0:
        return math.inf
    curve = _curve(events)
    spread = (math.log(delta) + np.log(_ORDERS)) / (_ORDERS - 1)
    return max(0.0, float(np.min(curve + np.log1p(-1 / _ORDERS) - spread)))


def renyi_delta(events: Iterable[Event], epsilon: float) -> float:
    """A delta that Renyi composition proves at this epsilon."""
    if math.isinf(epsilon):
        return 0.0
    logs = (_ORDERS - 1) * (_curve(events) + np.log1p(-1 / _ORDERS) - epsilon) - np.log(_ORDERS)
    return math.exp(min(0.0, float(np.min(logs))))


def concentrated_epsilon(events: Iterable[Event], delta: float) -> float:
    """An epsilon that zero-concentrated composition proves: rho + 2 sqrt(rho log(1 / delta)).

    A Gaussian release has rho = 1 / (2 noise**2); a pure epsilon release has rho = epsilon**2 / 2 (Bun and
    Steinke 2016).
    """
    rho = math.fsum(event.count * (1 / event.noise) * (1 / event.noise) / 2 for event in events)
    if rho == 0:
        return 0.0
    return rho + 2 * math.sqrt(-rho * math.log(delta)) if delta > 0 else math.inf


def _curve(events: Iterable[Event]) -> NDArray[np.float64]:
    """Renyi privacy of all the events together, one number an order."""
    total: NDArray[Any] = np.zeros_like(_ORDERS)
    for event in events:
        loss = 1 / event.noise
        one = _ORDERS * (loss * loss / 2) if event.mechanism == "gaussian" else _laplace(loss)
        total = total + event.count * one
    return total


def _laplace(loss: float) -> NDArray[np.float64]:
    """Mironov (2017, proposition 6), in logarithms; never above the pure epsilon, whatever the rounding."""
    a = _ORDERS
    with np.errstate(divide="ignore"):
        up = np.log(a / (2 * a - 1)) + (a - 1) * loss
        down = np.log((a - 1) / (2 * a - 1)) - a * loss
    return np.clip(np.logaddexp(up, down) / (a - 1), 0.0, loss)
