"""What each composition rule would charge for the same releases, so that the tight one can be appreciated.

| rule       | total epsilon at a given delta                                                          |
|------------|-----------------------------------------------------------------------------------------|
| "linear"   | sum of epsilon_i, sum of delta_i                                                        |
| "advanced" | sqrt(2 ln(1/d) sum epsilon_i**2) + sum epsilon_i (e**epsilon_i - 1), and d more of delta  |
|            | (Dwork, Rothblum and Vadhan 2010, unequal releases), or the linear sum if that is less  |
| "zcdp"     | rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke 2016)                                    |
| "rdp"      | Renyi orders, best conversion known (Canonne, Kamath and Steinke 2020)                  |
| "tight"    | `accountant.epsilon_of`                                                                 |

**The price of one release.** "linear" and "advanced" speak of (epsilon_i, delta_i). A Laplace release costs
(1 / noise, 0). A Gaussian release has a curve, of which one point must be chosen: the delta at hand is
shared out evenly over the Gaussian releases, and epsilon_i is the *exact* one at delta_i. The DP-EM paper
takes the textbook sigma = sqrt(2 ln(1.25 / delta_i)) / epsilon_i there, which is loose, and proven for
epsilon_i <= 1 only; with the exact price, what is compared here is the rules and nothing else. "advanced"
keeps half of delta for its own d if there are Gaussian releases, and all of it otherwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from discreet.accounting.accountant import calibrate, check_budget, epsilon_of, search_noise
from discreet.accounting.gaussian import gaussian_epsilon
from discreet.accounting.renyi import concentrated_epsilon, renyi_epsilon
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.accounting.event import Event

__all__ = ["RULES", "Rule", "calibrate_by", "compare", "epsilon_by"]

Rule = Literal["linear", "advanced", "zcdp", "rdp", "tight"]


def compare(events: Sequence[Event], delta: float) -> dict[str, float]:
    """The epsilon of the same releases under every rule."""
    return {name: rule(tuple(events), delta) for name, rule in RULES.items()}


def epsilon_by(rule: Rule, events: Sequence[Event], delta: float) -> float:
    """The epsilon of these releases at this delta under one rule."""
    return _rule(rule)(tuple(events), delta)


def calibrate_by(rule: Rule, shape: Sequence[Event], epsilon: float, delta: float) -> float:
    """As `accountant.calibrate`, but under the named rule; for experiments.

    **Costs** never more than (epsilon, delta): every rule is valid, the others merely ask for more noise.
    """
    cost = _rule(rule)
    if rule == "tight" or delta == 0:
        return calibrate(shape, epsilon, delta)
    epsilon, delta = check_budget(epsilon, delta)
    guess = calibrate(shape, epsilon, delta)
    return search_noise(lambda factor: cost([event.scaled(factor) for event in shape], delta), epsilon, guess)


def _rule(rule: str) -> Callable[[Sequence[Event], float], float]:
    if rule not in RULES:
        raise ParameterError("no such composition rule", got=rule, wanted=", ".join(RULES))
    return RULES[rule]


def _linear(events: Sequence[Event], delta: float) -> float:
    return math.fsum(count * price for price, count in _prices(events, delta))


def _advanced(events: Sequence[Event], delta: float) -> float:
    gaussian = any(event.mechanism == "gaussian" for event in events)
    own = delta / 2 if gaussian else delta
    prices = _prices(events, delta - own)
    if own <= 0 or any(price > 50 for price, _ in prices):
        return _linear(events, delta)
    squares = math.fsum(count * price * price for price, count in prices)
    drift = math.fsum(count * price * math.expm1(price) for price, count in prices)
    return min(_linear(events, delta), math.sqrt(-2 * math.log(own) * squares) + drift)


def _prices(events: Sequence[Event], delta: float) -> list[tuple[float, int]]:
    """(epsilon_i, how often): Laplace as it is, Gaussian exact at an even share of delta."""
    releases = sum(event.count for event in events if event.mechanism == "gaussian")
    return [
        (
            1 / event.noise
            if event.mechanism == "laplace"
            else gaussian_epsilon(1 / event.noise, delta / releases),
            event.count,
        )
        for event in events
    ]


def _concentrated(events: Sequence[Event], delta: float) -> float:
    return concentrated_epsilon(events, delta) if delta > 0 else epsilon_of(events, delta)


def _renyi(events: Sequence[Event], delta: float) -> float:
    return renyi_epsilon(events, delta) if delta > 0 else epsilon_of(events, delta)


RULES: dict[str, Callable[[Sequence[Event], float], float]] = {
    "linear": _linear,
    "advanced": _advanced,
    "zcdp": _concentrated,
    "rdp": _renyi,
    "tight": epsilon_of,
}
"""Every rule by name: (events, delta) -> epsilon."""
