"""Numbers in circuits: add, subtract, compare, choose, maximum, argmax, threshold; shares in and out.

A word is a list of wires, the lowest bit first; signed words are in two's complement. Arithmetic is modulo
2**width: whoever builds a circuit makes sure that the values fit (`discreet.protocols.trellis` shows how).
For words of w bits:

    add, subtract, less, choose      w AND gates (one fewer where the last carry is not needed)
    maximum of n                     2 w (n - 1)
    argmax of n                      2 w (n - 1) and at most n log2 n

Additive shares modulo 2**w become a word by `add`; a word becomes shares by subtracting a random word of the
garbler's, which is the garbler's share, and opening the rest to the evaluator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from discreet.crypto.circuit import ONE, ZERO
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.crypto.circuit import Bit, Builder, Word

Item = TypeVar("Item")

__all__ = ["add", "argmax", "choose", "equal", "fold", "less", "maximum", "subtract"]


def add(build: Builder, a: Word, b: Word, carry: Bit = ZERO) -> Word:
    """a + b + carry modulo 2**width. With carry c: sum a ^ b ^ c, next carry c ^ ((a ^ c) & (b ^ c))."""
    _same(a, b)
    total: Word = []
    for place, (one, other) in enumerate(zip(a, b, strict=True)):
        left = build.xor(one, carry)
        total.append(build.xor(left, other))
        if place < len(a) - 1:
            carry = build.xor(carry, build.both(left, build.xor(other, carry)))
    return total


def subtract(build: Builder, a: Word, b: Word) -> Word:
    """a - b modulo 2**width. With borrow c: difference a ^ b ^ c, next borrow b ^ ((a ^ c) & (b ^ c))."""
    _same(a, b)
    difference: Word = []
    borrow = ZERO
    for place, (one, other) in enumerate(zip(a, b, strict=True)):
        left = build.xor(one, borrow)
        difference.append(build.xor(left, other))
        if place < len(a) - 1:
            borrow = _borrow(build, left, other, borrow)
    return difference


def less(build: Builder, a: Word, b: Word, *, signed: bool = True) -> Bit:
    """Whether a < b: the last borrow of a - b, with the sign bits inverted if words are signed."""
    _same(a, b)
    borrow = ZERO
    for place, (one, other) in enumerate(zip(a, b, strict=True)):
        flip = ONE if signed and place == len(a) - 1 else ZERO
        left = build.xor(build.xor(one, flip), borrow)
        borrow = _borrow(build, left, build.xor(other, flip), borrow)
    return borrow


def equal(build: Builder, a: Word, b: Word) -> Bit:
    """Whether a = b."""
    _same(a, b)
    return build.all([build.invert(build.xor(one, other)) for one, other in zip(a, b, strict=True)])


def choose(build: Builder, bit: Bit, a: Word, b: Word) -> Word:
    """a where the bit is 1, else b: b ^ bit & (a ^ b)."""
    _same(a, b)
    return [build.xor(other, build.both(bit, build.xor(one, other))) for one, other in zip(a, b, strict=True)]


def maximum(build: Builder, words: Sequence[Word]) -> Word:
    """The largest of signed words, by a tree."""
    return fold(words, lambda a, b: choose(build, less(build, a, b), b, a))


def argmax(build: Builder, words: Sequence[Word]) -> tuple[Word, Word]:
    """The largest of signed words (the first of equals): its number in as few bits as hold it, its value."""
    width = max(1, (len(words) - 1).bit_length())
    numbered = [(build.constant(number, width + 1)[:width], word) for number, word in enumerate(words)]

    def larger(a: tuple[Word, Word], b: tuple[Word, Word]) -> tuple[Word, Word]:
        second = less(build, a[1], b[1])
        return choose(build, second, b[0], a[0]), choose(build, second, b[1], a[1])

    return fold(numbered, larger)


def fold(items: Sequence[Item], join: Callable[[Item, Item], Item]) -> Item:
    """Join items two by two, neighbours in order, as a tree."""
    if not items:
        raise ParameterError("nothing to join", wanted="at least one word")
    level = list(items)
    while len(level) > 1:
        paired = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired + level[len(level) & ~1 :]
    return level[0]


def _borrow(build: Builder, left: Bit, other: Bit, borrow: Bit) -> Bit:
    return build.xor(other, build.both(left, build.xor(other, borrow)))


def _same(a: Word, b: Word) -> None:
    if len(a) != len(b) or not a:
        raise ParameterError("words differ in width", got=(len(a), len(b)), wanted="the same, at least 1")
