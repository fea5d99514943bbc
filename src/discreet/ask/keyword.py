"""Which word was spoken: the roles of both parties.

    owner of the models       prepared = prepare_model(model, question)          once for many questions
                              words = yield from answer(prepared, agreed, bits)
    owner of the recordings   words = yield from ask(recordings, agreed, bits)

``agreed`` is `discreet.ask.offer.Question.to_dict`, which the plan of the session carries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.ask.model import Model
    from discreet.ask.offer import Question
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Prepared", "answer", "ask", "prepare_model"]


class Prepared:
    """A model ready for questions: integers and transformed tables, kept by length of block."""


def prepare_model(model: Model, question: Question | None = None) -> Prepared:
    """Do now what does not depend on who asks: seconds the first time, nothing later (thread-safe to share)."""
    raise NotImplementedError


def answer(private: Prepared | Mapping[str, Any], agreed: Mapping[str, Any], bits: Bits) -> Steps[list[str] | None]:
    """The role "model"; ``private`` is `prepare_model`'s, or `Model.to_dict` (plain data) in a rehearsal.

    Returns the words in the order of the recordings asked, or None if only the other party learns them.
    """
    raise NotImplementedError


def ask(
    private: Sequence[NDArray[Any]] | Callable[[], Sequence[NDArray[Any]]],
    agreed: Mapping[str, Any],
    bits: Bits,
) -> Steps[list[str] | None]:
    """The role "data"; ``private`` are features, (frames, dimension) or symbols (frames,), one a recording.

    It may be a function that is called when the features are needed: with ``ahead`` after everything else is
    done, so that a recording can be made meanwhile. Returns what `answer` does.
    """
    raise NotImplementedError
