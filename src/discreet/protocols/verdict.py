"""Which of several models explains a recording best: recursion, comparison and label in one garbled run.

The scores of every step, state and component are shared between the owner of the models and the owner of the
recordings, as in `discreet.protocols.trellis`; many recordings are asked about together. For every recording

    score_t(j) = (+)_c score_t(j, c)                                  components of a mixture
    a_t(j)     = score_t(j) + (+)_i a_(t-1)(i) + transition(i, j)     while it lasts; afterwards a_t = a_(t-1)
    word       = argmax over models of (+)_j a_(T-1)(j) + end(j)

and what comes out is the number of the word, or its label out of a list of the garbler's.

**Reveals** the answer to those to whom it is opened; to the garbler that all recordings have at least
``least`` steps, and to both the sizes of the plan. How long a recording really is, is a secret of the
evaluator's: it decides by one bit for every step beyond ``least`` whether the step is taken.
**Widths.** Scores are shared modulo 2**score_width, which holds one score; the recursion has words of
`Trellis.width` bits, which hold sums of all of them. In between, the circuit repeats the sign.
**Costs** 32 bytes an AND gate: `Verdict.gates`. A hidden length costs ``width`` gates for every state and
step, a component of a mixture one join. `Verdict.told` bits of the evaluator's are transferred, 16 bytes
each.
**Trusts** both to follow the protocol; whatever the shares are, a word of the list comes out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.circuit import bits_of_words, words_of_bits
from discreet.errors import ParameterError
from discreet.protocols.opening import check_words, reduce_words
from discreet.protocols.recursion import Trellis, Weights, check_range, fix
from discreet.protocols.semiring import Semiring
from discreet.protocols.stages import (
    last_step,
    mixed_score,
    number_width,
    paced_step,
    start_step,
    winner,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.crypto.circuit import Circuit
    from discreet.protocols.garbled import Evaluating, Garbling
    from discreet.protocols.step import Steps

__all__ = ["Verdict", "find_word", "judge", "read_word", "told_bits"]

_WINDOW = 60_000
"""Bits of the evaluator's shares that are transferred together."""


@dataclass(frozen=True)
class Verdict:
    """The plan: ``trellis`` is of one recording, with a model for every word; its answer is not used.

    Of the steps of the trellis at least ``least`` are real in every recording. ``label_bits`` is 0 if the
    number of the word is the answer.
    """

    trellis: Trellis
    score_width: int
    recordings: int = 1
    components: int = 1
    least: int = 1
    label_bits: int = 0

    def __post_init__(self) -> None:
        if self.trellis.kind == "or":
            raise ParameterError("there is no best of bits", got="or", wanted="logsum or max")
        if min(self.recordings, self.components) < 1 or self.label_bits < 0:
            raise ParameterError("recordings and components are counted from one", got=self.recordings)
        if not 1 <= self.least <= self.steps:
            raise ParameterError(
                "more steps are real than there are", got=self.least, wanted=f"1 to {self.steps}"
            )
        if self.score_width > self.trellis.width:
            raise ParameterError(
                "a score is wider than a sum of scores",
                got=self.score_width,
                wanted=f"<= {self.trellis.width}",
            )
        _ = self.narrow

    @property
    def steps(self) -> int:
        """Steps of every recording, real or not."""
        return self.trellis.steps

    @property
    def words(self) -> int:
        """How many words there are to choose from."""
        return self.trellis.models

    @property
    def lanes(self) -> int:
        """Models that run side by side."""
        return self.words * self.recordings

    @property
    def rows(self) -> int:
        """Scores of one step and model."""
        return self.trellis.states * self.components

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of shares of scores: (steps, recordings x words, states x components)."""
        return self.steps, self.lanes, self.rows

    @property
    def told(self) -> int:
        """Bits that the evaluator gives."""
        return math.prod(self.shape) * self.score_width + (self.steps - self.least) * self.recordings

    @property
    def answer_bits(self) -> int:
        """Bits of the answer for one recording."""
        return self.label_bits or number_width(self.words)

    @property
    def gates(self) -> int:
        """AND gates of all runs."""
        return sum(circuit.ands * instances for circuit, instances in self.runs())

    @property
    def narrow(self) -> Semiring:
        """How components of a score join: they are summed up even where the best path is asked for."""
        wide = self.trellis.semiring
        kind = "logsum" if self.components > 1 else wide.kind
        return Semiring(kind, self.score_width, wide.fraction, wide.error)

    @property
    def mixing(self) -> Circuit:
        """The circuit of one score."""
        return mixed_score(self.narrow, self.components)

    @property
    def last(self) -> Circuit:
        """The circuit of the total of one model."""
        return last_step(self.trellis.semiring, self.trellis.states, total=True)

    @property
    def choosing(self) -> Circuit:
        """The circuit of the answer for one recording."""
        return winner(self.words, self.trellis.width, self.label_bits)

    def advancing(self, step: int) -> Circuit:
        """The circuit of one step of one model."""
        trellis = self.trellis
        if not step:
            return start_step(trellis.semiring, trellis.states, self.score_width)
        sizes = (trellis.states, trellis.arcs, self.score_width)
        return paced_step(trellis.semiring, *sizes, ending=step >= self.least)

    def windows(self) -> Iterator[range]:
        """Steps whose shares are transferred together."""
        size = max(1, _WINDOW // (self.rows * self.lanes * self.score_width))
        for first in range(0, self.steps, size):
            yield range(first, min(self.steps, first + size))

    def runs(self) -> Iterator[tuple[Circuit, int]]:
        """All runs in order, with how many instances each has: what is sent ahead."""
        for window in self.windows():
            yield self.mixing, len(window) * self.trellis.states * self.lanes
            for step in window:
                yield self.advancing(step), self.lanes
        yield self.last, self.lanes
        yield self.choosing, self.recordings


def judge(
    plan: Verdict,
    weights: Weights,
    share: NDArray[np.uint64],
    end: Garbling,
    labels: NDArray[Any] | None = None,
) -> Steps[Blocks]:
    """The garbler's role, up to the labels of the answer, (bits, recordings), which may be opened.

    ``weights`` are of the words, ``share`` has `Verdict.shape`, recordings before words; ``labels`` are bits
    (words, label_bits).
    """
    trellis = plan.trellis
    fixed = fix(trellis, weights)
    check_range(trellis, weights)
    mine, marked = _turned(plan, share), _labels(plan, labels)
    start, arcs, ends = (end.give(_weights(plan, part)) for part in (fixed.start, fixed.arcs, fixed.end))
    listed = end.give(marked) if plan.label_bits else None
    run = _Run(plan, end, start, arcs)
    if plan.least < plan.steps:
        run.going = yield from end.take((plan.steps - plan.least, plan.recordings))
    for window in plan.windows():
        own = end.give(_bits(mine[window.start : window.stop].reshape(-1, plan.lanes), plan.score_width))
        told = yield from end.take(own.shape[:2])
        yield from run.pass_window(window, own, told)
    return (yield from run.decide(ends, listed))


def find_word(
    plan: Verdict, share: NDArray[np.uint64], lengths: NDArray[np.intp], end: Evaluating
) -> Steps[Blocks]:
    """The evaluator's role, up to the labels of the answer; ``lengths`` (recordings,) are the real steps."""
    trellis = plan.trellis
    bits = told_bits(plan, share, lengths)
    rows = (trellis.states, len(trellis.arcs), trellis.states)
    start, arcs, ends = (end.take((count * trellis.width, plan.lanes)) for count in rows)
    listed = end.take((plan.words * plan.label_bits, plan.recordings)) if plan.label_bits else None
    run = _Run(plan, end, start, arcs)
    if plan.least < plan.steps:
        run.going = yield from end.give(next(bits))
    for window, given in zip(plan.windows(), bits, strict=True):
        own = end.take(given.shape)  # pyright: ignore[reportArgumentType]
        told = yield from end.give(given)
        yield from run.pass_window(window, own, told)
    return (yield from run.decide(ends, listed))


def told_bits(
    plan: Verdict, share: NDArray[np.uint64], lengths: NDArray[np.intp]
) -> Iterator[NDArray[np.uint8]]:
    """The evaluator's bits in the order in which they are given: which steps are real, then scores."""
    if lengths.shape != (plan.recordings,) or lengths.min() < plan.least or lengths.max() > plan.steps:
        raise ParameterError(
            "a recording is longer or shorter than agreed", wanted=f"{plan.least} to {plan.steps} steps"
        )
    mine = _turned(plan, share)
    if plan.least < plan.steps:
        numbers = np.arange(plan.least, plan.steps)
        yield (numbers[:, None] < lengths).astype(np.uint8)
    for window in plan.windows():
        yield _bits(mine[window.start : window.stop].reshape(-1, plan.lanes), plan.score_width)


def read_word(plan: Verdict, bits: NDArray[np.uint8]) -> NDArray[Any]:
    """Numbers (recordings,) from opened bits, or the bytes of labels (recordings, bytes)."""
    if plan.label_bits:
        return np.packbits(bits.T, axis=1, bitorder="little")
    return words_of_bits(bits).astype(np.intp)


class _Run:
    """The work on labels, the same at both ends."""

    def __init__(self, plan: Verdict, end: Garbling | Evaluating, start: Blocks, arcs: Blocks) -> None:
        self.plan, self.end = plan, end
        self.going: Blocks | None = None
        self._start, self._arcs = start, arcs
        self._state = start

    def pass_window(self, window: range, own: Blocks, told: Blocks) -> Steps[None]:
        """The steps of a window, from the shares of its scores."""
        scores = yield from self._mix(own, told, len(window))
        size = self.plan.trellis.states * self.plan.score_width
        for index, step in enumerate(window):
            yield from self._advance(step, scores[index * size : (index + 1) * size])

    def decide(self, ends: Blocks, labels: Blocks | None) -> Steps[Blocks]:
        """Totals, the largest of them, and what is said of it."""
        plan = self.plan
        out = yield from self.end.run(plan.last, {"state": self._state, "own": ends})
        totals = out["answer"].reshape(plan.trellis.width, plan.recordings, plan.words, 2)
        inputs = {"totals": totals.transpose(2, 0, 1, 3).reshape(-1, plan.recordings, 2)}
        if labels is not None:
            inputs["labels"] = labels
        out = yield from self.end.run(plan.choosing, inputs)
        return out["answer"]

    def _mix(self, own: Blocks, told: Blocks, steps: int) -> Steps[Blocks]:
        """Scores of all states of a window at once: shares added up, and components joined."""
        plan, width = self.plan, self.plan.score_width
        states, parts, lanes = plan.trellis.states, plan.components, plan.lanes
        apart = (steps, states, parts, width, lanes, 2)
        inputs = {
            name: labels.reshape(apart).transpose(2, 3, 0, 1, 4, 5).reshape(parts * width, -1, 2)
            for name, labels in (("own", own), ("told", told))
        }
        out = yield from self.end.run(plan.mixing, inputs)
        joined = out["score"].reshape(width, steps, states, lanes, 2)
        return joined.transpose(1, 2, 0, 3, 4).reshape(-1, lanes, 2)

    def _advance(self, step: int, told: Blocks) -> Steps[None]:
        """One step."""
        plan = self.plan
        inputs = {"own": self._arcs if step else self._start, "told": told}
        if step:
            inputs["state"] = self._state
        if self.going is not None and step >= plan.least:
            mine = self.going[step - plan.least][None]
            inputs["going"] = np.repeat(mine, plan.words, axis=1)
        out = yield from self.end.run(plan.advancing(step), inputs)
        self._state = out["state"]


def _turned(plan: Verdict, share: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Shares as (steps, states x components, lanes)."""
    return check_words(share, plan.score_width, plan.shape).swapaxes(1, 2)


def _labels(plan: Verdict, labels: NDArray[Any] | None) -> NDArray[np.uint8]:
    """The list of labels as bits (words x label_bits, recordings)."""
    given = np.zeros((plan.words, 0), dtype=np.uint8) if labels is None else labels
    if given.shape != (plan.words, plan.label_bits):
        raise ParameterError(
            "labels have the wrong form", got=given.shape, wanted=f"{(plan.words, plan.label_bits)}"
        )
    return np.repeat(given.astype(np.uint8).reshape(-1, 1), plan.recordings, axis=1)


def _bits(words: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Words (rows, lanes) as the bits of one input: (rows x width, lanes)."""
    return bits_of_words(words, width).swapaxes(0, 1).reshape(-1, words.shape[1])


def _weights(plan: Verdict, values: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Weights (rows, words) as bits, for the lanes of all recordings."""
    words = reduce_words(values.view(np.uint64), plan.trellis.width)
    return _bits(np.tile(words, (1, plan.recordings)), plan.trellis.width)
