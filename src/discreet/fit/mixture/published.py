"""DP-EM as published (paper 001, equations 13-19), made honest: one parameter at a time.

**Reveals** noisy weights, then each noisy mean, then each noisy covariance, in every round. **Costs** 2K + 1
events a round. **Trusts** the curator.

What had to change to make it private: the number of rounds is fixed; the start looks at no rows; noise is
added to sums, whose bounds are declared, and divided by the *noisy* counts afterwards (the published code
scales the noise by the private counts, divides by the private largest norm and stops on private likelihoods).
Covariances get Gaussian noise in every case (Analyze Gauss); ``noise`` chooses for weights and means.

It is here to be compared with: `fit.mixture.joint` is better at every budget we measured.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.composition import calibrate_by
from discreet.accounting.event import Event
from discreet.fit.mixture.kernel import BITS, Sight, private_sums
from discreet.fit.mixture.measure import GridFrame, Layout, localise, rescale, second_weights
from discreet.fit.mixture.scales import Scales
from discreet.mechanisms.noise import release
from discreet.models.moments import Frame
from discreet.models.split import split
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.accounting.composition import Rule
    from discreet.fit.mixture.task import Payment, Task

__all__ = ["ROUNDS", "fit_published", "measure_blocks", "plan_published"]

ROUNDS = 10
_PUBLISHED_DELTA = 1e-6  # of each release in the published calibration: sets Gaussian against Laplace noise
_SMALLEST_WEIGHT = 0.01
_FLOOR = 3e-3  # a floor of variances that suits it from epsilon 1 up; with none it explodes
_GRID_BITS = 36


def plan_published(
    components: int,
    epsilon: float,
    delta: float,
    *,
    noise: str = "gaussian",
    rounds: int | None = None,
    rule: Rule = "tight",
) -> tuple[Event, ...]:
    """Every event of the fit in order: per round the weights, then K means, then K covariances."""
    gaussian = math.sqrt(2 * math.log(1.25 / _PUBLISHED_DELTA))
    light = Event("laplace", 1.0) if noise == "laplace" else Event("gaussian", gaussian)
    heavy = Event("gaussian", gaussian)
    count = ROUNDS if rounds is None else rounds
    shape = (
        Event(light.mechanism, light.noise, count, "weights"),
        Event(light.mechanism, light.noise, count * components, "means"),
        Event(heavy.mechanism, heavy.noise, count * components, "covariances"),
    )
    factor = calibrate_by(rule, shape, epsilon, delta)
    return tuple(event.scaled(factor) for event in shape)


def fit_published(task: Task, events: Sequence[Event], payment: Payment) -> Frame:
    """Fit with the events of `plan_published`, which the account behind ``payment`` was charged for."""
    frame = Frame.whole(task.region.dimension, task.region.reach)
    while frame.size < task.components:
        frame = split(frame, task.components, task.covariance_type)
    for index in range(events[0].count):
        grid = GridFrame.of(frame)
        blocks = measure_blocks(task, grid)
        single = [replace(event, count=1) for event in events]
        noisy = [
            np.stack([release(block, event, payment.account, payment.bits) for block in kind])
            for kind, event in zip(blocks, single, strict=True)
        ]
        if payment.listen is not None:
            payment.listen(grid, _layout(task, frame.size), np.concatenate([kind.ravel() for kind in noisy]))
        frame = _read(task, *noisy)
        task.report(index + 1, events[0].count)
    return frame


def measure_blocks(task: Task, grid: GridFrame) -> tuple[list[Statistic], ...]:
    """What one round releases, block by block: all counts together, each first, each second moment.

    The moments are those about the origin of the region, in unit coordinates.
    """
    sight = Sight.of(grid.frame, task.region, task.pairs)
    sums = task.records.map_reduce(private_sums, sight, engine=task.engine)["sums"]
    size, dimension = grid.frame.size, task.region.dimension
    identity = np.repeat(np.eye(dimension)[None], size, axis=0)
    still = GridFrame.of(Frame(np.ones(size), np.zeros((size, dimension)), identity, identity))
    counts, first, second = localise(sums, still, task.pairs)
    return (
        [_state(task, counts, _COUNT)],
        [_state(task, block, _MEAN) for block in first],
        [_state(task, block, _COVARIANCE) for block in second],
    )


_COUNT, _MEAN, _COVARIANCE = 0, 1, 2
_LABELS = ("weights", "means", "covariances")


def _state(task: Task, block: NDArray[Any], power: int) -> Statistic:
    """One block of integers with its bound: a row of length r adds at most r**power to it."""
    dimension = task.region.dimension
    reach = task.region.reach + math.sqrt(dimension) * 2.0**-BITS  # rounding a row can push it out a little
    bits = (BITS, 2 * BITS + 30, 3 * BITS + 60)[power]
    weights = second_weights(task.pairs) if power == _COVARIANCE else np.ones(len(block))
    l2 = task.per_person * reach**power * 2.0**_GRID_BITS + math.sqrt(len(block))
    # see `fit.mixture.scales`
    spread = (1.0, math.sqrt(dimension), 1 + (dimension - 1) / math.sqrt(2))[power]
    l1 = task.per_person * spread * reach**power * 2.0**_GRID_BITS + len(block)
    total = rescale(block, weights, bits, _GRID_BITS)
    return Statistic(total, 2.0**-_GRID_BITS, max(l1, l2), l2, _LABELS[power])


def _layout(task: Task, size: int) -> Layout:
    """For those who listen: nothing is scaled, and no row is clipped."""
    plain = Scales(task.region.dimension, task.covariance_type, "l2", 1.0, 1.0, 1.0, math.inf)
    return Layout(size, task.pairs, plain)


def _read(
    task: Task, counts: NDArray[np.float64], first: NDArray[np.float64], second: NDArray[np.float64]
) -> Frame:
    """Parameters from a round's noisy blocks."""
    weights = np.maximum(counts[0], _SMALLEST_WEIGHT * max(counts.sum(), 1.0))
    means = first / weights[:, None]
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    means *= np.minimum(1, task.region.reach / np.maximum(lengths, 1e-300))
    spread = task.pairs.unpack(second / second_weights(task.pairs)) / weights[:, None, None]
    covariances = _repair(spread - np.einsum("ki,kj->kij", means, means), task)
    return Frame.of(weights / weights.sum(), means, covariances)


def _repair(covariances: NDArray[np.float64], task: Task) -> NDArray[np.float64]:
    """The nearest covariances of the declared type with no variance below the floor."""
    from discreet.mechanisms.repair import to_positive_definite

    if task.covariance_type == "diag":  # the means' products above fill all entries
        covariances = covariances * np.eye(task.region.dimension)
    if task.covariance_type == "tied":
        covariances = np.repeat(covariances.mean(axis=0, keepdims=True), len(covariances), axis=0)
    if task.covariance_type == "spherical":
        variances = np.einsum("kii->k", covariances) / covariances.shape[1]
        covariances = variances[:, None, None] * np.eye(covariances.shape[1])
    return to_positive_definite(covariances, max(task.floor, _FLOOR))
