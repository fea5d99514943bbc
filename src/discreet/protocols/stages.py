"""The circuits of a trellis, for one model: its first step, every further step, and the end.

``own`` is what the garbler puts in, ``told`` the evaluator's shares of the scores. With numbers the garbler's
share of a score (and at the end its mask) is already added to its weights; with bits it comes beside them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.crypto.circuit import Builder
from discreet.crypto.words import add

if TYPE_CHECKING:
    from discreet.crypto.circuit import Circuit, Word
    from discreet.protocols.semiring import Semiring

__all__ = ["Arcs", "arcs_into", "first_step", "last_step", "next_step"]

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
def next_step(semiring: Semiring, states: int, arcs: Arcs) -> Circuit:
    """score * (+) state * arc, for every state."""
    build = Builder()
    masked = semiring.kind == "or"
    state = build.words("state", states, semiring.width)
    own = build.words("own", len(arcs) + states * masked, semiring.width)
    told = build.words("told", states, semiring.width)
    scores = _scores(build, own[len(arcs) :], told) if masked else told
    paths = [semiring.extend(build, state[i], by) for (i, _), by in zip(arcs, own[: len(arcs)], strict=True)]
    joined = [semiring.join(build, [paths[number] for number in part]) for part in arcs_into(arcs, states)]
    scored = zip(joined, scores, strict=True)
    build.output_words("state", [semiring.extend(build, *pair) for pair in scored])
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


def _scores(build: Builder, mine: list[Word], told: list[Word]) -> list[Word]:
    """Bits from their shares."""
    return [[build.xor(one[0], other[0])] for one, other in zip(mine, told, strict=True)]
