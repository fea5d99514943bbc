"""A model owner who answers many clients, and a client who asks.

    serve("words", bob, clients=[alice_card], place=Place("0.0.0.0", 7300), answers="words.answers",
          allowance=Allowance(100))
    ask(recording, bob_card, Place("host", 7300), alice).word

**Reveals** to the client the offer and one word a recording; to the owner who asks, when, how many recordings
and their padded lengths. Nothing else (`discreet.ask.keyword`).
**Trusts** as `discreet.ask.keyword`. Clients are known by their cards; what each has had is counted in a
file (`discreet.ask.answers`), recordings of one question each for one.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.ask.answers import Allowance, Answers
from discreet.ask.cost import cost
from discreet.ask.keyword import Prepared, answer, compile_question, prepare_model
from discreet.ask.keyword import ask as ask_role
from discreet.ask.model import Model
from discreet.ask.offer import Offer, Question
from discreet.ask.rehearsal import Answer, features_of, vocabulary_of
from discreet.errors import DiscreetError, ParameterError, ProtocolError, TooLargeError
from discreet.randomness import secure
from discreet.session.client import Wanted, visit
from discreet.session.desk import Session
from discreet.session.limits import Limits
from discreet.session.request import LONGEST_OFFER
from discreet.session.service import Service

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.ask.offer import Method
    from discreet.ask.rehearsal import Recording
    from discreet.session.receipt import Receipt
    from discreet.session.request import Sizes
    from discreet.session.service import Note
    from discreet.wire.identity import Card, Identity
    from discreet.wire.tls import Place

__all__ = [
    "LONGEST",
    "PADDING",
    "QUESTION",
    "TOGETHER",
    "KeywordDesk",
    "answers_of",
    "ask",
    "identifier_of",
    "load_model",
    "memory",
    "offered",
    "open_desk",
    "question_of",
    "serve",
]

QUESTION, VERSION = "keyword", 1
LONGEST, PADDING, TOGETHER = 200, 100, 16
"""What is offered unless the owner says otherwise: frames of a recording (100 a second), lengths shown in
steps of so many frames, and recordings of one question."""

_WARM, _AHEAD = 100, 1 << 31
_FIXED, _TABLES = 256 << 20, 3
_A_WEIGHT, _A_SCORE, _A_SYMBOL = 3600, 2048, 32
"""Bytes: of a weight in a transformed table, of a score of a frame, of a symbol's score under a mask."""


class KeywordDesk:
    """What a service of keywords is about; see `discreet.session.desk.Desk`."""

    load = "discreet.ask.serving:load_model"

    def __init__(
        self,
        model: Model,
        identifier: str,
        answers: Answers,
        allowance: Allowance | None = None,
        *,
        together: int = TOGETHER,
    ) -> None:
        self.card = model.offer
        self.identifier = identifier
        self.answers = answers
        self.allowance = allowance or Allowance()
        self.together = together
        self.private = {"model": model.to_dict(), "warm": [min(_WARM, model.offer.longest)]}
        self.offer: Mapping[str, Any] = {
            "questions": [QUESTION],
            "version": VERSION,
            "offer": model.offer.to_dict(),
            "together": together,
            "allowance": asdict(self.allowance),
        }
        _check_size(self.offer)

    def session(self, question: str, sizes: Sizes) -> Session:
        """The session for recordings of these padded lengths, in ascending order."""
        asked = question_of(self.card, sizes, self.together)
        return Session(
            asked.plan, "model", f"{answer.__module__}:{answer.__name__}", asked.recordings, memory(asked)
        )

    def charge(self, client: Card, session: Session) -> None:
        """Count the answers, durably."""
        self.answers.charge(client.fingerprint, self.identifier, session.answers, self.allowance)


def load_model(private: Mapping[str, Any]) -> Prepared:
    """What a worker does once: read the model, and transform its weights for a usual length."""
    model = Model.read(private["model"])
    return prepare_model(model, model.offer.question([model.offer.padded(one) for one in private["warm"]]))


def question_of(offer: Offer, sizes: Sizes, together: int) -> Question:
    """The question that both sides build from an offer and the sizes of a request."""
    if set(sizes) != {"frames", "ahead"} or sizes["ahead"] not in (0, 1):
        raise ParameterError("a question has other sizes", wanted="frames and ahead")
    frames = sizes["frames"]
    if isinstance(frames, int) or not 1 <= len(frames) <= together:
        raise ParameterError("a question is about several recordings", wanted=f"1 to {together}")
    padded = [offer.padded(length) for length in frames]
    if padded != sorted(frames):
        raise ParameterError(
            "lengths are not padded as the offer says", wanted=f"steps of {offer.padding} frames"
        )
    return offer.question(padded, ahead=bool(sizes["ahead"]))


def memory(question: Question) -> int:
    """Bytes that the role of the owner may take in its worker, from public sizes; see docs/ask.md.

    Transformed tables for other lengths than those that are ready, shares and labels of all frames, and for
    symbols every column of the table under the mask of every frame.
    """
    offer = question.offer
    columns = offer.count * offer.states * offer.mixtures
    frames = columns * sum(batch.rows for batch in question.batches)
    if offer.kind == "symbols":
        return _FIXED + frames * (_A_SCORE + _A_SYMBOL * offer.symbols)
    return _FIXED + _TABLES * _A_WEIGHT * offer.precision.terms * columns + frames * _A_SCORE


def open_desk(
    words: Any,
    answers: str | os.PathLike[str] | None = None,
    allowance: Allowance | None = None,
    *,
    method: Method = "forward",
    longest: int = LONGEST,
    padding: int = PADDING,
    together: int = TOGETHER,
    show_words: bool = True,
) -> KeywordDesk:
    """Prepare word models for a service. ``words`` as `discreet.ask.rehearse` takes them.

    Answers are counted for these models, whatever else is set, in a file that is made if it is not there;
    for a folder ``FOLDER.answers`` unless another is named. Lengths are never shown in steps of more than
    the longest.
    """
    if together < 1:
        raise ParameterError("a question is about no recording", got=together, wanted="at least 1 together")
    vocabulary = vocabulary_of(words)
    if answers is None:
        if not isinstance(words, str | Path):
            raise ParameterError("answers are counted in a file", wanted="its name")
        answers = answers_of(words)
    padding = min(padding, longest)
    model = Model.of(vocabulary, method=method, longest=longest, padding=padding, show_words=show_words)
    return KeywordDesk(model, identifier_of(vocabulary), Answers.at(answers), allowance, together=together)


def serve(
    words: Any,
    me: Identity,
    clients: Sequence[Card],
    place: Place,
    *,
    answers: str | os.PathLike[str] | None = None,
    allowance: Allowance | None = None,
    limits: Limits | None = None,
    ready: Callable[[Place], None] | None = None,
    keep: Callable[[Card, Receipt], None] | None = None,
    tell: Callable[[Note], None] | None = None,
    **offered: Any,
) -> None:
    """Answer clients until interrupted (SIGINT or SIGTERM); ``offered`` are the settings of `open_desk`."""
    desk = open_desk(words, answers, allowance, **offered)
    limits = limits or Limits()
    least = desk.session(QUESTION, {"frames": [desk.card.padded(desk.card.longest)], "ahead": 0}).memory
    if least > limits.memory:
        raise ParameterError(
            "one recording would take more memory than a session may",
            got=f"{least >> 20} MiB",
            wanted=f"at most {limits.memory >> 20} MiB",
            remedy="Offer fewer words or shorter recordings, or allow a session more memory.",
        )
    Service(me, clients, desk, limits=limits, keep=keep, tell=tell).run(place, ready=ready)


def ask(
    recordings: Recording | Sequence[Recording] | Callable[[Offer], Sequence[Recording]],
    owner: Card,
    place: Place,
    me: Identity,
    *,
    prepared: bool = False,
    ahead: bool = False,
    wait: float = 30.0,
    record: bool = False,
) -> Answer:
    """Ask a service which words were spoken, in one recording or several.

    Recordings are what the front of the offer takes (samples or sound files, points or symbols), with
    ``prepared`` its features; or a function of the offer that gives them.
    """
    seen: list[tuple[Question, list[int]]] = []

    def want(plain: dict[str, Any]) -> Wanted:
        offer, together = offered(plain)
        features = _features(recordings, offer, prepared)
        if len(features) > together:
            raise ParameterError(
                "too many recordings for one question",
                got=len(features),
                wanted=f"at most {together}",
                remedy="Ask several times.",
            )
        lengths = [len(one) for one in features]
        order = offer.order(lengths)
        sizes = {"frames": [offer.padded(lengths[place]) for place in order], "ahead": int(ahead)}
        question = question_of(offer, sizes, together)
        seen.append((question, order))
        compile_question(question)  # now, and not while a worker of the service waits for us
        _check_ahead(question)
        steps = ask_role([features[place] for place in order], question.plan.agreed, secure())
        return Wanted(QUESTION, sizes, question.plan, "data", steps)

    outcome = visit(me, owner, place, want, wait=wait, record=record)
    ((question, order),) = seen
    words = [""] * len(order)
    for at, word in zip(order, outcome.output, strict=True):
        words[at] = word
    learned = {"data": ", ".join(words), "model": "nothing"}
    transcripts = {} if outcome.transcript is None else {"data": outcome.transcript}
    return Answer(tuple(words), question, learned, {"data": outcome.receipt}, transcripts)


def answers_of(folder: str | Path) -> Path:
    """Where the answers of the model in a folder are counted, unless the owner names another place."""
    path = Path(folder).expanduser().absolute()
    return path.with_name(path.name + ".answers")


def identifier_of(vocabulary: Any) -> str:
    """SHA-256 of the models, for the owner's own books: unlike the digest in an offer it has no salt."""
    from discreet.bundle import tensor_digest

    return tensor_digest(vocabulary.tensors())


def offered(plain: Mapping[str, Any]) -> tuple[Offer, int]:
    """The offer that a service showed, checked; what is in it was written by a stranger."""
    try:
        if plain["version"] != VERSION or QUESTION not in plain["questions"]:
            raise ValueError
        offer, together = Offer.of(plain["offer"]), plain["together"]
        if type(together) is not int or together < 1 or offer.to_dict() != plain["offer"]:
            raise ValueError
    except (DiscreetError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise ProtocolError(
            "the service offers something else",
            wanted="keywords",
            remedy="Compare versions, and the address.",
        ) from None
    return offer, together


def _check_ahead(question: Question) -> None:
    """Refuse what our role would refuse, before it counts as an answer."""
    if question.ahead and cost(question).tables > _AHEAD:
        raise TooLargeError(
            "the tables of this question take too much room to be kept",
            wanted=f"at most {_AHEAD >> 20} MiB",
            remedy="Ask for fewer recordings at once, or not ahead.",
        )


def _features(recordings: Any, offer: Offer, prepared: bool) -> list[NDArray[Any]]:
    """The features of every recording, none longer than what is offered."""
    given: Any = recordings(offer) if callable(recordings) else recordings
    several: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    features = features_of(several, {} if prepared else offer.front)
    for number, (one, rows) in enumerate(zip(several, features, strict=True), start=1):
        if len(rows) > offer.longest:
            named = Path(one).name if isinstance(one, str | Path) else f"recording {number}"
            raise ParameterError(
                f"{named} is longer than what is offered",
                wanted=f"at most {offer.longest} frames ({offer.longest / 100:g} s)",
                remedy="Cut the word out, or ask who runs the service to offer longer ones (--longest).",
            )
    return features


def _check_size(offer: Mapping[str, Any]) -> None:
    import json

    size = len(json.dumps(offer))
    if size > LONGEST_OFFER:
        raise ParameterError("the offer is too large", got=f"{size} bytes", wanted=f"at most {LONGEST_OFFER}")
