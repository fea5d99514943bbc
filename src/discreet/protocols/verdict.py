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
**Costs** 32 bytes an AND gate: `Verdict.gates`. A hidden length costs ``width`` gates for every state and
step, a component two words and a join. `Verdict.told` bits of the evaluator's are transferred.
**Trusts** both to follow the protocol; whatever the shares are, a word of the list comes out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.block import derive
from discreet.crypto.circuit import bits_of_words, words_of_bits
from discreet.errors import ParameterError
from discreet.protocols.opening import check_words, reduce_words
from discreet.protocols.recursion import Trellis, Weights, check_range, fix
from discreet.protocols.stages import (
    first_step,
    last_step,
    mixed_score,
    next_step,
    number_width,
    winner,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.crypto.circuit import Circuit
    from discreet.protocols.garbled import Evaluating, Garbling
    from discreet.protocols.recursion import Fixed
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
    recordings: int = 1
    components: int = 1
    least: int = 0
    label_bits: int = 0

    def __post_init__(self) -> None:
        if self.trellis.kind == "or":
            raise ParameterError("there is no best of bits", got="or", wanted="logsum or max")
        if min(self.recordings, self.components) < 1 or self.label_bits < 0:
            raise ParameterError("recordings and components are counted from one", got=self.recordings)
        if not 0 <= self.least <= self.steps:
            raise ParameterError(
                "more steps are real than there are", got=self.least, wanted=f"0 to {self.steps}"
            )

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
    def answer_bits(self) -> int:
        """Bits of the answer for one recording."""
        return self.label_bits or number_width(self.words)

    @property
    def first_doubtful(self) -> int:
        """The first step that may not be real; the very first step always is."""
        return max(1, self.least)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of shares of scores: (steps, recordings x words, states x components)."""
        return self.steps, self.lanes, self.rows

    @property
    def told(self) -> int:
        """Bits that the evaluator gives."""
        return (
            math.prod(self.shape) * self.trellis.width + (self.steps - self.first_doubtful) * self.recordings
        )

    @property
    def gates(self) -> int:
        """AND gates of all runs."""
        return sum(circuit.ands * instances for circuit, instances in self.runs())

    @property
    def context(self) -> bytes:
        """What parties must agree on."""
        return derive(b"discreet/1/verdict", repr(self).encode())

    def step(self, number: int) -> Circuit:
        """The circuit of one step of one model."""
        trellis = self.trellis
        if number == 0:
            return first_step(trellis.semiring, trellis.states)
        return next_step(trellis.semiring, trellis.states, trellis.arcs, ending=number >= self.first_doubtful)

    def windows(self) -> Iterator[range]:
        """Steps whose shares are transferred together."""
        size = max(1, _WINDOW // (self.rows * self.lanes * self.trellis.width))
        for first in range(0, self.steps, size):
            yield range(first, min(self.steps, first + size))

    def runs(self) -> Iterator[tuple[Circuit, int]]:
        """All runs in order, with how many instances each has: what is sent ahead."""
        trellis = self.trellis
        for window in self.windows():
            if self.components > 1:
                count = len(window) * trellis.states * self.lanes
                yield mixed_score(trellis.semiring, self.components), count
            for number in window:
                yield self.step(number), self.lanes
        yield last_step(trellis.semiring, trellis.states, total=True), self.lanes
        yield winner(self.words, trellis.width, self.label_bits), self.recordings


def judge(
    plan: Verdict,
    weights: Weights,
    share: NDArray[np.uint64],
    end: Garbling,
    labels: NDArray[Any] | None = None,
) -> Steps[Blocks]:
    """The garbler's role, up to the labels of the answer, (answer_bits, recordings), which may be opened.

    ``weights`` are of the words, ``share`` has `Verdict.shape`, recordings before words; ``labels`` are bits
    (words, label_bits).
    """
    fixed = fix(plan.trellis, weights)
    check_range(plan.trellis, weights)
    mine = _turned(plan, share)
    marked = _labels(plan, labels)
    going = yield from _taken(plan, end)
    run = _Run(plan, end)
    for window in plan.windows():
        told = yield from end.take((len(window) * plan.rows * plan.trellis.width, plan.lanes))
        own = mine[window.start : window.stop]
        if plan.components > 1:
            given = end.give(_bits(own.reshape(-1, plan.lanes), plan.trellis.width))
            told = yield from run.mix(given, told, len(window))
        for index, number in enumerate(window):
            entered = end.give(_entered(plan, fixed, own[index], number))
            yield from run.advance(number, entered, run.row(told, index), going)
    ends = end.give(_bits(_tiled(plan, fixed.end).view(np.uint64), plan.trellis.width))
    return (yield from run.decide(ends, end.give(marked) if marked.size else None))


def find_word(
    plan: Verdict, share: NDArray[np.uint64], lengths: NDArray[np.intp], end: Evaluating
) -> Steps[Blocks]:
    """The evaluator's role, up to the labels of the answer; ``lengths`` (recordings,) are the real steps."""
    run = _Run(plan, end)
    bits = iter(told_bits(plan, share, lengths))
    going: Blocks | None = None
    if plan.first_doubtful < plan.steps:
        going = yield from end.give(next(bits))
    for window, given in zip(plan.windows(), bits, strict=True):
        told = yield from end.give(given)
        if plan.components > 1:
            taken = end.take((len(window) * plan.rows * plan.trellis.width, plan.lanes))
            told = yield from run.mix(taken, told, len(window))
        for index, number in enumerate(window):
            entered = end.take((_entries(plan, number) * plan.trellis.width, plan.lanes))
            yield from run.advance(number, entered, run.row(told, index), going)
    ends = end.take((plan.trellis.states * plan.trellis.width, plan.lanes))
    marked = end.take((plan.words * plan.label_bits, plan.recordings)) if plan.label_bits else None
    return (yield from run.decide(ends, marked))


def told_bits(
    plan: Verdict, share: NDArray[np.uint64], lengths: NDArray[np.intp]
) -> Iterator[NDArray[np.uint8]]:
    """The evaluator's bits in the order in which they are given: which steps are real, then scores."""
    if (
        lengths.shape != (plan.recordings,)
        or (lengths < max(1, plan.least)).any()
        or (lengths > plan.steps).any()
    ):
        raise ParameterError(
            "a recording is longer or shorter than agreed", wanted=f"{plan.least} to {plan.steps} steps"
        )
    mine = _turned(plan, share)
    if plan.first_doubtful < plan.steps:
        numbers = np.arange(plan.first_doubtful, plan.steps)
        yield (numbers[:, None] < lengths).astype(np.uint8)
    for window in plan.windows():
        yield _bits(mine[window.start : window.stop].reshape(-1, plan.lanes), plan.trellis.width)


def read_word(plan: Verdict, bits: NDArray[np.uint8]) -> NDArray[Any]:
    """Numbers (recordings,) from opened bits, or the bytes of labels (recordings, bytes)."""
    if plan.label_bits:
        return np.packbits(bits.T, axis=1, bitorder="little")
    return words_of_bits(bits).astype(np.intp)


class _Run:
    """The work on labels, the same at both ends."""

    def __init__(self, plan: Verdict, end: Garbling | Evaluating) -> None:
        self.plan = plan
        self.end = end
        self.state: Blocks = np.empty(0, dtype=np.uint64)

    def row(self, labels: Blocks, index: int) -> Blocks:
        """Labels of the scores of one step of a window."""
        size = self.plan.trellis.states * self.plan.trellis.width
        return labels[index * size : (index + 1) * size]

    def mix(self, own: Blocks, told: Blocks, steps: int) -> Steps[Blocks]:
        """Scores of states from those of components, of all steps of a window at once."""
        plan, width = self.plan, self.plan.trellis.width
        states, parts, lanes = plan.trellis.states, plan.components, plan.lanes
        apart = (steps, states, parts, width, lanes, 2)
        inputs = {
            name: labels.reshape(apart).transpose(2, 3, 0, 1, 4, 5).reshape(parts * width, -1, 2)
            for name, labels in (("own", own), ("told", told))
        }
        out = yield from self.end.run(mixed_score(plan.trellis.semiring, parts), inputs)
        joined = out["score"].reshape(width, steps, states, lanes, 2)
        return joined.transpose(1, 2, 0, 3, 4).reshape(-1, lanes, 2)

    def advance(self, number: int, own: Blocks, told: Blocks, going: Blocks | None) -> Steps[None]:
        """One step."""
        plan, inputs = self.plan, {"own": own, "told": told}
        if number:
            inputs["state"] = self.state
        if going is not None and number >= plan.first_doubtful:
            place = number - plan.first_doubtful
            inputs["going"] = np.repeat(going[place : place + 1], plan.words, axis=1)
        out = yield from self.end.run(plan.step(number), inputs)
        self.state = out["state"]

    def decide(self, ends: Blocks, labels: Blocks | None) -> Steps[Blocks]:
        """Totals, the largest of them, and what is said of it."""
        plan, trellis = self.plan, self.plan.trellis
        last = last_step(trellis.semiring, trellis.states, total=True)
        out = yield from self.end.run(last, {"state": self.state, "own": ends})
        totals = out["answer"].reshape(trellis.width, plan.recordings, plan.words, 2)
        inputs = {"totals": totals.transpose(2, 0, 1, 3).reshape(-1, plan.recordings, 2)}
        if labels is not None:
            inputs["labels"] = labels
        out = yield from self.end.run(winner(plan.words, trellis.width, plan.label_bits), inputs)
        return out["answer"]


def _taken(plan: Verdict, end: Garbling) -> Steps[Blocks | None]:
    """Labels of the bits that say which steps are real."""
    doubtful = plan.steps - plan.first_doubtful
    if not doubtful:
        return None
    return (yield from end.take((doubtful, plan.recordings)))


def _turned(plan: Verdict, share: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Shares as (steps, states x components, lanes)."""
    return check_words(share, plan.trellis.width, plan.shape).swapaxes(1, 2)


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


def _tiled(plan: Verdict, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weights (rows, words) for the lanes of all recordings."""
    return np.tile(values, (1, plan.recordings))


def _entered(plan: Verdict, fixed: Fixed, share: NDArray[np.uint64], number: int) -> NDArray[np.uint8]:
    """What the garbler puts into a step: starts or arcs, with its share of the score where that ends."""
    weights = _tiled(plan, fixed.arcs if number else fixed.start)
    into = [j for _, j in plan.trellis.arcs] if number else slice(None)
    if plan.components == 1:
        weights = weights + share[into].view(np.int64)
    return _bits(reduce_words(weights.view(np.uint64), plan.trellis.width), plan.trellis.width)


def _entries(plan: Verdict, number: int) -> int:
    return len(plan.trellis.arcs) if number else plan.trellis.states
