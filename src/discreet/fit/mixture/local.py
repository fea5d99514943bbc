"""Every owner noises their own row; the mixture is then fitted to noisy rows, knowing the noise.

**Reveals** all noisy rows, and how many there are. **Costs** one event for everybody, since each row is used
once. **Trusts** whoever runs it here, who sees the rows; but no more than that, since the noise could as well
be added on each owner's own device.

Neighbours are data sets in which one row has another value: with all noisy rows in view, the number of rows
cannot be hidden. One row can move by the diameter of the region.

If y = x + noise with known variance s2 and x comes from component k, then y ~ N(m_k, C_k + s2) and
    E[x | y, k] = m_k + G_k (y - m_k),   Cov[x | y, k] = (1 - G_k) C_k,   G_k = C_k (C_k + s2)^-1.
EM with these (extreme deconvolution) finds the mixture of the clean points.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.domain import Ball
from discreet.errors import TooLargeError
from discreet.fit.mixture.kernel import BITS, Sight, plain_sums
from discreet.mechanisms.noise import release
from discreet.models.moments import Frame, Moments, maximise
from discreet.models.split import split
from discreet.records import open_records
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.event import Event
    from discreet.fit.mixture.task import Payment, Task
    from discreet.records import Part, Records

__all__ = ["check_size", "fit_noised", "gather_rows", "noise_rows"]

ROUNDS = 60
LARGEST = 2**22
"""The most numbers that are noised: they are all kept, since every round looks at the same noise."""


def noise_rows(task: Task, event: Event, payment: Payment) -> tuple[NDArray[np.float64], float]:
    """The noisy rows (n, d) in unit coordinates, and the variance of the noise in each number."""
    statistic = gather_rows(task, event.label)
    dimension = task.region.dimension
    noisy = release(statistic, event, payment.account, payment.bits).reshape(-1, dimension)
    if event.mechanism == "laplace":
        return noisy, 2 * (event.noise * statistic.l1 * statistic.grid) ** 2
    return noisy, (event.noise * statistic.l2 * statistic.grid) ** 2


def gather_rows(task: Task, label: str) -> Statistic:
    """All rows, one after the other, on the grid: a row that changes moves by the diameter at most."""
    rows = [chunk for part in task.records.parts for chunk in _unit_rows(task, part)]
    stacked = np.concatenate(rows, axis=1)
    integers = np.array([int(value) for value in (stacked * 2.0**BITS).T.ravel()], dtype=object)
    dimension = task.region.dimension
    l2 = 2 * (task.region.reach * 2.0**BITS + math.sqrt(dimension))
    l1 = l2 * math.sqrt(dimension)
    return Statistic(integers, 2.0**-BITS, l1, l2, label)


def fit_noised(task: Task, noisy: NDArray[np.float64], variance: float, rounds: int = ROUNDS) -> Frame:
    """Fit to noisy rows whose noise has this variance: post-processing, free of cost."""
    reach = 8 * math.sqrt(variance) + task.region.reach
    wide = Ball((0.0,) * task.region.dimension, reach)
    records = open_records(noisy)
    frame = Frame.whole(task.region.dimension, task.region.reach)
    growing = math.ceil(math.log2(task.components)) if task.components > 1 else 0
    for index in range(rounds):
        if growing and index and index % 5 == 0 and frame.size < task.components:
            frame = split(frame, task.components, task.covariance_type)
        frame = _round(task, records, wide, frame, variance)
        task.report(index + 1, rounds)
    return frame


def _round(task: Task, records: Records, wide: Ball, frame: Frame, variance: float) -> Frame:
    """One round of EM that knows the noise."""
    dimension, scale = task.region.dimension, wide.radius
    identity = np.eye(dimension)
    clean = frame.covariances
    seen = Frame.of(frame.weights, frame.means / scale, (clean + variance * identity) / scale**2)
    sums = records.map_reduce(plain_sums, Sight.of(seen, wide, task.pairs))["sums"]
    counts, first = sums[:, 0], sums[:, 1 : 1 + dimension] * scale
    second = task.pairs.unpack(sums[:, 1 + dimension :]) * scale**2
    gain = np.linalg.solve((clean + variance * identity).transpose(0, 2, 1), clean).transpose(0, 2, 1)
    centred = first - frame.means * counts[:, None]
    cross = np.einsum("ki,kj->kij", first, frame.means)
    square = np.einsum("ki,kj->kij", frame.means, frame.means) * counts[:, None, None]
    spread = second - cross - cross.transpose(0, 2, 1) + square
    moved = np.einsum("kij,kj->ki", gain, centred)
    left = counts[:, None, None] * (identity - gain) @ clean
    posterior = gain @ spread @ gain.transpose(0, 2, 1) + left
    inverses = frame.inverses
    moments = Moments(
        counts,
        np.einsum("kij,kj->ki", inverses, moved),
        inverses @ posterior @ inverses.transpose(0, 2, 1),
    )
    if task.covariance_type == "tied":
        moments = moments.pooled()
    return maximise(frame, moments, task.covariance_type, task.floor)


def check_size(records: Records) -> None:
    """Refuse more rows than can be kept, before anything is spent."""
    size = 0
    for part in records.parts:
        for chunk in part.chunks():
            size += chunk.values.size
            if size > LARGEST:
                raise TooLargeError(
                    "method='input' keeps every noisy number",
                    wanted=f"at most {LARGEST} numbers",
                    remedy="Use method='joint', whose memory does not grow with the rows.",
                )


def _unit_rows(task: Task, part: Part) -> list[NDArray[np.float64]]:
    """Rows of one part in unit coordinates, on the grid."""
    return [np.rint(task.region.to_unit(chunk.values) * 2.0**BITS) * 2.0**-BITS for chunk in part.chunks()]
