"""DP-EM as published (paper 001, equations 13-19), made honest: one parameter at a time.

**Reveals** noisy weights, then each noisy mean, then each noisy covariance, in every round. **Costs** 2K + 1
events a round. **Trusts** the curator.

What had to change to make it private: the number of rounds is fixed; the start looks at no rows; noise is
added to sums, whose bounds are declared, and divided by the *noisy* counts afterwards (the published code
scales the noise by the private counts, divides by the private largest norm and stops on private likelihoods).
Covariances get Gaussian noise in every case (Analyze Gauss); ``noise`` chooses for weights and means.

It is here to be compared with: `fit.joint` is better at every budget we measured.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.composition import calibrate_by
from discreet.accounting.event import Event
from discreet.fit.kernel import BITS, Sight, private_sums
from discreet.fit.measure import GridFrame, localise, rescale, second_weights
from discreet.mechanisms.noise import release
from discreet.models.moments import Frame
from discreet.models.split import split
from discreet.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.accounting.composition import Rule
    from discreet.fit.task import Payment, Task

__all__ = ["ROUNDS", "fit_published", "plan_published"]

ROUNDS = 10
_PUBLISHED_DELTA = (
    1e-6  # each release's delta in the published calibration; sets Gaussian against Laplace noise
)
_SMALLEST_WEIGHT = 0.01
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
    weights_event, means_event, covariances_event = events
    frame = Frame.whole(task.region.dimension, task.region.reach)
    while frame.size < task.components:
        frame = split(frame, task.components, task.covariance_type)
    for index in range(weights_event.count):
        sight = Sight.of(GridFrame.of(frame).frame, task.region, task.pairs)
        sums = task.records.map_reduce(private_sums, sight, engine=task.engine)["sums"]
        counts = next(_release(task, [sums[:, :1].ravel()], weights_event, payment, _COUNT))
        weights = np.maximum(counts, _SMALLEST_WEIGHT * max(counts.sum(), 1.0))
        still = GridFrame.of(Frame(weights, 0 * frame.means, *_identities(frame)))
        _, first, second = localise(sums, still, task.pairs)
        means = np.stack(list(_release(task, first, means_event, payment, _MEAN))) / weights[:, None]
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        means *= np.minimum(1, task.region.reach / np.maximum(lengths, 1e-300))
        raw = np.stack(list(_release(task, second, covariances_event, payment, _COVARIANCE)))
        spread = task.pairs.unpack(raw) / weights[:, None, None]
        covariances = _repair(spread - np.einsum("ki,kj->kij", means, means), task)
        frame = Frame.of(weights / weights.sum(), means, covariances)
        task.report(index + 1, weights_event.count)
    return frame


_COUNT, _MEAN, _COVARIANCE = 0, 1, 2


def _release(
    task: Task, blocks: Sequence[NDArray[Any]] | NDArray[Any], event: Event, payment: Payment, power: int
) -> Iterator[NDArray[np.float64]]:
    """Release each block of integers on its own; a row of length r adds at most r**power to it."""
    dimension = task.region.dimension
    reach = task.region.reach + math.sqrt(dimension) * 2.0**-BITS  # rounding a row can push it out a little
    bits = (BITS, 2 * BITS + 30, 3 * BITS + 60)[power]
    weights = second_weights(task.pairs) if power == _COVARIANCE else np.ones(len(blocks[0]))
    l2 = task.per_person * reach**power * 2.0**_GRID_BITS + math.sqrt(len(blocks[0]))
    spread = 1.0 if power == _COUNT else math.sqrt(dimension)
    l1 = task.per_person * spread * reach**power * 2.0**_GRID_BITS + len(blocks[0])
    one = Event(event.mechanism, event.noise, 1, event.label)
    for block in blocks:
        total = rescale(block, weights, bits, _GRID_BITS)
        statistic = Statistic(total, 2.0**-_GRID_BITS, max(l1, l2), l2, event.label)
        yield release(statistic, one, payment.account, payment.bits) / weights


def _identities(frame: Frame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    identity = np.repeat(np.eye(frame.means.shape[1])[None], frame.size, axis=0)
    return identity, identity


def _repair(covariances: NDArray[np.float64], task: Task) -> NDArray[np.float64]:
    """The nearest covariances of the declared type with no variance below the floor."""
    from discreet.mechanisms.repair import to_positive_definite

    if task.covariance_type == "tied":
        covariances = np.repeat(covariances.mean(axis=0, keepdims=True), len(covariances), axis=0)
    if task.covariance_type == "spherical":
        variances = np.einsum("kii->k", covariances) / covariances.shape[1]
        covariances = variances[:, None, None] * np.eye(covariances.shape[1])
    return to_positive_definite(covariances, task.floor)
