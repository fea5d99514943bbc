"""What a recursion over a trellis is about: the plan both know, weights one holds, the plain result.

**Overflow.** Words may wrap as long as differences fit. Before anything is sent, the model's owner bounds
every value of the recursion for scores at the ends of the declared range, with its own weights and the error
of the table, and refuses (`check_range`) a plan whose width is too small.

**Impossible** starts, transitions and ends (weight -inf) cost ``never`` nats instead, and a plan is refused
in which that could matter. Arcs that exist in no model are better left out of ``arcs``, which is also
cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.crypto.block import derive
from discreet.errors import ParameterError
from discreet.protocols.opening import Opened, check_opened
from discreet.protocols.semiring import Kind, Semiring
from discreet.protocols.stages import Arcs, arcs_into, next_step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.crypto.circuit import Circuit

__all__ = [
    "Fixed",
    "Trellis",
    "Weights",
    "all_arcs",
    "check_range",
    "fix",
    "left_right",
    "plain",
    "plain_path",
]


def all_arcs(states: int) -> Arcs:
    """Every state follows every state."""
    return tuple((i, j) for j in range(states) for i in range(states))


def left_right(states: int) -> Arcs:
    """A state is followed by itself or the next."""
    return tuple((i, j) for j in range(states) for i in (j - 1, j) if i >= 0)


@dataclass(frozen=True)
class Trellis:
    """The plan, known to both. ``low`` and ``high`` bound every score, in nats.

    ``answer``: "total" for every model, or "states", the value of every state after the last step.
    ``opened``: "shares", or who learns the value: "garbler" (the model's owner), "evaluator" or "both".
    """

    kind: Kind
    steps: int
    models: int
    arcs: Arcs
    low: float = 0.0
    high: float = 0.0
    never: float = 2000.0
    width: int = 24
    fraction: int = 8
    error: float = 1 / 64
    answer: Literal["total", "states"] = "total"
    opened: Opened = "shares"

    def __post_init__(self) -> None:
        ends = {j for _, j in self.arcs}
        if self.steps < 1 or self.models < 1 or not ends or ends != set(range(len(ends))):
            raise ParameterError(
                "not a trellis",
                got=(self.steps, self.models),
                wanted="steps, models, and an arc into every state",
            )
        if any(not 0 <= i < len(ends) for i, _ in self.arcs) or len(set(self.arcs)) != len(self.arcs):
            raise ParameterError("arcs start nowhere or repeat", got=self.arcs)
        if not self.low <= self.high or not self.never > 0:
            raise ParameterError(
                "scores need a range, and never a cost", got=(self.low, self.high, self.never)
            )
        if self.answer not in ("total", "states"):
            raise ParameterError("no such answer", got=self.answer, wanted="total or states")
        check_opened(self.opened)
        _ = self.semiring

    @property
    def states(self) -> int:
        """States of every model."""
        return len({j for _, j in self.arcs})

    @property
    def semiring(self) -> Semiring:
        """How paths join."""
        return Semiring(self.kind, self.width, self.fraction, self.error)

    @property
    def circuit(self) -> Circuit:
        """One step of one model."""
        return next_step(self.semiring, self.states, self.arcs)

    @property
    def context(self) -> bytes:
        """What parties must agree on."""
        return derive(b"discreet/1/trellis", repr(self).encode())

    def fixed(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Nats as integers of the plan, -inf as -never; bits as they are."""
        if self.kind == "or":
            return np.asarray(values).astype(bool).astype(np.int64)
        finite = np.where(np.isneginf(values), -self.never, values)
        scaled = np.round(finite * 2.0**self.fraction)
        if not np.isfinite(scaled).all() or np.abs(scaled).max() >= 2.0 ** (self.width - 1):
            raise ParameterError(
                "weights do not fit the words", wanted=f"below 2**{self.width - 1 - self.fraction}"
            )
        return scaled.astype(np.int64)


@dataclass(frozen=True)
class Weights:
    """The private side of the model, in nats (bits for `or`).

    ``start`` and ``end`` are (models, states), ``transitions`` (models, states, states): from, to.
    """

    start: NDArray[Any]
    transitions: NDArray[Any]
    end: NDArray[Any]

    def __repr__(self) -> str:
        return f"Weights({self.start.shape[0]} models)"


@dataclass(frozen=True)
class Fixed:
    """Weights as integers: start and end (states, models), one row an arc (arcs, models)."""

    start: NDArray[np.int64]
    arcs: NDArray[np.int64]
    end: NDArray[np.int64]


def plain(plan: Trellis, weights: Weights, scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same recursion in the clear, bit for bit, on scores (steps, models, states) in the plan's units."""
    fixed, semiring = fix(plan, weights), plan.semiring
    extend = np.bitwise_and if plan.kind == "or" else np.add
    columns = scores.swapaxes(1, 2)
    state = extend(fixed.start, columns[0])
    for column in columns[1:]:
        paths = extend(state[[i for i, _ in plan.arcs]], fixed.arcs)
        joined = [semiring.plain(paths[list(arcs)], 0) for arcs in arcs_into(plan.arcs, plan.states)]
        state = extend(np.stack(joined), column)
    return state.T if plan.answer == "states" else semiring.plain(extend(state, fixed.end), 0)


def plain_path(plan: Trellis, weights: Weights, scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """The best path of every model in the clear, (steps, models): the first of equals, as in the circuit."""
    fixed, columns = fix(plan, weights), scores.swapaxes(1, 2)
    into = arcs_into(plan.arcs, plan.states)
    state, choices = fixed.start + columns[0], []
    for column in columns[1:]:
        paths = state[[i for i, _ in plan.arcs]] + fixed.arcs
        best = [np.asarray(part)[paths[list(part)].argmax(axis=0)] for part in into]
        choices.append(np.array([i for i, _ in plan.arcs])[np.stack(best)])
        state = np.stack([paths[list(part)].max(axis=0) for part in into]) + column
    here = (state + fixed.end).argmax(axis=0)
    path = [here]
    for choice in reversed(choices):
        here = np.take_along_axis(choice, here[None], axis=0)[0]
        path.append(here)
    return np.stack(path[::-1])


def check_range(plan: Trellis, weights: Weights) -> None:
    """Refuse a plan whose words could wrap where they must not, for scores in its range.

    Bounds every value by the recursion itself, with all scores lowest and all highest: joins and products
    grow with their arguments. Also refuses a ``never`` so small that impossible paths could count beside a
    possible one.
    """
    if plan.kind == "or":
        return
    parts = _columns(plan, weights)
    limit = 2.0 ** (plan.width - 1 - plan.fraction)
    floored = tuple(np.where(np.isneginf(part), -plan.never, part) for part in parts)
    lows = [_before(plan, bound, floored) for bound in _bounds(plan, floored, plan.low, best=True)]
    highs = [_before(plan, bound, floored) for bound in _bounds(plan, floored, plan.high, best=False)]
    spread = max(float(np.max(h.max(axis=0) - lo.min(axis=0))) for h, lo in zip(highs, lows, strict=True))
    reach = max(-float(lows[-1].min()), float(np.logaddexp.reduce(highs[-1], axis=0).max()))
    if max(spread, reach) + plan.steps * _slack(plan) >= limit:
        raise ParameterError(
            "values of the recursion may not fit their words",
            got=f"{plan.width} bits for {plan.steps} steps of scores from {plan.low:g} to {plan.high:g}",
            remedy="Widen the words, narrow the declared range of scores, or drop fractional bits.",
        )
    if any(np.isneginf(part).any() for part in parts):
        _check_never(plan, parts)


def _check_never(plan: Trellis, parts: tuple[NDArray[Any], ...]) -> None:
    """The best possible path under the lowest scores must beat an impossible one under the highest."""
    free = tuple(np.where(np.isneginf(part), 0.0, part) for part in parts)
    possible = _bounds(plan, parts, plan.low, best=True)[-1]
    thought = _bounds(plan, free, plan.high, best=False)[-1]
    if plan.answer == "total":
        possible, thought = (possible + parts[2]).max(axis=0), np.logaddexp.reduce(thought + free[2], axis=0)
    worst = possible[np.isfinite(possible)]
    if worst.size and float(thought.max()) - float(worst.min()) + 10 > plan.never:
        raise ParameterError(
            "an impossible path could count",
            got=f"never={plan.never:g}",
            remedy="Raise never, narrow the declared range of scores, or leave arcs out that no model has.",
        )


def _bounds(
    plan: Trellis, parts: tuple[NDArray[Any], ...], score: float, *, best: bool
) -> list[NDArray[np.float64]]:
    """Every state's value after each step if all scores are the same: of its best path alone, or of all."""
    start, arcs, _ = parts
    state = start + score
    bounds = [state]
    for _ in range(plan.steps - 1):
        paths = state[[i for i, _ in plan.arcs]] + arcs
        into = [paths[list(part)] for part in arcs_into(plan.arcs, plan.states)]
        joined = [part.max(axis=0) if best else np.logaddexp.reduce(part, axis=0) for part in into]
        state = np.stack(joined) + score
        bounds.append(state)
    return bounds


def _before(plan: Trellis, state: NDArray[Any], parts: tuple[NDArray[Any], ...]) -> NDArray[np.float64]:
    """All that is joined next: values on arcs, at the end, and of states themselves."""
    return np.concatenate([state, state[[i for i, _ in plan.arcs]] + parts[1], state + parts[2]])


def _slack(plan: Trellis) -> float:
    """What the error of the table may add in one step, and rounding of weights."""
    return plan.semiring.slack * plan.states.bit_length() + 2.0**-plan.fraction


def fix(plan: Trellis, weights: Weights) -> Fixed:
    """Weights as integers, checked."""
    start, arcs, end = (plan.fixed(part) for part in _columns(plan, weights))
    return Fixed(start, arcs, end)


def _columns(plan: Trellis, weights: Weights) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Start, arcs and end with models in columns."""
    square, flat = (plan.models, plan.states, plan.states), (plan.models, plan.states)
    if weights.start.shape != flat or weights.end.shape != flat or weights.transitions.shape != square:
        raise ParameterError(
            "weights have the wrong shape",
            got=(weights.start.shape, weights.transitions.shape, weights.end.shape),
            wanted=f"{flat}, {square}, {flat}",
        )
    arcs = np.stack([weights.transitions[:, i, j] for i, j in plan.arcs])
    return weights.start.T, arcs, weights.end.T
