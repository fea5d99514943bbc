"""What was promised about one run: how strong, for whom, on whose trust, and what is still revealed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from discreet.accounting.accountant import check_budget, epsilon_of
from discreet.accounting.event import Event, check_number
from discreet.errors import BudgetError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UNITS", "Guarantee", "Neighbours", "Piece", "Unit"]

Unit = Literal["row", "sequence", "person"]
Piece = Literal["row", "sequence"]
Neighbours = Literal["add or remove one", "change one"]

UNITS = ("row", "sequence", "person")
"""What can be protected. Promises about different units bound different things and never mix."""

_PIECES = ("row", "sequence")
_NEIGHBOURS = ("add or remove one", "change one")
_WEAK = 10.0
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of one run, for adding or removing one unit, as a rule.

    ``events`` is the whole plan of noisy releases that the promise covers; ``trusts`` names who sees the
    data; ``reveals`` lists what the result shows; ``declared`` lists what the caller declared to be public,
    and what the promise therefore does not protect. ``seeded`` runs and runs with infinite epsilon promise
    nothing. ``piece`` is what the data of a person consist of: rows, or sequences. ``neighbours`` is "change
    one" for runs in which every owner sends a noisy row: those hide what a row says, not that it is there.
    """

    epsilon: float
    delta: float
    unit: Unit
    events: tuple[Event, ...]
    trusts: str
    reveals: tuple[str, ...]
    declared: tuple[str, ...]
    seeded: bool = False
    person: str | None = None
    rows_per_person: float | None = None
    neighbours: Neighbours = "add or remove one"
    piece: Piece = "row"

    def __post_init__(self) -> None:
        epsilon, delta = check_budget(self.epsilon, self.delta)
        for name, value in (
            ("epsilon", epsilon),
            ("delta", delta),
            ("events", tuple(self.events)),
            ("reveals", tuple(self.reveals)),
            ("declared", tuple(self.declared)),
        ):
            object.__setattr__(self, name, value)
        if not all(isinstance(text, str) for text in (self.trusts, *self.reveals, *self.declared)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("words of a guarantee are no texts", wanted="trusts, reveals and declared")
        if self.unit not in UNITS:
            raise ParameterError("no such unit of privacy", got=self.unit, wanted=" or ".join(UNITS))
        if self.piece not in _PIECES or self.unit not in (self.piece, "person"):
            raise ParameterError(
                "no such piece of data", got=self.piece, wanted="that of which the unit is made"
            )
        if self.neighbours not in _NEIGHBOURS:
            raise ParameterError("no such neighbours", got=self.neighbours, wanted=" or ".join(_NEIGHBOURS))
        if math.isinf(epsilon) and self.events:
            raise ParameterError(
                "a plain run draws no noise", got=f"{len(self.events)} events", wanted="none"
            )
        if self.person is not None and not isinstance(self.person, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(
                "person is not the name of a column", got=type(self.person).__name__, wanted="a name"
            )
        if self.unit != "person" and not (self.person is None and self.rows_per_person is None):
            raise ParameterError(
                f"a promise about {self.unit}s names no person",
                got=self.person,
                wanted='unit="person", or neither person nor rows_per_person',
            )
        if self.rows_per_person is not None:
            weight = check_number("rows_per_person", self.rows_per_person)
            if not 0 < weight < math.inf:
                raise ParameterError("rows_per_person is out of range", got=weight, wanted="> 0 and finite")

    def check(self) -> None:
        """Raise `BudgetError` if the plan costs more than is claimed (by more than a billionth part)."""
        cost = epsilon_of(self.events, self.delta)
        if cost > self.epsilon * _ROUNDING:
            raise BudgetError(
                "the planned releases cost more than the guarantee claims",
                got=f"epsilon {cost:g} at delta {self.delta:g}",
                wanted=f"at most epsilon {self.epsilon:g}",
                remedy="Calibrate the plan with `accountant.calibrate`.",
            )

    @property
    def private(self) -> bool:
        """Whether anything is promised at all."""
        return math.isfinite(self.epsilon) and not self.seeded

    def summary(self) -> str:
        """The promise on one line."""
        return self._size() if self.private else f"{self._failing()}: {self._size()}"

    def words(self) -> str:
        """The promise in plain words, for people who sign things."""
        parts = [self._protected(), self._strength()] if self.private else [self._warning()]
        parts.append(f"Who is trusted: {_sentence(self.trusts)}")
        parts.append(f"What is revealed: {_listed(self.reveals, 'nothing beyond the above.')}")
        parts.append(
            "What was declared public, and is not protected: "
            + _listed(self.declared, "nothing was declared public.")
        )
        if self.events:
            parts.append(f"Noise: {_noise_words(self.events)}.")
        return "\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The promise as plain data; JSON keeps it exactly (an infinite epsilon is written as text)."""
        return {
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "infinity",
            "delta": self.delta,
            "unit": self.unit,
            "events": [event.to_dict() for event in self.events],
            "trusts": self.trusts,
            "reveals": list(self.reveals),
            "declared": list(self.declared),
            "seeded": self.seeded,
            "person": self.person,
            "rows_per_person": self.rows_per_person,
            "neighbours": self.neighbours,
            "piece": self.piece,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Guarantee:
        """Read back what `to_dict` wrote."""
        names = {field.name for field in fields(cls)}
        if set(plain) != names:
            raise ParameterError(
                "this is not a guarantee", got=sorted(map(str, plain)), wanted=", ".join(sorted(names))
            )
        values = dict(plain)
        values["epsilon"] = math.inf if plain["epsilon"] == "infinity" else plain["epsilon"]
        values["events"] = tuple(Event.from_dict(event) for event in plain["events"])
        return cls(**values)

    def _size(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g} per {self.unit} ({self.neighbours})"

    def _failing(self) -> str:
        reasons = [
            name
            for name, holds in (("epsilon infinity", math.isinf(self.epsilon)), ("seeded", self.seeded))
            if holds
        ]
        return f"not private ({reasons[0]})" + "".join(f", not private ({other})" for other in reasons[1:])

    def _secret(self) -> str:
        if self.neighbours == "change one":
            return f"what any one {self.unit} said"
        return f"whether any one {self.unit} was in the data"

    def _protected(self) -> str:
        piece = self.piece
        if self.unit != "person":
            whole = " of the table" if piece == "row" else ", with all its steps"
            what = (
                f"one {piece}{whole}. Somebody who owns several {piece}s is protected for each of them alone"
            )
        else:
            column = f" in column {self.person!r}" if self.person else ""
            what = f"all {piece}s of one person together; a person is one value{column}"
            if self.rows_per_person is not None:
                weight = _pieces(self.rows_per_person, piece)
                what += f", whose {piece}s together weigh as much as {weight} at most"
        if self.neighbours == "change one":
            change = (
                f"with another value in one {self.unit}; how many {self.unit}s there are is not protected."
            )
        else:
            change = (
                f"with one {self.unit} added or removed; even how many {self.unit}s there are is protected, "
                "unless it is listed as public."
            )
        return f"What is protected: {what}. Two data sets are neighbours if one is the other {change}"

    def _strength(self) -> str:
        odds = _odds(self.epsilon)
        chance = _chance(self.delta)
        right = _best_guess(self.epsilon, self.delta)
        text = (
            f"Guarantee: differential privacy with epsilon {self.epsilon:g} and delta {self.delta:g}. "
            f"Whoever sees the result can hardly tell {self._secret()}: the odds "
            f"of any guess about one {self.unit} change by at most a factor e^epsilon = {odds}{chance}. "
            "Somebody who must guess, and would be right half of the time without the result, is right at "
            f"most {right} of the time with it, whatever else they know. Several results about the same data "
            "add up."
        )
        if self.epsilon > _WEAK:
            text += " WARNING: an epsilon this large promises very little."
        return text

    def _warning(self) -> str:
        if math.isinf(self.epsilon):
            reason = "No noise was drawn: the result can reveal anything about anybody in the data."
        else:
            reason = (
                "The noise came from a seed, for tests: whoever knows or guesses the seed can take it away."
            )
        return (
            f"WARNING: {self._failing()}. {reason} Nothing is protected, and the result must not be handed "
            f"out as if it were. What was asked for: {self._size()}."
        )


def _pieces(weight: float, piece: str) -> str:
    return f"one {piece}" if weight == 1 else f"{weight:g} {piece}s"


def _odds(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else "more than 10^300"


def _chance(delta: float) -> str:
    if delta == 0:
        return ", without exception (delta is 0)"
    return f", give or take a probability of delta = {delta:g} (1 in {1 / delta:,.0f})"


def _best_guess(epsilon: float, delta: float) -> str:
    """The best chance to tell two equally likely neighbours: (e**epsilon + delta) / (e**epsilon + 1)."""
    right = 1 - (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    shown = math.ceil(right * 1000 - 1e-6) / 10
    return f"{shown:g}%"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _listed(items: tuple[str, ...], nothing: str) -> str:
    return _sentence("; ".join(items)) if items else nothing


def _noise_words(events: tuple[Event, ...]) -> str:
    """How much noise of which law, over how many releases; the receipt lists each of them."""
    parts: list[str] = []
    for mechanism, law, bound in (("gaussian", "Gaussian", "L2"), ("laplace", "Laplace", "L1")):
        same = [event for event in events if event.mechanism == mechanism]
        if same:
            count = sum(event.count for event in same)
            low, high = min(event.noise for event in same), max(event.noise for event in same)
            size = f"{low:.4g}" if f"{low:.4g}" == f"{high:.4g}" else f"{low:.4g} to {high:.4g}"
            plural = "s" if count > 1 else ""
            parts.append(
                f"{count} release{plural} with {law} noise of {size} times the {bound} bound of one unit"
            )
    return "; ".join(parts)
