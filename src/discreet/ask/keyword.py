"""Which word was spoken: the roles of both parties.

    owner of the models       prepared = prepare_model(model, question)          once for many questions
                              words = yield from answer(prepared, agreed, bits)
    owner of the recordings   words = yield from ask(recordings, agreed, bits)

``agreed`` is `discreet.ask.offer.Question.to_dict`, which the plan of the session carries.

1. *Scores.* Points: the recordings' quadratic features go out encrypted and come back as sums of products
   (`discreet.protocols.scores`), a block of frames at a time. Symbols: one column of the table of log
   probabilities a frame, by oblivious transfer of all columns under one mask. Both ends hold shares.
2. *Recursion, comparison, label* in one garbled circuit (`discreet.protocols.verdict`).
3. The answer is opened to those whom the question names.

With ``ahead``, transfers for random choices, masks, and the circuit go before the recording is there
(`discreet.protocols.ahead`).

**Reveals** the words to those named; to the other party the question itself: how many recordings, and how
long they are but for the padding. Nothing else, in particular no score.
**Costs** `discreet.ask.cost`.
**Trusts** both parties to follow the protocol. An owner of recordings who does not, may send anything
instead of features: what comes back of its ciphertexts is uniform whatever is in them
(`discreet.crypto.setting`, not exact), and the circuit makes some word of the list of any shares. So it
gets one word a question, of a question of its own making: the owner of the models counts them. A message of
another form, size or order ends the run (`discreet.errors.ProtocolError`), and so do residues out of range
(`discreet.errors.CipherError`) and transfers that fail their check.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.ask.grid import block_of, dropped, features_of, fixed, frames_of, jobs, laid, verdict_of
from discreet.ask.model import Model
from discreet.ask.offer import Batch, Offer, Question
from discreet.crypto.block import derive
from discreet.crypto.garble import block_sizes
from discreet.errors import ParameterError, ProtocolError, TooLargeError
from discreet.protocols.ahead import open_early, open_late
from discreet.protocols.garbled import Evaluating, Garbling, open_evaluating, open_garbling
from discreet.protocols.opening import random_words, reduce_words
from discreet.protocols.scores import Asking, Masks, Scores, prepared, score
from discreet.protocols.step import under
from discreet.protocols.verdict import Verdict, find_word, judge, read_word, told_bits
from discreet.session.plan import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.crypto.lattice import Table
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Recordings = Sequence[NDArray[Any]] | Callable[[], Sequence[NDArray[Any]]]

__all__ = [
    "Prepared",
    "answer",
    "ask",
    "compile_question",
    "prepare_model",
    "ready_data",
    "ready_model",
]

_MOST_AHEAD = 2**31
"""Bytes of tables that are kept until the recordings are there."""

_UNDER_WAY = 4
"""Jobs of scores that have been asked and not answered."""

_KEPT = 3
"""Transformed tables that are kept: some 100 MB each for full covariances."""


class Prepared:
    """A model ready for questions: integers, and transformed tables by the length of a block.

    May be shared by the threads of one process.
    """

    def __init__(self, model: Model) -> None:
        wide = model.offer.precision
        self.model = model
        self._weights = fixed(model.weights, wide.weight_bits)
        self._constants = fixed(model.constants, wide.feature_bits + wide.weight_bits)
        self._tables: OrderedDict[Scores, Table] = OrderedDict()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Prepared({self.model.offer.count} words)"

    @property
    def constants(self) -> NDArray[np.int64]:
        """One number a column of scores, on the grid of scores."""
        return self._constants

    def table(self, job: Scores) -> Table:
        """The transformed weights for jobs of this size; seconds the first time, then kept for a while."""
        with self._lock:
            if job not in self._tables:
                self._tables[job] = prepared(self._weights, job)
            self._tables.move_to_end(job)
            while len(self._tables) > _KEPT:
                self._tables.popitem(last=False)
            return self._tables[job]

    def columns(self, offer: Offer) -> NDArray[np.uint64]:
        """Log probabilities of symbols as words, (symbols, columns)."""
        words = fixed(self.model.weights, offer.precision.fraction).view(np.uint64)
        return reduce_words(words, offer.precision.score_width)


def prepare_model(model: Model, question: Question | None = None) -> Prepared:
    """Do now what does not depend on who asks; with a question, also transform the weights for its sizes."""
    ready = Prepared(model)
    if question is not None:
        compile_question(question)
        if model.offer.kind != "symbols":
            for batch in question.batches:
                ready.table(next(jobs(question.offer, batch)))
    return ready


def compile_question(question: Question) -> None:
    """Build circuits and tables of the lattice, which depend on nothing but the question; kept for later."""
    import_module("rbcl")  # the group of base transfers, which takes a moment to load
    for batch in question.batches:
        for circuit, instances in verdict_of(question.offer, batch).runs():
            block_sizes(circuit, instances)
        if question.offer.kind != "symbols":
            _ = next(jobs(question.offer, batch)).setting.opening


def answer(
    private: Prepared | Mapping[str, Any], agreed: Mapping[str, Any], bits: Bits
) -> Steps[list[str] | None]:
    """The role "model"; ``private`` is `prepare_model`'s, or `Model.to_dict` (plain data) in a rehearsal.

    Returns the words in the order of `Offer.order`, or None if only the other party learns them.
    """
    question = Question.of(agreed)
    ready = private if isinstance(private, Prepared) else prepare_model(Model.read(private), question)
    if question.offer != ready.model.offer:
        raise ParameterError("the question is about another offer", got=question.offer.model[:16])
    if question.ahead:
        return (yield from _answer_ahead(ready, question, bits))
    end = yield from open_garbling(_context(question), bits)
    words: list[str] = []
    for batch in question.batches:
        share = yield from _score(ready, question.offer, batch, end, bits)
        out = yield from _judge(ready, question.offer, batch, share, end)
        words += yield from _tell(ready.model, question, batch, out, end)
    return words or None


def ask(private: Recordings, agreed: Mapping[str, Any], bits: Bits) -> Steps[list[str] | None]:
    """The role "data"; ``private`` are features, (frames, dimension) or symbols (frames,), one a recording.

    They come in the order of `Offer.order`. Instead, a function may be given that is called when they are
    needed: with ``ahead`` after all else is done, so that a recording can be made meanwhile. Returns what
    `answer` does.
    """
    question = Question.of(agreed)
    if question.ahead:
        return (yield from _ask_ahead(private, question, bits))
    groups = _grouped(private, question)
    end = yield from open_evaluating(_context(question), bits)
    words: list[str] = []
    for batch, recordings in zip(question.batches, groups, strict=True):
        plan = verdict_of(question.offer, batch)
        share = yield from _ask(question.offer, batch, recordings, end, bits)
        out = yield from find_word(plan, share, _lengths(recordings), end)
        words += yield from _learn(question, plan, out, end)
    return words or None


def _answer_ahead(ready: Prepared, question: Question, bits: Bits) -> Steps[list[str] | None]:
    """Everything that does not depend on recordings, then the rest."""
    offer, told = question.offer, _told(question)
    end = yield from under("ahead", open_early(_context(question), told, bits))
    drawn = [_Drawn(ready, offer, batch, bits) for batch in question.batches]
    outs: list[Blocks] = []
    for batch, masks in zip(question.batches, drawn, strict=True):
        outs.append((yield from under("ahead", _judge(ready, offer, batch, masks.share, end))))
    for masks in drawn:
        yield from masks.score(end, bits)
    yield from end.settle()
    words: list[str] = []
    for batch, out in zip(question.batches, outs, strict=True):
        words += yield from _tell(ready.model, question, batch, out, end)
    return words or None


def _ask_ahead(private: Recordings, question: Question, bits: Bits) -> Steps[list[str] | None]:
    offer = question.offer
    plans = [verdict_of(offer, batch) for batch in question.batches]
    if 32 * sum(plan.gates for plan in plans) > _MOST_AHEAD:
        raise TooLargeError(
            "the tables of this question take too much room to be kept",
            wanted=f"at most {_MOST_AHEAD >> 20} MiB",
            remedy="Ask for fewer recordings at once, or not ahead: then tables are used as they come.",
        )
    end = yield from under("ahead", open_late(_context(question), _told(question), bits))
    for plan in plans:
        for circuit, instances in plan.runs():
            yield from under("ahead", end.fetch(circuit, instances))
    groups = _grouped(private, question)
    shares: list[NDArray[np.uint64]] = []
    for batch, recordings in zip(question.batches, groups, strict=True):
        shares.append((yield from _ask(offer, batch, recordings, end, bits)))
    given = [
        part.ravel()
        for plan, share, recordings in zip(plans, shares, groups, strict=True)
        for part in told_bits(plan, share, _lengths(recordings))
    ]
    yield from end.redeem(np.concatenate(given))
    words: list[str] = []
    for plan, share, recordings in zip(plans, shares, groups, strict=True):
        out = yield from find_word(plan, share, _lengths(recordings), end)
        words += yield from _learn(question, plan, out, end)
    return words or None


class _Drawn:
    """The masks of one batch, drawn before it is asked about, and the share that follows from them."""

    def __init__(self, ready: Prepared, offer: Offer, batch: Batch, bits: Bits) -> None:
        self.ready, self.offer, self.batch = ready, offer, batch
        self._masks: list[Masks] = []
        if offer.kind == "symbols":
            self._words = random_words(
                bits, offer.precision.score_width, (batch.rows, ready.model.weights.shape[1])
            )
            self.share = laid(self._words, offer, batch)
        else:
            self._masks = [Masks.draw(job, bits) for job in jobs(offer, batch)]
            parts = [masks.share(ready.constants) for masks in self._masks]
            self.share = laid(dropped(np.concatenate(parts), offer), offer, batch)

    def score(self, end: Garbling, bits: Bits) -> Steps[None]:
        """Answer for the scores of the batch."""
        ready = self.ready
        if self.offer.kind == "symbols":
            masked = ready.columns(self.offer)[None] - self._words[:, None]
            yield from end.transfers.send(reduce_words(masked, self.offer.precision.score_width))
            return
        for job, masks in zip(jobs(self.offer, self.batch), self._masks, strict=True):
            yield from score(ready.table(job), job, bits, ready.constants, masks)


def _score(
    ready: Prepared, offer: Offer, batch: Batch, end: Garbling, bits: Bits
) -> Steps[NDArray[np.uint64]]:
    """The owner's shares of all scores of a batch."""
    drawn = _Drawn(ready, offer, batch, bits)
    yield from drawn.score(end, bits)
    return drawn.share


def _ask(
    offer: Offer, batch: Batch, recordings: Sequence[NDArray[Any]], end: Evaluating, bits: Bits
) -> Steps[NDArray[np.uint64]]:
    """The asker's shares of all scores of a batch; a few blocks are under way at a time."""
    rows = frames_of(recordings, batch)
    if offer.kind == "symbols":
        return laid((yield from end.transfers.take(rows, offer.symbols, offer.columns)), offer, batch)
    asked: deque[Asking] = deque()
    parts: list[NDArray[np.uint64]] = []
    for number, job in enumerate(jobs(offer, batch)):
        asked.append(Asking(features_of(_cut(rows, number, block_of(batch)), offer), job, bits))
        yield from asked[-1].send()
        if len(asked) == _UNDER_WAY:
            parts.append((yield from asked.popleft().receive()))
    for asking in asked:
        parts.append((yield from asking.receive()))
    return laid(dropped(np.concatenate(parts), offer), offer, batch)


def _cut(rows: NDArray[np.float64], number: int, size: int) -> NDArray[np.float64]:
    """One block of frames, the last filled up with zeros."""
    some = rows[number * size : (number + 1) * size]
    return np.concatenate([some, np.zeros((size - len(some), rows.shape[1]))])


def _judge(
    ready: Prepared, offer: Offer, batch: Batch, share: NDArray[np.uint64], end: Garbling
) -> Steps[Blocks]:
    return (
        yield from judge(verdict_of(offer, batch), ready.model.chains, share, end, ready.model.label_bits)
    )


def _tell(model: Model, question: Question, batch: Batch, out: Blocks, end: Garbling) -> Steps[list[str]]:
    """Open the words of a batch; those that the owner of the models learns."""
    if question.opened != "model":
        yield from end.tell(out)
    if question.opened == "data":
        return []
    shown = yield from end.learn(out)
    return _words(question.offer, verdict_of(question.offer, batch), shown)


def _learn(question: Question, plan: Verdict, out: Blocks, end: Evaluating) -> Steps[list[str]]:
    """The words of a batch, as far as the owner of the recordings learns them."""
    words: list[str] = []
    if question.opened != "model":
        shown = yield from end.learn(out)
        words = _words(question.offer, plan, shown)
    if question.opened != "data":
        yield from end.tell(out)
    return words


def _words(offer: Offer, plan: Verdict, bits: NDArray[np.uint8]) -> list[str]:
    """Words from opened bits; another party that does not follow the protocol could open anything."""
    answers = read_word(plan, bits)
    if offer.label_bytes:
        words = [bytes(row).rstrip(b"\0").decode("utf-8", "replace") for row in answers]
        if not all(word and word.isprintable() for word in words):
            raise ProtocolError("what was opened is no word")
        return words
    if (answers >= offer.count).any():
        raise ProtocolError("what was opened is no word of the list")
    return [offer.words[int(number)] for number in answers]


def _told(question: Question) -> int:
    """Bits of the asker's in all batches."""
    return sum(verdict_of(question.offer, batch).told for batch in question.batches)


def _context(question: Question) -> bytes:
    return derive(b"discreet/1/keyword", digest(question.to_dict()).encode())


def _grouped(private: Recordings, question: Question) -> list[list[NDArray[Any]]]:
    """Recordings by batch; refused, without saying what is in them, if they are not as agreed."""
    recordings = private() if callable(private) else private
    if len(recordings) != question.recordings:
        raise ParameterError(
            "other recordings are asked about than agreed",
            got=len(recordings),
            wanted=str(question.recordings),
        )
    checked, groups = iter([_checked(one, question.offer) for one in recordings]), []
    for batch in question.batches:
        groups.append([next(checked) for _ in range(batch.recordings)])
        if not all(batch.least <= len(one) <= batch.frames for one in groups[-1]):
            raise ParameterError(
                "a recording is longer or shorter than agreed",
                wanted=f"{batch.least} to {batch.frames} frames",
            )
    return cast("list[list[NDArray[Any]]]", groups)


def _checked(recording: NDArray[Any], offer: Offer) -> NDArray[Any]:
    rows = np.asarray(recording)
    if offer.kind == "symbols":
        rows = rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
        fits = rows.ndim == 1 and np.issubdtype(rows.dtype, np.integer) and len(rows)
        if not fits or rows.min() < 0 or rows.max() >= offer.symbols:
            raise ParameterError(
                "these are no symbols of the offer", wanted=f"whole numbers from 0 to {offer.symbols - 1}"
            )
        return rows.astype(np.int64)
    if rows.ndim != 2 or rows.shape[1] != offer.dimension or not len(rows):
        raise ParameterError(
            "the features do not fit the offer", got=rows.shape, wanted=f"(frames, {offer.dimension})"
        )
    if not np.isfinite(rows).all():
        raise ParameterError("the features are not finite numbers")
    return rows.astype(np.float64)


def _lengths(recordings: Sequence[NDArray[Any]]) -> NDArray[np.intp]:
    return np.array([len(one) for one in recordings], dtype=np.intp)


def ready_model(private: Mapping[str, Any], agreed: Mapping[str, Any]) -> Prepared:
    """`prepare_model` for a rehearsal, where models come as plain data."""
    return prepare_model(Model.read(private), Question.of(agreed))


def ready_data(private: Any, agreed: Mapping[str, Any]) -> Any:
    """What the owner of recordings may do before it meets the other: `compile_question`."""
    compile_question(Question.of(agreed))
    return private
