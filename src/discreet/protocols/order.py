"""Secure comparison and maximum: shares in, shares or an opened answer out.

The published protocol (Pathak 2012, after Du and Atallah) hides values by a random matrix that keeps their
order, and so shows order and ratios of gaps; here a garbled circuit opens nothing but the answer.

| answer | what | AND gates for n words of w bits |
|---|---|---|
| `less` | whether the first of two words is less than the second: one bit | 2 w |
| `maximum` | the largest word | 3 w n |
| `both` | the largest word and its number | 3 w n + n log2 n |

Words are signed, in two's complement; every word of the width is allowed, none overflows.

**Reveals** what ``opened`` says; with "shares" nothing. **Trusts** both to follow the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from discreet.crypto.block import derive
from discreet.crypto.words import argmax, less, maximum
from discreet.errors import ParameterError
from discreet.protocols.function import Shape, evaluate, garble
from discreet.protocols.opening import Opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.crypto.circuit import Builder, Circuit, Word
    from discreet.protocols.garbled import Evaluating, Garbling
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Order", "hold_first", "hold_second"]


@dataclass(frozen=True)
class Order:
    """The plan: ``instances`` times ``count`` words; "less" compares two."""

    answer: Literal["less", "maximum", "both"]
    count: int
    width: int
    instances: int = 1
    opened: Opened = "shares"

    def __post_init__(self) -> None:
        if self.answer not in ("less", "maximum", "both") or self.count < 1:
            raise ParameterError("no such order", got=(self.answer, self.count))
        if self.answer == "less" and self.count != 2:
            raise ParameterError("a comparison takes two words", got=self.count)
        _ = self.shape

    @property
    def shape(self) -> Shape:
        """What goes in and out: one bit, the word, or the word and its number."""
        width = 1 if self.answer == "less" else self.width
        answers = 2 if self.answer == "both" else 1
        return Shape(self.count, self.width, answers, width, 0, self.instances, self.opened)

    @property
    def context(self) -> bytes:
        """What parties must agree on."""
        return derive(b"discreet/1/order", repr(self).encode())


def hold_first(
    plan: Order, share: NDArray[np.uint64], bits: Bits, end: Garbling | None = None
) -> Steps[NDArray[np.uint64] | None]:
    """One share of the words (instances, count), modulo 2**width; this party garbles.

    Returns words (instances, answers) modulo 2**width: a share, the answer, or None.
    """
    return (yield from garble(plan.shape, _circuit(plan), plan.context, share, None, bits, end))


def hold_second(
    plan: Order, share: NDArray[np.uint64], bits: Bits, end: Evaluating | None = None
) -> Steps[NDArray[np.uint64] | None]:
    """The other share; this party evaluates. Returns what `hold_first` does."""
    return (yield from evaluate(plan.shape, _circuit(plan), plan.context, share, bits, end))


@lru_cache(maxsize=32)
def _circuit(plan: Order) -> Circuit:
    def compute(build: Builder, words: list[Word], private: list[Word]) -> list[Word]:
        del private
        if plan.answer == "less":
            return [[less(build, words[0], words[1])]]
        if plan.answer == "maximum":
            return [maximum(build, words)]
        number, value = argmax(build, words)
        return [value, (number + build.constant(0, plan.width))[: plan.width]]

    if plan.answer == "both" and plan.count > 2**plan.width:
        raise ParameterError(
            "numbers do not fit the words", got=plan.count, wanted=f"at most {2**plan.width}"
        )
    return plan.shape.circuit(compute)
