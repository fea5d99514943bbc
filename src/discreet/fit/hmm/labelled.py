"""Private fit of a hidden Markov model of symbols whose paths are known: counts first, then their scores.

**Reveals** one noisy vector a round, and nothing else. **Costs** one event a round, fixed before the
sequences are read. **Trusts** the curator.

With known paths the most likely parameters are shares of plain counts, so one noisy release of counts is a
fit already, from any start. Near it the scores of the paths, in coordinates of about one number a
parameter, need less noise than counts do; so the rest of the budget goes to them, where there are few
enough parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.fit.hmm.belief import Crowd
from discreet.fit.hmm.counts import step_counts
from discreet.fit.hmm.measure import Census
from discreet.fit.hmm.scoring import length_classes, release_answers, step_scores
from discreet.randomness import generator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.accounting.event import Event
    from discreet.fit.hmm.measure import Norm
    from discreet.fit.hmm.task import Payment, Task
    from discreet.models.logits import Tables

__all__ = ["fit_labelled"]


def fit_labelled(
    task: Task, tables: Tables, fixed: NDArray[np.bool_] | None, events: tuple[Event, ...], payment: Payment
) -> Tables:
    """Fit from ``tables``: a census, one release of counts, and scores with what events are left."""
    norm: Norm = "l1" if events[0].mechanism == "laplace" else "l2"
    census = Census(length_classes(task.max_length), norm)
    noisy, deviation = release_answers(task, census, events[0], payment)
    crowd, drawing = Crowd.from_census(census.tops, noisy, deviation), generator(payment.bits)
    tables = step_counts(task, tables, fixed, crowd, norm, drawing, events[1], payment)
    task.report(2, len(events))
    return step_scores(task, tables, fixed, crowd, norm, drawing, events[2:], payment, soft=0.01)
