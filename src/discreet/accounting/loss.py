"""Mixed releases: privacy-loss distributions of `dp_accounting`, on a grid whose size is bounded.

The library rounds the privacy loss pessimistically to a grid ("connect the dots"), so every answer is an
upper bound; what is chosen here is the grid. Its default step is absolute, so that little noise makes a
distribution with billions of points: the well-known calibration that takes minutes or all memory. Our step
follows the spread of the loss itself:

* rounding one release to step h adds at most h**2 / 4 to the variance of the total loss, so h is a small part
  of the spread of one average release;
* and h is never so small that the range of the total loss has more than `_POINTS` points.

The library convolves by Fourier transforms in doubles and cuts tails of 1e-15, which it adds to delta. The
rounding of the transforms was measured below 1e-15 for up to 1,000 releases; `_SLACK` is kept aside for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    from discreet.accounting.event import Event

__all__ = ["loss_delta", "loss_epsilon"]

_POINTS = 2**17
_FINE = 0.01
_SLACK = 1e-14
_LARGE = 300.0


def loss_epsilon(events: Sequence[Event], delta: float) -> float:
    """An epsilon at this delta from the distribution of the privacy loss; infinite where it is not tried."""
    if delta <= 2 * _SLACK or not _feasible(events):
        return math.inf
    with np.errstate(over="ignore"):  # quotients of next to nothing: infinite is on the safe side
        return float(_distribution(events).get_epsilon_for_delta(delta - _SLACK))


def loss_delta(events: Sequence[Event], epsilon: float) -> float:
    """A delta at this epsilon from the distribution of the privacy loss; one where it is not tried."""
    if not _feasible(events):
        return 1.0
    return min(1.0, max(0.0, float(_distribution(events).get_delta_for_epsilon(epsilon))) + _SLACK)


def _feasible(events: Iterable[Event]) -> bool:
    """Beyond these losses the exponentials of the library leave the range of doubles."""
    return (
        all(1 / event.noise <= _LARGE for event in events)
        and sum(event.count / event.noise / event.noise for event in events) <= _LARGE * _LARGE
    )


def _distribution(events: Sequence[Event]) -> PrivacyLossDistribution:
    from dp_accounting.pld import privacy_loss_distribution as library

    mu, laplace = _gather(events)
    step = _step(mu, laplace)
    total = library.identity(value_discretization_interval=step)
    if mu:
        total = library.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)
    for noise, count in sorted(laplace.items()):
        one = library.from_laplace_mechanism(noise, value_discretization_interval=step)
        total = total.compose(one.self_compose(count) if count > 1 else one)
    return total


def _gather(events: Iterable[Event]) -> tuple[float, dict[float, int]]:
    """All Gaussian releases as one, and how often each Laplace noise occurs."""
    square, laplace = 0.0, dict[float, int]()
    for event in events:
        if event.mechanism == "gaussian":
            square += event.count / event.noise / event.noise
        else:
            laplace[event.noise] = laplace.get(event.noise, 0) + event.count
    return math.sqrt(square), laplace


def _step(mu: float, laplace: dict[float, int]) -> float:
    """The step of the grid: fine against one average release, coarse against the range of the total."""
    pieces = sum(laplace.values()) + (1 if mu else 0)
    variance = mu * mu + sum(count * min(1.0, 1 / noise) / noise for noise, count in laplace.items())
    span = 20 * mu + mu * mu
    for noise, count in laplace.items():
        span += 2 * min(count / noise, 10 * math.sqrt(count) / noise + count / noise / noise)
    return max(_FINE * math.sqrt(variance / pieces), span / _POINTS)
