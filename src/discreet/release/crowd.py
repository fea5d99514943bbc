"""`Crowd`: many people at once, each with a state of their own, released step by step.

**State.** For each person a belief: the posterior of everybody who knows the map, the policy and what was
released to that person. Besides, which states are possible at all. Without a cut-off that is a matter of
logic, not of doubles: C_t is what the map can reach from C_(t-1), and noise on a hull of full rank excludes
nobody, so people who start alike share it at every step, and with it hull, protection, exposure and repair. A
flat hull does exclude states (those off its line), exactly, and then people part.

**Order.** Everything that can be refused is refused for everybody before any noise is drawn, and nothing is
kept until everything has been drawn: after an error the crowd is as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.event import check_number
from discreet.errors import ParameterError, StateError
from discreet.mechanisms.gauge import check_epsilon
from discreet.randomness import bits_of
from discreet.release.belief import exponents, update
from discreet.release.map import check_belief
from discreet.release.promise import Promise
from discreet.release.scene import Question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.randomness import RandomState
    from discreet.release.map import Map
    from discreet.release.policy import Policy
    from discreet.release.protect import Rule
    from discreet.release.scene import Scene

__all__ = ["Crowd", "Group", "Releases"]

_MOST = 2**28


@dataclass(frozen=True, eq=False)
class Group:
    """People for whom the same is possible: who they are, the scene of each question, and what they got.

    ``units`` holds their releases to each question, in steps of its lattice.
    """

    people: NDArray[np.int64]
    scenes: tuple[Scene, ...]
    units: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True, eq=False)
class Releases:
    """What one step gave: ``points`` by question, (people, d); public, with ``groups``.

    ``protection`` (the degree of protection of each person's true state, by the first question) and
    ``surrogate`` (whether the true state was not possible and a stand-in was released) are for the person
    alone: they depend on the true state, and are left out where releases are printed.
    """

    points: dict[str, NDArray[np.float64]]
    groups: tuple[Group, ...]
    protection: NDArray[np.int64] = field(repr=False)
    surrogate: NDArray[np.bool_] = field(repr=False)
    guarantee: Promise


class Crowd:
    """Release moving states of many people under a policy graph.

    ``start`` is one state or one distribution a person, at the time before the first step. ``query`` is as in
    `Map.query`; a mapping from names to queries asks several questions at each step, and then ``epsilon`` is
    a mapping from the same names. ``cut`` and ``delta`` narrow what counts as possible: states with more
    probability than ``cut``, or the fewest that hold 1 - ``delta``. ``outside`` says what happens to a true
    state that is not possible: "error", or "nearest" releases the nearest possible one (the usual choice with
    a cut or delta). ``noise`` is "lattice" (exact) or "continuous" (for analysis, not private).

    **Reveals** the released points. **Costs** epsilon a step, as `Promise` says. **Trusts** nobody else.
    """

    def __init__(
        self,
        world: Map,
        policy: Policy,
        *,
        epsilon: float | Mapping[str, float],
        start: ArrayLike,
        repair: Rule | Mapping[int, int] = "area",
        query: Any = None,
        cut: float = 0.0,
        delta: float = 0.0,
        outside: str | None = None,
        mechanism: str = "gauge",
        noise: str = "lattice",
        random_state: RandomState = None,
    ) -> None:
        policy.check(world)
        self.world, self.policy = world, policy
        self.cut, self.delta = _share("cut", cut), _share("delta", delta)
        if self.cut and self.delta:
            raise ParameterError("cut and delta both say what is possible", wanted="one of them")
        self.outside = _outside(outside, bool(self.cut or self.delta))
        self.questions = tuple(
            Question(name, world.query(asked), policy, budget, repair, mechanism, noise)
            for name, asked, budget in _questions(query, epsilon)
        )
        self._bits = bits_of(random_state)
        self._back = world.transitions.T.tocsr()
        self.beliefs = _starts(start, world.size)
        self.steps = 0
        self._masks = _same((self.beliefs > 0).T)
        self.guarantee = self._promise(noise)

    @property
    def people(self) -> int:
        """How many people there are."""
        return self.beliefs.shape[1]

    @property
    def narrowed(self) -> bool:
        """Whether what is possible is narrowed by probability."""
        return bool(self.cut or self.delta)

    def foresee(self) -> list[tuple[NDArray[np.int64], tuple[Scene, ...]]]:
        """The people and scenes of the next step; nothing is drawn, nothing changes."""
        return [(people, self._scenes(mask)) for mask, people in self._possible(self._predict())]

    def step(self, states: ArrayLike) -> Releases:
        """Release the state of every person, and learn from what was released."""
        truth = self._check_states(states)
        prior = self._predict()
        possible = self._possible(prior)
        scenes = [self._scenes(mask) for mask, _ in possible]
        hidden = [
            self._stand_in(group, truth[people]) for group, (_, people) in zip(scenes, possible, strict=True)
        ]
        groups = tuple(
            Group(people, group, self._draw(group, shown))
            for group, (_, people), shown in zip(scenes, possible, hidden, strict=True)
        )
        beliefs = np.zeros_like(prior)
        masks: list[tuple[NDArray[np.bool_], NDArray[np.int64]]] = []
        for group, (mask, people) in zip(groups, possible, strict=True):
            masks += self._learn(group, mask, people, prior, beliefs)
        self.beliefs, self._masks, self.steps = beliefs, masks, self.steps + 1
        return self._releases(groups, truth, hidden)

    def keep(self, people: int) -> None:
        """Go on with the first so many people; the others have arrived."""
        if not 1 <= people <= self.people:
            raise ParameterError("there are not so many people", got=people, wanted=f"1 to {self.people}")
        self.beliefs = np.ascontiguousarray(self.beliefs[:, :people])
        kept = [(mask, who[who < people]) for mask, who in self._masks]
        self._masks = [(mask, who) for mask, who in kept if len(who)]

    def masks(self) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
        """Which states are possible after what was released, and for whom."""
        return self._masks

    def restore(
        self,
        beliefs: NDArray[np.float64],
        masks: list[tuple[NDArray[np.bool_], NDArray[np.int64]]],
        steps: int,
    ) -> None:
        """Go on from an earlier state."""
        self.beliefs, self._masks, self.steps = beliefs, masks, steps

    def _predict(self) -> NDArray[np.float64]:
        """The prior of the next step, (states, people)."""
        return np.asarray(self._back @ self.beliefs)

    def _possible(self, prior: NDArray[np.float64]) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
        """The constraint sets, each with the people for whom it holds."""
        if self.narrowed:
            return _same(_largest(prior, self.delta) if self.delta else _above(prior, self.cut))
        merged: dict[bytes, tuple[NDArray[np.bool_], list[NDArray[np.int64]]]] = {}
        for mask, people in self._masks:
            reached = self._back @ mask.astype(np.float64) > 0
            merged.setdefault(reached.tobytes(), (reached, []))[1].append(people)
        return [(mask, np.sort(np.concatenate(people))) for mask, people in merged.values()]

    def _scenes(self, mask: NDArray[np.bool_]) -> tuple[Scene, ...]:
        return tuple(question.scene(mask) for question in self.questions)

    def _stand_in(self, scenes: tuple[Scene, ...], truth: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is released about: the true state, or the nearest possible one."""
        inside = scenes[0].possible[truth]
        if inside.all():
            return truth
        if self.outside == "error":
            raise StateError(
                "the true state is not possible: the map says that nobody can get there from where they were",
                remedy='Use outside="nearest" to release the nearest possible state instead, or a map that '
                "knows more transitions. Whether this happens depends on the true state.",
            )
        return scenes[0].stand_ins[truth]

    def _draw(self, scenes: tuple[Scene, ...], shown: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        return tuple(scene.query.units[shown] + scene.noise.draw(len(shown), self._bits) for scene in scenes)

    def _learn(
        self,
        group: Group,
        mask: NDArray[np.bool_],
        people: NDArray[np.int64],
        prior: NDArray[np.float64],
        beliefs: NDArray[np.float64],
    ) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
        """Fill in the beliefs of a group; what is possible for them now."""
        everybody = len(people) == self.people
        mine = prior if everybody else prior[:, people]
        states = np.flatnonzero((mine > 0).any(axis=1) if self.narrowed else mask)
        rows = slice(None) if len(states) == len(mask) else states
        after = update(list(group.scenes), list(group.units), states, mine[rows])
        if self.narrowed:
            after[mine[rows] == 0] = 0
            after /= after.sum(axis=0)
        if everybody:
            beliefs[rows] = after
        else:
            beliefs[np.ix_(states, people)] = after
        if self.narrowed or all(scene.body.span.whole for scene in group.scenes):
            return [(mask, people)]
        allowed = np.ones((len(people), len(mask)), dtype=np.bool_) & mask
        for scene, units in zip(group.scenes, group.units, strict=True):
            allowed[:, states] &= np.isfinite(exponents(scene, units, states)).T
        return [(kept, people[chosen]) for kept, chosen in _same(allowed)]

    def _releases(
        self, groups: tuple[Group, ...], truth: NDArray[np.int64], hidden: list[NDArray[np.int64]]
    ) -> Releases:
        points: dict[str, NDArray[np.float64]] = {}
        for index, question in enumerate(self.questions):
            table = np.empty((self.people, question.query.dimension))
            for group in groups:
                table[group.people] = question.query.points(group.units[index])
            points[question.name] = table
        protection = np.empty(self.people, dtype=np.int64)
        surrogate = np.empty(self.people, dtype=np.bool_)
        for group, shown in zip(groups, hidden, strict=True):
            protection[group.people] = group.scenes[0].degrees[shown]
            surrogate[group.people] = shown != truth[group.people]
        return Releases(points, groups, protection, surrogate, self.guarantee)

    def _check_states(self, states: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(states)
        if given.shape != (self.people,) or given.dtype.kind not in "iu":
            raise StateError(
                "there is not one state for each person",
                got=f"{given.dtype} {given.shape}",
                wanted=f"{self.people} whole numbers",
            )
        if given.min() < 0 or given.max() >= self.world.size:
            raise StateError("a state is unknown", wanted=f"states from 0 to {self.world.size - 1}")
        return given.astype(np.int64)

    def _promise(self, noise: str) -> Promise:
        parts = tuple((question.name, float(question.epsilon)) for question in self.questions)
        learned = self.world.guarantee
        how = "The map was learned from traces that count as public, or declared."
        if learned is not None:
            how = f"The map was learned from traces with {learned.summary()}."
        return Promise(
            epsilon=sum(epsilon for _, epsilon in parts),
            questions=parts,
            joined="; and ".join(self.policy.words) or "no states",
            cut=self.cut,
            delta=self.delta,
            outside=self.outside,
            exact_noise=noise == "lattice",
            seeded=self._bits.seeded,
            map_is=how,
        )


def _same(masks: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """Different rows, each with the numbers of the rows that are like it."""
    packed = np.ascontiguousarray(np.packbits(masks, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    if (packed == packed[0]).all():
        return [(masks[0].copy(), np.arange(len(masks)))]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return [(masks[row].copy(), np.flatnonzero(which == index)) for index, row in enumerate(first)]


def _above(prior: NDArray[np.float64], cut: float) -> NDArray[np.bool_]:
    """States with more probability than the cut; where there is none, the likeliest."""
    masks = (prior > cut).T
    empty = ~masks.any(axis=1)
    masks[empty, prior[:, empty].argmax(axis=0)] = True
    return masks


def _largest(prior: NDArray[np.float64], delta: float) -> NDArray[np.bool_]:
    """The fewest states of each person that hold 1 - delta: the delta-location set (theorem 4.1)."""
    order = np.argsort(-prior, axis=0, kind="stable")
    held = np.cumsum(np.take_along_axis(prior, order, axis=0), axis=0)
    before = np.vstack([np.zeros((1, prior.shape[1])), held[:-1]])
    masks = np.zeros(prior.shape, dtype=np.bool_)
    np.put_along_axis(masks, order, before < 1 - delta, axis=0)
    return (masks & (prior > 0)).T


def _starts(start: ArrayLike, size: int) -> NDArray[np.float64]:
    """Beliefs before the first step, (states, people), from states or distributions."""
    given = np.asarray(start)
    if given.ndim == 1 and given.dtype.kind in "iu" and given.size:
        if given.min() < 0 or given.max() >= size:
            raise StateError("a start is an unknown state", wanted=f"states from 0 to {size - 1}")
        beliefs = np.zeros((size, len(given)))
        _check_size(beliefs.size)
        beliefs[given, np.arange(len(given))] = 1
        return beliefs
    if given.ndim == 2 and given.size:
        _check_size(given.size)
        check = partial(check_belief, size=size, name="start")
        return np.stack([check(row) for row in given], axis=1)
    raise ParameterError("start is neither states nor distributions", got=f"{given.dtype} {given.shape}")


def _check_size(size: int) -> None:
    from discreet.errors import TooLargeError

    if size > _MOST:
        raise TooLargeError(
            "the beliefs of so many people do not fit into memory", wanted="fewer people at once"
        )


def _questions(query: Any, epsilon: Any) -> list[tuple[str, Any, float]]:
    if not isinstance(query, dict):
        if isinstance(epsilon, dict):
            raise ParameterError("epsilon names questions, but there is one query")
        return [("location" if query is None else "answer", query, check_epsilon(epsilon))]
    if not isinstance(epsilon, dict) or set(epsilon) != set(query) or not query:
        raise ParameterError(
            "every question needs its own epsilon",
            wanted="epsilon={...} with the same names as query={...}",
        )
    return [(str(name), asked, check_epsilon(epsilon[name])) for name, asked in query.items()]


def _outside(outside: object, narrowed: bool) -> str:
    if outside is None:
        return "nearest" if narrowed else "error"
    if outside not in ("error", "nearest"):
        raise ParameterError("no such choice for states outside", got=outside, wanted='"error" or "nearest"')
    return str(outside)


def _share(name: str, value: float) -> float:
    share = check_number(name, value)
    if not 0 <= share < 1:
        raise ParameterError(f"{name} is not a share", got=share, wanted=f"0 <= {name} < 1")
    return share
