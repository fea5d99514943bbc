"""What all releases together say about each past step, beside what was promised for it.

**What holds.** One release changes the odds of two joined possible states by at most e^epsilon, given what was
released before: that is `at_release`, which never exceeds the promise. Over time,
    P[z_1 .. z_T | s] <= exp(sum of epsilons) P[z_1 .. z_T | s']
for two trajectories that are joined or equal at every step (`pair_bound`), because given the past releases
each factor is bounded, and what is possible at each step is a function of past releases.

**What does not hold** is a bound on one moment given *all* releases. Let a and b be joined, a lead to {c, e}, b to
{d, f}, and let c-e and d-f be joined. Every state is protected by two at every step, yet the next release tells
{c, e} from {d, f} and with it a from b. No trajectory through a is joined with one through b throughout, so
the sum of epsilons says nothing. `torn_pairs` finds such pairs before anything is released: joined now, and
no successor of one joined with or equal to a successor of the other. `leakage` computes what happened: the
largest change of odds of joined states at each step, from before its release to the end.

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

__all__ = ["Leak", "Leakage", "leakage", "pair_bound", "torn_pairs"]

_SLACK = 1e-6
_CLIQUE = 2000


@dataclass(frozen=True)
class Leak:
    """What became of the promise of one step: changes of log-odds of joined states, the largest of each kind.

    ``promised`` is epsilon; ``at_release`` the change by the release itself; ``at_end`` by this and all later
    releases, for the states ``pair``; ``torn`` is how many joined pairs could not stay joined at the next step.
    """

    promised: float
    at_release: float
    at_end: float
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
        torn = sum(step.torn for step in self.steps)
        lines = [
            f"Each of {len(self.steps)} releases changed the odds of joined states by at most a factor "
            f"e^{max((step.at_release for step in self.steps), default=0.0):.3g} (promised: e^{promised:g})."
        ]
        if loud:
            worst = max(self.steps, key=lambda step: step.at_end)
            lines.append(
                f"WARNING: all releases together say more than that about {len(loud)} of the steps: two joined "
                f"states, {_pair(worst.pair)}, can be told apart with odds of e^{worst.at_end:.3g} at step "
                f"{self.steps.index(worst) + 1}. The promise of one step is not a promise about the past."
            )
        else:
            lines.append(
                "All releases together say no more than that about any single step of this stream: the largest "
                f"change is e^{self.worst:.3g}."
            )
        if torn:
            lines.append(
                f"WARNING: {torn} joined pairs were torn apart: their successors could not stay joined, so later "
                "releases may tell them apart entirely."
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
                    "pair": step.pair,
                    "torn": step.torn,
                }
                for step in self.steps
            ],
        }


def leakage(stream: Stream) -> Leakage:
    """The leakage report of everything that a stream has released."""
    past = stream.past
    if not past:
        return Leakage(())
    logs = smooth(stream.world, stream.start, past)
    steps: list[Leak] = []
    for t, one in enumerate(past):
        scene = one.scenes[0]
        now, _ = _largest(stream.policy, scene, _change(logs.after[t], logs.before[t]))
        end, pair = _largest(stream.policy, scene, _change(logs.at_end[t], logs.before[t]))
        torn = 0
        if t + 1 < len(past):
            torn = len(torn_pairs(stream.world, stream.policy, scene, past[t + 1].scenes[0]))
        steps.append(Leak(stream.guarantee.epsilon, now, end, pair, torn))
    return Leakage(tuple(steps))


def pair_bound(
    policy: Policy, past: Sequence[Past], first: Sequence[int], second: Sequence[int]
) -> tuple[float, bool]:
    """How well all releases may tell two whole trajectories apart: a bound on |log-odds|, and if it is promised.

    The bound sums epsilon times the hulls between the two answers (ceiling to shells) at every step and question;
    it is at most the sum of epsilons, and promised by the policy, if they are joined or equal at every step.
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
        added = {*one.scenes[0].repaired, *((b, a) for a, b in one.scenes[0].repaired)}
        joined = joined and (i == j or bool(policy.matrix[i, j]) or (i, j) in added)
    return total, joined


def torn_pairs(world: Map, policy: Policy, now: Scene, then: Scene) -> NDArray[np.int64]:
    """The joined pairs of a scene that cannot be joined, or equal, in the next one."""
    pairs = _joined(policy, now)
    reach = world.transitions.astype(bool).astype(np.int32).multiply(then.possible[None, :]).tocsr()
    pairs = pairs[_meet(reach, reach, pairs) == 0]
    for labels in policy.cliques:
        members = np.flatnonzero((labels >= 0) & then.possible)
        groups = _incidence(members, labels[members], (world.size, int(labels.max(initial=0)) + 1))
        kept = reach @ groups
        pairs = pairs[_meet(kept, kept, pairs) == 0]
    if not len(pairs):
        return pairs
    edges = np.concatenate([policy.pairs, np.array(then.repaired, dtype=np.int64).reshape(-1, 2)])
    half = _incidence(edges[:, 0], edges[:, 1], (world.size, world.size))
    return pairs[_meet(reach @ (half + half.T), reach, pairs) == 0]


def _joined(policy: Policy, scene: Scene) -> NDArray[np.int64]:
    """The edges of the policy between possible states, and the repair edges."""
    mask = scene.possible
    pairs = policy.pairs[mask[policy.pairs[:, 0]] & mask[policy.pairs[:, 1]]]
    parts = [pairs, np.array(scene.repaired, dtype=np.int64).reshape(-1, 2)]
    for labels in policy.cliques:
        for label in np.unique(labels[mask & (labels >= 0)]):
            members = np.flatnonzero(mask & (labels == label))
            if len(members) <= _CLIQUE:
                i, j = np.triu_indices(len(members), k=1)
                parts.append(np.stack([members[i], members[j]], axis=1))
    return np.concatenate(parts)


def _largest(
    policy: Policy, scene: Scene, change: NDArray[np.float64]
) -> tuple[float, tuple[int, int] | None]:
    """The largest difference of changes over joined possible states that were likely at all, and where."""
    known = scene.possible & ~np.isnan(change)
    best, pair = 0.0, None
    edges = np.concatenate([policy.pairs, np.array(scene.repaired, dtype=np.int64).reshape(-1, 2)])
    edges = edges[known[edges[:, 0]] & known[edges[:, 1]]]
    if len(edges):
        with np.errstate(invalid="ignore"):
            apart = np.nan_to_num(np.abs(change[edges[:, 0]] - change[edges[:, 1]]), nan=0.0, posinf=np.inf)
        at = int(apart.argmax())
        best, pair = float(apart[at]), (int(edges[at, 0]), int(edges[at, 1]))
    for labels in policy.cliques:
        for label in np.unique(labels[known & (labels >= 0)]):
            members = np.flatnonzero(known & (labels == label))
            low, high = members[change[members].argmin()], members[change[members].argmax()]
            if low != high and change[high] - change[low] > best:
                best, pair = float(change[high] - change[low]), (int(low), int(high))
    return best, pair


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
