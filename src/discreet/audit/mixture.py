"""Does a fitted mixture reveal no more than it says? Fit invented rows many times and find out.

Two worlds differ in one canary (a row, or all rows of a person; for method "input", in the value of a row).
The fit runs many times in each, every transcript is scored by its exact likelihood ratio
(`discreet.audit.transcript`), and the scores become a lower bound on epsilon. The canary sits where it weighs
most: in a corner far from all other rows, so that it is clipped to exactly the bound in almost every round.

A bound above the claim refutes the claim. `audit_fit` can plant a bug (`discreet.audit.planted`), to show
that the audit would catch it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.audit.finding import FitFinding, conclude
from discreet.audit.planted import BUGS, LowBits, plant
from discreet.audit.transcript import SUBJECTS, Setting
from discreet.errors import ParameterError
from discreet.fit.mixture.request import Request, check
from discreet.randomness import generator, secure, seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.audit.transcript import Score, Subject
    from discreet.randomness import Bits

__all__ = ["audit_fit", "audit_mixture", "invent_rows", "request_of"]


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
) -> FitFinding:
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
) -> FitFinding:
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
    return conclude(
        subject.attack, scores, setting.guarantee, confidence, subject=_describe(setting), bug=bug
    )


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


def _describe(setting: Setting) -> str:
    wanted = setting.wanted
    unit = "person" if setting.ids is not None else "row"
    change = "changed" if wanted.method == "input" else "added or removed"
    return (
        f"fit mixture, method {wanted.method}, {wanted.noise} noise, {wanted.n_components} components, "
        f"{len(setting.rows)} rows, one {unit} {change}"
    )
