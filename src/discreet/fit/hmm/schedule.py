"""How many rounds a private fit of a hidden Markov model makes, and what part of the budget each one gets.

Everything here is fixed by the request before a sequence is read; the constants were chosen on dice models
and random models of several sizes (`docs/decisions/0015-scores-instead-of-counts.md`), and the outcome is
flat around them. The first release is always a census: how many sequences there are, of which lengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.accounting.accountant import calibrate
from discreet.accounting.event import Event

if TYPE_CHECKING:
    from discreet.accounting.event import Mechanism

__all__ = ["METHODS", "plan_releases"]

METHODS = ("score", "iterate", "moments", "labelled")
"""What `auto` chooses from."""

CENSUS = {"gaussian": 0.04, "laplace": 0.1}  # the census's part of the budget
LATER = {"gaussian": 1.1, "laplace": 1.3}  # each round gets this much more than the one before
ROUNDS = {
    "score": {"gaussian": 16, "laplace": 6},
    "labelled": {"gaussian": 4, "laplace": 2},
    "iterate": {"gaussian": 12, "laplace": 4},
    "moments": {"gaussian": 1, "laplace": 1},
}
LABELS = {
    "score": "scores",
    "labelled": "counts and scores of known paths",
    "iterate": "expected counts",
    "moments": "windows",
}


def plan_releases(
    method: str, epsilon: float, delta: float, noise: str, rounds: int | None = None
) -> tuple[Event, ...]:
    """The census, and the rounds of a method; together they use up exactly the budget."""
    kind: Mechanism = "laplace" if noise == "laplace" else "gaussian"
    count = rounds or ROUNDS[method][kind]
    weights = [LATER[kind] ** index for index in range(count)]
    rest = 1 - CENSUS[kind]
    shares = [CENSUS[kind], *(rest * weight / sum(weights) for weight in weights)]
    labels = ["census", *(f"round {index}: {LABELS[method]}" for index in range(1, count + 1))]
    power = 1.0 if kind == "laplace" else 0.5
    shape = [Event(kind, share**-power, label=label) for share, label in zip(shares, labels, strict=True)]
    factor = calibrate(shape, epsilon, delta)
    return tuple(event.scaled(factor) for event in shape)
