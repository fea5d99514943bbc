"""A question rehearsed on this machine: two processes, the same roles and the same TLS as between strangers.

answer = rehearse(words, recording)
answer.word, answer.seconds, answer.bytes, answer.learned
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.ask.model import Model
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from discreet.ask.offer import Learner, Method, Question, Topology
    from discreet.models.vocabulary import Vocabulary
    from discreet.protocols.step import Transcript
    from discreet.session.receipt import Receipt

    Recording = NDArray[Any] | str | PathLike[str]

__all__ = ["Answer", "features_of", "rehearse", "vocabulary_of"]

AHEAD = "ahead"
"""The phase of what is done before recordings are there."""


@dataclass(frozen=True)
class Answer:
    """What a rehearsal showed: the words, what it took, and what each party has learned.

    ``words`` are in the order of the recordings; ``learned`` says by role what that party knows now.
    ``receipts`` and, if asked for, ``transcripts`` are those of both roles.

    **Reveals** the words to whoever reads it; transcripts hold all that a party saw.
    """

    words: tuple[str, ...]
    question: Question
    learned: Mapping[str, str]
    receipts: Mapping[str, Receipt]
    transcripts: Mapping[str, Transcript] = field(default_factory=dict[str, Any])

    def __repr__(self) -> str:
        return f"Answer({len(self.words)} words in {self.seconds:.2f} s)"

    @property
    def word(self) -> str:
        """The word of the only recording."""
        if len(self.words) != 1:
            raise ParameterError("there is not one word", got=len(self.words), remedy="Look at words.")
        return self.words[0]

    @property
    def seconds(self) -> float:
        """From the first greeting until both parties knew that all was well."""
        return max(receipt.seconds for receipt in self.receipts.values())

    @property
    def phases(self) -> dict[str, float]:
        """Seconds of each phase as the owner of the recordings saw them, waiting included."""
        return {name: count.worked + count.waited for name, count in self._counts.items()}

    @property
    def online(self) -> float:
        """Seconds after everything was done that can be done ahead."""
        return self.seconds - self.phases.get(AHEAD, 0.0)

    @property
    def bytes(self) -> int:
        """Bytes of frames, both ways."""
        return sum(self.sizes.values())

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each phase, both ways."""
        return {name: count.sent + count.received for name, count in self._counts.items()}

    @property
    def _counts(self) -> Mapping[str, Any]:
        return self.receipts["data"].peers["model"].phases


def rehearse(
    words: Any,
    recordings: Recording | Sequence[Recording],
    *,
    topology: Topology | None = None,
    method: Method = "forward",
    opened: Learner = "data",
    padding: int | None = None,
    ahead: bool = False,
    show_words: bool = True,
    prepared: bool = False,
    record: bool = False,
) -> Answer:
    """Ask word models for the words of one recording or several, in two processes on this machine.

    ``words`` are fitted word models, a `Vocabulary`, or the folder of one. Recordings are what the front of
    the vocabulary takes (samples or sound files, points or symbols), or with ``prepared`` its features.
    ``padding`` hides lengths within so many frames. ``opened`` says who learns the words, ``record`` keeps
    all messages.
    """
    from discreet.session import Part
    from discreet.session import rehearse as play

    vocabulary = vocabulary_of(words)
    several = isinstance(recordings, list | tuple)
    given: Any = recordings if several else [recordings]
    features = given if prepared else features_of(given, vocabulary.front)
    lengths = [len(one) for one in features]
    model = Model.of(
        vocabulary,
        topology=topology,
        method=method,
        longest=-(-max(lengths) // (padding or 1)) * (padding or 1),
        padding=padding or 1,
        show_words=show_words,
    )
    question = model.offer.question(lengths, opened=opened, ahead=ahead)
    order = model.offer.order(lengths)
    mine = [np.asarray(features[place]) for place in order]
    outcomes = play(
        question.plan,
        {
            "data": Part("discreet.ask.keyword:ask", mine, "discreet.ask.keyword:ready_data"),
            "model": Part("discreet.ask.keyword:answer", model.to_dict(), "discreet.ask.keyword:ready_model"),
        },
        record=record,
    )
    return _answer(question, order, outcomes)


def vocabulary_of(words: Any) -> Vocabulary:
    """The vocabulary of fitted word models, of a folder, or itself."""
    from discreet.bundle import read_vocabulary
    from discreet.models.vocabulary import Vocabulary

    if isinstance(words, str | Path):
        return read_vocabulary(words)
    found = getattr(words, "vocabulary_", words)
    if not isinstance(found, Vocabulary):
        raise ParameterError(
            "these are no word models",
            got=type(words).__name__,
            wanted="fitted word models, a vocabulary, or its folder",
        )
    return found


def features_of(recordings: Sequence[Recording], plain: Mapping[str, Any]) -> list[NDArray[Any]]:
    """What a front, as plain data, makes of recordings; without one they are features."""
    from discreet.speech.front import Front
    from discreet.speech.sound import read_one

    if not plain:
        return [np.asarray(one) for one in recordings]
    front = Front.of(plain)
    return [front.prepare(read_one(one, front.rate)) for one in recordings]


def _answer(question: Question, order: Sequence[int], outcomes: Mapping[str, Any]) -> Answer:
    found = outcomes["data"].output or outcomes["model"].output
    words = [""] * len(order)
    for place, word in zip(order, found, strict=True):
        words[place] = word
    learned = {
        role: "nothing" if outcome.output is None else ", ".join(words) for role, outcome in outcomes.items()
    }
    receipts = {role: outcome.receipt for role, outcome in outcomes.items()}
    seen = {role: outcome.transcript for role, outcome in outcomes.items() if outcome.transcript is not None}
    return Answer(tuple(words), question, learned, receipts, seen)
