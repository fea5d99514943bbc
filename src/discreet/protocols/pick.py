"""The end of every question: which one, whether, or its label; nothing but that is opened.

| answer | what is opened or shared | garbler's private input |
|---|---|---|
| `argmax` | the number of the largest score (the first of equals) | |
| `accept` | the same, or ``count`` if even the largest is below the threshold | the threshold |
| `above` | for every score one bit: at or above its threshold | thresholds |

`tell_label` and `learn_label` go one step further: the number stays shared, and the evaluator takes the label
that belongs to it by oblivious transfer. It learns the label and not the number; the garbler learns nothing.

Scores are additive shares modulo 2**width of signed words; all words of the width are allowed, none
overflows.

**Reveals** the answer to the party named by ``opened``. Who asks often learns more: each answer says on which
side of a border the input lies, and enough answers give the border away. **Trusts** both to follow the
protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.crypto.block import derive
from discreet.crypto.words import argmax, choose, less
from discreet.errors import ParameterError
from discreet.protocols.function import Shape, evaluate, garble
from discreet.protocols.garbled import open_evaluating, open_garbling
from discreet.protocols.opening import Opened, check_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.crypto.circuit import Builder, Circuit, Word
    from discreet.protocols.garbled import Evaluating, Garbling
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Pick", "hold_model", "hold_scores", "learn_label", "tell_label"]


@dataclass(frozen=True)
class Pick:
    """The plan: ``instances`` times ``count`` scores of ``width`` bits."""

    answer: Literal["argmax", "accept", "above"]
    count: int
    width: int
    instances: int = 1
    opened: Opened = "evaluator"

    def __post_init__(self) -> None:
        if self.answer not in ("argmax", "accept", "above"):
            raise ParameterError("no such answer", got=self.answer, wanted="argmax, accept or above")
        _ = self.shape

    @property
    def options(self) -> int:
        """How many answers there are: numbers run from 0 to below this."""
        return {"argmax": self.count, "accept": self.count + 1, "above": 2}[self.answer]

    @property
    def shape(self) -> Shape:
        """What goes in and out."""
        answers = self.count if self.answer == "above" else 1
        private = {"argmax": 0, "accept": 1, "above": self.count}[self.answer]
        width = max(1, (self.options - 1).bit_length())
        return Shape(self.count, self.width, answers, width, private, self.instances, self.opened)

    @property
    def context(self) -> bytes:
        """What parties must agree on."""
        return derive(b"discreet/1/pick", repr(self).encode())


def hold_model(
    plan: Pick,
    share: NDArray[np.uint64],
    bits: Bits,
    thresholds: NDArray[np.int64] | None = None,
    end: Garbling | None = None,
) -> Steps[NDArray[np.uint64] | None]:
    """The garbler's role: its shares (instances, count), and thresholds in units of the scores.

    Thresholds are (instances, 1) for `accept` and (instances, count) for `above`. Returns (instances,
    answers).
    """
    private = None if thresholds is None else _words(plan, thresholds)
    return (yield from garble(plan.shape, _circuit(plan), plan.context, share, private, bits, end))


def hold_scores(
    plan: Pick, share: NDArray[np.uint64], bits: Bits, end: Evaluating | None = None
) -> Steps[NDArray[np.uint64] | None]:
    """The evaluator's role: the other shares. Returns what `hold_model` does."""
    return (yield from evaluate(plan.shape, _circuit(plan), plan.context, share, bits, end))


def tell_label(
    plan: Pick,
    share: NDArray[np.uint64],
    labels: NDArray[np.uint64],
    bits: Bits,
    thresholds: NDArray[np.int64] | None = None,
    end: Garbling | None = None,
) -> Steps[None]:
    """The garbler's role when the evaluator shall learn a label: ``labels`` is (options, words).

    The number is shared as (mask + rest) modulo a power of two; labels are turned by the mask, and the
    evaluator takes the one at the rest.
    """
    size = _label_options(plan)
    if labels.ndim != 2 or len(labels) != plan.options or labels.dtype != np.uint64:
        raise ParameterError(
            "labels have the wrong form", got=labels.shape, wanted=f"uint64 ({plan.options}, words)"
        )
    check_words(share, plan.width, (plan.instances, plan.count))
    private = None if thresholds is None else _words(plan, thresholds)
    if (private is None) != (plan.answer == "argmax"):
        raise ParameterError("thresholds belong to accept", got=plan.answer)
    end = end or (yield from open_garbling(b"label" + plan.context, bits))
    shared = replace(plan, opened="shares")
    mask = yield from garble(shared.shape, _circuit(shared), b"", share, private, bits, end)
    assert mask is not None
    padded = np.zeros((size, labels.shape[1]), dtype=np.uint64)
    padded[: len(labels)] = labels
    turned = padded[(np.arange(size)[None, :] + mask.astype(np.intp)) % size]
    yield from end.transfers.send(turned)


def learn_label(
    plan: Pick, share: NDArray[np.uint64], words: int, bits: Bits, end: Evaluating | None = None
) -> Steps[NDArray[np.uint64]]:
    """The evaluator's role: the labels (instances, words) of the numbers picked."""
    size = _label_options(plan)
    check_words(share, plan.width, (plan.instances, plan.count))
    end = end or (yield from open_evaluating(b"label" + plan.context, bits))
    rest = yield from hold_scores(replace(plan, opened="shares"), share, bits, end)
    assert rest is not None
    return (yield from end.transfers.take(rest[:, 0].astype(np.int64), size, words))


def _label_options(plan: Pick) -> int:
    """Options of the transfer: the power of two that the number is shared by."""
    if plan.answer == "above":
        raise ParameterError("a label belongs to a number", got=plan.answer, wanted="argmax or accept")
    return 2**plan.shape.answer_width


def _words(plan: Pick, thresholds: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Thresholds as words; refused, without saying what they are, if they do not fit."""
    limit = 2 ** (plan.width - 1)
    if thresholds.dtype != np.int64 or ((thresholds < -limit) | (thresholds >= limit)).any():
        raise ParameterError("thresholds do not fit the words", wanted=f"int64 of {plan.width} bits")
    return thresholds.view(np.uint64) & np.uint64(2**plan.width - 1)


@lru_cache(maxsize=32)
def _circuit(plan: Pick) -> Circuit:
    def compute(build: Builder, scores: list[Word], private: list[Word]) -> list[Word]:
        if plan.answer == "above":
            return [[build.invert(less(build, *pair))] for pair in zip(scores, private, strict=True)]
        number, value = argmax(build, scores)
        width = plan.shape.answer_width
        number = (number + build.constant(0, width))[:width]
        if plan.answer == "argmax":
            return [number]
        none = build.constant(plan.count, width + 1)[:width]
        return [choose(build, less(build, value, private[0]), none, number)]

    return plan.shape.circuit(compute)
