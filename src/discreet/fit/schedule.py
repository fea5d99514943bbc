"""How many rounds a private fit makes, with how many components, and what part of the budget each one gets.

Everything here is fixed by the request (components, budget, noise) before any row is read. The constants were
chosen on several data sets (`docs/decisions/0003`); the outcome is flat around them.

A fit starts with one component that stands for the declared region, settles it in two more rounds, then
doubles the components round by round and refines them. Each round is one release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.accounting.accountant import gaussian_mu
from discreet.accounting.composition import calibrate_by
from discreet.accounting.event import Event

if TYPE_CHECKING:
    from discreet.accounting.composition import Rule

__all__ = ["Round", "Schedule", "plan_rounds"]

START, SETTLE, REFINE = 0.08, 0.12, 0.80  # parts of the budget
SETTLING = 2
LATER = 1.15  # each refining round gets this much more than the one before
ROUNDS, FEWEST_ROUNDS, MOST_ROUNDS = 25, 3, 40  # refining rounds: the first times the root of the strength


@dataclass(frozen=True)
class Round:
    """One release: with this many components, at this event."""

    components: int
    event: Event


@dataclass(frozen=True)
class Schedule:
    """The rounds of a fit, in order; the first looks at the whole region."""

    rounds: tuple[Round, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """What all the rounds cost."""
        return tuple(one.event for one in self.rounds)


def plan_rounds(
    components: int,
    epsilon: float,
    delta: float,
    *,
    noise: str = "gaussian",
    rounds: int | None = None,
    rule: Rule = "tight",
) -> Schedule:
    """The schedule for a request. ``rounds`` replaces the number of growing and refining rounds.

    ``rule`` is the composition rule by which noise is chosen; only "tight" makes sense outside comparisons.
    """
    sizes, shares = _sizes(components, _strength(epsilon, delta, noise), rounds)
    kind = "laplace" if noise == "laplace" else "gaussian"
    power = 1.0 if kind == "laplace" else 0.5
    shape = [
        Event(kind, share**-power, label=f"round {index}: moments of {size} component{'s' * (size > 1)}")
        for index, (size, share) in enumerate(zip(sizes, shares, strict=True), start=1)
    ]
    factor = calibrate_by(rule, shape, epsilon, delta)
    events = [event.scaled(factor) for event in shape]
    return Schedule(tuple(Round(size, event) for size, event in zip(sizes, events, strict=True)))


def _strength(epsilon: float, delta: float, noise: str) -> float:
    """How much the budget allows, as the mu of Gaussian privacy; Laplace noise wants fewer rounds."""
    return (epsilon / 8) ** 2 if noise == "laplace" else gaussian_mu(epsilon, delta)


def _sizes(components: int, strength: float, rounds: int | None) -> tuple[list[int], list[float]]:
    doublings = math.ceil(math.log2(components)) if components > 1 else 0
    if rounds is None:
        refining = min(MOST_ROUNDS, max(FEWEST_ROUNDS, round(ROUNDS * math.sqrt(strength))))
        rounds = 2 * doublings + refining if components > 1 else 1
    grown = [min(components, 2 ** (index + 1)) for index in range(rounds)]
    grown[-1:] = [components]
    sizes = [1] * (1 + SETTLING) + grown
    weights = [LATER**index for index in range(rounds)]
    refine = [REFINE * weight / sum(weights) for weight in weights]
    return sizes, [START] + [SETTLE / SETTLING] * SETTLING + refine
