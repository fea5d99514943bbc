"""What the owner of word models shows of them, and what both sides agree to before a question is asked.

An `Offer` is the public card of a vocabulary: sizes, the front that makes features, declared ranges, perhaps
the words. It holds no weights. A `Question` is one run: an offer, how many recordings of how many frames, and
who learns the words; its `Question.plan` is what both parties hash.

**Reveals** to whoever reads it all that is in it. The digest of the model in an offer is salted, so that
nobody can test guesses of the model on it; who holds the salt can prove later which model answered.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from discreet.ask.precision import Kind, Precision, Ranges
from discreet.errors import ParameterError
from discreet.models.vocabulary import check_words
from discreet.session.plan import Plan, digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Batch", "Learner", "Method", "Offer", "Question", "Topology"]

Topology = Literal["left-right", "full"]
"""Which steps of a chain may be taken: stay or go on to the next state, or any."""

Method = Literal["forward", "viterbi"]
"""Whether a word is worth the sum over all paths, or its best path."""

Learner = Literal["data", "model", "both"]
"""Who learns the word: the owner of the recording, of the models, or both."""

PROTOCOL, VERSION = "keyword", 1
_MOST_BATCHES, _MOST_COLUMNS = 1000, 2**14
_MOST_LANES = 4096
_SIZES = {
    "count": (1, 1000),
    "label_bytes": (0, 400),
    "dimension": (1, 256),
    "symbols": (0, 2**16),
    "states": (1, 64),
    "mixtures": (1, 64),
    "longest": (1, 4000),
    "padding": (1, 4000),
}
"""The smallest and largest of each size."""


@dataclass(frozen=True)
class Offer:
    """The public card of a vocabulary.

    ``words`` are the words in the order of the models, or () if only the word that was spoken is shown: then
    ``label_bytes`` is the room for it. ``longest`` is the most frames of a recording; lengths are padded to
    multiples of ``padding`` frames, so that no more than that is seen of them (1 shows them). ``model`` is
    the salted digest of the models.
    """

    count: int
    words: tuple[str, ...]
    label_bytes: int
    kind: Kind
    dimension: int
    symbols: int
    states: int
    mixtures: int
    topology: Topology
    method: Method
    ranges: Ranges
    longest: int = 500
    padding: int = 1
    front: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model: str = ""

    def __post_init__(self) -> None:
        for name, (least, most) in _SIZES.items():
            size = getattr(self, name)
            if type(size) is not int or not least <= size <= most:
                raise ParameterError(
                    f"the {name} of an offer is out of range", got=size, wanted=f"{least} to {most}"
                )
        if self.words:
            check_words(self.words)
        if self.words and len(self.words) != self.count:
            raise ParameterError(
                "an offer has a word for every model", got=len(self.words), wanted=f"{self.count}"
            )
        if bool(self.words) == bool(self.label_bytes):
            raise ParameterError("an offer either shows its words, or has room for one")
        if self.kind not in get_args(Kind) or (self.symbols > 1) != (self.kind == "symbols"):
            raise ParameterError("an offer has either symbols or points", got=(self.kind, self.symbols))
        if self.topology not in get_args(Topology) or self.method not in get_args(Method):
            raise ParameterError("no such topology or method", got=(self.topology, self.method))
        if self.padding > self.longest:
            raise ParameterError(
                "lengths are shown in steps of more than the longest",
                got=f"{self.padding} frames",
                wanted=f"at most {self.longest}",
            )
        if self.columns > _MOST_COLUMNS:
            raise ParameterError(
                "an offer has too many states in all", got=self.columns, wanted=f"at most {_MOST_COLUMNS}"
            )
        _ = self.precision

    @property
    def columns(self) -> int:
        """Scores of a frame: one for every component of every state of every word."""
        return self.count * self.states * self.mixtures

    @cached_property
    def precision(self) -> Precision:
        """Widths that hold for every question of at most ``longest`` frames."""
        inward = min(2, self.states) if self.topology == "left-right" else self.states
        sizes = (self.kind, self.dimension, self.states, self.mixtures, self.longest, inward)
        return Precision(*sizes, self.ranges, maximum=self.method == "viterbi")

    @property
    def arcs(self) -> tuple[tuple[int, int], ...]:
        """The steps of a chain, from and to."""
        from discreet.protocols.recursion import all_arcs, left_right

        return left_right(self.states) if self.topology == "left-right" else all_arcs(self.states)

    def padded(self, frames: int) -> int:
        """The number of frames that a recording is padded to."""
        if not 1 <= frames <= self.longest:
            raise ParameterError("a recording has too many frames or none", wanted=f"1 to {self.longest}")
        return min(self.longest, -(-frames // self.padding) * self.padding)

    def question(
        self, frames: Sequence[int], *, opened: Learner = "data", ahead: bool = False, together: int = 32
    ) -> Question:
        """The question for recordings of these lengths: batches of those that are padded alike.

        `Question.order` says which recording went where. At most ``together`` share a batch.
        """
        padded = [self.padded(length) for length in frames]
        order = sorted(range(len(padded)), key=padded.__getitem__)
        size = max(1, min(together, _MOST_LANES // self.count))
        groups = [order[at : at + size] for at in range(0, len(order), size)]
        ends = [(padded[group[0]], padded[group[-1]]) for group in groups]
        batches = tuple(
            Batch(len(group), last, max(1, first - self.padding + 1))
            for group, (first, last) in zip(groups, ends, strict=True)
        )
        return Question(self, batches, opened, ahead)

    def order(self, frames: Sequence[int]) -> list[int]:
        """The numbers of recordings of these lengths in the order in which `question` takes them."""
        return sorted(range(len(frames)), key=lambda one: self.padded(frames[one]))

    def digest(self) -> str:
        """SHA-256 of everything in the offer."""
        return digest(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {"words": list(self.words), "ranges": self.ranges.to_dict(), "front": dict(self.front)}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Offer:
        """From plain data, which may come from strangers: checked."""
        try:
            ranges, words = Ranges.of(plain["ranges"]), tuple(plain["words"])
            rest: dict[str, Any] = {**plain, "ranges": ranges, "words": words, "front": dict(plain["front"])}
            return Offer(**rest)
        except (TypeError, KeyError, AttributeError):
            raise ParameterError("this is not an offer", wanted="what `Offer.to_dict` wrote") from None


@dataclass(frozen=True)
class Batch:
    """Recordings answered together: how many, of how many frames each, of which so many are surely real."""

    recordings: int
    frames: int
    least: int

    def __post_init__(self) -> None:
        if self.recordings < 1 or not 1 <= self.least <= self.frames:
            raise ParameterError("not a batch of recordings", got=(self.recordings, self.frames, self.least))

    @property
    def lengths(self) -> str:
        """What is seen of the lengths, in words: "98", or "1 to 100"."""
        return f"{self.frames}" if self.least == self.frames else f"{self.least} to {self.frames}"

    @property
    def rows(self) -> int:
        """Frames of all recordings, with padding."""
        return self.recordings * self.frames


@dataclass(frozen=True)
class Question:
    """One run: what is offered, which batches of recordings are asked about, and who learns the words.

    With ``ahead`` all that does not depend on the recordings is done first, in a phase of that name.
    """

    offer: Offer
    batches: tuple[Batch, ...]
    opened: Learner = "data"
    ahead: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.batches) <= _MOST_BATCHES:
            raise ParameterError(
                "a question is about recordings", got=len(self.batches), wanted="1 to 1000 batches"
            )
        for batch in self.batches:
            if batch.frames > self.offer.longest or batch.recordings * self.offer.count > _MOST_LANES:
                raise ParameterError(
                    "a batch is longer or larger than what is offered",
                    got=(batch.recordings, batch.frames),
                    wanted=f"at most {_MOST_LANES // self.offer.count} of {self.offer.longest} frames",
                )
        if self.opened not in get_args(Learner):
            raise ParameterError(
                "nobody of that name may learn the word", got=self.opened, wanted="data, model or both"
            )

    @property
    def recordings(self) -> int:
        """How many recordings are asked about."""
        return sum(batch.recordings for batch in self.batches)

    @property
    def plan(self) -> Plan:
        """What both hash and agree to before anything private is touched; roles are "data" and "model"."""
        what = "the word of each recording" if self.recordings > 1 else "the word"
        learns = {
            "data": what if self.opened != "model" else "nothing",
            "model": what if self.opened != "data" else "nothing",
        }
        return Plan(PROTOCOL, VERSION, self.to_dict(), learns, self.offer.model)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: what is agreed."""
        batches = [list(asdict(batch).values()) for batch in self.batches]
        return {"offer": self.offer.to_dict(), "batches": batches, "opened": self.opened, "ahead": self.ahead}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Question:
        """From plain data, checked."""
        batches = tuple(Batch(*batch) for batch in plain["batches"])
        return Question(Offer.of(plain["offer"]), batches, plain["opened"], plain["ahead"])
