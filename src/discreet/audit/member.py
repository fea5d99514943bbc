"""Was this person in the data? The membership attack on fitted mixtures, with a calibrated score.

A point's density says little: typical points score high whether they were in the data or not. So the attack
first fits shadow mixtures to random halves of the population, and learns for every person how the log density
of their rows is distributed with and without them. For a mixture under attack the score is the logarithm of
the ratio of these two densities (Carlini et al., "Membership inference attacks from first principles", 2022).

The mixtures under attack are fitted to fresh random halves. Everybody is in each of them by an independent
fair coin, so that an (epsilon, delta)-private fit allows, at every rate of false alarms,
    hits <= min(e^epsilon alarms + delta, 1 - e^-epsilon (1 - delta - alarms)),
and the number of right guesses proves a lower bound on epsilon (`bounds.one_run`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.audit.bounds import check_confidence, one_run
from discreet.errors import ParameterError
from discreet.randomness import generator, seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.fit.mixture.request import Request

__all__ = ["Membership", "Scorer", "attack_members", "attack_mixture", "audit_member"]

_ALARMS = 0.01
_GUESSES = 0.1


class Scorer(Protocol):
    """A fitted model that scores points."""

    def log_density(self, points: ArrayLike) -> NDArray[np.float64]:
        """log p(x) of each point."""
        ...


@dataclass(frozen=True)
class Membership:
    """How well an attack told members from others, beside what the claim allows any attack.

    ``area`` is the area under the curve of hits over false alarms (1/2 is guessing); ``hits`` the share of
    members found when one other in a hundred is accused; ``advantage`` the largest hits - alarms.
    ``epsilon_lower`` holds with ``confidence``; it is 0 where nothing is proven.
    """

    area: float
    hits: float
    advantage: float
    epsilon_lower: float
    claim: float
    delta: float
    confidence: float
    people: int
    fits: int

    @property
    def area_allowed(self) -> float:
        """The largest area that the claim allows."""
        alarms, hits = _allowed_corners(self.claim, self.delta)
        return float(np.sum(np.diff(alarms) * (hits[1:] + hits[:-1]) / 2))

    @property
    def hits_allowed(self) -> float:
        """The most hits that the claim allows at one false alarm in a hundred."""
        return float(np.interp(_ALARMS, *_allowed_corners(self.claim, self.delta)))

    @property
    def advantage_allowed(self) -> float:
        """The largest advantage that the claim allows: tanh(epsilon / 2), and a little for delta."""
        alarms, hits = _allowed_corners(self.claim, self.delta)
        return float(np.max(hits - alarms))

    @property
    def caught(self) -> bool:
        """True if the claim is refuted."""
        return self.epsilon_lower > self.claim

    def words(self) -> str:
        """The outcome in plain words."""
        claim = f"epsilon {self.claim:g}" if math.isfinite(self.claim) else "nothing (epsilon infinity)"
        verdict = "The claim is false." if self.caught else "The attack does not refute the claim."
        if math.isinf(self.claim):
            verdict = "There was no claim to refute."
        return (
            f"Membership attack on {self.fits} fitted mixtures and {self.people:,} people. Claimed: {claim}. "
            f"A member scores higher than somebody else {100 * self.area:.1f} % of the time "
            f"(guessing: 50 %; allowed: {100 * self.area_allowed:.1f} %). Accusing one innocent in a hundred "
            f"finds {100 * self.hits:.1f} % of the members (guessing: 1 %; allowed: "
            f"{100 * self.hits_allowed:.1f} %). The advantage is {self.advantage:.3f} (allowed: "
            f"{self.advantage_allowed:.3f}). Epsilon is at least {self.epsilon_lower:.3g} "
            f"({100 * self.confidence:g} % confidence). {verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data; an infinite claim is written as text."""
        return {
            **asdict(self),
            "claim": self.claim if math.isfinite(self.claim) else "infinity",
            "area_allowed": self.area_allowed,
            "hits_allowed": self.hits_allowed,
            "advantage_allowed": self.advantage_allowed,
            "caught": self.caught,
        }


def audit_member(
    rows: ArrayLike,
    wanted: Request,
    *,
    person: ArrayLike | None = None,
    shadows: int = 24,
    targets: int = 4,
    confidence: float = 0.95,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Membership:
    """Attack fits of this request to random halves of the rows, or of the people if ``person`` names them.

    **Reveals** how exposed these people would be; the result is as private as the rows. **Trusts** nothing.
    Noise is drawn as the request says: with seeded bits every fit would draw the same noise, so such requests
    get other bits for each fit.
    """
    from dataclasses import replace

    from discreet.fit.mixture.run import run

    if wanted.method == "input" and not wanted.plain:
        raise ParameterError(
            "method='input' does not hide who is in the data, only what they said",
            remedy="Attack it without a claim, with attack_members.",
        )
    count = 0

    def fit(points: NDArray[np.float64], ids: NDArray[np.int64] | None) -> Scorer:
        nonlocal count
        count += 1
        bits = seeded(random_state * 1_000_003 + count) if wanted.bits.seeded else wanted.bits
        return run(replace(wanted, bits=bits), points, person=ids).mixture

    return attack_members(
        rows,
        fit,
        person=person,
        shadows=shadows,
        targets=targets,
        claim=wanted.epsilon,
        delta=wanted.delta or 0.0,
        confidence=confidence,
        random_state=random_state,
        progress=progress,
    )


def attack_members(
    rows: ArrayLike,
    fit: Callable[[NDArray[np.float64], NDArray[np.int64] | None], Scorer],
    *,
    person: ArrayLike | None = None,
    shadows: int = 24,
    targets: int = 4,
    claim: float = math.inf,
    delta: float = 0.0,
    confidence: float = 0.95,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Membership:
    """Attack any way of fitting: ``fit`` is given rows and their owners (None: everybody owns one row)."""
    points = np.asarray(rows, dtype=np.float64)
    owners = np.arange(len(points)) if person is None else np.unique(person, return_inverse=True)[1]
    people = int(owners.max()) + 1
    if people < 8 or shadows < 8 or targets < 1:
        raise ParameterError(
            "too little to attack", got=(people, shadows, targets), wanted="8 people, 8 shadows and 1 target"
        )
    coins = generator(seeded(random_state)).integers(0, 2, (shadows + targets, people)) == 1
    scores = np.empty(coins.shape)
    for index, inside in enumerate(coins):
        chosen = inside[owners]
        model = fit(points[chosen], None if person is None else owners[chosen])
        scores[index] = _by_person(model.log_density(points), owners)
        if progress is not None:
            progress(index + 1, len(coins))
    ratios = _ratios(scores[:shadows], coins[:shadows], scores[shadows:])
    return _summary(ratios.ravel(), coins[shadows:].ravel(), targets, claim, delta, confidence)


def attack_mixture(
    mixture: Scorer,
    members: ArrayLike,
    others: ArrayLike,
    *,
    reference: Scorer | None = None,
    claim: float = math.inf,
    delta: float = 0.0,
) -> Membership:
    """Attack one mixture, of which it is known who was in its data: a simpler attack, which proves nothing.

    A point's score is its log density, less that under ``reference``: a mixture fitted to other rows of the
    same kind, which tells how typical the point is.
    """
    points = [np.asarray(each, dtype=np.float64) for each in (members, others)]
    if min(map(len, points)) < 1:
        raise ParameterError("there is nobody to tell apart", wanted="members and others")
    scores = [
        mixture.log_density(each) - (0.0 if reference is None else reference.log_density(each))
        for each in points
    ]
    inside = np.repeat([True, False], [len(each) for each in points])
    area, hits, advantage = _curve(np.concatenate(scores), inside)
    return Membership(area, hits, advantage, 0.0, claim, delta, 0.95, len(inside), 1)


def _by_person(values: NDArray[np.float64], owners: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.bincount(owners, values) / np.bincount(owners)


def _ratios(
    shadows: NDArray[np.float64], coins: NDArray[np.bool_], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """log of the density with the person over that without, for normal densities learned from shadows."""
    found: list[NDArray[np.float64]] = []
    for inside in (coins, ~coins):
        count = np.maximum(inside.sum(axis=0), 1)
        center = np.where(inside, shadows, 0).sum(axis=0) / count
        square = (np.where(inside, shadows - center, 0) ** 2).sum(axis=0)
        spread = (square + square.mean()) / (count + count.mean()) + 1e-12  # few shadows: lean on all people
        found.append(-((targets - center) ** 2) / (2 * spread) - np.log(spread) / 2)
    return found[0] - found[1]


def _summary(
    ratios: NDArray[np.float64],
    inside: NDArray[np.bool_],
    fits: int,
    claim: float,
    delta: float,
    confidence: float,
) -> Membership:
    check_confidence(confidence)
    area, hits, advantage = _curve(ratios, inside)
    order = np.argsort(ratios, kind="stable")
    half = max(1, round(_GUESSES * ratios.size / 2))
    correct = int(np.sum(inside[order[-half:]]) + np.sum(~inside[order[:half]]))
    lower = one_run(correct, 2 * half, ratios.size, delta, confidence)
    return Membership(area, hits, advantage, lower, claim, delta, confidence, ratios.size // fits, fits)


def _curve(scores: NDArray[np.float64], inside: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Area, hits at the chosen share of false alarms, and advantage. Equal scores stand or fall together."""
    levels, place = np.unique(-scores, return_inverse=True)
    members = np.bincount(place, inside, len(levels))
    hits = np.concatenate([[0.0], np.cumsum(members) / max(members.sum(), 1)])
    others = np.bincount(place, ~inside, len(levels))
    alarms = np.concatenate([[0.0], np.cumsum(others) / max(others.sum(), 1)])
    area = float(np.sum(np.diff(alarms) * (hits[1:] + hits[:-1]) / 2))
    return area, float(hits[alarms <= _ALARMS].max()), float(np.max(hits - alarms))


def _allowed_corners(epsilon: float, delta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The corners of the best curve that (epsilon, delta) allows: false alarms, hits."""
    if math.isinf(epsilon):
        return np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    middle = (1 - delta) / (1 + math.exp(epsilon))
    return np.array([0.0, 0.0, middle, 1 - delta, 1.0]), np.array([0.0, delta, 1 - middle, 1.0, 1.0])
