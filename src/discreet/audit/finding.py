"""What the audit of a fit proves: a lower bound on epsilon, and how much of the noise a canary used up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.audit.bits import low_bits
from discreet.audit.distinguish import Finding, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.accounting.event import Event
    from discreet.accounting.guarantee import Guarantee
    from discreet.audit.transcript import Attack, Score

__all__ = ["FitFinding", "conclude"]


@dataclass(frozen=True)
class FitFinding(Finding):
    """A finding about a fit. ``subject`` says what was audited; ``bug`` names what was planted in it, if
    anything. ``spent`` is the largest part of the claimed noise budget that the canary used up in any run, by
    the noiseless statistics themselves: close to 1 for a good canary, above 1 only if a bound is wrong.
    """

    subject: str
    bug: str | None
    spent: float

    @property
    def overspent(self) -> bool:
        """True if the canary weighed more than the noise was made for: a bound or the noise is wrong."""
        return self.spent > 1 + 1e-9

    def words(self) -> str:
        """The finding in plain words."""
        planted = f", with a bug planted in it: {self.bug}" if self.bug else ""
        used = f" The canary used up to {100 * self.spent:.4g} % of the noise budget." if self.spent else ""
        return f"Audit of {self.subject}{planted}. {super().words()}{used}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {**super().to_dict(), "overspent": self.overspent}


def conclude(
    attack: Attack,
    scores: tuple[Sequence[Score], Sequence[Score]],
    claimed: Guarantee,
    confidence: float,
    *,
    subject: str,
    bug: str | None,
) -> FitFinding:
    """A finding from the scores of both worlds, beside what was claimed."""
    claim, delta = claimed.epsilon, claimed.delta
    told0, told1 = ([one.ratio for one in world] for world in scores)
    if attack == "low bits":
        found = low_bits(told0, told1, claim, delta=delta, confidence=confidence)
    else:
        found = judge(told0, told1, delta, claim=claim, confidence=confidence, method=attack)
    return FitFinding(
        found.epsilon_lower,
        found.method,
        found.runs,
        claim,
        delta,
        confidence,
        subject=subject,
        bug=bug,
        spent=_spent(claimed.events, [*scores[0], *scores[1]]),
    )


def _spent(events: Sequence[Event], scores: Sequence[Score]) -> float:
    """The largest part of the claimed mu (Gaussian) or epsilon (Laplace) that a canary used."""
    squares = sum(one.count / one.noise**2 for one in events if one.mechanism == "gaussian")
    pure = sum(one.count / one.noise for one in events if one.mechanism == "laplace")
    parts = [0.0]
    if squares:
        parts.append(math.sqrt(max(one.squares for one in scores) / squares))
    if pure:
        parts.append(max(one.pure for one in scores) / pure)
    return max(parts)
