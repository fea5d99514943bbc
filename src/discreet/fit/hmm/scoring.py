"""Private fit of a hidden Markov model by its score: a few noisy Newton steps instead of many of EM.

**Reveals** one noisy vector a round, and nothing else. **Costs** one event a round, fixed before the
sequences are read. **Trusts** the curator.

EM asks every round for expected counts, whose norm grows with the length of a sequence, and needs tens of
rounds where states are hard to tell apart. The score of a sequence has mean zero at the optimum, its
covariance is the information I, and one Newton step with it is worth many rounds of EM. In coordinates in
which I is the identity a sequence's score has norm about sqrt(number of parameters), *whatever its length*,
so noise with deviation sigma times that norm spoils the estimate by sigma^2 p / n^2 of what one sequence
tells: less than what the data themselves leave open as soon as n is some multiple of sigma^2 p. Everything
else that a Newton step needs (information, the effect of the bound) is computed from the released model
itself, and all releases are put together by least squares (`discreet.fit.hmm.belief`), so no part of the
budget is wasted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.fit.hmm.belief import Belief, Crowd, ask
from discreet.fit.hmm.measure import Census, measure
from discreet.mechanisms.noise import release
from discreet.models.logits import Logits
from discreet.randomness import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.event import Event
    from discreet.fit.hmm.measure import Norm, Question
    from discreet.fit.hmm.task import Payment, Task
    from discreet.models.logits import Tables
    from discreet.randomness import Generator

__all__ = ["SOFT", "fit_scores", "length_classes", "release_answers", "step_scores"]


SOFT = 0.1
"""The start is mixed with this much of uniform rows: what it holds for impossible may be only unlikely."""


def fit_scores(
    task: Task, tables: Tables, fixed: NDArray[np.bool_] | None, events: tuple[Event, ...], payment: Payment
) -> Tables:
    """Fit from ``tables`` by as many releases as there are events; the first counts the sequences."""
    norm: Norm = "l1" if events[0].mechanism == "laplace" else "l2"
    census = Census(length_classes(task.max_length), norm)
    noisy, deviation = release_answers(task, census, events[0], payment)
    crowd = Crowd.from_census(census.tops, noisy, deviation)
    drawing = generator(payment.bits)
    return step_scores(task, tables, fixed, crowd, norm, drawing, events[1:], payment)


def step_scores(
    task: Task,
    tables: Tables,
    fixed: NDArray[np.bool_] | None,
    crowd: Crowd,
    norm: Norm,
    drawing: Generator,
    events: tuple[Event, ...],
    payment: Payment,
    *,
    soft: float = SOFT,
) -> Tables:
    """A release of scores for each event, from ``tables`` mixed with ``soft`` of uniform rows."""
    logits = Logits.of(tables, fixed)
    belief = Belief(logits, logits.soften(logits.flatten(tables), soft))
    done = len(payment.account.guarantee.events) - len(events)
    for index, event in enumerate(events, start=1):
        expected = ask(belief, crowd, norm, drawing, labelled=task.sequences.labelled)
        if not expected.question.size:  # there is nothing that sequences could tell; the rest stays unspent
            break
        noisy, deviation = release_answers(task, expected.question, event, payment)
        belief.learn(expected, noisy, deviation)
        task.report(done + index, done + len(events))
    return belief.tables


def release_answers(
    task: Task, question: Question, event: Event, payment: Payment
) -> tuple[NDArray[np.float64], float]:
    """The noisy sum of the answers, and the standard deviation of the noise on each number of it."""
    statistic = measure(task.sequences, question, task.per_person, event.label, task.engine)
    noisy = release(statistic, event, payment.account, payment.bits)
    if payment.listen is not None:
        payment.listen(question, noisy)
    bound = statistic.l1 * 2**0.5 if event.mechanism == "laplace" else statistic.l2
    return noisy, event.noise * bound * statistic.grid


def length_classes(longest: int) -> NDArray[np.intp]:
    """The largest lengths of the classes: powers of two, and the declared longest length."""
    tops = [2**power for power in range(longest.bit_length()) if 2**power < longest]
    return np.array([*tops, longest], dtype=np.intp)
