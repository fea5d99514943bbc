"""Fits with a bug planted in them, to see whether the audits catch it. Nothing outside `audit` can run them.

    short noise        noise calibrated for one release, drawn in every round: short by sqrt(rounds)
    private counts     noise scaled by the private counts, as published code of DP-EM does it
    private norm       rows divided by the largest norm that occurs in them, as that code does first
    rows for persons   a person's rows weigh 1 each, however many there are
    no clipping        rows may weigh what they like; the bound is computed as if they did not
    doubles            noise drawn in doubles and added in doubles

Each keeps the claim of the honest fit with the same request.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.audit.transcript import Attack, Joint, Score, compare, pay, score
from discreet.domain import Ball
from discreet.errors import ParameterError
from discreet.fit.mixture.measure import GridFrame, Layout, gather, sum_exactly
from discreet.fit.mixture.published import measure_blocks
from discreet.fit.mixture.scales import Scales
from discreet.fit.mixture.schedule import Round, Schedule
from discreet.mechanisms.noise import plan_noise, release
from discreet.models.moments import Frame, maximise
from discreet.models.split import split
from discreet.randomness import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.audit.transcript import Setting, Subject
    from discreet.fit.mixture.task import Task
    from discreet.randomness import Bits
    from discreet.statistic import Statistic

__all__ = ["BUGS", "LowBits", "plant"]

BUGS = (
    "short noise",
    "private counts",
    "private norm",
    "rows for persons",
    "no clipping",
    "doubles",
)


def plant(bug: str, setting: Setting) -> Subject:
    """The fit of the setting with this bug in it."""
    if bug == "short noise":
        return Joint(setting, schedule=_short(_schedule(setting)))
    if bug == "private norm":
        return Joint(setting, worlds=_within_norms(setting))
    if bug == "rows for persons":
        return Joint(setting, worlds=_unweighted(setting))
    if bug == "no clipping":
        return _Unclipped(setting)
    if bug == "private counts":
        return _AsCoded(setting)
    if bug == "doubles":
        return LowBits(setting, doubles=True)
    raise ParameterError("there is no such bug", got=bug, wanted=" or ".join(BUGS))


def _schedule(setting: Setting) -> Schedule:
    if setting.schedule is None:
        raise ParameterError("this bug is planted in the joint fit", wanted="method='joint'")
    return setting.schedule


def _short(schedule: Schedule) -> Schedule:
    factor = 1 / math.sqrt(len(schedule.rounds))
    return Schedule(tuple(Round(one.components, one.event.scaled(factor)) for one in schedule.rounds))


def _within_norms(setting: Setting) -> tuple[Task, Task]:
    """Each world in the smallest ball that holds its own rows."""
    first, second = setting.worlds()
    joined = np.concatenate([setting.rows, setting.canary])
    radii = [float(np.linalg.norm(rows, axis=1).max()) for rows in (setting.rows, joined)]
    middle = (0.0,) * setting.rows.shape[1]
    return replace(first, region=Ball(middle, radii[0])), replace(second, region=Ball(middle, radii[1]))


def _unweighted(setting: Setting) -> tuple[Task, Task]:
    """All rows count in full, while the bound is still that of one person's weight."""
    share = setting.wanted.rows_per_person
    rows = setting.rows, np.concatenate([setting.rows, setting.canary])
    without, joined = (replace(setting.task(each), per_person=share) for each in rows)
    return without, joined


class _Unclipped:
    """The joint fit whose sums go round the limit of `fit.mixture.scales`."""

    def __init__(self, setting: Setting) -> None:
        self.schedule = _schedule(setting)
        self.worlds = setting.worlds()
        self.attack: Attack = Joint(setting).attack

    def play(self, world: int, bits: Bits) -> Score:
        """Fit, and score every round as it is released."""
        frame = Frame.whole(self.worlds[0].region.dimension, self.worlds[0].region.reach)
        parts: list[Score] = []
        for index, planned in enumerate(self.schedule.rounds):
            while frame.size < planned.components:
                frame = split(frame, planned.components, self.worlds[0].covariance_type)
            grid = GridFrame.of(frame)
            layout, sums = self._sums(grid, planned.event.mechanism, whole=index == 0)
            noisy = release(sums[world], planned.event, pay(bits).account, bits)
            parts.append(compare(noisy, *sums, planned.event))
            deviation = planned.event.noise * sums[0].l2 * sums[0].grid
            moments = layout.read(noisy, deviation)
            frame = maximise(grid.frame, moments, self.worlds[0].covariance_type, self.worlds[0].floor)
        return score(parts)

    def _sums(
        self, grid: GridFrame, mechanism: str, *, whole: bool
    ) -> tuple[Layout, tuple[Statistic, Statistic]]:
        region, kind = self.worlds[0].region, self.worlds[0].covariance_type
        scales = Scales.choose(region.dimension, kind, "l1" if mechanism == "laplace" else "l2", whole=whole)
        honest = Layout(grid.frame.size, self.worlds[0].pairs, scales)
        open_ = replace(honest, scales=replace(scales, limit=2.0**60))
        without, joined = (
            gather(sum_exactly(task.records, grid, region, open_, task.engine), grid, honest, 1.0, "")
            for task in self.worlds
        )
        return honest, (without, joined)


class _AsCoded:
    """DP-EM with noise of scale sensitivity / count, where the count is the private one.

    Whoever knows the rows but for the canary knows both scales, and the size of the noise tells them apart.
    """

    attack: Attack = "gaussian"

    def __init__(self, setting: Setting) -> None:
        if setting.wanted.method != "published" or setting.wanted.noise != "gaussian":
            raise ParameterError(
                "this bug is planted in the published fit", wanted="method='published', noise='gaussian'"
            )
        self.events = setting.events
        self.worlds = setting.worlds()

    def play(self, world: int, bits: Bits) -> Score:
        """Fit, and score every parameter of every round."""
        task, draw = self.worlds[0], generator(bits)
        frame = Frame.whole(task.region.dimension, task.region.reach)
        while frame.size < task.components:
            frame = split(frame, task.components, task.covariance_type)
        told = 0.0
        for _ in range(self.events[0].count):
            grid = GridFrame.of(frame)
            laws = [self._law(each, grid) for each in self.worlds]
            center, scale = laws[world]
            noisy = center + scale * draw.standard_normal(len(center))
            told += _log_density(noisy, *laws[1]) - _log_density(noisy, *laws[0])
            frame = self._read(task, noisy)
        return Score(told)

    def _law(self, task: Task, grid: GridFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What the noise is added to, and its scale: both in terms of private counts."""
        blocks = [np.array([_floats(one) for one in kind]) for kind in measure_blocks(task, grid)]
        counts = np.maximum(blocks[0][0], 1e-9)
        everybody, reach = counts.sum(), task.region.reach
        noise = [event.noise for event in self.events]
        centers = [counts / everybody, blocks[1] / counts[:, None], blocks[2] / counts[:, None]]
        scales = [
            np.full(len(counts), noise[0] / everybody),
            np.broadcast_to(noise[1] * reach / counts[:, None], blocks[1].shape),
            np.broadcast_to(noise[2] * reach**2 / counts[:, None], blocks[2].shape),
        ]
        return np.concatenate([each.ravel() for each in centers]), np.concatenate(
            [each.ravel() for each in scales]
        )

    def _read(self, task: Task, noisy: NDArray[np.float64]) -> Frame:
        """Parameters from noisy ones, as far as they make sense."""
        from discreet.mechanisms.repair import to_positive_definite

        size, dimension = task.components, task.region.dimension
        weights = np.maximum(noisy[:size], 0.01)
        means = np.clip(noisy[size : size * (1 + dimension)].reshape(size, dimension), -1, 1)
        raw = task.pairs.unpack(noisy[size * (1 + dimension) :].reshape(size, -1))
        spread = np.clip(raw - np.einsum("ki,kj->kij", means, means), -1.0, 1.0)
        return Frame.of(weights / weights.sum(), means, to_positive_definite(spread, task.floor))


class LowBits:
    """The first round of a fit to rows whose mixed moment is exactly 0, and 1 with the canary.

    The attack looks at the low bits of that one number (`discreet.audit.bits`). With ``doubles`` the noise is
    drawn and added in doubles; without, it is the honest release.
    """

    attack: Attack = "low bits"

    def __init__(self, setting: Setting, *, doubles: bool) -> None:
        schedule = _schedule(setting)
        dimension = setting.rows.shape[1]
        if dimension < 2 or setting.wanted.covariance_type != "full":
            raise ParameterError("this attack needs two columns and full covariances")
        steps = np.concatenate([np.eye(dimension), -np.eye(dimension)]) / 2
        rows = setting.region.center + setting.region.scale * steps
        corner = setting.region.center + setting.region.scale
        self.event, self.doubles = schedule.rounds[0].event, doubles
        self.statistics = [
            _first_round(setting.task(each), self.event.mechanism)
            for each in (rows, np.concatenate([rows, corner[None]]))
        ]
        self.place = 1 + dimension + 1  # after the count and the means, the first square and then this one

    def play(self, world: int, bits: Bits) -> Score:
        """Release the round and hand over the one number."""
        statistic = self.statistics[world]
        if not self.doubles:
            return Score(float(release(statistic, self.event, pay(bits).account, bits)[self.place]))
        law, draw = plan_noise(statistic, self.event), generator(bits)
        scale = law.scale * law.grid
        noise: Any = draw.normal if law.mechanism == "gaussian" else draw.laplace
        return Score(float(_floats(statistic)[self.place] + noise(scale=scale)))


def _first_round(task: Task, mechanism: str) -> Statistic:
    norm = "l1" if mechanism == "laplace" else "l2"
    frame = Frame.whole(task.region.dimension, task.region.reach)
    scales = Scales.choose(task.region.dimension, task.covariance_type, norm, whole=True)
    grid, layout = GridFrame.of(frame), Layout(1, task.pairs, scales)
    sums = sum_exactly(task.records, grid, task.region, layout, task.engine)
    return gather(sums, grid, layout, task.per_person, "first round")


def _floats(statistic: Statistic) -> NDArray[np.float64]:
    return np.array([float(value) for value in statistic.total.flat]) * statistic.grid


def _log_density(
    values: NDArray[np.float64], center: NDArray[np.float64], scale: NDArray[np.float64]
) -> float:
    return cast("float", -np.sum(((values - center) / scale) ** 2 / 2 + np.log(scale)))
