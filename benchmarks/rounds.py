"""One round of EM, one thread each: ours, plain and private, against scikit-learn on the same rows in memory.

A round is the E-step, the sums and the M-step. The private one is one noisy release of the joint method:
exact integer sums, noise from the operating system's bits, and the M-step that knows the noise.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.clock import race
from benchmarks.crowd import SIDE, Crowd, make_task
from benchmarks.table import Finding
from discreet.accounting.event import Event
from discreet.fit.mixture.measure import GridFrame, Layout, gather, sum_exactly
from discreet.fit.mixture.plain import plain_round
from discreet.fit.mixture.scales import Scales
from discreet.mechanisms.noise import release
from discreet.models.mixture import Mixture
from discreet.models.moments import maximise
from discreet.randomness import secure
from discreet.records import LocalEngine, open_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.fit.mixture.task import Task
    from discreet.models.moments import Frame

__all__ = ["Unpaid", "exact_sums", "private_round", "run"]

EVENT = Event("gaussian", 5.0, label="benchmark")


class Unpaid:
    """An account that lets everything pass: simulated rows belong to nobody."""

    guarantee = None

    def draw(self, event: Event) -> None:
        """Charge nothing."""


def run(full: bool) -> list[Finding]:
    """Two columns and eight components, ten columns and ten components."""
    sizes = (10_000_000, 1_000_000) if full else (2_000_000, 250_000)
    return [
        *_compare(Crowd(8, 2), sizes[0], plain=15, private=10),
        *_compare(Crowd(10, 10), sizes[1], plain=5, private=None),
    ]


def private_round(task: Task, frame: Frame) -> Frame:
    """One release, and the next mixture."""
    grid, layout = _prepare(task, frame)
    sums = sum_exactly(task.records, grid, task.region, layout, task.engine)
    statistic = gather(sums, grid, layout, task.per_person, EVENT.label)
    noisy = release(statistic, EVENT, Unpaid(), secure())
    deviation = EVENT.noise * statistic.l2 * statistic.grid
    return maximise(grid.frame, layout.read(noisy, deviation), task.covariance_type, task.floor)


def exact_sums(task: Task, frame: Frame) -> NDArray[Any]:
    """The integer sums of a private round, before noise."""
    grid, layout = _prepare(task, frame)
    return sum_exactly(task.records, grid, task.region, layout, task.engine)


def _prepare(task: Task, frame: Frame) -> tuple[GridFrame, Layout]:
    scales = Scales.choose(task.region.dimension, task.covariance_type, "l2")
    return GridFrame.of(frame), Layout(frame.size, task.pairs, scales)


def _compare(crowd: Crowd, rows: int, plain: float, private: float | None) -> list[Finding]:
    points, frame = crowd.draw(rows), crowd.frame
    task = make_task(points, crowd)
    learner = _learner(crowd, frame)
    _check_round(task, frame, learner, points)
    _check_sums(task, frame, points)
    contenders = {
        "ours, plain": lambda: plain_round(task, frame),
        "ours, private": lambda: private_round(task, frame),
        "peer": lambda: _their_round(learner, points),
    }
    times = race(contenders, 3)
    where = f"one EM round, {rows / 1e6:g} M x {crowd.dimension}, K={crowd.components}, full"
    return [
        Finding(
            f"{where}, {kind}: scikit-learn",
            f"{rows / times[f'ours, {kind}'] / 1e6:.2f} M rows/s",
            f"{rows / times['peer'] / 1e6:.2f} M rows/s",
            times["peer"] / times[f"ours, {kind}"],
            target,
        )
        for kind, target in (("plain", plain), ("private", private))
    ]


def _learner(crowd: Crowd, frame: Frame) -> Any:
    from sklearn.mixture import GaussianMixture
    from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

    mixture = Mixture.from_unit(frame, np.zeros(crowd.dimension), np.full(crowd.dimension, SIDE))
    learner = GaussianMixture(crowd.components)
    learner.weights_, learner.means_ = mixture.weights, mixture.means
    learner.covariances_ = mixture.covariances
    learner.precisions_cholesky_ = _compute_precision_cholesky(mixture.covariances, "full")
    return learner


def _their_round(learner: Any, points: NDArray[np.float64]) -> Any:
    _, shares = learner._e_step(points)
    moved = copy.copy(learner)
    moved._m_step(points, shares)
    return moved


def _check_round(task: Task, frame: Frame, learner: Any, points: NDArray[np.float64]) -> None:
    """Ours and theirs must be the same mixture after one round, and the private one near it."""
    side = np.full(task.region.dimension, SIDE)
    ours = Mixture.from_unit(plain_round(task, frame)[0], 0 * side, side)
    noisy = Mixture.from_unit(private_round(task, frame), 0 * side, side)
    theirs = _their_round(learner, points)
    for mine, other in (
        (ours.weights, theirs.weights_),
        (ours.means, theirs.means_),
        (ours.covariances, theirs.covariances_),
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(noisy.weights, ours.weights, atol=0.01)
    np.testing.assert_allclose(noisy.means, ours.means, atol=0.2)


def _check_sums(task: Task, frame: Frame, points: NDArray[np.float64]) -> None:
    """Integer sums must not depend on the number of threads, nor on how the rows are cut."""
    sums = exact_sums(task, frame)
    assert (sums == exact_sums(make_task(task.records, _crowd(task), LocalEngine(2)), frame)).all()
    odd = len(points) // 3 + 1
    pieces = [
        exact_sums(make_task(open_records(piece), _crowd(task)), frame) for piece in np.split(points, [odd])
    ]
    assert (sums == pieces[0] + pieces[1]).all()


def _crowd(task: Task) -> Crowd:
    return Crowd(task.components, task.region.dimension)
