"""The default private fit: one noisy vector of all local moments a round.

**Reveals** one noisy vector a round, and nothing else: the mixture is computed from these alone.
**Costs** one event a round, fixed before the rows are read. **Trusts** the curator.

Three things make it better than noise on one parameter at a time (`fit.mixture.published`): a row's
responsibilities sum to one, so the whole vector of counts, means and covariances of all components changes by
no more than that of one component would; the noise is added in each component's own coordinates, so a small
hot spot gets small noise; and the fit grows from one component, so that most of the budget refines a good
start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.fit.mixture.measure import GridFrame, Layout, gather, sum_exactly
from discreet.fit.mixture.scales import Scales
from discreet.mechanisms.noise import release
from discreet.models.moments import Frame, maximise
from discreet.models.split import split

if TYPE_CHECKING:
    from discreet.fit.mixture.schedule import Schedule
    from discreet.fit.mixture.task import Payment, Task

__all__ = ["fit_joint"]


def fit_joint(task: Task, schedule: Schedule, payment: Payment) -> Frame:
    """Fit by the schedule; the account behind ``payment`` has been charged for all of it."""
    frame = Frame.whole(task.region.dimension, task.region.reach)
    for index, planned in enumerate(schedule.rounds):
        while frame.size < planned.components:
            frame = split(frame, planned.components, task.covariance_type)
        event = planned.event
        norm = "l1" if event.mechanism == "laplace" else "l2"
        scales = Scales.choose(task.region.dimension, task.covariance_type, norm, whole=index == 0)
        grid, layout = GridFrame.of(frame), Layout(frame.size, task.pairs, scales)
        sums = sum_exactly(task.records, grid, task.region, layout, task.engine)
        statistic = gather(sums, grid, layout, task.per_person, event.label)
        noisy = release(statistic, event, payment.account, payment.bits)
        if payment.listen is not None:
            payment.listen(grid, layout, noisy)
        bound = statistic.l1 * 2**0.5 if norm == "l1" else statistic.l2
        deviation = event.noise * bound * statistic.grid
        moments = layout.read(noisy, deviation)
        ceiling = task.region.reach**2  # no spread inside the region is larger
        frame = maximise(grid.frame, moments, task.covariance_type, task.floor, ceiling=ceiling)
        task.report(index + 1, len(schedule.rounds))
    return frame
