"""What a run costs a budget, when nobody knows beforehand which runs will follow.

An accountant may assume that the noises were fixed before the data was seen. A ledger may not: people look at
one result and then decide on the next request. Two rules are sound all the same (they are *privacy filters*):

"gaussian"
    A budget of (epsilon, delta) is turned into mu**2, the largest for which mu-Gaussian privacy implies it.
    A Gaussian release costs count / noise**2; a release of pure epsilon costs mu(epsilon)**2 with the mu of
    `gaussian.pure_mu`. While the costs sum to at most mu**2, everything together is mu-Gaussian private, even
    though every request was chosen after seeing all earlier results (Smith and Thakurta 2022).
"sum"
    A run that promises (epsilon_i, delta_i) costs just that (Rogers, Roth, Ullman and Vadhan 2016).

**The whole budget at once.** A first run that promises no more than the budget's own (epsilon, delta) may
always take all of it: nothing comes before it and nothing after. Gaussian plans from `accountant.calibrate`
fit anyway; for Laplace and mixed plans under the "gaussian" rule this is the only way to use an epsilon in
full.

**Integers.** Costs are whole multiples of 1e-18, each rounded up; limits are rounded down. Limits carry a
hair of 1e-12, so that ten tenths fit although a tenth has no exact double. Under "gaussian" the hair is
paid from the margin of delta that the accountant keeps, and the limit never passes the mu**2 of (epsilon,
delta) itself. Under "sum" it means that the budget is kept to twelve digits.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.accounting.accountant import MARGIN
from discreet.accounting.gaussian import gaussian_epsilon, gaussian_mu, pure_mu
from discreet.errors import BudgetError, ParameterError

if TYPE_CHECKING:
    from discreet.accounting.event import Event
    from discreet.accounting.guarantee import Guarantee

__all__ = ["UNITS", "Cost", "Filter", "affordable", "choose_filter", "cost_of", "limit_of", "rounded_down"]

Filter = Literal["gaussian", "sum"]

Cost = tuple[int, int]
"""Under "gaussian": (mu**2, 0). Under "sum": (epsilon, delta). In multiples of 1 / `UNITS`."""

UNITS = 10**18
_HAIR = 1 + Fraction(1, 10**12)


def choose_filter(rule: str | None, delta: float) -> Filter:
    """The rule that was asked for, or the usual one: "gaussian" if delta > 0, "sum" if delta is 0."""
    if rule is None:
        return "gaussian" if delta > 0 else "sum"
    if rule not in ("gaussian", "sum"):
        raise ParameterError("no such rule for a budget", got=rule, wanted='rule="gaussian" or "sum"')
    if rule == "gaussian" and delta == 0:
        raise ParameterError(
            "a Gaussian budget needs a delta", got=delta, wanted="delta > 0", remedy='Or choose rule="sum".'
        )
    return "gaussian" if rule == "gaussian" else "sum"


def limit_of(rule: Filter, epsilon: float, delta: float) -> Cost:
    """How much a budget of (epsilon, delta) holds."""
    if rule == "sum":
        return _floor(Fraction(epsilon) * _HAIR), _floor(Fraction(delta) * _HAIR)
    usual, most = (Fraction(gaussian_mu(epsilon, d)) ** 2 for d in (delta * (1 - MARGIN), delta))
    return _floor(min(usual * _HAIR, most)), 0


def cost_of(rule: Filter, guarantee: Guarantee) -> Cost:
    """How much a run with this guarantee takes from a budget under this rule."""
    if rule == "sum":
        return _ceil(Fraction(guarantee.epsilon)), _ceil(Fraction(guarantee.delta))
    if guarantee.events:
        return sum(map(_release, guarantee.events)), 0
    if guarantee.delta == 0:
        return _square(guarantee.epsilon), 0
    raise BudgetError(
        "a run without a plan of releases cannot be charged to a Gaussian budget",
        got=guarantee.summary(),
        wanted="the planned events, or delta 0",
        remedy='Charge it to a budget with rule="sum".',
    )


def affordable(rule: Filter, left: Cost, delta: float) -> float:
    """The largest epsilon that a Gaussian plan (under "sum": any plan) at this delta may still ask for."""
    if rule == "sum":
        return left[0] / UNITS if delta * UNITS <= left[1] else 0.0
    return gaussian_epsilon(math.sqrt(left[0] / UNITS), delta * (1 - MARGIN))


def rounded_down(epsilon: float) -> str:
    """Six digits of an epsilon for people to read, never more than it is (but for a billionth)."""
    text = f"{epsilon:.6g}"
    return text if float(text) <= epsilon * (1 + 1e-9) else f"{epsilon * (1 - 1e-5):.6g}"


def _release(event: Event) -> int:
    if event.mechanism == "gaussian":
        return _ceil(event.count / Fraction(event.noise) ** 2)
    return event.count * _square(1 / event.noise)


def _square(epsilon: float) -> int:
    return _ceil(Fraction(pure_mu(epsilon)) ** 2)


def _ceil(value: Fraction) -> int:
    return math.ceil(value * UNITS)


def _floor(value: Fraction) -> int:
    return math.floor(value * UNITS)
