"""What everybody believes about a state after a release: Bayes' rule with exactly the law of the noise.

With the lattice law, P[z | s] is proportional to exp(-(epsilon / m) ceil(m ||z - f(s)||_K)) on the lattice, with
a normaliser that is the same for every s. Exponents are shifted by the smallest among the possible states before
they are exponentiated, so that no release is too far out for doubles. A possible state whose prior has become
smaller than 1e-300 counts as that: doubles forget it, the model does not.

People are handled in blocks whose tables fit into the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.release.scene import Scene

__all__ = ["exponents", "update"]

_TABLE = 2**16
_LEAST = 1e-300


def update(
    scenes: list[Scene],
    released: list[NDArray[np.float64]],
    states: NDArray[np.int64],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The posterior of each person, (n, people), on the given states, from the prior on them.

    ``released`` holds what each question answered to each person, in steps, (people, d).
    """
    result = np.empty_like(prior)
    block = max(1, _TABLE // len(states))
    for start in range(0, prior.shape[1], block):
        people = slice(start, start + block)
        table = exponents(scenes[0], released[0][people], states)
        for scene, points in zip(scenes[1:], released[1:], strict=True):
            table += exponents(scene, points[people], states)
        table -= table.min(axis=0)
        np.negative(table, out=table)
        np.exp(table, out=table)
        table *= np.maximum(prior[:, people], _LEAST)
        table /= table.sum(axis=0)
        result[:, people] = table
    return result


def exponents(scene: Scene, released: NDArray[np.float64], states: NDArray[np.int64]) -> NDArray[np.float64]:
    """Minus the logarithm of the law of each person's release from each state, (states, people).

    A state that is not possible answers as its stand-in does. Off the span of a flat hull it is infinite.
    """
    body, places = scene.body, states
    if not scene.possible[states].all():
        places = scene.stand_ins[states]
    offsets = body.offsets / scene.noise.shells
    answers = scene.projected[:, places]
    points = _project(scene, released)
    table = np.empty((len(states), len(released)))
    spare = np.empty_like(table)
    for facet, offset in enumerate(offsets):
        into = table if facet == 0 else spare
        np.subtract(answers[facet][:, None], points[facet][None, :], out=into)
        np.abs(into, out=into)
        into /= offset
        if facet:
            np.maximum(table, spare, out=table)
    scene.noise.exponents(table)
    if not body.span.whole:
        table[_off_span(scene, released, places)] = np.inf
    return table


def _project(scene: Scene, released: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inequalities of the body at the released points."""
    span = scene.body.span
    coordinates = released if span.whole else released @ span.coordinates.T.astype(np.float64)
    return scene.body.normals.astype(np.float64) @ coordinates.T


def _off_span(scene: Scene, released: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a release cannot come from a state because it lies off the span of a flat hull around it."""
    equations = scene.body.span.equations.astype(np.float64)
    answers = equations @ scene.query.units[places].T.astype(np.float64)
    points = equations @ released.T
    slack = 0.0 if scene.noise.shells > 1 else 1e-9 * np.abs(points).max(initial=1.0)
    return np.asarray((np.abs(answers[:, :, None] - points[:, None, :]) > slack).any(axis=0))
