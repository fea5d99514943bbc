"""Fits as an attacker sees them: everything released, in two worlds that differ by one canary.

The frames of a fit follow from what it has released. So along a given transcript the noiseless statistics of
both worlds can be recomputed, round by round, and the likelihood ratio of the transcript is known exactly:
no attack on the released mixture can do better than one that thresholds it (Neyman and Pearson).

The fits are the real ones (`fit.mixture.joint`, `fit.mixture.published`, `fit.mixture.local`), with noise
from `mechanisms.noise`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast

import numpy as np

from discreet.audit.distinguish import gaussian_ratio, laplace_ratio
from discreet.errors import ParameterError
from discreet.fit.mixture.joint import fit_joint
from discreet.fit.mixture.local import gather_rows, noise_rows
from discreet.fit.mixture.measure import gather, sum_exactly
from discreet.fit.mixture.published import fit_published, measure_blocks
from discreet.fit.mixture.request import plan
from discreet.fit.mixture.task import Payment, Task
from discreet.mechanisms.noise import plan_noise
from discreet.records import LocalEngine, open_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.accounting.account import Account
    from discreet.accounting.event import Event
    from discreet.accounting.guarantee import Guarantee
    from discreet.domain import Region
    from discreet.fit.mixture.measure import GridFrame, Layout
    from discreet.fit.mixture.request import Request
    from discreet.fit.mixture.schedule import Schedule
    from discreet.randomness import Bits
    from discreet.statistic import Statistic

    Told = tuple[GridFrame, Layout, NDArray[np.float64]]

__all__ = [
    "SUBJECTS",
    "Attack",
    "Bystander",
    "Input",
    "Joint",
    "Published",
    "Score",
    "Setting",
    "Subject",
    "compare",
    "pay",
    "score",
]

Attack = Literal["gaussian", "counting", "low bits"]


class Score(NamedTuple):
    """What one run told: how much likelier world 1 is, as a logarithm (or, for low bits, the number to look
    at), and what the canary used up along this run: the squared mu of Gaussian and the epsilon of Laplace
    releases.
    """

    ratio: float
    squares: float = 0.0
    pure: float = 0.0


class Subject(Protocol):
    """A fit under attack."""

    @property
    def attack(self) -> Attack:
        """How its scores are to be judged."""
        ...

    def play(self, world: int, bits: Bits) -> Score:
        """Run the fit in world 0 or 1, and score everything it released."""
        ...


@dataclass(frozen=True)
class Setting:
    """Two worlds of invented rows, and a request that is planned for them.

    World 1 has the canary rows as well (one person's, where the request protects persons). For method
    "input", whose neighbours have another value in one row, the worlds have one canary row each.
    """

    wanted: Request
    rows: NDArray[np.float64]
    canary: NDArray[np.float64]
    ids: NDArray[np.int64] | None
    region: Region
    guarantee: Guarantee
    schedule: Schedule | None

    @staticmethod
    def of(
        wanted: Request, rows: NDArray[np.float64], canary: ArrayLike, ids: NDArray[np.int64] | None = None
    ) -> Setting:
        """Plan the request; ids name the person of each row."""
        values = np.atleast_2d(np.asarray(canary, dtype=np.float64))
        planned = plan(replace(wanted, by_person=ids is not None), rows.shape[1])
        if planned.region is None or wanted.plain:
            raise ParameterError("there is no claim to audit", wanted="a finite epsilon and a region")
        if wanted.method == "input" and (len(values) != 2 or ids is not None):
            raise ParameterError(
                "method='input' is audited with one row that changes",
                got=f"{len(values)} canaries",
                wanted="two canaries, and no persons",
            )
        return Setting(wanted, rows, values, ids, planned.region, planned.guarantee, planned.schedule)

    @property
    def events(self) -> tuple[Event, ...]:
        """The claimed releases."""
        return self.guarantee.events

    def worlds(self) -> tuple[Task, Task]:
        """The task in either world."""
        if self.wanted.method == "input":
            without, one, two = self.rows, self.canary[:1], self.canary[1:]
            return self.task(np.concatenate([without, one])), self.task(np.concatenate([without, two]))
        joined = np.concatenate([self.rows, self.canary])
        if self.ids is None:
            return self.task(self.rows), self.task(joined)
        fresh = np.full(len(self.canary), self.ids.max() + 1)
        return self.task(self.rows, self.ids), self.task(joined, np.concatenate([self.ids, fresh]))

    def task(
        self, rows: NDArray[np.float64], ids: NDArray[np.int64] | None = None, region: Region | None = None
    ) -> Task:
        """The fit of these rows."""
        wanted = self.wanted
        share = wanted.rows_per_person if ids is not None else 1.0
        return Task(
            open_records(rows, person=ids, rows_per_person=share),
            self.region if region is None else region,
            wanted.n_components,
            wanted.covariance_type,
            wanted.reg_covar,
            share,
            LocalEngine(1),
        )


class Bystander:
    """Nobody is charged: the rows are invented."""

    guarantee = None

    def draw(self, event: Event) -> None:
        """Let it be drawn."""


def pay(bits: Bits, told: list[Told] | None = None) -> Payment:
    """A payment that costs nothing and writes down what is released."""

    def listen(grid: GridFrame, layout: Layout, noisy: NDArray[np.float64]) -> None:
        if told is not None:
            told.append((grid, layout, noisy))

    return Payment(cast("Account", Bystander()), bits, listen)


def compare(released: NDArray[np.float64], without: Statistic, joined: Statistic, event: Event) -> Score:
    """Score one release: the canary's shift, and how far the release lies along it."""
    law = plan_noise(without, event)
    scale = law.scale * law.grid
    shift = _floats(joined.total - without.total) * without.grid
    center = _floats(without.total) * without.grid
    ratio = gaussian_ratio if event.mechanism == "gaussian" else laplace_ratio
    found = ratio(released, center, center + shift, scale)
    if event.mechanism == "gaussian":
        return Score(found, float(shift @ shift) / scale**2)
    return Score(found, 0.0, float(np.abs(shift).sum()) / scale)


def score(parts: Sequence[Score]) -> Score:
    """The score of several releases together."""
    return Score(
        math.fsum(part.ratio for part in parts),
        math.fsum(part.squares for part in parts),
        math.fsum(part.pure for part in parts),
    )


class Joint:
    """The default fit. ``schedule`` and ``worlds`` are the setting's, unless a bug is planted there."""

    def __init__(
        self, setting: Setting, *, schedule: Schedule | None = None, worlds: tuple[Task, Task] | None = None
    ) -> None:
        chosen = schedule or setting.schedule
        assert chosen is not None
        self.schedule = chosen
        self.worlds = worlds or setting.worlds()
        self.attack: Attack = _attack(chosen.events)

    def play(self, world: int, bits: Bits) -> Score:
        """Fit, and score every round."""
        told: list[Told] = []
        fit_joint(self.worlds[world], self.schedule, pay(bits, told))
        return score(
            [self._round(*one, event) for one, event in zip(told, self.schedule.events, strict=True)]
        )

    def _round(self, grid: GridFrame, layout: Layout, noisy: NDArray[np.float64], event: Event) -> Score:
        without, joined = (
            gather(
                sum_exactly(task.records, grid, task.region, layout, task.engine),
                grid,
                layout,
                task.per_person,
                event.label,
            )
            for task in self.worlds
        )
        return compare(noisy, without, joined, event)


class Published:
    """The fit that releases one parameter at a time."""

    def __init__(self, setting: Setting) -> None:
        self.events = setting.events
        self.worlds = setting.worlds()
        self.attack: Attack = _attack(setting.events)

    def play(self, world: int, bits: Bits) -> Score:
        """Fit, and score every block of every round."""
        told: list[Told] = []
        fit_published(self.worlds[world], self.events, pay(bits, told))
        return score([part for grid, _, noisy in told for part in self._round(grid, noisy)])

    def _round(self, grid: GridFrame, noisy: NDArray[np.float64]) -> list[Score]:
        without, joined = (measure_blocks(task, grid) for task in self.worlds)
        parts: list[Score] = []
        at = 0
        for kind0, kind1, event in zip(without, joined, self.events, strict=True):
            for block0, block1 in zip(kind0, kind1, strict=True):
                stop = at + block0.total.size
                parts.append(compare(noisy[at:stop], block0, block1, replace(event, count=1)))
                at = stop
        return parts


class Input:
    """Rows that are noised by their owners; one row has the one canary's value or the other's."""

    def __init__(self, setting: Setting) -> None:
        self.event = setting.events[0]
        self.worlds = setting.worlds()
        self.clean = [gather_rows(task, self.event.label) for task in self.worlds]
        self.attack: Attack = _attack(setting.events)

    def play(self, world: int, bits: Bits) -> Score:
        """Noise all rows, and score them; what is fitted to them tells nothing more."""
        noisy, _ = noise_rows(self.worlds[world], self.event, pay(bits))
        return compare(noisy.ravel(), self.clean[0], self.clean[1], self.event)


SUBJECTS: dict[str, Callable[[Setting], Subject]] = {"joint": Joint, "published": Published, "input": Input}


def _attack(events: Sequence[Event]) -> Attack:
    return "gaussian" if all(event.mechanism == "gaussian" for event in events) else "counting"


def _floats(integers: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([float(value) for value in integers.flat])
