"""What every sequence is asked in a round, and the exact sum of the bounded answers.

A question turns the sequences of a pack into vectors (P, S), one column a sequence. Whatever the vectors
are, a column is scaled down to norm ``limit`` at most, multiplied by the weight of its sequence (at most 1,
and at most ``per_person`` together for one person), and cut off towards zero to whole multiples of
``limit`` 2**-30. Cutting off only shrinks, and the scaling factor is made smaller by 2**-30 + P 2**-52, more
than the relative error of a norm of P numbers; so by the triangle inequality one person changes the sum by at
most ``per_person * limit``, in the norm that was chosen, exactly and whatever their sequences are. A column
whose norm is no finite number counts for nothing. Sums of integers are exact.

**A sequence's integers depend on that sequence alone.** Everything on the way to them is arithmetic element
by element, a sum over the rows of one sequence, a sum line by line, or a product of `discreet.fit.steady`.
No warning and no error depends on what is in the sequences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from discreet.fit.steady import multiply_tiles
from discreet.models.semiring import Sum
from discreet.models.sequences import pack_sequences
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.hmm import HMM
    from discreet.models.logits import Logits
    from discreet.models.sequences import Pack
    from discreet.records.engine import Engine
    from discreet.records.sequences import SequenceChunk, Sequences

__all__ = [
    "SUMS",
    "Census",
    "CountQuestion",
    "Norm",
    "Question",
    "ScoreQuestion",
    "flat_counts",
    "measure",
    "norms",
    "usual_norm",
]

Norm = Literal["l1", "l2"]

SUMS = Sum(product=multiply_tiles, cut=False)
"""The walk whose columns do not depend on where they stand."""

_BITS = 30
_NUMBERS = 2**22
_FRAMES = 2**15
_FEW_LINES = 4096


class Question(Protocol):
    """What a round asks. All of it was fixed before the round: it is public."""

    @property
    def limit(self) -> float:
        """What the norm of an answer is bounded to."""
        ...

    @property
    def norm(self) -> Norm:
        """Which norm that is."""
        ...

    @property
    def size(self) -> int:
        """How many numbers an answer has."""
        ...

    @property
    def work(self) -> int:
        """How many numbers are held for one sequence while it is asked."""
        ...

    def answers(self, rows: NDArray[Any], pack: Pack, states: NDArray[np.intp] | None) -> NDArray[np.float64]:
        """The answers of the sequences of a pack, (P, S), before they are bounded."""
        ...


@dataclass(frozen=True)
class Census:
    """How many sequences there are, and how many rows in sequences of about the same length.

    ``tops`` are the largest lengths of the classes. An answer is 1, and in the place of its class the length
    over the largest of the class: at most sqrt(2) in L2, and 2 in L1.
    """

    tops: NDArray[np.intp]
    norm: Norm

    @property
    def limit(self) -> float:
        """The norm of the longest answer."""
        return math.sqrt(2) if self.norm == "l2" else 2.0

    @property
    def size(self) -> int:
        """One, and the classes."""
        return 1 + len(self.tops)

    @property
    def work(self) -> int:
        """The answer itself."""
        return self.size

    def answers(self, rows: NDArray[Any], pack: Pack, states: NDArray[np.intp] | None) -> NDArray[np.float64]:
        """One, and the share of its class that each length fills."""
        made = np.zeros((self.size, len(pack.lengths)))
        made[0] = 1
        classes = np.searchsorted(self.tops, pack.lengths)
        made[1 + classes, np.arange(len(classes))] = pack.lengths / self.tops[classes]
        return made


@dataclass(frozen=True)
class CountQuestion:
    """Expected counts under a model: starts, transitions, emissions, in one line, each times its scale."""

    model: HMM
    scales: NDArray[np.float64]
    limit: float
    norm: Norm

    @property
    def size(self) -> int:
        """All entries of the three tables."""
        return len(self.scales)

    @property
    def work(self) -> int:
        """Counts twice."""
        return 2 * self.size

    def answers(self, rows: NDArray[Any], pack: Pack, states: NDArray[np.intp] | None) -> NDArray[np.float64]:
        """The scaled counts."""
        return flat_counts(self.model, rows, pack, states) * self.scales[:, None]


@dataclass(frozen=True)
class ScoreQuestion:
    """The score of a model, in coordinates in which a sequence tells about as much in all directions.

    The answer is W s with s the score of `Logits` and ``whitening`` W (P, Q).
    """

    model: HMM
    logits: Logits
    shares: NDArray[np.float64]
    whitening: NDArray[np.float64]
    limit: float
    norm: Norm

    @property
    def size(self) -> int:
        """The directions that are asked about."""
        return len(self.whitening)

    @property
    def work(self) -> int:
        """Counts, the score, and the answer."""
        return 3 * len(self.logits.tables.flat()) + self.size

    def answers(self, rows: NDArray[Any], pack: Pack, states: NDArray[np.intp] | None) -> NDArray[np.float64]:
        """The whitened scores."""
        score = self.logits.score(flat_counts(self.model, rows, pack, states), self.shares)
        made = np.empty((self.size, score.shape[1]))
        multiply_tiles(self.whitening, score, made)
        return made


def flat_counts(
    model: HMM, rows: NDArray[Any], pack: Pack, states: NDArray[np.intp] | None
) -> NDArray[np.float64]:
    """Expected starts, transitions and emission sums of each sequence of a pack, (all entries, S)."""
    view = model.view(rows, pack, states)
    smoothed, features = model.smooth(view, SUMS), view.features
    assert features is not None  # a view is prepared
    sequences = len(pack.lengths)
    parts = (
        smoothed.starts_by_sequence(),
        smoothed.transitions_by_sequence(),
        model.emission.sums_by_sequence(features, smoothed.shares, pack),
    )
    return np.concatenate([part.reshape(sequences, -1).T for part in parts])


def norms(answers: NDArray[np.float64], norm: Norm) -> NDArray[np.float64]:
    """The norm of every column: the same bits wherever it stands.

    Few lines are added one after the other. Where there are many, each column is laid out in one piece and
    summed for itself: how numpy groups its terms then depends on their number alone.
    """
    if len(answers) <= _FEW_LINES:
        total = np.zeros(answers.shape[1])
        for line in answers:
            total += line * line if norm == "l2" else np.abs(line)
    else:
        columns = np.ascontiguousarray(answers.T)
        sizes = np.square(columns) if norm == "l2" else np.abs(columns)
        total = np.array([column.sum() for column in sizes])
    return np.sqrt(total) if norm == "l2" else total


def usual_norm(
    answers: list[NDArray[np.float64]], mix: NDArray[np.float64], norm: Norm, kept: float
) -> float:
    """The norm that the share ``kept`` of drawn answers does not exceed; ``mix`` weighs the drawings."""
    sizes = np.concatenate([norms(answer, norm) for answer in answers])
    weights = np.concatenate(
        [np.full(answer.shape[1], part / answer.shape[1]) for part, answer in zip(mix, answers, strict=True)]
    )
    order = np.argsort(sizes)
    place = int(np.searchsorted(np.cumsum(weights[order]), kept))
    return max(float(sizes[order][min(place, len(order) - 1)]), 1e-6)


def measure(
    sequences: Sequences, question: Question, per_person: float, label: str, engine: Engine | None = None
) -> Statistic:
    """The sum of all bounded answers, with the bound that holds for one person.

    **Reveals** everything until noise is added.
    """
    total = sequences.map_reduce(_sum_answers, question, engine)["sums"]
    units = 2.0**_BITS * per_person
    others = math.sqrt(question.size) * units  # the other norm of what is bounded in the chosen one
    return Statistic(
        total=total,
        grid=question.limit * 2.0**-_BITS,
        l1=units if question.norm == "l1" else others,
        l2=units,
        label=label,
    )


def _sum_answers(chunk: SequenceChunk, question: Question) -> dict[str, NDArray[np.int64]]:
    frames = max(1, min(_FRAMES, _NUMBERS // question.work))
    total = np.zeros(question.size, dtype=np.int64)
    with np.errstate(all="ignore"):  # whatever the caller set: a warning would tell about the sequences
        for pack in pack_sequences(chunk.lengths, frames):
            answers = question.answers(chunk.rows, pack, chunk.states)
            total += _bounded(answers, chunk.weights[pack.sequences], question).sum(axis=1)
    return {"sums": total}


def _bounded(
    answers: NDArray[np.float64], weights: NDArray[np.float64], question: Question
) -> NDArray[np.int64]:
    """Whole multiples of the grid, each column of norm 2**30 times its weight at most."""
    size = norms(answers, question.norm) / question.limit
    room = 2.0**_BITS * (1 - 2.0**-30 - len(answers) * 2.0**-52)
    factor = weights * room / np.maximum(size, 1.0)
    answers *= factor / question.limit
    answers[:, ~np.isfinite(size)] = 0
    return np.trunc(answers, out=answers).astype(np.int64)
