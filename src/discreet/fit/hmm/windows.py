"""Private fit from one release: how often each short window of symbols occurs.

**Reveals** the noisy window counts, and nothing else: whoever has them can fit any model for free.
**Costs** one event after the census. **Trusts** the curator.

A model is fitted to the counts by matching what it expects of them, clipping included: the same
expectations by drawing from the model as in `discreet.fit.hmm.belief`, taken anew at every step until the
fit rests. A count's variance is that of its noise plus that of the drawing of the data, so rare windows do
not pull too hard. What is left between this and `scoring` is what windows of this length do not tell about
slow changes of state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import TooLargeError
from discreet.fit.hmm.belief import LONGEST, Crowd, shortened
from discreet.fit.hmm.measure import Census, flat_counts, norms, usual_norm
from discreet.fit.hmm.scoring import SOFT, length_classes, release_answers
from discreet.models.hmm import HMM
from discreet.models.logits import Logits
from discreet.models.sequences import pack_sequences
from discreet.randomness import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.event import Event
    from discreet.fit.hmm.measure import Norm
    from discreet.fit.hmm.task import Payment, Task
    from discreet.models.logits import Tables
    from discreet.models.sequences import Pack
    from discreet.randomness import Generator

__all__ = ["WindowQuestion", "fit_windows", "window_length"]

MOST_WINDOWS = 1500
LARGEST = 2**16
KEPT = 0.9
SPREAD = 1.0
STEPS = 30
_DRAWN = 200_000
_UNIT_ROWS = 20


@dataclass(frozen=True)
class WindowQuestion:
    """How often each window of ``length`` symbols occurs in a sequence, (symbols**length,)."""

    symbols: int
    length: int
    limit: float
    norm: Norm

    @property
    def size(self) -> int:
        """All windows there can be."""
        return self.symbols**self.length

    @property
    def work(self) -> int:
        """Counts twice."""
        return 2 * self.size

    def answers(self, rows: NDArray[Any], pack: Pack, states: NDArray[np.intp] | None) -> NDArray[np.float64]:
        """The counts of each sequence; one that is shorter than a window has none."""
        symbols = rows[pack.rows].reshape(-1).astype(np.int64)
        codes, left = np.zeros(len(symbols), dtype=np.int64), pack.lengths[pack.owners]
        places = np.arange(len(symbols)) - pack.firsts[pack.owners]
        inside = places + self.length <= left
        for step in range(self.length):
            codes = codes * self.symbols + np.roll(symbols, -step)
        sequences = len(pack.lengths)
        flat = codes[inside] * sequences + pack.owners[inside]
        counts = np.bincount(flat, minlength=self.size * sequences)
        return counts.reshape(self.size, sequences).astype(np.float64)


def window_length(symbols: int, longest: int) -> int:
    """As long as the number of windows allows, 5 at most and 2 at least."""
    if symbols**2 > LARGEST:
        raise TooLargeError(
            "there are too many symbols to count windows of them",
            got=f"{symbols} symbols",
            wanted=f"at most {int(LARGEST**0.5)}",
            remedy="Use method='iterate'.",
        )
    fitting = [size for size in range(2, 6) if symbols**size <= MOST_WINDOWS and size <= longest]
    return max([2, *fitting])


def fit_windows(
    task: Task, tables: Tables, fixed: NDArray[np.bool_] | None, events: tuple[Event, ...], payment: Payment
) -> Tables:
    """Fit from ``tables``: a census, one release of windows, and then for free."""
    norm: Norm = "l1" if events[0].mechanism == "laplace" else "l2"
    census = Census(length_classes(task.max_length), norm)
    noisy, deviation = release_answers(task, census, events[0], payment)
    crowd, drawing = Crowd.from_census(census.tops, noisy, deviation), generator(payment.bits)
    symbols = tables.emission.shape[1]
    size = window_length(symbols, task.max_length)
    question = WindowQuestion(symbols, size, _limit(tables, crowd, size, norm, drawing), norm)
    noisy, deviation = release_answers(task, question, events[1], payment)
    task.report(2, 2)
    logits = Logits.of(tables, fixed)
    prior = logits.soften(logits.flatten(tables), SOFT)
    return logits.model(_match(logits, prior, question, crowd, noisy, deviation, drawing))


def _match(
    logits: Logits,
    prior: NDArray[np.float64],
    question: WindowQuestion,
    crowd: Crowd,
    noisy: NDArray[np.float64],
    deviation: float,
    drawing: Generator,
) -> NDArray[np.float64]:
    """The coordinates whose expected answer is nearest to the noisy one, by Gauss-Newton steps."""
    theta, settled = prior, list[Any]()
    for step in range(STEPS):
        mean, slope, spread, information = _expect(logits, theta, question, crowd, drawing)
        weights = 1 / (deviation**2 + spread)
        precision = (slope.T * weights) @ slope + np.eye(len(theta)) / SPREAD**2
        pull = slope.T @ (weights * (noisy - mean)) + (prior - theta) / SPREAD**2
        move = np.asarray(np.linalg.solve(precision, pull), dtype=np.float64)
        theta = theta + shortened(move, information)
        if step >= STEPS // 2:
            settled.append(theta)
    return np.asarray(
        np.mean(settled, axis=0), dtype=np.float64
    )  # the drawing of each step is an error of its own


def _expect(
    logits: Logits,
    theta: NDArray[np.float64],
    question: WindowQuestion,
    crowd: Crowd,
    drawing: Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean, slope and variance of the sum of answers at theta, and the information of twenty rows."""
    tables, shares = logits.model(theta), logits.shares(theta)
    model = HMM(tables.chain, tables.categorical)
    mean, spread = np.zeros(question.size), np.zeros(question.size)
    slope = np.zeros((question.size, logits.size))
    information = np.zeros((logits.size, logits.size))
    for length, count in zip(crowd.lengths, crowd.counts, strict=True):
        short = min(int(length), LONGEST)
        drawn = max(200, _DRAWN // (short * len(crowd.lengths)))
        lengths = np.full(drawn, short, dtype=np.intp)
        rows, _ = model.sample(lengths, drawing)
        each = count / drawn * (length / short)
        for pack in pack_sequences(lengths, max(1, 2**22 // question.work)):
            scores = logits.score(flat_counts(model, rows, pack, None), shares)
            answers = question.answers(rows, pack, None)
            answers *= np.minimum(1.0, question.limit / np.maximum(norms(answers, question.norm), 1e-300))
            mean += each * answers.sum(axis=1)
            spread += each * np.square(answers).sum(axis=1)
            slope += each * (answers @ scores.T)
            information += each * (scores @ scores.T)
    rows_in_all = float(crowd.counts @ crowd.lengths)
    return mean, slope, spread, information * (_UNIT_ROWS / rows_in_all)


def _limit(tables: Tables, crowd: Crowd, size: int, norm: Norm, drawing: Generator) -> float:
    """The norm of the window counts of most sequences drawn from the start."""
    model = HMM(tables.chain, tables.categorical)
    free = WindowQuestion(tables.emission.shape[1], size, 1.0, norm)
    answers: list[NDArray[np.float64]] = []
    for length in crowd.lengths:
        short = min(int(length), LONGEST)
        lengths = np.full(200, short, dtype=np.intp)
        rows, _ = model.sample(lengths, drawing)
        drawn = [
            norms(free.answers(rows, pack, None), norm)
            for pack in pack_sequences(lengths, max(1, 2**22 // free.work))
        ]
        answers.append(np.concatenate(drawn)[None] * (length / short))
    usual = usual_norm(answers, crowd.counts / crowd.counts.sum(), norm, KEPT)
    return max(usual, 1.0)  # what is long enough for a window at all has no smaller norm
