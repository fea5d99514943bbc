"""Releasing a moving state: the plain per-step program, and ours, one person and many people at once.

Everything is included: predict, constraint set, hull, protection of every state, noise, posterior. Radius three
cells, all cells possible (the worst case), epsilon 1. The plain program is the paper's algorithm 2 written down in
Python with Qhull for the hull; it has one person and computes everything at each step. Ours has one person or a
thousand; "afresh" drops every kept scene before each step, so that hull and protection are computed again, once
for all. The plain program draws doubles; ours draws exact noise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import ConvexHull

from benchmarks.clock import race
from benchmarks.table import Finding
from discreet.release import Crowd, Map, Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["run"]

_RADIUS = 3
_PEOPLE = 1000


def run(full: bool) -> list[Finding]:
    """Maps of 400 and 1600 cells (the latter's plain program takes five seconds a step: in full only)."""
    return [finding for side in ((20, 40) if full else (10, 20)) for finding in _compare(side)] + _crowded()


def _compare(side: int) -> list[Finding]:
    world = _world(side)
    policy = Policy.radius(world, float(_RADIUS))
    states, start = world.size, np.full((1, world.size), 1 / world.size)
    one = Crowd(world, policy, epsilon=1.0, start=start)
    many = Crowd(world, policy, epsilon=1.0, start=np.repeat(start, _PEOPLE, axis=0))
    plain = _Plain(world, policy)
    middle = states // 2
    _agree(plain, one, middle)
    contenders = {
        "plain": lambda: plain.step(middle),
        "one afresh": lambda: _afresh(one, middle),
        "one": lambda: one.step(np.array([middle])),
        "many afresh": lambda: _afresh(many, middle),
        "many": lambda: many.step(np.full(_PEOPLE, middle)),
    }
    times = race(contenders, 3 if side < 40 else 1)
    more = race({name: work for name, work in contenders.items() if name != "plain"}, 8)
    each = {name: min(times[name], more.get(name, math.inf)) for name in times}
    each["many afresh"] /= _PEOPLE
    each["many"] /= _PEOPLE
    plural = {"one afresh": "1 person", "one": "1 person", "many afresh": "1,000", "many": "1,000"}
    return [
        Finding(
            f"release, {states} cells, {plural[name]}, {'afresh' if 'afresh' in name else 'scenes kept'}: plain",
            f"{1 / each[name]:,.0f} releases/s",
            f"{1 / each['plain']:,.2f} releases/s",
            each["plain"] / each[name],
            1000.0 if name == "many afresh" and side >= 20 else None,
        )
        for name in ("one afresh", "one", "many afresh", "many")
    ]


def _crowded() -> list[Finding]:
    """A thousand people for a hundred steps on 400 cells, against the rate of a second a step."""
    world = _world(20)
    crowd = Crowd(
        world,
        Policy.radius(world, float(_RADIUS)),
        epsilon=1.0,
        start=np.arange(1000) % 400,
        outside="nearest",
    )
    draw = np.random.default_rng(0)
    walk = draw.integers(0, 400, (100, _PEOPLE))
    times = race({"crowd": lambda: [crowd.step(states) for states in walk]}, 1)
    return [
        Finding(
            "1,000 people, 400 starts, 100 steps, 400 cells: a second a step",
            f"{times['crowd']:.1f} s",
            "100 s",
            100 / times["crowd"],
            10.0,
        )
    ]


def _afresh(crowd: Crowd, state: int) -> None:
    for question in crowd.questions:
        question.forget()
    crowd.step(np.full(crowd.people, state))


def _agree(plain: _Plain, crowd: Crowd, state: int) -> None:
    """Both find the same hull and the same protection, or the race would be of different things."""
    degrees, area = plain.step(state)
    scene = crowd.step(np.array([state])).groups[0].scenes[0]
    assert np.array_equal(scene.degrees, degrees)
    assert math.isclose(scene.area, area)


class _Plain:
    """Algorithm 2, one step after another, in lists and loops."""

    def __init__(self, world: Map, policy: Policy) -> None:
        self.points = world.points.tolist()
        self.edges = policy.pairs.tolist()
        rows = world.transitions
        self.moves = [
            list(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))
            for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]
        self.belief = [1 / world.size] * world.size
        self.draw = np.random.default_rng(0)

    def step(self, state: int) -> tuple[list[int], float]:
        """Release a state; the protection of every state, and the area."""
        prior = [0.0] * len(self.belief)
        for i, weight in enumerate(self.belief):
            for j, chance in self.moves[i]:
                prior[j] += weight * chance
        possible = [i for i, weight in enumerate(prior) if weight > 0]
        hull, facets = self._hull(set(possible))
        degrees = [0] * len(prior)
        for i in possible:
            degrees[i] = sum(self._gauge(i, self.points[j], facets) <= 1 + 1e-9 for j in possible)
        released = self._noise(state, hull)
        weights = [
            weight * math.exp(-self._gauge(i, released, facets)) if weight > 0 else 0.0
            for i, weight in enumerate(prior)
        ]
        total = sum(weights)
        self.belief = [weight / total for weight in weights]
        return degrees, float(hull.volume)

    def _hull(self, possible: set[int]) -> tuple[ConvexHull, list[tuple[float, float]]]:
        moves = []
        for i, j in self.edges:
            if i in possible and j in possible:
                move = [a - b for a, b in zip(self.points[i], self.points[j], strict=True)]
                moves += [move, [-move[0], -move[1]]]
        hull = ConvexHull(np.array(moves))
        return hull, [(a / -c, b / -c) for a, b, c in hull.equations.tolist()]

    def _gauge(self, i: int, point: list[float], facets: list[tuple[float, float]]) -> float:
        x, y = point[0] - self.points[i][0], point[1] - self.points[i][1]
        largest = 0.0
        for a, b in facets:
            value = a * x + b * y
            if value > largest:
                largest = value
        return largest

    def _noise(self, state: int, hull: ConvexHull) -> list[float]:
        corners: NDArray[np.float64] = hull.points[hull.vertices]
        after = np.roll(corners, -1, axis=0)
        areas = np.abs(corners[:, 0] * after[:, 1] - corners[:, 1] * after[:, 0])
        side = self.draw.choice(len(corners), p=areas / areas.sum())
        along = self.draw.random()
        move = (along * corners[side] + (1 - along) * after[side]) * self.draw.gamma(2.0)
        return [a + b for a, b in zip(self.points[state], move.tolist(), strict=True)]


def _world(side: int) -> Map:
    """A square of cells; each leads to the 25 around it, unevenly."""
    across, up = np.meshgrid(np.arange(side), np.arange(side))
    points = np.stack([across.reshape(-1), up.reshape(-1)], axis=1).astype(float)
    near = np.abs(points[:, None] - points[None]).max(axis=2) <= 2
    weights = near * np.random.default_rng(0).uniform(0.05, 1.05, near.shape)
    return Map(points, weights / weights.sum(axis=1, keepdims=True))
