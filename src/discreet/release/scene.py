"""`Scene`: what everybody can work out about one step before anything is released.

The possible states, the hull of the policy on them, how well each is protected, who is exposed and how that
was repaired: all of it follows from the map, the policy and what was released before. So it is the same for
all people of whom the same is possible, is computed once for them, and says nothing about where anybody is.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.errors import ExposedError, ParameterError
from discreet.mechanisms.gauge import ContinuousNoise, LatticeNoise, check_epsilon, expected_squared_error
from discreet.release.hull import Nearby, Sensitivity
from discreet.release.protect import Repairer, check_rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.mechanisms.body import Body
    from discreet.mechanisms.gauge import GaugeNoise
    from discreet.release.policy import Policy
    from discreet.release.protect import Rule
    from discreet.release.query import Query

__all__ = ["Question", "Scene"]

_KEPT = 256
_LAWS = {"lattice": LatticeNoise, "continuous": ContinuousNoise}


@dataclass(frozen=True, eq=False)
class Scene:
    """One step of one question, as everybody sees it.

    ``possible`` marks the constraint set C. ``body`` is the hull after repair and ``base`` before.
    ``degrees`` is the degree of protection of each possible state after repair (0 elsewhere). ``exposed``
    lists the states that were exposed before, ``repaired`` the edges that were added.
    """

    query: Query
    possible: NDArray[np.bool_]
    base: Body
    body: Body
    noise: GaugeNoise
    degrees: NDArray[np.int64]
    exposed: tuple[int, ...]
    repaired: tuple[tuple[int, int], ...]

    @property
    def area(self) -> float:
        """The volume of the hull, in the units of the query."""
        return self.body.area * float(np.prod(self.query.step))

    @property
    def area_ratio(self) -> float:
        """How much larger the repair made it; infinite if it was flat before."""
        if self.body is self.base:
            return 1.0
        return self.body.area / self.base.area if self.base.area else float("inf")

    @property
    def flat(self) -> bool:
        """Whether noise stays on a line or plane, so that what lies off it is released exactly."""
        return not self.body.span.whole

    @cached_property
    def nearby(self) -> Nearby:
        """Which answers lie within the hull around which."""
        return Nearby(self.query, self.body)

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        """The degree of protection of each possible state, counted by different answers."""
        values = self.query.values
        counts = np.bincount(values[self.possible], minlength=int(values.max()) + 1)
        shares = np.where(self.possible, 1 / np.maximum(counts[values], 1), 0.0)
        return np.where(self.possible, np.rint(self.nearby.sums(shares)), 0).astype(np.int64)

    def weigh(self, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """The effective number of states that each possible state is hidden among, given a prior.

        It is the exponential of the entropy of the prior on the possible states near it: 1 if all the weight
        lies on one of them, the degree of protection if all are equally likely.
        """
        inside = np.where(self.possible, prior, 0.0)
        safe = np.maximum(inside, 1e-300)
        mass = np.maximum(self.nearby.sums(inside), 1e-300)
        return np.where(
            self.possible, np.exp(np.log(mass) - self.nearby.sums(inside * np.log(safe)) / mass), 0
        )

    @cached_property
    def error(self) -> float:
        """The root of the expected squared error of a release, in the units of the query."""
        steps = self.query.step
        moment = float((np.diagonal(self.body.moment) * steps**2).sum())
        trace = float(np.trace(self.body.moment)) or 1.0
        return float(np.sqrt(expected_squared_error(self.body, self.noise.epsilon) * moment / trace))

    @cached_property
    def spread(self) -> float:
        """How many hulls the two possible answers lie apart that lie farthest apart.

        Epsilon times this bounds what a release says about *any* two possible states (theorem 6.3).
        """
        if not self.body.span.whole:
            return float(self.body.gauge(_widest(self.query.units[self.possible])).max())
        values = self.projected[:, self.possible]
        return float((np.ptp(values, axis=1) / self.body.offsets).max())

    @cached_property
    def projected(self) -> NDArray[np.float64]:
        """The inequalities of the body at the answer of every state."""
        return self.body.project(self.query.units)

    @cached_property
    def stand_ins(self) -> NDArray[np.int64]:
        """For every state the possible one with the nearest answer: itself, if it is possible."""
        from scipy.spatial import KDTree

        inside = np.flatnonzero(self.possible)
        nearest = inside[KDTree(self.query.answers[inside]).query(self.query.answers)[1]]
        return np.where(self.possible, np.arange(len(nearest)), nearest)


class Question:
    """A query with its policy, budget and rules: makes the scene for any constraint set, and keeps it."""

    def __init__(
        self,
        name: str,
        query: Query,
        policy: Policy,
        epsilon: float,
        repair: Rule | Mapping[int, int] = "area",
        mechanism: str = "gauge",
        noise: str = "lattice",
    ) -> None:
        if mechanism not in ("gauge", "laplace"):
            raise ParameterError("no such mechanism", got=mechanism, wanted='"gauge" or "laplace"')
        if noise not in _LAWS:
            raise ParameterError("no such noise", got=noise, wanted='"lattice" or "continuous"')
        check_rule(repair, policy.size)
        self.name, self.query, self.epsilon = name, query, check_epsilon(epsilon)
        self.repair, self.mechanism, self.noise = repair, mechanism, noise
        self._sensitivity = Sensitivity(policy, query, mechanism == "laplace")
        self._kept: OrderedDict[bytes, Scene] = OrderedDict()

    def scene(self, possible: NDArray[np.bool_]) -> Scene:
        """The scene on these possible states; raises `ExposedError` if nothing can hide them."""
        key = np.packbits(possible).tobytes()
        if key not in self._kept:
            self._kept[key] = self._make(possible)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def forget(self) -> None:
        """Drop every kept scene: for measuring."""
        self._kept.clear()

    def _make(self, possible: NDArray[np.bool_]) -> Scene:
        inside = np.flatnonzero(possible)
        units = self.query.units[inside]
        if not (units != units[0]).any():
            raise _alone(len(inside))
        base = self._sensitivity.body(possible)
        degrees = self._degrees(base, possible)
        exposed = inside if not base.rank else np.flatnonzero(degrees == 1)
        if not len(exposed):
            return self._scene(possible, base, base, degrees, (), ())
        edges = self._repaired(base, inside, exposed)
        moves = np.array([self.query.units[i] - self.query.units[j] for i, j in edges])
        body = self._sensitivity.hull(np.concatenate([base.corners, moves]))
        degrees = self._degrees(body, possible)
        if (degrees[possible] == 1).any() or not body.rank:
            raise ExposedError(
                "the repair edges leave a state exposed",
                remedy='Name an edge for each exposed state, or use repair="area".',
            )
        return self._scene(possible, base, body, degrees, tuple(exposed.tolist()), edges)

    def _repaired(
        self, base: Body, inside: NDArray[np.int64], exposed: NDArray[np.int64]
    ) -> tuple[tuple[int, int], ...]:
        """Repair edges, as states of the map."""
        if self.repair == "refuse":
            raise ExposedError(
                "states are exposed, and repair is refused",
                got=f"{len(exposed)} exposed of {len(inside)} possible states",
                remedy='Use repair="area", or a policy with more edges.',
            )
        places = {state: place for place, state in enumerate(inside.tolist())}
        units, answers = self.query.units[inside], self.query.answers[inside]
        repairer = Repairer(units, answers, base, self._sensitivity.hull)
        rule = self.repair if isinstance(self.repair, str) else _renamed(self.repair, places)
        found = repairer.repair([places[state] for state in exposed.tolist()], cast("Any", rule))
        if not found:
            raise ExposedError("no repair edge is named for the exposed states", remedy='Use repair="area".')
        return tuple((int(inside[i]), int(inside[j])) for i, j in found.items())

    def _degrees(self, body: Body, possible: NDArray[np.bool_]) -> NDArray[np.int64]:
        counts = Nearby(self.query, body).sums(possible.astype(np.float64))
        return np.where(possible, np.rint(counts), 0).astype(np.int64)

    def _scene(
        self,
        possible: NDArray[np.bool_],
        base: Body,
        body: Body,
        degrees: NDArray[np.int64],
        exposed: tuple[int, ...],
        edges: tuple[tuple[int, int], ...],
    ) -> Scene:
        noise = _LAWS[self.noise](body, self.epsilon)
        return Scene(self.query, possible.copy(), base, body, noise, degrees, exposed, edges)


def _widest(units: NDArray[np.int64]) -> NDArray[np.int64]:
    """All differences from the first answer: off the span of a flat hull they are infinitely far."""
    return units - units[0]


def _renamed(edges: Mapping[int, int], places: Mapping[int, int]) -> dict[int, int]:
    """Named repair edges between possible states, in the numbers of the constraint set."""
    return {places[i]: places[j] for i, j in edges.items() if i in places and j in places}


def _alone(states: int) -> ExposedError:
    what = "only one state is possible" if states == 1 else "all possible states have the same answer"
    return ExposedError(
        f"{what}: a release would be exact",
        got=f"{states} possible state{'s' if states > 1 else ''}",
        wanted="two possible states with different answers",
        remedy="Start from a distribution instead of one state, or use a map with more transitions.",
    )
