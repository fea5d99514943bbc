"""How many rounds a private fit makes, with how many components, and what part of the budget each one gets.

Everything here is fixed by the request (components, budget, noise) before any row is read. The constants
were chosen on many data sets (`docs/decisions/0003-schedule-of-a-private-fit.md`); the outcome is flat around
them.

A fit starts with one component that stands for the declared region, settles it in a few more rounds, then
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
    from discreet.accounting.event import Mechanism

__all__ = ["Round", "Schedule", "plan_rounds"]

START = {"gaussian": 0.05, "laplace": 0.15}  # parts of the budget: for the first round,
SETTLE = {"gaussian": 0.07, "laplace": 0.25}  # for settling one component, and the rest for all others
SETTLING = {"gaussian": 4, "laplace": 2}  # rounds with one component, after the first
LATER = 1.15  # each refining round gets this much more than the one before
RATE, MOST = 30, 60  # refining rounds: so many times the root of the budget's strength, at most so many
FEWEST = {"gaussian": 12, "laplace": 2}


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
    kind: Mechanism = "laplace" if noise == "laplace" else "gaussian"
    if rounds is None:
        rounds = _count(components, epsilon, delta, kind)
    sizes, shares = _sizes(components, rounds, kind)
    power = 1.0 if kind == "laplace" else 0.5
    shape = [
        Event(kind, share**-power, label=f"round {index}: moments of {size} component{'s' * (size > 1)}")
        for index, (size, share) in enumerate(zip(sizes, shares, strict=True), start=1)
    ]
    factor = calibrate_by(rule, shape, epsilon, delta)
    events = [event.scaled(factor) for event in shape]
    return Schedule(tuple(Round(size, event) for size, event in zip(sizes, events, strict=True)))


def _count(components: int, epsilon: float, delta: float, kind: Mechanism) -> int:
    """Growing and refining rounds. Laplace noise adds up faster than Gaussian: it wants fewer rounds."""
    if components == 1:
        return 1
    strength = (epsilon / 8) ** 2 if kind == "laplace" else gaussian_mu(epsilon, delta)
    return _doublings(components) + min(MOST, max(FEWEST[kind], round(RATE * math.sqrt(strength))))


def _sizes(components: int, rounds: int, kind: Mechanism) -> tuple[list[int], list[float]]:
    """The components of each round, and its part of the budget."""
    grown = [min(components, 2 ** (index + 1)) for index in range(rounds)]
    grown[-1:] = [components]
    start, settle, settling = START[kind], SETTLE[kind], SETTLING[kind]
    weights = [LATER**index for index in range(rounds)]
    refine = [(1 - start - settle) * weight / sum(weights) for weight in weights]
    return [1] * (1 + settling) + grown, [start] + [settle / settling] * settling + refine


def _doublings(components: int) -> int:
    return (components - 1).bit_length()
