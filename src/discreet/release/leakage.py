"""What all releases together say about each past step, beside what was promised for it.

**What holds.** One release changes the odds of two joined possible states by at most e^epsilon, given what
was released before: that is `at_release`, which never exceeds the promise. Over time,
    P[z_1 .. z_T | s] <= exp(sum of epsilons) P[z_1 .. z_T | s']
for two trajectories that are joined or equal at every step (`pair_bound`), because given the past releases
each factor is bounded, and what is possible at each step is a function of past releases.

**What does not hold** is a bound on one moment given *all* releases. Let a and b be joined, a lead to {c, e},
b to {d, f}, and let c-e and d-f be joined. Every state is protected by two at every step, yet the next
release tells {c, e} from {d, f} and with it a from b. No trajectory through a is joined with one through b
throughout, so the sum of epsilons says nothing. `torn_pairs` finds such pairs before anything is released:
joined now, and no successor of one joined with or equal to a successor of the other. `leakage` computes what
happened: the largest change of odds of joined states at each step, from before its release to the end.

**Reveals** nothing: all of it is computed from what is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.release.track import smooth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.release.map import Map
    from discreet.release.policy import Policy
    from discreet.release.scene import Scene
    from discreet.release.stream import Past, Stream

__all__ = ["Leak", "Leakage", "leakage", "leakage_of", "pair_bound", "torn_pairs"]

_SLACK = 1e-6
_CLIQUE = 300
_MOST_PATTERNS = 100


@dataclass(frozen=True)
class Leak:
    """What became of the promise of one step: changes of log-odds of joined states, the largest of each kind.

    ``promised`` is epsilon; ``at_release`` the change by the release itself; ``at_end`` by this and all later
    releases, for the states ``pair``, however unlikely they are; ``typical`` the same for the state that
    somebody was in and the joined one that can best be told from it, on average over where everybody believes
    they were; ``torn`` is how many joined pairs could not stay joined at the next step.
    """

    promised: float
    at_release: float
    at_end: float
    typical: float
    pair: tuple[int, int] | None
    torn: int

    @property
    def loud(self) -> bool:
        """Whether later releases said more about this step than its promise could seem to allow."""
        return self.at_end > self.promised + _SLACK


@dataclass(frozen=True)
class Leakage:
    """What the releases of a stream, together, say about each of its steps."""

    steps: tuple[Leak, ...]

    @property
    def loud(self) -> bool:
        """Whether any step is known better at the end than the promise of one step could seem to allow."""
        return any(step.loud for step in self.steps)

    @property
    def worst(self) -> float:
        """The largest change of log-odds of two joined states at any step."""
        return max((step.at_end for step in self.steps), default=0.0)

    def words(self) -> str:
        """The report in plain words."""
        promised = max((step.promised for step in self.steps), default=0.0)
        loud = [t for t, step in enumerate(self.steps, 1) if step.loud]
        torn = max((step.torn for step in self.steps), default=0)
        lines = [
            f"Each of {len(self.steps)} releases changed the odds of joined states by at most a factor "
            f"e^{max((step.at_release for step in self.steps), default=0.0):.3g} (promised: e^{promised:g})."
        ]
        if loud:
            worst = max(self.steps, key=lambda step: step.at_end)
            typical = float(np.median([step.typical for step in self.steps]))
            lines.append(
                f"WARNING: all releases together say more than that about {len(loud)} of the steps: the "
                "odds of two "
                f"joined states, {_pair(worst.pair)}, changed by e^{worst.at_end:.3g} at step "
                f"{self.steps.index(worst) + 1} (where people probably were: e^{typical:.3g} at a typical "
                "step). "
                "The promise of one step is not a promise about the past."
            )
        else:
            lines.append(
                "All releases together say no more than that about any single step of this stream: the "
                "largest "
                f"change is e^{self.worst:.3g}."
            )
        if torn:
            lines.append(
                f"WARNING: at one step {torn:,} joined pairs were torn apart: their successors could not "
                "stay joined, "
                "so later releases may tell them apart entirely."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "loud": self.loud,
            "worst": _plain(self.worst),
            "steps": [
                {
                    "promised": step.promised,
                    "at_release": _plain(step.at_release),
                    "at_end": _plain(step.at_end),
                    "typical": _plain(step.typical),
                    "pair": step.pair,
                    "torn": step.torn,
                }
                for step in self.steps
            ],
        }


def leakage(stream: Stream) -> Leakage:
    """The leakage report of everything that a stream has released."""
    return leakage_of(stream.world, stream.policy, stream.start, stream.past, stream.guarantee.epsilon)


def leakage_of(
    world: Map, policy: Policy, start: NDArray[np.float64], past: Sequence[Past], epsilon: float
) -> Leakage:
    """The same for releases that were kept by somebody else."""
    if not past:
        return Leakage(())
    logs = smooth(world, start, past)
    steps: list[Leak] = []
    known: dict[tuple[int, int], int] = {}
    for t, one in enumerate(past):
        scene = one.scenes[0]
        edges = _joined(policy, one)
        now, _, _ = _largest(policy, edges, scene, _change(logs.after[t], logs.before[t]))
        end, pair, each = _largest(policy, edges, scene, _change(logs.at_end[t], logs.before[t]))
        believed = np.exp(logs.at_end[t])
        typical = float(believed @ np.where(believed > 0, each, 0.0))
        torn = 0
        if t + 1 < len(past):
            then = past[t + 1].scenes[0]
            key = (id(scene), id(then))
            if key not in known:
                known[key] = len(torn_pairs(world, policy, scene, then))
            torn = known[key]
        steps.append(Leak(epsilon, now, end, typical, pair, torn))
    return Leakage(tuple(steps))


def pair_bound(
    policy: Policy, past: Sequence[Past], first: Sequence[int], second: Sequence[int]
) -> tuple[float, bool]:
    """How well all releases may tell two whole trajectories apart: a bound on |log-odds|, and if it is
    promised.

    The bound sums epsilon times the hulls between the two answers (ceiling to shells) at every step and
    question; it is at most the sum of epsilons, and promised by the policy, if they are joined or equal at
    every step.
    """
    if not len(first) == len(second) == len(past):
        raise ParameterError(
            "a trajectory does not fit the releases", got=(len(first), len(second)), wanted=str(len(past))
        )
    total, joined = 0.0, True
    for one, i, j in zip(past, first, second, strict=True):
        for scene in one.scenes:
            if not (scene.possible[i] and scene.possible[j]):
                raise ParameterError("a trajectory passes a state that was not possible")
            move = scene.query.units[[i]] - scene.query.units[[j]]
            gauge = scene.body.gauge(move)
            total += float(scene.noise.exponents(gauge * scene.noise.shells)[0])
        joined = joined and (i == j or bool(policy.matrix[i, j]) or (min(i, j), max(i, j)) in _added(one))
    return total, joined


def _joined(policy: Policy, one: Past) -> NDArray[np.int64]:
    """The single edges at one step: those of the policy, and those that the repair added."""
    return np.concatenate([policy.pairs, np.array(sorted(_added(one)), dtype=np.int64).reshape(-1, 2)])


def _added(one: Past) -> set[tuple[int, int]]:
    """Edges that the repair of *every* question added, or that its hull covers in any case.

    What only one question was repaired for, the others may tell apart by more than their epsilon.
    """
    edges = {(min(edge), max(edge)) for scene in one.scenes for edge in scene.repaired}
    return {
        (i, j)
        for i, j in edges
        if all(
            scene.body.contains(scene.query.units[[i]] - scene.query.units[[j]])[0] for scene in one.scenes
        )
    }


def torn_pairs(world: Map, policy: Policy, now: Scene, then: Scene) -> NDArray[np.int64]:
    """The joined pairs of a scene that cannot be joined, or equal, in the next one.

    A successor that is not possible counts as its stand-in. A clique is not taken apart pair by pair: its
    members are sorted by which cliques they lead to, and only members that lead to different ones can be
    torn.
    """
    reach = _successors(world, then)
    kept = _cliques(world, policy, reach, then)
    pairs = _edges(policy, now)
    if kept is not None:
        pairs = np.concatenate([pairs[_meet(kept, kept, pairs) == 0], _apart(policy, now, kept)])
    pairs = pairs[_meet(reach, reach, pairs) == 0]
    if not len(pairs):
        return pairs
    edges = np.concatenate([policy.pairs, np.array(then.repaired, dtype=np.int64).reshape(-1, 2)])
    half = _incidence(edges[:, 0], edges[:, 1], (world.size, world.size))
    return pairs[_meet(reach @ (half + half.T), reach, pairs) == 0]


def _successors(world: Map, then: Scene) -> Any:
    """Where each state can lead, as a sparse matrix of counts."""
    pattern = world.transitions.astype(bool).astype(np.int64)
    states = np.arange(world.size)
    return pattern @ _incidence(states, then.stand_ins, (world.size, world.size))


def _edges(policy: Policy, scene: Scene) -> NDArray[np.int64]:
    """The single edges of the policy between possible states, and the repair edges."""
    mask = scene.possible
    pairs = policy.pairs[mask[policy.pairs[:, 0]] & mask[policy.pairs[:, 1]]]
    return np.concatenate([pairs, np.array(scene.repaired, dtype=np.int64).reshape(-1, 2)])


def _cliques(world: Map, policy: Policy, reach: Any, then: Scene) -> Any:
    """To which cliques each state can lead; None if the policy has none."""
    from scipy.sparse import hstack

    if not policy.cliques:
        return None
    parts: list[Any] = []
    for labels in policy.cliques:
        members = np.flatnonzero((labels >= 0) & then.possible)
        parts.append(
            reach @ _incidence(members, labels[members], (world.size, int(labels.max(initial=0)) + 1))
        )
    return hstack(parts).tocsr()


def _apart(policy: Policy, now: Scene, kept: Any) -> NDArray[np.int64]:
    """Members of one clique that lead to no clique together; some of them, if they are very many."""
    found: list[NDArray[np.int64]] = [np.zeros((0, 2), dtype=np.int64)]
    for labels in policy.cliques:
        for label in np.unique(labels[now.possible & (labels >= 0)]):
            members = np.flatnonzero(now.possible & (labels == label))
            patterns, which = np.unique((kept[members] > 0).toarray(), axis=0, return_inverse=True)
            first, second = np.nonzero(np.triu(patterns.astype(np.int64) @ patterns.T.astype(np.int64) == 0))
            for i, j in zip(first[:_MOST_PATTERNS], second[:_MOST_PATTERNS], strict=True):
                left, right = (members[which.reshape(-1) == pattern] for pattern in (i, j))
                across, along = np.meshgrid(left[:_CLIQUE], right[:_CLIQUE], indexing="ij")
                pairs = np.stack([across.reshape(-1), along.reshape(-1)], axis=1)
                found.append(pairs[pairs[:, 0] < pairs[:, 1]] if i == j else pairs)
    return np.concatenate(found)


def _largest(
    policy: Policy, edges: NDArray[np.int64], scene: Scene, change: NDArray[np.float64]
) -> tuple[float, tuple[int, int] | None, NDArray[np.float64]]:
    """The largest difference of changes over joined possible states, where, and the largest for each
    state.
    """
    known = scene.possible & ~np.isnan(change)
    each = np.zeros(len(change))
    best, pair = 0.0, None
    edges = edges[known[edges[:, 0]] & known[edges[:, 1]]]
    if len(edges):
        with np.errstate(invalid="ignore"):
            apart = np.nan_to_num(np.abs(change[edges[:, 0]] - change[edges[:, 1]]), nan=0.0, posinf=np.inf)
        for end in (0, 1):
            np.maximum.at(each, edges[:, end], apart)
        at = int(apart.argmax())
        best, pair = float(apart[at]), (int(edges[at, 0]), int(edges[at, 1]))
    for labels in policy.cliques:
        for label in np.unique(labels[known & (labels >= 0)]):
            members = np.flatnonzero(known & (labels == label))
            low, high = members[change[members].argmin()], members[change[members].argmax()]
            with np.errstate(invalid="ignore"):
                far = np.maximum(change[members] - change[low], change[high] - change[members])
            each[members] = np.maximum(each[members], np.nan_to_num(far, nan=0.0, posinf=np.inf))
            if low != high and change[high] - change[low] > best:
                best, pair = float(change[high] - change[low]), (int(low), int(high))
    return best, pair, each


def _change(later: NDArray[np.float64], earlier: NDArray[np.float64]) -> NDArray[np.float64]:
    """How log-beliefs changed; NaN for states that were impossible before."""
    with np.errstate(invalid="ignore"):
        return later - earlier


def _meet(left: Any, right: Any, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each pair (i, j) the scalar product of row i of one matrix and row j of another."""
    product = left[pairs[:, 0]].multiply(right[pairs[:, 1]])
    return np.asarray(product.sum(axis=1)).reshape(-1).astype(np.int64)


def _incidence(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> Any:
    from scipy.sparse import coo_matrix

    return coo_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape).tocsr()


def _pair(pair: tuple[int, int] | None) -> str:
    return "none" if pair is None else f"{pair[0]} and {pair[1]}"


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else "infinity"
