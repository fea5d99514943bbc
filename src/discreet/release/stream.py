"""`Stream`: one person's moving state, released step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BundleError, ParameterError, StateError
from discreet.release.crowd import Crowd
from discreet.release.map import check_belief

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.randomness import RandomState
    from discreet.release.map import Map
    from discreet.release.policy import Policy
    from discreet.release.promise import Promise
    from discreet.release.protect import Rule
    from discreet.release.scene import Scene

__all__ = ["Past", "Release", "Stream"]

_SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Past:
    """One past step, all of it public: the scene of each question, and what was released, in steps."""

    scenes: tuple[Scene, ...]
    units: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True, eq=False)
class Release:
    """What one step gave.

    Public: ``point`` (by name, if several questions were asked), ``belief`` (what everybody believes now),
    ``exposed`` (the states that were exposed before the repair), ``repaired`` (the edges that were added),
    ``area``, ``scenes``, ``guarantee``. For the person alone, because they depend on the true state:
    ``protection`` and ``surrogate``, which therefore no log shows that prints a release.
    """

    point: Any
    belief: NDArray[np.float64]
    prior: NDArray[np.float64]
    protection: int = field(repr=False)
    surrogate: bool = field(repr=False)
    scenes: tuple[Scene, ...]
    guarantee: Promise
    torn_by: Callable[[], NDArray[np.int64]]

    @cached_property
    def torn(self) -> NDArray[np.int64]:
        """Pairs that were joined at the step before, and whose successors can be neither joined nor equal
        now.

        What was promised for them then, this and later releases may undo.
        """
        return self.torn_by()

    @property
    def exposed(self) -> tuple[int, ...]:
        """The states that were exposed before the repair, by the first question."""
        return self.scenes[0].exposed

    @property
    def repaired(self) -> tuple[tuple[int, int], ...]:
        """The edges that the repair added, for the first question."""
        return self.scenes[0].repaired

    @property
    def area(self) -> float:
        """The volume of the hull of the first question, in its units."""
        return self.scenes[0].area

    @cached_property
    def effective(self) -> NDArray[np.float64]:
        """The effective number of states that each possible state is hidden among, given the prior."""
        return self.scenes[0].weigh(self.prior)


class Stream:
    """Release one moving state under a policy graph.

    ``start`` is the state before the first step, or a distribution over states. All other settings are those
    of `discreet.release.crowd.Crowd`. ``past`` keeps what was released, for `discreet.release.leakage`.

    **Reveals** the released points. **Costs** epsilon a step, as ``guarantee`` says. **Trusts** nobody else.
    """

    def __init__(
        self,
        world: Map,
        policy: Policy,
        *,
        epsilon: float | Mapping[str, float],
        start: int | ArrayLike,
        repair: Rule | Mapping[int, int] = "area",
        query: Any = None,
        cut: float = 0.0,
        delta: float = 0.0,
        outside: str | None = None,
        mechanism: str = "gauge",
        noise: str = "lattice",
        random_state: RandomState = None,
    ) -> None:
        self._crowd = Crowd(
            world,
            policy,
            epsilon=epsilon,
            start=_start(start, world),
            repair=repair,
            query=query,
            cut=cut,
            delta=delta,
            outside=outside,
            mechanism=mechanism,
            noise=noise,
            random_state=random_state,
        )
        self.world, self.policy = world, policy
        self.start: NDArray[np.float64] = self._crowd.beliefs[:, 0].copy()
        self.past: list[Past] = []

    @property
    def guarantee(self) -> Promise:
        """What is promised."""
        return self._crowd.guarantee

    @property
    def belief(self) -> NDArray[np.float64]:
        """What everybody believes about the state after the last release."""
        return self._crowd.beliefs[:, 0].copy()

    @property
    def steps(self) -> int:
        """How many releases there were."""
        return self._crowd.steps

    def foresee(self) -> tuple[Scene, ...]:
        """The scene of the next step for each question: nothing is drawn, nothing changes."""
        return self._crowd.foresee()[0][1]

    def step(self, state: int) -> Release:
        """Release a state. After an error the stream is as it was."""
        if (
            isinstance(state, bool)
            or np.asarray(state).shape != ()
            or np.asarray(state).dtype.kind not in "iu"
        ):
            raise StateError(
                "a state is a whole number", got=type(state).__name__, wanted="as Map.cells gives"
            )
        prior = np.asarray(self.world.transitions.T @ self._crowd.beliefs[:, 0])
        done = self._crowd.step(np.array([state]))
        group = done.groups[0]
        before = self.past[-1].scenes[0] if self.past else None
        points = {name: table[0] for name, table in done.points.items()}
        self.past.append(Past(group.scenes, tuple(units[0] for units in group.units)))
        return Release(
            point=next(iter(points.values())) if len(points) == 1 else points,
            belief=self.belief,
            prior=prior,
            protection=int(done.protection[0]),
            surrogate=bool(done.surrogate[0]),
            scenes=group.scenes,
            guarantee=done.guarantee,
            torn_by=partial(self._torn, before, group.scenes[0]),
        )

    def _torn(self, before: Scene | None, now: Scene) -> NDArray[np.int64]:
        from discreet.release.leakage import torn_pairs

        if before is None:
            return np.zeros((0, 2), dtype=np.int64)
        return torn_pairs(self.world, self.policy, before, now)

    def checkpoint(self) -> dict[str, Any]:
        """All that is needed to go on later, as plain data; it holds nothing but what everybody knows."""
        mask = self._crowd.masks()[0][0]
        return {
            "schema": _SCHEMA,
            "kind": "stream",
            "map": self.world.digest,
            "policy": self.policy.digest,
            "settings": self._settings(),
            "steps": self.steps,
            "start": self.start.tolist(),
            "belief": self._crowd.beliefs[:, 0].tolist(),
            "possible": np.flatnonzero(mask).tolist(),
            "past": [
                {
                    "possible": np.flatnonzero(past.scenes[0].possible).tolist(),
                    "units": [units.tolist() for units in past.units],
                }
                for past in self.past
            ],
        }

    def resume(self, plain: Mapping[str, Any]) -> Stream:
        """Go on from a checkpoint of a stream with the same map, policy and settings."""
        wanted = {"map": self.world.digest, "policy": self.policy.digest, "settings": self._settings()}
        for name, value in wanted.items():
            if plain.get(name) != value:
                raise ParameterError(
                    f"the checkpoint belongs to another {name.removesuffix('s')}",
                    remedy="Make the stream with the same map, policy and settings, then resume.",
                )
        try:
            belief, start = np.array(plain["belief"]), np.array(plain["start"])
            check_belief(belief, self.world.size, "the belief of the checkpoint")
            check_belief(start, self.world.size, "the start of the checkpoint")
            mask = self._mask(plain["possible"])
            past = [self._past(one) for one in plain["past"]]
            steps = int(plain["steps"])
            if steps != len(past):
                raise ValueError
        except (KeyError, TypeError, IndexError, ValueError):
            raise BundleError("the checkpoint is damaged") from None
        self._crowd.restore(belief[:, None], [(mask, np.array([0]))], steps)
        self.start, self.past = start, past
        return self

    def _past(self, plain: Mapping[str, Any]) -> Past:
        mask = self._mask(plain["possible"])
        scenes = tuple(question.scene(mask) for question in self._crowd.questions)
        units = tuple(np.array(one, dtype=np.float64) for one in plain["units"])
        if [one.shape for one in units] != [(scene.query.dimension,) for scene in scenes]:
            raise ValueError
        return Past(scenes, units)

    def _mask(self, states: list[int]) -> NDArray[np.bool_]:
        mask = np.zeros(self.world.size, dtype=np.bool_)
        if not states or min(states) < 0:
            raise ValueError
        mask[states] = True
        return mask

    def _settings(self) -> dict[str, Any]:
        crowd = self._crowd
        return {
            "questions": [
                [one.name, one.query.digest, one.epsilon, str(one.repair), one.mechanism, one.noise]
                for one in crowd.questions
            ],
            "cut": crowd.cut,
            "delta": crowd.delta,
            "outside": crowd.outside,
        }


def _start(start: Any, world: Map) -> NDArray[Any]:
    if isinstance(start, int | np.integer) and not isinstance(start, bool):
        return np.array([start])
    return np.asarray(check_belief(start, world.size, "start"))[None, :]
