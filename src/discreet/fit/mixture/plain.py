"""Plain expectation-maximisation, without any noise: the oracle of the private fits.

**Reveals** anything: its result is not private. The start is the same growing of components as in the private
fit, so that a private run at a generous budget ends where the plain one does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.fit.mixture.kernel import Sight, plain_sums
from discreet.models.moments import Frame, Moments, maximise
from discreet.models.split import split

if TYPE_CHECKING:
    from discreet.fit.mixture.task import Task

__all__ = ["PlainFit", "fit_plain", "plain_round"]

GROWING = 5  # rounds between two doublings


@dataclass(frozen=True)
class PlainFit:
    """The frame reached, how many rounds it took, and whether the likelihood had settled."""

    frame: Frame
    rounds: int
    converged: bool


def plain_round(task: Task, frame: Frame) -> tuple[Frame, float]:
    """One round of EM over all rows: the next frame, and the mean log-likelihood (in unit coordinates)."""
    result = task.records.map_reduce(plain_sums, Sight.of(frame, task.region, task.pairs), engine=task.engine)
    sums, dimension = result["sums"], task.region.dimension
    counts, first = sums[:, 0], sums[:, 1 : 1 + dimension]
    second = task.pairs.unpack(sums[:, 1 + dimension :])
    moments = Moments.from_sums(frame, counts, first, second)
    if task.covariance_type == "tied":
        moments = moments.pooled()
    likelihood = float(result["likelihood"]) / counts.sum()
    return maximise(frame, moments, task.covariance_type, 1e-300, ridge=task.floor), likelihood


def fit_plain(task: Task, rounds: int, tolerance: float) -> PlainFit:
    """Grow to the wanted number of components, then at most ``rounds`` rounds until the gain is small."""
    frame = Frame.whole(task.region.dimension, task.region.reach)
    frame, _ = plain_round(task, frame)
    while frame.size < task.components:
        frame = split(frame, task.components, task.covariance_type)
        for _ in range(GROWING):
            frame, _ = plain_round(task, frame)
    before = -math.inf
    for index in range(rounds):
        frame, likelihood = plain_round(task, frame)
        task.report(index + 1, rounds)
        if likelihood - before < tolerance:
            return PlainFit(frame, index + 1, True)
        before = likelihood
    return PlainFit(frame, rounds, tolerance <= 0)
