"""The circuits of a trellis, for one model: its first step, every further step, and the end.

``own`` is what the garbler puts in, ``told`` the evaluator's shares of the scores. With numbers the garbler's
share of a score (and at the end its mask) is already added to its weights; with bits it comes beside them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.crypto.circuit import Builder
from discreet.crypto.words import add, choose, fold, subtract

if TYPE_CHECKING:
    from discreet.crypto.circuit import Circuit, Word
    from discreet.protocols.semiring import Semiring

__all__ = [
    "Arcs",
    "arcs_into",
    "first_step",
    "hide",
    "last_choice",
    "last_step",
    "mixed_score",
    "next_step",
    "number_width",
    "step_back",
    "winner",
]

Arcs = tuple[tuple[int, int], ...]
"""Pairs of states: from, to."""


def arcs_into(arcs: Arcs, states: int) -> list[tuple[int, ...]]:
    """For every state, the numbers of the arcs that end there."""
    return [tuple(number for number, (_, to) in enumerate(arcs) if to == state) for state in range(states)]


@lru_cache(maxsize=32)
def first_step(semiring: Semiring, states: int) -> Circuit:
    """start * score, for every state."""
    build = Builder()
    masked = semiring.kind == "or"
    own = build.words("own", states * (1 + masked), semiring.width)
    told = build.words("told", states, semiring.width)
    scores = _scores(build, own[states:], told) if masked else told
    starts = zip(own[:states], scores, strict=True)
    build.output_words("state", [semiring.extend(build, *pair) for pair in starts])
    return build.circuit()


@lru_cache(maxsize=32)
def next_step(
    semiring: Semiring, states: int, arcs: Arcs, traced: bool = False, ending: bool = False
) -> Circuit:
    """score * (+) state * arc, for every state; if ``traced``, also which state each came from.

    If ``ending``, a bit says whether the step is taken: where it is 0, all states stay what they were.
    """
    build = Builder()
    masked = semiring.kind == "or"
    state = build.words("state", states, semiring.width)
    going = build.input("going", 1)[0] if ending else None
    own = build.words("own", len(arcs) + states * masked, semiring.width)
    told = build.words("told", states, semiring.width)
    scores = _scores(build, own[len(arcs) :], told) if masked else told
    paths = [semiring.extend(build, state[i], by) for (i, _), by in zip(arcs, own[: len(arcs)], strict=True)]
    into = arcs_into(arcs, states)
    if traced:
        best = [_best(build, states, [(arcs[number][0], paths[number]) for number in part]) for part in into]
        build.output_words("choice", [number for number, _ in best])
        joined = [value for _, value in best]
    else:
        joined = [semiring.join(build, [paths[number] for number in part]) for part in into]
    scored = [semiring.extend(build, *pair) for pair in zip(joined, scores, strict=True)]
    if going is not None:
        scored = [choose(build, going, new, old) for new, old in zip(scored, state, strict=True)]
    build.output_words("state", scored)
    return build.circuit()


@lru_cache(maxsize=32)
def mixed_score(semiring: Semiring, components: int) -> Circuit:
    """(+) of the components of one score, from shares of both."""
    build = Builder()
    own = build.words("own", components, semiring.width)
    told = build.words("told", components, semiring.width)
    parts = [add(build, *pair) for pair in zip(own, told, strict=True)]
    build.output("score", semiring.join(build, parts))
    return build.circuit()


@lru_cache(maxsize=32)
def winner(words: int, width: int, label_bits: int) -> Circuit:
    """The number of the largest of signed words that may have wrapped, or the label that belongs to it."""
    build = Builder()
    totals = build.words("totals", words, width)
    labels = build.words("labels", words, label_bits) if label_bits else []
    number = _best(build, words, list(enumerate(totals)))[0]
    build.output("answer", _taken(build, number, labels) if label_bits else number)
    return build.circuit()


@lru_cache(maxsize=32)
def last_step(semiring: Semiring, states: int, total: bool) -> Circuit:
    """(+) state * end for the total, or every state, less the garbler's mask."""
    build = Builder()
    masked = semiring.kind == "or"
    state = build.words("state", states, semiring.width)
    own = build.words("own", states + (masked and total), semiring.width)
    if total:
        ended = [semiring.extend(build, *pair) for pair in zip(state, own[:states], strict=True)]
        answer = semiring.join(build, ended)
        answers = [[build.xor(answer[0], own[-1][0])] if masked else answer]
    else:
        answers = [add(build, *pair) for pair in zip(state, own, strict=True)]
    build.output_words("answer", answers)
    return build.circuit()


@lru_cache(maxsize=32)
def last_choice(semiring: Semiring, states: int) -> Circuit:
    """The number of the state with the largest state * end."""
    build = Builder()
    state = build.words("state", states, semiring.width)
    own = build.words("own", states, semiring.width)
    ended = [semiring.extend(build, *pair) for pair in zip(state, own, strict=True)]
    build.output("number", _best(build, states, list(enumerate(ended)))[0])
    return build.circuit()


@lru_cache(maxsize=32)
def step_back(states: int) -> Circuit:
    """The choice of the state with a number."""
    build = Builder()
    number = build.input("number", number_width(states))
    choices = build.words("choice", states, number_width(states))
    build.output("number", _taken(build, number, choices))
    return build.circuit()


@lru_cache(maxsize=32)
def hide(width: int) -> Circuit:
    """number - mask."""
    build = Builder()
    number, mask = build.input("number", width), build.input("mask", width)
    build.output("answer", subtract(build, number, mask))
    return build.circuit()


def number_width(states: int) -> int:
    """Bits that hold the number of a state."""
    return max(1, (states - 1).bit_length())


def _best(build: Builder, states: int, numbered: list[tuple[int, Word]]) -> tuple[Word, Word]:
    """The number and value of the largest word, the first of equals; words may have wrapped."""
    width = number_width(states)
    items = [(build.constant(number, width + 1)[:width], word) for number, word in numbered]

    def larger(a: tuple[Word, Word], b: tuple[Word, Word]) -> tuple[Word, Word]:
        second = subtract(build, a[1], b[1])[-1]
        return choose(build, second, b[0], a[0]), choose(build, second, b[1], a[1])

    return fold(items, larger)


def _taken(build: Builder, number: Word, words: list[Word]) -> Word:
    """The word with a number: a tree of choices by the bits of the number."""
    level = words
    for bit in number:
        paired = [choose(build, bit, b, a) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired + level[len(level) & ~1 :]
    return level[0]


def _scores(build: Builder, mine: list[Word], told: list[Word]) -> list[Word]:
    """Bits from their shares."""
    return [[build.xor(one[0], other[0])] for one, other in zip(mine, told, strict=True)]
