"""Does a fitted mixture reveal no more than it says? Fit invented rows many times and find out.

Two worlds differ in one canary (a row, or all rows of a person; for method "input", in the value of a row).
The fit runs many times in each, every transcript is scored by its exact likelihood ratio
(`discreet.audit.transcript`), and the scores become a lower bound on epsilon. The canary sits where it weighs
most: in a corner far from all other rows, so that it is clipped to exactly the bound in almost every round.

A bound above the claim refutes the claim. `audit_fit` can plant a bug (`discreet.audit.planted`), to show
that the audit would catch it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.audit.bits import low_bits
from discreet.audit.distinguish import Finding, judge
from discreet.audit.planted import BUGS, LowBits, plant
from discreet.audit.transcript import SUBJECTS, Score, Setting
from discreet.errors import ParameterError
from discreet.fit.mixture.request import Request, check
from discreet.randomness import generator, secure, seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.audit.transcript import Subject
    from discreet.randomness import Bits

__all__ = ["MixtureFinding", "audit_fit", "audit_mixture", "invent_rows", "request_of"]


@dataclass(frozen=True)
class MixtureFinding(Finding):
    """A finding about a fit. ``subject`` says what was audited; ``bug`` names what was planted in it, if
    anything. ``spent`` is the largest part of the claimed noise budget that the canary used up in any run, by
    the noiseless statistics themselves: close to 1 for a good canary, above 1 only if a bound is wrong.
    """

    subject: str
    bug: str | None
    spent: float

    @property
    def overspent(self) -> bool:
        """True if the canary weighed more than the noise was made for: a bound or the noise is wrong."""
        return self.spent > 1 + 1e-9

    def words(self) -> str:
        """The finding in plain words."""
        planted = f", with a bug planted in it: {self.bug}" if self.bug else ""
        used = f" The canary used up to {100 * self.spent:.4g} % of the noise budget." if self.spent else ""
        return f"Audit of {self.subject}{planted}. {super().words()}{used}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {**super().to_dict(), "overspent": self.overspent}


def audit_fit(
    method: str = "joint",
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    noise: str = "gaussian",
    n_components: int = 2,
    dimension: int = 2,
    covariance_type: str = "full",
    n_rounds: int | None = 3,
    unit: str = "row",
    rows: int = 200,
    bug: str | None = None,
    attack: str = "ratio",
    runs: int = 1000,
    confidence: float = 0.95,
    random_state: int | None = 0,
    progress: Callable[[int, int], None] | None = None,
) -> MixtureFinding:
    """Audit a fit of invented rows, with ``runs`` runs in each of two worlds.

    ``unit`` is "row" or "person"; ``bug`` is None or one of `planted.BUGS`. ``attack`` is "ratio" (the best
    there is) or "low bits". ``random_state=None`` audits noise as it is really drawn, by OpenDP, and costs
    more time; an integer replays.

    **Reveals** nothing: the rows are invented. **Trusts** nothing.
    """
    if unit not in ("row", "person"):
        raise ParameterError("no such unit", got=unit, wanted="row or person")
    if unit == "person" and method == "input":
        raise ParameterError("method='input' protects rows, not persons", wanted="unit='row'")
    if attack not in ("ratio", "low bits"):
        raise ParameterError("no such attack", got=attack, wanted="ratio or low bits")
    person = unit == "person" or bug == "rows for persons"
    wanted = request_of(
        method=method,
        epsilon=epsilon,
        delta=0.0 if noise == "laplace" and method != "published" else delta,
        noise=noise,
        n_components=n_components,
        covariance_type=covariance_type,
        n_rounds=n_rounds,
        rows_per_person=2.0 if person else 1.0,
    )
    values, canary, ids = invent_rows(rows, dimension, person=person, change=method == "input")
    return audit_mixture(
        wanted,
        values,
        canary,
        runs,
        ids=ids,
        bug=bug,
        attack=attack,
        confidence=confidence,
        random_state=random_state,
        progress=progress,
    )


def audit_mixture(
    wanted: Request,
    rows: NDArray[np.float64],
    canary: ArrayLike,
    runs: int,
    *,
    ids: NDArray[np.int64] | None = None,
    bug: str | None = None,
    attack: str = "ratio",
    confidence: float = 0.95,
    random_state: int | None = 0,
    progress: Callable[[int, int], None] | None = None,
) -> MixtureFinding:
    """Audit a request on these rows, with and without this canary; see `audit_fit`.

    With ``ids`` the unit is the person: all canary rows are one more person's.
    """
    if runs < 6:
        raise ParameterError("too few runs to prove anything", got=runs, wanted="at least 6, better 1000")
    setting = Setting.of(wanted, rows, canary, ids)
    subject = _subject(setting, bug, attack)
    scores: tuple[list[Score], list[Score]] = ([], [])
    for index in range(runs):
        for world in (0, 1):
            scores[world].append(subject.play(world, _bits(random_state, 2 * index + world)))
        if progress is not None:
            progress(index + 1, runs)
    return _conclude(setting, subject, scores, bug, confidence)


def request_of(**values: Any) -> Request:
    """A checked request for a fit in the box [-1, 1], like that of `GaussianMixture`, with these changes."""
    usual: dict[str, Any] = {
        "n_components": 2,
        "epsilon": 1.0,
        "delta": 1e-5,
        "bounds": (-1.0, 1.0),
        "radius": None,
        "center": 0.0,
        "covariance_type": "full",
        "method": "joint",
        "noise": "gaussian",
        "n_rounds": None,
        "columns": None,
        "person": None,
        "rows_per_person": 1.0,
        "missing": "error",
        "reg_covar": 1e-6,
        "max_iter": 100,
        "tol": 1e-4,
        "ledger": None,
        "dataset": None,
        "engine": None,
        "bits": seeded(0),
    }
    return check(Request(**{**usual, **values}))


def invent_rows(
    count: int, dimension: int, *, person: bool = False, change: bool = False, seed: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64] | None]:
    """Rows in two clusters near the middle of [-1, 1], a canary far from them, and the rows' owners.

    With ``person`` every person has four rows, and the canary eight. With ``change`` the canary is two rows
    in opposite corners.
    """
    draw = generator(seeded(seed))
    centres = np.where(draw.integers(0, 2, count)[:, None] == 0, -0.2, 0.2) * np.ones(dimension)
    rows = np.clip(centres + 0.05 * draw.standard_normal((count, dimension)), -1, 1)
    corner = np.ones((1, dimension))
    if change:
        return rows, np.concatenate([-corner, corner]), None
    if not person:
        return rows, corner, None
    return rows, np.repeat(corner, 8, axis=0), np.arange(count) // 4


def _subject(setting: Setting, bug: str | None, attack: str) -> Subject:
    if bug is not None:
        if bug not in BUGS:
            raise ParameterError("there is no such bug", got=bug, wanted=" or ".join(BUGS))
        return plant(bug, setting)
    if attack == "low bits":
        return LowBits(setting, doubles=False)
    return SUBJECTS[setting.wanted.method](setting)


def _bits(random_state: int | None, index: int) -> Bits:
    return secure() if random_state is None else seeded(random_state * 10_000_019 + index)


def _conclude(
    setting: Setting,
    subject: Subject,
    scores: tuple[list[Score], list[Score]],
    bug: str | None,
    confidence: float,
) -> MixtureFinding:
    wanted = setting.wanted
    claim, delta = wanted.epsilon, wanted.delta or 0.0
    told0, told1 = ([one.ratio for one in world] for world in scores)
    if subject.attack == "low bits":
        found = low_bits(told0, told1, claim, delta=delta, confidence=confidence)
    else:
        found = judge(told0, told1, delta, claim=claim, confidence=confidence, method=subject.attack)
    return MixtureFinding(
        found.epsilon_lower,
        found.method,
        found.runs,
        claim,
        delta,
        confidence,
        subject=_describe(setting),
        bug=bug,
        spent=_spent(setting, [*scores[0], *scores[1]]),
    )


def _spent(setting: Setting, scores: list[Score]) -> float:
    """The largest part of the claimed mu (Gaussian) or epsilon (Laplace) that a canary used."""
    events = setting.events
    squares = sum(one.count / one.noise**2 for one in events if one.mechanism == "gaussian")
    pure = sum(one.count / one.noise for one in events if one.mechanism == "laplace")
    parts = [0.0]
    if squares:
        parts.append(math.sqrt(max(one.squares for one in scores) / squares))
    if pure:
        parts.append(max(one.pure for one in scores) / pure)
    return max(parts)


def _describe(setting: Setting) -> str:
    wanted = setting.wanted
    unit = "person" if setting.ids is not None else "row"
    change = "changed" if wanted.method == "input" else "added or removed"
    return (
        f"fit mixture, method {wanted.method}, {wanted.noise} noise, {wanted.n_components} components, "
        f"{len(setting.rows)} rows, one {unit} {change}"
    )
