"""Any circuit on shares: shared words in, shared or opened words out.

    shape = Shape(count=2, width=16, answers=1, answer_width=16)
    circuit = shape.circuit(lambda build, words, private: [maximum(build, words)])
    garbler     words = yield from garble(shape, circuit, context, mine, private, bits)
    evaluator   words = yield from evaluate(shape, circuit, context, mine, bits)

Inputs are additive shares modulo 2**width (instances, count); the garbler may put private words of its own
beside them. Outputs are words modulo 2**answer_width: the garbler's share is a random mask, the evaluator's
the rest.

A session that is open already may be given as ``end``; its own context must then name all that is done in it.

**Reveals** what ``shape.opened`` says; with "shares" nothing. **Trusts** both to follow the protocol.
**Costs** 32 bytes an AND gate and 16 bytes a bit of the evaluator's shares; two rounds and two more to start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.crypto.circuit import Builder, bits_of_words, words_of_bits
from discreet.crypto.words import add, subtract
from discreet.errors import ParameterError
from discreet.protocols.garbled import open_evaluating, open_garbling
from discreet.protocols.opening import (
    Opened,
    check_opened,
    check_words,
    open_words,
    random_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from discreet.crypto.circuit import Circuit
    from discreet.protocols.garbled import Evaluating, Garbling
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Shape", "evaluate", "garble"]

Words = list[list[int]]


@dataclass(frozen=True)
class Shape:
    """How many words of which width go in and out, for one instance and how many instances."""

    count: int
    width: int
    answers: int
    answer_width: int
    private: int = 0
    instances: int = 1
    opened: Opened = "shares"

    def __post_init__(self) -> None:
        sizes = (self.count, self.answers, self.instances)
        if min(sizes) < 1 or self.private < 0:
            raise ParameterError("words and instances are counted from one", got=sizes)
        if not (1 <= self.width <= 64 and 1 <= self.answer_width <= 64):
            raise ParameterError("no such width", got=(self.width, self.answer_width), wanted="1 to 64 bits")
        check_opened(self.opened)

    def circuit(self, compute: Callable[[Builder, Words, Words], Words]) -> Circuit:
        """The circuit that adds up shares, computes, and takes off the mask."""
        build = Builder()
        own = build.words("own", self.count, self.width)
        private = build.words("private", self.private, self.width) if self.private else []
        mask = build.words("mask", self.answers, self.answer_width)
        told = build.words("told", self.count, self.width)
        answers = compute(build, [add(build, *pair) for pair in zip(own, told, strict=True)], private)
        masked = [subtract(build, *pair) for pair in zip(answers, mask, strict=True)]
        build.output_words("answer", masked)
        return build.circuit()


def garble(
    shape: Shape,
    circuit: Circuit,
    context: bytes,
    share: NDArray[np.uint64],
    private: NDArray[np.uint64] | None,
    bits: Bits,
    end: Garbling | None = None,
) -> Steps[NDArray[np.uint64] | None]:
    """The garbler's role; ``private`` is (instances, shape.private). Returns (instances, answers) or None."""
    if (private is None) == bool(shape.private):
        raise ParameterError(
            "the garbler's private words are missing or too many", wanted=f"{shape.private} each"
        )
    given = {"own": _bits(check_words(share, shape.width, (shape.instances, shape.count)), shape.width)}
    if private is not None:
        words = check_words(private, shape.width, (shape.instances, shape.private))
        given["private"] = _bits(words, shape.width)
    end = end or (yield from open_garbling(context, bits))
    mask = random_words(bits, shape.answer_width, (shape.instances, shape.answers))
    labels = {name: end.give(part) for name, part in given.items()}
    labels["mask"] = end.give(_bits(mask, shape.answer_width))
    labels["told"] = yield from end.take((shape.count * shape.width, shape.instances))
    out = yield from end.run(circuit, labels)
    yield from end.tell(out["answer"])
    return (yield from open_words(mask, shape.answer_width, shape.opened, "garbler"))


def evaluate(
    shape: Shape,
    circuit: Circuit,
    context: bytes,
    share: NDArray[np.uint64],
    bits: Bits,
    end: Evaluating | None = None,
) -> Steps[NDArray[np.uint64] | None]:
    """The evaluator's role. Returns words (instances, answers) or None."""
    mine = check_words(share, shape.width, (shape.instances, shape.count))
    end = end or (yield from open_evaluating(context, bits))
    labels = {"own": end.take((shape.count * shape.width, shape.instances))}
    if shape.private:
        labels["private"] = end.take((shape.private * shape.width, shape.instances))
    labels["mask"] = end.take((shape.answers * shape.answer_width, shape.instances))
    labels["told"] = yield from end.give(_bits(mine, shape.width))
    out = yield from end.run(circuit, labels)
    shown = yield from end.learn(out["answer"])
    words = words_of_bits(shown.reshape(shape.answers, shape.answer_width, shape.instances).swapaxes(0, 1)).T
    return (yield from open_words(words, shape.answer_width, shape.opened, "evaluator"))


def _bits(words: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Words (instances, count) as the bits of one input: (count x width, instances)."""
    return bits_of_words(words.T, width).swapaxes(0, 1).reshape(-1, len(words))
