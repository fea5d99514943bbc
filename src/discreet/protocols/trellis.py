"""A recursion over a trellis on shares, many models at once: the forward algorithm, Viterbi's, an automaton.

The model's owner holds start, transition and end weights; the scores of every step and state are shared
between the owner of the model and the owner of the data (additively modulo 2**width; exclusive-or for bits).
With joins (+) and products (*) of a semiring (`discreet.protocols.semiring`),

    a_0(j) = start(j) * score_0(j)
    a_t(j) = score_t(j) * (+)_(i, j) in arcs  a_(t-1)(i) * transition(i, j)
    total  = (+)_j a_(T-1)(j) * end(j)

**Reveals** the agreed answer to those whom the plan names: shares of it to both, or the value. Nothing on the
way is opened. Both learn the plan: semiring, steps, models, states, arcs, widths and declared ranges.
**Costs** ``plan.circuit.ands`` x 32 bytes for every step and model, 16 bytes a bit of the data owner's
shares, a few rounds for every 65,408 of those bits.
**Trusts** both to follow the protocol. Shares that were not made from scores in the declared range give a
wrong answer, never a glimpse: that is a promise between the parties, which circuits do not check.

**Overflow.** Words may wrap as long as differences fit. Before anything is sent, the model's owner bounds
every value of the recursion for scores at the ends of the declared range, with its own weights and the error
of the table, and refuses (`check_range`) a plan whose width is too small.

**Impossible** starts, transitions and ends (weight -inf) cost ``never`` nats instead. That is exact as long
as no possible path is worse than that; arcs that do not exist in any model are left out of ``arcs``, which is
also cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.crypto.block import derive
from discreet.crypto.circuit import bits_of_words, words_of_bits
from discreet.errors import ParameterError
from discreet.protocols.garbled import open_evaluating, open_garbling
from discreet.protocols.opening import (
    Opened,
    check_opened,
    check_words,
    open_words,
    random_words,
    reduce_words,
    signed_words,
)
from discreet.protocols.semiring import Kind, Semiring
from discreet.protocols.stages import Arcs, arcs_into, first_step, last_step, next_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.crypto.circuit import Circuit
    from discreet.protocols.garbled import Evaluating, Garbling
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Trellis", "Weights", "all_arcs", "check_range", "hold_data", "hold_model", "left_right", "plain"]

_WINDOW = 60_000
"""Bits of the data owner's shares that are transferred together."""


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
class _Fixed:
    """Weights as integers: start and end (states, models), one row an arc (arcs, models)."""

    start: NDArray[np.int64]
    arcs: NDArray[np.int64]
    end: NDArray[np.int64]


def hold_model(
    plan: Trellis,
    weights: Weights,
    share: NDArray[np.uint64],
    bits: Bits,
    end: Garbling | None = None,
) -> Steps[NDArray[Any] | None]:
    """The role of the model's owner, who garbles; ``share`` is (steps, models, states).

    A session that is open already may be given as ``end``. Returns its share of the answer (uint64), the
    value (int64, in units of the plan), or None if only the other party learns: (models,) for "total",
    (models, states) for "states".
    """
    fixed = _fix(plan, weights)
    check_range(plan, weights)
    mine = _turned(plan, share)
    end = end or (yield from open_garbling(plan.context, bits))
    state = None
    for window in _windows(plan):
        told = yield from end.take((len(window) * plan.states * plan.width, plan.models))
        for index, step in enumerate(window):
            own = end.give(_bits(_own(plan, fixed, mine[step], step), plan.width))
            state = yield from _advance(plan, end, state, own, _row(plan, told, index))
    mask = random_words(bits, plan.width, (_answers(plan), plan.models))
    own = end.give(_bits(_last(plan, fixed, mask), plan.width))
    output = yield from _finish(plan, end, state, own)
    yield from end.tell(output)
    opened = yield from open_words(mask, plan.width, plan.opened, "garbler")
    return _answer(plan, opened)


def hold_data(
    plan: Trellis, share: NDArray[np.uint64], bits: Bits, end: Evaluating | None = None
) -> Steps[NDArray[Any] | None]:
    """The role of the data's owner, who evaluates. Returns what `hold_model` does."""
    mine = _turned(plan, share)
    end = end or (yield from open_evaluating(plan.context, bits))
    state = None
    for window in _windows(plan):
        words = mine[window.start : window.stop].reshape(-1, plan.models)
        told = yield from end.give(_bits(words, plan.width))
        for index, step in enumerate(window):
            own = end.take((_own_rows(plan, step) * plan.width, plan.models))
            state = yield from _advance(plan, end, state, own, _row(plan, told, index))
    own = end.take((_last_rows(plan) * plan.width, plan.models))
    output = yield from _finish(plan, end, state, own)
    shown = yield from end.learn(output)
    words = words_of_bits(shown.reshape(-1, plan.width, plan.models).swapaxes(0, 1))
    opened = yield from open_words(words, plan.width, plan.opened, "evaluator")
    return _answer(plan, opened)


def plain(plan: Trellis, weights: Weights, scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same recursion in the clear, bit for bit, on scores (steps, models, states) in the plan's units."""
    fixed, semiring = _fix(plan, weights), plan.semiring
    extend = np.bitwise_and if plan.kind == "or" else np.add
    columns = scores.swapaxes(1, 2)
    state = extend(fixed.start, columns[0])
    for column in columns[1:]:
        paths = extend(state[[i for i, _ in plan.arcs]], fixed.arcs)
        joined = [semiring.plain(paths[list(arcs)], 0) for arcs in arcs_into(plan.arcs, plan.states)]
        state = extend(np.stack(joined), column)
    return state.T if plan.answer == "states" else semiring.plain(extend(state, fixed.end), 0)


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


def _fix(plan: Trellis, weights: Weights) -> _Fixed:
    start, arcs, end = (plan.fixed(part) for part in _columns(plan, weights))
    return _Fixed(start, arcs, end)


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


def _turned(plan: Trellis, share: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Shares as (steps, states, models): models are the instances of the circuit."""
    return check_words(share, plan.width, (plan.steps, plan.models, plan.states)).swapaxes(1, 2)


def _windows(plan: Trellis) -> Iterator[range]:
    """Steps whose shares are transferred together."""
    size = max(1, _WINDOW // (plan.states * plan.models * plan.width))
    for first in range(0, plan.steps, size):
        yield range(first, min(plan.steps, first + size))


def _row(plan: Trellis, labels: Blocks, index: int) -> Blocks:
    """Labels of one step of a window."""
    size = plan.states * plan.width
    return labels[index * size : (index + 1) * size]


def _bits(words: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Words (rows, models) as the bits of one input: (rows x width, models)."""
    return bits_of_words(words, width).swapaxes(0, 1).reshape(-1, words.shape[1])


def _own(plan: Trellis, fixed: _Fixed, share: NDArray[np.uint64], step: int) -> NDArray[np.uint64]:
    """What the garbler puts into a step: arcs (or starts) plus its share of the score, or both beside."""
    weights = fixed.arcs if step else fixed.start
    if plan.kind == "or":
        return np.concatenate([weights.astype(np.uint64), share])
    into = [j for _, j in plan.arcs] if step else slice(None)
    return reduce_words(weights.view(np.uint64) + share[into], plan.width)


def _own_rows(plan: Trellis, step: int) -> int:
    weights = len(plan.arcs) if step else plan.states
    return weights + plan.states if plan.kind == "or" else weights


def _last(plan: Trellis, fixed: _Fixed, mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What the garbler puts in at the end: end weights less the mask, or both beside."""
    if plan.answer == "states":
        return reduce_words(-mask, plan.width)
    if plan.kind == "or":
        return np.concatenate([fixed.end.astype(np.uint64), mask])
    return reduce_words(fixed.end.view(np.uint64) - mask, plan.width)


def _last_rows(plan: Trellis) -> int:
    return plan.states + 1 if plan.kind == "or" and plan.answer == "total" else plan.states


def _answers(plan: Trellis) -> int:
    return 1 if plan.answer == "total" else plan.states


def _answer(plan: Trellis, words: NDArray[np.uint64] | None) -> NDArray[Any] | None:
    """Words (answers, models) as the role returns them."""
    if words is None:
        return None
    shaped = words[0] if plan.answer == "total" else words.T
    if plan.opened == "shares":
        return shaped
    return shaped.astype(np.int64) if plan.kind == "or" else signed_words(shaped, plan.width)


def _advance(
    plan: Trellis, end: Garbling | Evaluating, state: Blocks | None, own: Blocks, told: Blocks
) -> Steps[Blocks]:
    """One step of the recursion on labels."""
    if state is None:
        circuit = first_step(plan.semiring, plan.states)
        out = yield from end.run(circuit, {"own": own, "told": told})
    else:
        out = yield from end.run(plan.circuit, {"state": state, "own": own, "told": told})
    return out["state"]


def _finish(plan: Trellis, end: Garbling | Evaluating, state: Blocks | None, own: Blocks) -> Steps[Blocks]:
    assert state is not None
    circuit = last_step(plan.semiring, plan.states, plan.answer == "total")
    out = yield from end.run(circuit, {"state": state, "own": own})
    return out["answer"]
