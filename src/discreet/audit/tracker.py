"""Following somebody by what they released: the Bayesian adversary, and two attacks on unsound mechanisms.

**The tracker** knows the map, the policy and every release, as everybody does. It filters, smooths, finds the
most likely path, and answers with the mean of the smoothed belief, which has the least expected squared error.

**Per-state calibration** (appendix 11.5 of the paper) adapts the hull to the neighbours of the *true* state. That
gives less noise and no privacy: the shape of the noise then tells the state. `per_state_release` is that
mechanism, `break_per_state` its undoing.

**Rays.** A published sampler draws a uniform point of the hull from a lattice of 200 by 200 knots and stretches it
by a Gamma radius. All its outputs lie on a few thousand rays through the true answer, and whoever tries the
candidates sees on whose rays the output lies. `ray_release` is that sampler, `find_rays` the attack; on the
integer lattice of `discreet.mechanisms.gauge`, every candidate explains every output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.body import body_of
from discreet.mechanisms.gauge import ContinuousNoise
from discreet.release.track import best_path, smooth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.mechanisms.body import Body
    from discreet.randomness import Bits
    from discreet.release.map import Map
    from discreet.release.policy import Policy
    from discreet.release.stream import Past, Stream

__all__ = ["Tracked", "break_per_state", "find_rays", "follow", "per_state_release", "ray_release", "track"]

_KNOTS = 200
_PARALLEL = 1e-9
_ON_LINE = 1e-9


@dataclass(frozen=True, eq=False)
class Tracked:
    """How well the adversary did on one trace. Errors are in the units of the query, one a step.

    ``online`` is the error of the mean of the belief right after each release, ``in_hindsight`` of the smoothed
    one; ``path`` is the most likely path, and ``found`` the share of its steps that are true; ``confidence`` is
    the smoothed probability of each true state.
    """

    online: NDArray[np.float64]
    in_hindsight: NDArray[np.float64]
    path: NDArray[np.int64]
    found: float
    confidence: NDArray[np.float64]


def follow(stream: Stream, truth: ArrayLike) -> Tracked:
    """Attack everything that a stream has released."""
    return track(stream.world, stream.start, stream.past, truth)


def track(world: Map, start: NDArray[np.float64], past: Sequence[Past], truth: ArrayLike) -> Tracked:
    """Attack releases, and compare with the true states."""
    states = np.asarray(truth)
    if states.shape != (len(past),) or not len(past):
        raise ParameterError(
            "the truth does not fit the releases", got=states.shape, wanted=f"{len(past)} states"
        )
    logs = smooth(world, start, past)
    answers = past[0].scenes[0].query.answers
    at_end = np.exp(logs.at_end)
    path = best_path(world, start, past)
    return Tracked(
        online=np.linalg.norm(np.exp(logs.after) @ answers - answers[states], axis=1),
        in_hindsight=np.linalg.norm(at_end @ answers - answers[states], axis=1),
        path=path,
        found=float((path == states).mean()),
        confidence=at_end[np.arange(len(states)), states],
    )


def per_state_release(
    policy: Policy,
    answers: NDArray[np.int64],
    possible: Sequence[int],
    state: int,
    epsilon: float,
    bits: Bits,
) -> NDArray[np.float64]:
    """UNSOUND: noise whose hull follows the true state, from its own edges alone."""
    body = _own_body(policy, answers, possible, state)
    return answers[state] + ContinuousNoise(body, epsilon).draw(1, bits)[0]


def break_per_state(
    policy: Policy,
    answers: NDArray[np.int64],
    possible: Sequence[int],
    released: NDArray[np.float64],
    epsilon: float,
) -> dict[int, float]:
    """The log-likelihood of a per-state release from each possible state: minus infinity rules a state out."""
    result: dict[int, float] = {}
    for state in possible:
        body = _own_body(policy, answers, possible, state)
        move = released - answers[state]
        equations = body.span.equations.astype(np.float64)
        if np.abs(equations @ move).max(initial=0.0) > _ON_LINE * np.abs(released).max(initial=1.0):
            result[state] = -np.inf
            continue
        coordinates = move if body.span.whole else body.span.coordinates @ move
        gauge = float((np.abs(body.normals @ coordinates) / body.offsets).max())
        result[state] = body.rank * np.log(epsilon) - np.log(body.volume) - epsilon * gauge
    return result


def ray_release(body: Body, epsilon: float, size: int, bits: Bits) -> NDArray[np.float64]:
    """UNSOUND: moves as the published sampler draws them, from a lattice of knots in the hull (two dimensions)."""
    knots = _knots(body)
    chosen = knots[bits.integers(0, len(knots), size)]
    uniform = (bits.integers(0, 2**53, (size, 3)).astype(np.float64) + 0.5) * 2.0**-53
    return chosen * (-np.log(uniform).sum(axis=1) / epsilon)[:, None]


def find_rays(
    body: Body, released: NDArray[np.float64], candidates: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """For each release and candidate answer, whether the release lies on a ray of the candidate."""
    knots = _knots(body)
    rays = np.unique(np.arctan2(knots[:, 1], knots[:, 0]))
    moves = released[:, None, :] - candidates[None, :, :]
    angles = np.arctan2(moves[..., 1], moves[..., 0])
    above = np.searchsorted(rays, angles).clip(1, len(rays) - 1)
    apart = np.minimum(np.abs(rays[above] - angles), np.abs(rays[above - 1] - angles))
    return np.asarray(apart <= _PARALLEL)


def _knots(body: Body) -> NDArray[np.float64]:
    """The knots of a lattice over the box around the hull that lie inside, without the origin."""
    reach = np.abs(body.corners).max(axis=0).astype(np.float64)
    axes = [np.linspace(-length, length, _KNOTS) for length in reach]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    inside = (np.abs(points @ body.normals.T) <= body.offsets).all(axis=1)
    return points[inside]


def _own_body(policy: Policy, answers: NDArray[np.int64], possible: Sequence[int], state: int) -> Body:
    inside = np.asarray(possible)
    near = inside[np.asarray(policy.matrix[state, inside].todense()).reshape(-1)]
    return body_of(answers[near] - answers[state])
