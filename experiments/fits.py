"""Fits as experiments want them: any method, any composition rule, always through the real mechanisms."""

from __future__ import annotations

from typing import Any

from discreet.accounting.account import Account
from discreet.accounting.composition import Rule
from discreet.accounting.guarantee import Guarantee
from discreet.domain import Region
from discreet.fit.mixture.joint import fit_joint
from discreet.fit.mixture.local import fit_noised, noise_rows
from discreet.fit.mixture.plain import fit_plain
from discreet.fit.mixture.published import fit_published, plan_published
from discreet.fit.mixture.schedule import plan_rounds
from discreet.fit.mixture.task import Payment, Task
from discreet.models.mixture import Mixture
from discreet.models.moments import Frame
from discreet.randomness import secure
from discreet.records import Records

__all__ = ["components_for", "fit_by", "fit_without_noise"]


def components_for(epsilon: float) -> int:
    """A number of components by a rule that looks at the budget alone."""
    return 3 if epsilon < 0.3 else 6 if epsilon < 0.8 else 10


def fit_by(
    records: Records,
    region: Region,
    components: int,
    epsilon: float,
    delta: float,
    *,
    method: str = "joint",
    noise: str = "gaussian",
    rule: Rule = "tight",
    per_person: bool = False,
) -> Mixture:
    """Fit with secure noise; the account is charged for exactly what the method draws."""
    task = Task(records, region, components, "full", 1e-6)
    events: Any
    if method == "published":
        events = plan_published(components, epsilon, delta, noise=noise, rule=rule)
        frame = fit_published(task, events, _pay(events, epsilon, delta, per_person))
    elif method == "input":
        from discreet.accounting.accountant import calibrate
        from discreet.accounting.event import Event

        shape = [Event("gaussian", 1.0)]
        events = (shape[0].scaled(calibrate(shape, epsilon, delta)),)
        payment = _pay(events, epsilon, delta, per_person, changes=True)
        frame = fit_noised(task, *noise_rows(task, events[0], payment))
    else:
        schedule = plan_rounds(components, epsilon, delta, noise=noise, rule=rule)
        frame = fit_joint(task, schedule, _pay(schedule.events, epsilon, delta, per_person))
    return _release(frame, region)


def fit_without_noise(records: Records, region: Region, components: int) -> Mixture:
    """The plain fit."""
    return _release(fit_plain(Task(records, region, components, "full", 1e-6), 200, 1e-4).frame, region)


def _pay(events: Any, epsilon: float, delta: float, per_person: bool, changes: bool = False) -> Payment:
    promise = Guarantee(
        epsilon=epsilon,
        delta=delta,
        unit="person" if per_person else "row",
        events=tuple(events),
        trusts="the experimenter",
        reveals=("the mixture",),
        declared=("the region", "the number of components"),
        person="user" if per_person else None,
        rows_per_person=1.0 if per_person else None,
        neighbours="change one" if changes else "add or remove one",
    )
    return Payment(Account(promise, label="experiment"), secure())


def _release(frame: Frame, region: Region) -> Mixture:
    return Mixture.from_unit(frame, region.center, region.scale)
