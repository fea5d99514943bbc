"""What all words together cost, and what one speaker may weigh in all of them.

Recordings of different words are different parts of the data (`discreet.accounting.parts`). A *recording* is
in one part: all words together cost what one word costs. A *speaker* with recordings of k words is in k
parts. With m = ``words_per_person`` their weight in each is multiplied by

    s = min(1, sqrt(m / k) - 2^-18)    Gaussian noise          s = min(1, m / k - 2^-18)    Laplace noise

so that the squares (weights) add up to m at most, and the whole costs what m releases cost. Whoever spoke at
most m words is untouched. The 2^-18 pay for discreteness: `discreet.mechanisms.noise` adds to a
part's bound b at most 2^-20 b in each of at most two ways (one unit a number, and one for a coarser grid),
which a speaker of k parts meets k times and the m releases only m times:
k (s b + c)^2 <= m (b + c)^2 whenever s <= sqrt(m / k) - c / b, and c <= 2^-19 b.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.parts import plan_parts
from discreet.errors import ParameterError
from discreet.fit.hmm import request as hmm
from discreet.fit.words.request import hmm_request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.event import Event
    from discreet.fit.words.recordings import Labels
    from discreet.fit.words.request import Request

__all__ = ["Budget", "factors_of", "plan_budget"]

_SLACK = 2.0**-18
_LOUDEST = 2.0**20
"""More noise than this could not be drawn on a grid that is fine enough for the slack."""


class Budget:
    """The promise about all words, the releases of each, and the method of all fits."""

    def __init__(self, guarantee: Guarantee, each: tuple[Event, ...], method: str) -> None:
        self.guarantee = guarantee
        self.each = each
        self.method = method

    def __repr__(self) -> str:
        return f"Budget({self.guarantee.summary()})"


def plan_budget(wanted: Request, words: int, alphabet: int) -> Budget:
    """What a checked request promises for so many words: nothing is read, drawn or spent."""
    one = hmm.plan(hmm_request(wanted, alphabet))
    each: tuple[Event, ...] = one.guarantee.events
    whole = each
    if each and wanted.person is not None:
        each, whole = plan_parts(each, wanted.epsilon, wanted.delta or 0.0, _touched(wanted, words))
        loudest = max(event.noise for event in each)
        if loudest > _LOUDEST:
            raise ParameterError(
                "epsilon is too small to be kept exactly", got=wanted.epsilon, wanted="a larger epsilon"
            )
    guarantee = Guarantee(
        epsilon=wanted.epsilon,
        delta=wanted.delta or 0.0,
        unit="sequence" if wanted.person is None else "person",
        events=whole,
        trusts=_trusted(wanted),
        reveals=(_revealed(wanted),),
        declared=_declared(wanted, words),
        seeded=wanted.bits.seeded and not wanted.plain,
        person=wanted.person,
        piece="sequence",
    )
    return Budget(guarantee, each, "plain" if wanted.plain else one.method)


def factors_of(wanted: Request, labels: Labels) -> NDArray[np.float64] | None:
    """What the weights of each recording are multiplied by; a number of its speaker's recordings alone."""
    if wanted.plain or wanted.person is None or labels.speakers is None:
        return None
    said: dict[Any, set[int]] = {}
    for speaker, word in zip(labels.speakers, labels.spoken, strict=True):
        said.setdefault(speaker, set()).add(int(word))
    share = {speaker: _share(wanted, len(labels.words), len(words)) for speaker, words in said.items()}
    return np.array([share[speaker] for speaker in labels.speakers])


def _touched(wanted: Request, words: int) -> int:
    return min(wanted.words_per_person or words, words)


def _share(wanted: Request, words: int, spoken: int) -> float:
    touched = _touched(wanted, words)
    if spoken <= touched:
        return 1.0
    part = touched / spoken if wanted.noise == "laplace" else math.sqrt(touched / spoken)
    return part - _SLACK


def _trusted(wanted: Request) -> str:
    curator = "whoever runs the fit, who hears the recordings"
    if wanted.plain:
        return f"{curator}; and everybody who sees the result"
    knowing = " and may guess the seed" if wanted.bits.seeded else ""
    return f"{curator}; " + (
        f"and everybody who sees the result{knowing}" if knowing else "nobody who only sees the result"
    )


def _revealed(wanted: Request) -> str:
    if wanted.plain:
        return "the exact models fitted to the recordings, and the range of their features"
    return "the parameters of one model a word, computed from noisy sums alone"


def _declared(wanted: Request, words: int) -> tuple[str, ...]:
    facts = [f"the number of states, {wanted.n_states}", f"the topology, {wanted.topology}"]
    if wanted.vocabulary is not None:
        facts.append(f"the {words} words")
    if wanted.input == "symbols":
        facts.append(f"the number of symbols, {wanted.n_symbols}")
    if wanted.input == "sound":
        facts.append(f"the recipe of the features, at {wanted.rate} samples a second")
    if wanted.max_frames is not None:
        facts.append(f"the longest recording, {wanted.max_frames} frames")
    if wanted.bounds is not None:
        facts.append("the range of every feature")
    if wanted.codebook is not None and not wanted.plain:
        facts.append("the codebook")
    if wanted.person is not None and not wanted.plain:
        facts.append(
            f"one {wanted.person}'s recordings of one word weigh at most {wanted.recordings_per_person:g}, "
            f"and all of them as much as {_touched(wanted, words)} words at most"
        )
    return tuple(facts)
