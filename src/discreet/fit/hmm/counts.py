"""Private Baum-Welch: rounds of noisy expected counts, one joint vector each.

**Reveals** one noisy vector a round, and nothing else. **Costs** one event a round, fixed before the
sequences are read. **Trusts** the curator.

This is the honest form of noisy Baum-Welch (system 3): a fixed number of rounds, a start that looks at no
data, and one vector of starts, transitions and emissions with a bound on the norm of a whole sequence. It
needs no information matrix, so it serves models of any size; where `discreet.fit.hmm.scoring` can be used,
that needs far less data.

The bound is the norm that most sequences of the present model have. Counts of long sequences are cut by it,
all entries alike, which leaves their proportions. Rows of probabilities are drawn towards the previous ones
as far as the noise makes them uncertain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.fit.hmm.belief import LONGEST, Crowd
from discreet.fit.hmm.measure import Census, CountQuestion, flat_counts, norms, usual_norm
from discreet.fit.hmm.scoring import length_classes, release_answers
from discreet.models.categorical import Categorical
from discreet.models.hmm import HMM
from discreet.models.logits import Tables
from discreet.models.sequences import pack_sequences
from discreet.randomness import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.event import Event
    from discreet.fit.hmm.measure import Norm
    from discreet.fit.hmm.task import Payment, Task
    from discreet.randomness import Generator

__all__ = ["fit_counts", "steady_rows", "step_counts"]

KEPT = 0.7
"""The share of expected sequences that the bound leaves as they are."""

_NUMBERS = 2**24
_MOST = 2_000


def fit_counts(
    task: Task, tables: Tables, fixed: NDArray[np.bool_] | None, events: tuple[Event, ...], payment: Payment
) -> Tables:
    """Fit from ``tables`` by as many releases as there are events; the first counts the sequences."""
    norm: Norm = "l1" if events[0].mechanism == "laplace" else "l2"
    census = Census(length_classes(task.max_length), norm)
    noisy, deviation = release_answers(task, census, events[0], payment)
    crowd, drawing = Crowd.from_census(census.tops, noisy, deviation), generator(payment.bits)
    for index, event in enumerate(events[1:], start=1):
        tables = step_counts(task, tables, fixed, crowd, norm, drawing, event, payment)
        task.report(index + 1, len(events))
    return tables


def step_counts(
    task: Task,
    tables: Tables,
    fixed: NDArray[np.bool_] | None,
    crowd: Crowd,
    norm: Norm,
    drawing: Generator,
    event: Event,
    payment: Payment,
) -> Tables:
    """One release of expected counts, and the tables that follow from it."""
    model = HMM(tables.chain, tables.categorical)
    limit = _limit(model, crowd, norm, drawing)
    question = CountQuestion(model, np.ones(len(tables.flat())), limit, norm)
    noisy, deviation = release_answers(task, question, event, payment)
    return Tables(*_steadied(tables, noisy, deviation, fixed))


def _steadied(
    tables: Tables, noisy: NDArray[np.float64], deviation: float, fixed: NDArray[np.bool_] | None
) -> list[NDArray[np.float64]]:
    """The three tables from noisy counts in one line."""
    masks = [None] * 3 if fixed is None else tables.split(fixed)
    parts = zip(tables.split(noisy), tables.parts(), masks, strict=True)
    return [steady_rows(counts, old, deviation, held) for counts, old, held in parts]


def steady_rows(
    counts: NDArray[np.float64],
    old: NDArray[np.float64],
    deviation: float,
    held: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Rows of probabilities from noisy counts; zeros and held entries stay as they were.

    A row of m free entries with noise of this deviation weighs as much as its counts; what was there before
    weighs as much as the noise on their sum, sqrt(m) deviations.
    """
    free = (old > 0) if held is None else (old > 0) & ~held
    size = free.sum(axis=-1, keepdims=True)
    rest = np.where(free, old, 0.0).sum(axis=-1, keepdims=True)
    kept = np.where(free, np.maximum(counts, 0.0), 0.0)
    pull = deviation * np.sqrt(size) / np.where(rest > 0, rest, 1.0)
    total = kept.sum(axis=-1, keepdims=True) + pull * rest
    shared = rest * (kept + pull * old) / np.where(total > 0, total, 1.0)
    return np.where(free & (size > 1), shared, old)


def _limit(model: HMM, crowd: Crowd, norm: Norm, drawing: Generator) -> float:
    """The norm of the counts of most sequences drawn from the model."""
    states = model.chain.states
    emission = model.emission
    assert isinstance(emission, Categorical)
    size = states * (1 + states + emission.symbols)
    answers: list[NDArray[np.float64]] = []
    for length in crowd.lengths:
        short = min(int(length), LONGEST)
        count = max(20, min(_MOST, _NUMBERS // (size + short * states)))
        rows, _ = model.sample(np.full(count, short, dtype=np.intp), drawing)
        packs = pack_sequences(np.full(count, short, dtype=np.intp), max(1, _NUMBERS // (8 * size)))
        drawn = [norms(flat_counts(model, rows, pack, None), norm) for pack in packs]
        answers.append(np.concatenate(drawn)[None] * (length / short))
    mix = crowd.counts / crowd.counts.sum()
    return usual_norm(answers, mix, norm, KEPT)
