"""What a question costs before it is asked: bytes of every phase, gates, and about how long it takes.

With R recordings of T frames in all batches, K words, N states, C components, d coordinates, A arcs (2 N - 1
from left to right, N^2 fully connected), and words of w and v bits for sums and scores:

| phase | bytes |
|---|---|
| scores, points | as `Scores.query` and `Scores.answer` say, for every block of at most 128 frames |
| scores, symbols | R T (16 log2 M rows up, 8 M K N down) |
| transfers | 8 KiB once; 16 for each of R T K N C v bits, and R (T - least) more where lengths are hidden |
| gates | 32 an AND gate |
| labels, if ahead | 16 a bit of the same bits down |

AND gates of a frame and word, with l = `joining` gates of one log-sum (l = 2 (w - 1) for the best path):

    N C (v - 1) + N (C - 1) l_v      shares added up, components joined
    A (w - 1) + (A - N) l_w + N (w - 1)       arcs, joins, scores
    N w                              where the length is hidden

So bytes and time grow linearly with frames, words and recordings; with states linearly from left to right and
quadratically when fully connected; with d quadratically under full covariances, in the scores alone; with
components linearly. Bytes are content: frames add 0.02 % and TLS 0.14 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.ask.grid import jobs, verdict_of
from discreet.crypto.choice import rows_needed
from discreet.crypto.extension import COLUMNS, LOT, columns_shape
from discreet.crypto.transfer import POINT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.ask.offer import Batch, Question
    from discreet.protocols.step import Limit
    from discreet.protocols.verdict import Verdict

__all__ = ["Cost", "cost"]

_BLOCK, _GATE = 16, 32
_OPENING = 2 * POINT * COLUMNS + POINT + 2 * 16
"""Base transfers: points both ways, and two nonces."""

_PROOF = 16 + 32


@dataclass(frozen=True)
class Cost:
    """Bytes of content by phase, both ways, and AND gates.

    If the question is asked ``ahead``, the owner of the recordings keeps all ``tables`` until then.
    """

    transfers: int
    scores: int
    gates: int
    labels: int
    opened: int

    @property
    def tables(self) -> int:
        """Bytes of garbled tables."""
        return _GATE * self.gates

    @property
    def bytes(self) -> int:
        """All together."""
        return self.transfers + self.scores + self.tables + self.labels + self.opened


def cost(question: Question) -> Cost:
    """What this question will cost; it sends nothing and looks at nothing private."""
    plans = [verdict_of(question.offer, batch) for batch in question.batches]
    told = sum(plan.told for plan in plans)
    streamed = sum(_rows(count) for plan in plans for count in _given(plan))
    return Cost(
        transfers=_OPENING + (_rows(told) if question.ahead else streamed),
        scores=sum(_scores(question, batch) for batch in question.batches),
        gates=sum(plan.gates for plan in plans),
        labels=_BLOCK * told + -(-told // 8) if question.ahead else 0,
        opened=sum(_opened(question, plan) for plan in plans),
    )


def _given(plan: Verdict) -> Iterator[int]:
    """How many bits are transferred together, in order."""
    if plan.least < plan.steps:
        yield (plan.steps - plan.least) * plan.recordings
    for window in plan.windows():
        yield len(window) * plan.rows * plan.lanes * plan.score_width


def _rows(count: int) -> int:
    """Bytes of so many rows of the extension."""
    lots = (min(LOT, count - at) for at in range(0, count, LOT))
    return sum(math.prod(columns_shape(lot)) + _PROOF for lot in lots)


def _scores(question: Question, batch: Batch) -> int:
    """Bytes of the scores of a batch."""
    offer = question.offer
    if offer.kind == "symbols":
        masked = 8 * offer.symbols * offer.columns * batch.rows
        return _rows(batch.rows * rows_needed(offer.symbols)) + masked
    return sum(_size(job.query) + _size(job.answer) for job in jobs(offer, batch))


def _size(message: Mapping[str, Limit]) -> int:
    return sum(limit.most for limit in message.values())


def _opened(question: Question, plan: Verdict) -> int:
    """Bytes that open the words of a batch."""
    bits = plan.answer_bits * plan.recordings
    told, learned = question.opened != "model", question.opened != "data"
    return -(-bits // 8) * told + _BLOCK * bits * learned
