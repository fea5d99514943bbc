"""A recursion over a trellis on shares, many models at once: the forward algorithm, Viterbi's, an automaton.

The model's owner holds start, transition and end weights; the scores of every step and state are shared
between the owner of the model and the owner of the data (additively modulo 2**width; exclusive-or for bits).
With joins (+) and products (*) of a semiring (`discreet.protocols.semiring`),

    a_0(j) = start(j) * score_0(j)
    a_t(j) = score_t(j) * (+)_(i, j) in arcs  a_(t-1)(i) * transition(i, j)
    total  = (+)_j a_(T-1)(j) * end(j)

`hold_model` and `hold_data` end with totals or states. `trace_model` and `trace_data` end with the best path,
in the semiring `max`: every step keeps the labels of its choices, and the path is followed back through them.

**Reveals** the agreed answer to those whom the plan names: shares of it to both, or the value. Nothing on the
way is opened. Both learn the plan: semiring, steps, models, states, arcs, widths and declared ranges.
**Costs** 32 bytes an AND gate of the plan for every step and model, 16 bytes a bit of the data owner's
shares, a few rounds for every 65,408 of those bits. Memory does not grow with the steps, but for the choices
of a path: 16 bytes a bit.
**Trusts** both to follow the protocol. Shares that were not made from scores in the declared range give a
wrong answer, never a glimpse: that is a promise between the parties, which circuits do not check.
**Overflow** is refused before anything is sent: `discreet.protocols.recursion`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.circuit import bits_of_words, words_of_bits
from discreet.errors import ParameterError
from discreet.protocols.garbled import open_evaluating, open_garbling
from discreet.protocols.opening import check_words, open_words, random_words, reduce_words, signed_words
from discreet.protocols.recursion import (
    Fixed,
    Trellis,
    Weights,
    all_arcs,
    check_range,
    fix,
    left_right,
    plain,
    plain_path,
)
from discreet.protocols.stages import (
    first_step,
    hide,
    last_choice,
    last_step,
    next_step,
    number_width,
    step_back,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.protocols.garbled import Evaluating, Garbling
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = [
    "Trellis",
    "Weights",
    "all_arcs",
    "check_range",
    "hold_data",
    "hold_model",
    "left_right",
    "plain",
    "plain_path",
    "trace_data",
    "trace_model",
]

_WINDOW = 60_000
"""Bits of the data owner's shares that are transferred together."""


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
    fixed, mine = _prepared(plan, weights, share)
    end = end or (yield from open_garbling(plan.context, bits))
    state, _ = yield from _garble_steps(plan, fixed, mine, end, traced=False)
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
    state, _ = yield from _evaluate_steps(plan, mine, end, traced=False)
    own = end.take((_last_rows(plan) * plan.width, plan.models))
    output = yield from _finish(plan, end, state, own)
    shown = yield from end.learn(output)
    words = words_of_bits(shown.reshape(-1, plan.width, plan.models).swapaxes(0, 1))
    opened = yield from open_words(words, plan.width, plan.opened, "evaluator")
    return _answer(plan, opened)


def trace_model(
    plan: Trellis,
    weights: Weights,
    share: NDArray[np.uint64],
    bits: Bits,
    end: Garbling | None = None,
) -> Steps[NDArray[np.uint64] | None]:
    """The role of the model's owner when the answer is the best path of every model: (steps, models) states.

    Shares of a path are modulo the next power of two. The first of equal paths is taken, as `plain_path`
    does.
    """
    _check_traced(plan)
    fixed, mine = _prepared(plan, weights, share)
    end = end or (yield from open_garbling(b"path" + plan.context, bits))
    state, choices = yield from _garble_steps(plan, fixed, mine, end, traced=True)
    own = end.give(_bits(reduce_words(fixed.end.view(np.uint64), plan.width), plan.width))
    path = yield from _follow(plan, end, state, own, choices)
    width = number_width(plan.states)
    mask = random_words(bits, width, (plan.steps, plan.models))
    given = end.give(_bits(mask.reshape(1, -1), width))
    out = yield from end.run(hide(width), {"number": path, "mask": given})
    yield from end.tell(out["answer"])
    return (yield from open_words(mask, width, plan.opened, "garbler"))


def trace_data(
    plan: Trellis, share: NDArray[np.uint64], bits: Bits, end: Evaluating | None = None
) -> Steps[NDArray[np.uint64] | None]:
    """The role of the data's owner when the answer is the best path. Returns what `trace_model` does."""
    _check_traced(plan)
    mine = _turned(plan, share)
    end = end or (yield from open_evaluating(b"path" + plan.context, bits))
    state, choices = yield from _evaluate_steps(plan, mine, end, traced=True)
    own = end.take((plan.states * plan.width, plan.models))
    path = yield from _follow(plan, end, state, own, choices)
    width = number_width(plan.states)
    mask = end.take((width, plan.steps * plan.models))
    out = yield from end.run(hide(width), {"number": path, "mask": mask})
    shown = yield from end.learn(out["answer"])
    words = words_of_bits(shown).reshape(plan.steps, plan.models)
    return (yield from open_words(words, width, plan.opened, "evaluator"))


def _garble_steps(
    plan: Trellis, fixed: Fixed, mine: NDArray[np.uint64], end: Garbling, *, traced: bool
) -> Steps[tuple[Blocks, list[Blocks]]]:
    """All steps at the garbler's end: labels of the last states, and of every step's choices."""
    run = _Run(plan, traced)
    for window in _windows(plan):
        told = yield from end.take((len(window) * plan.states * plan.width, plan.models))
        for index, step in enumerate(window):
            own = end.give(_bits(_own(plan, fixed, mine[step], step), plan.width))
            yield from run.advance(end, own, _row(plan, told, index))
    return run.state, run.choices


def _evaluate_steps(
    plan: Trellis, mine: NDArray[np.uint64], end: Evaluating, *, traced: bool
) -> Steps[tuple[Blocks, list[Blocks]]]:
    """All steps at the evaluator's end."""
    run = _Run(plan, traced)
    for window in _windows(plan):
        words = mine[window.start : window.stop].reshape(-1, plan.models)
        told = yield from end.give(_bits(words, plan.width))
        for index, step in enumerate(window):
            own = end.take((_own_rows(plan, step) * plan.width, plan.models))
            yield from run.advance(end, own, _row(plan, told, index))
    return run.state, run.choices


class _Run:
    """The recursion on labels, the same at both ends."""

    def __init__(self, plan: Trellis, traced: bool) -> None:
        self.state = np.empty(0, dtype=np.uint64)
        self.choices: list[Blocks] = []
        self._first = first_step(plan.semiring, plan.states)
        self._next = next_step(plan.semiring, plan.states, plan.arcs, traced)

    def advance(self, end: Garbling | Evaluating, own: Blocks, told: Blocks) -> Steps[None]:
        """One step."""
        inputs = {"own": own, "told": told}
        if self.state.size:
            out = yield from end.run(self._next, inputs | {"state": self.state})
            if "choice" in out:
                self.choices.append(out["choice"])
        else:
            out = yield from end.run(self._first, inputs)
        self.state = out["state"]


def _follow(
    plan: Trellis, end: Garbling | Evaluating, state: Blocks, own: Blocks, choices: list[Blocks]
) -> Steps[Blocks]:
    """The best last state, and back through the choices: labels (bits, steps x models)."""
    out = yield from end.run(last_choice(plan.semiring, plan.states), {"state": state, "own": own})
    path = [out["number"]]
    for choice in reversed(choices):
        out = yield from end.run(step_back(plan.states), {"number": path[-1], "choice": choice})
        path.append(out["number"])
    return np.concatenate(path[::-1], axis=1)


def _check_traced(plan: Trellis) -> None:
    if plan.kind != "max":
        raise ParameterError("only the best path can be traced", got=plan.kind, wanted="the semiring max")


def _prepared(plan: Trellis, weights: Weights, share: NDArray[np.uint64]) -> tuple[Fixed, NDArray[np.uint64]]:
    """Everything that can be refused is refused here."""
    fixed = fix(plan, weights)
    check_range(plan, weights)
    return fixed, _turned(plan, share)


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


def _own(plan: Trellis, fixed: Fixed, share: NDArray[np.uint64], step: int) -> NDArray[np.uint64]:
    """What the garbler puts into a step: arcs (or starts) plus its share of the score, or both beside."""
    weights = fixed.arcs if step else fixed.start
    if plan.kind == "or":
        return np.concatenate([weights.astype(np.uint64), share])
    into = [j for _, j in plan.arcs] if step else slice(None)
    return reduce_words(weights.view(np.uint64) + share[into], plan.width)


def _own_rows(plan: Trellis, step: int) -> int:
    weights = len(plan.arcs) if step else plan.states
    return weights + plan.states if plan.kind == "or" else weights


def _last(plan: Trellis, fixed: Fixed, mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
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


def _finish(plan: Trellis, end: Garbling | Evaluating, state: Blocks, own: Blocks) -> Steps[Blocks]:
    """The answer less the mask."""
    circuit = last_step(plan.semiring, plan.states, plan.answer == "total")
    out = yield from end.run(circuit, {"state": state, "own": own})
    return out["answer"]
