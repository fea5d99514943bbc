"""Joint runs: rehearsed with all parties on this machine, or run as one of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.join.holding import read_holding
from discreet.join.joined import Joined
from discreet.join.payment import Payment, Purse, finish, watched
from discreet.join.plan import JoinPlan

if TYPE_CHECKING:
    from discreet.join.cost import Cost
    from discreet.protocols.step import Steps
    from discreet.session.meeting import Outcome

__all__ = ["check", "plan_of", "rehearse", "run"]

_ROLES = "discreet.join.roles"

Given = JoinPlan | str | os.PathLike[str] | Mapping[str, Any]


def plan_of(plan: Given) -> JoinPlan:
    """A plan, from itself, its settings, or the path of its file."""
    if isinstance(plan, JoinPlan):
        return plan
    return JoinPlan.of(plan) if isinstance(plan, Mapping) else JoinPlan.read(plan)


def check(plan: Given, rows: int | None = None) -> Cost:
    """What a plan reveals to whom, and what it costs, before anything runs; see `discreet.join.cost`."""
    from discreet.join.cost import cost

    return cost(plan_of(plan), rows)


def rehearse(
    plan: Given,
    data: Mapping[str, Any],
    *,
    ledgers: Mapping[str, Any] | None = None,
    seed: int | None = None,
    record: bool = False,
) -> Joined:
    """Run a plan with every party as its own process on this machine, over TLS as between organisations.

    ``data`` holds a table or a path for each holder; ``ledgers`` a path (or a path and the name of a budget)
    for holders that pay. **Reveals** everything to this process: it has all the tables. **Costs** what the
    plan says, charged to the ledgers that are given; without them nothing is charged. With a ``seed`` the
    run can be repeated, and is *not private*.
    """
    from discreet.session.rehearsal import Part
    from discreet.session.rehearsal import rehearse as play

    agreed = plan_of(plan)
    purses = _purses(agreed, data, ledgers or {}, seed)
    parts = {
        name: Part(f"{_ROLES}:holder", read_holding(agreed, name, data[name]).to_dict(purses.get(name)))
        for name in agreed.holders
    }
    parts |= {name: Part(f"{_ROLES}:analyst", name) for name in agreed.analysts}
    if agreed.helper is not None:
        parts[agreed.helper] = Part(f"{_ROLES}:helper", agreed.helper)
    time = agreed.time
    with watched(purses, agreed):
        outcomes = play(
            agreed.session_plan(), parts, seed=seed, silence=time.silence, whole=time.whole, record=record
        )
    return _joined(agreed, outcomes, purses, seeded=seed is not None)


def run(
    plan: Given,
    name: str,
    data: Any = None,
    *,
    home: str | os.PathLike[str] | None = None,
    ledger: Any = None,
    wait: float = 30.0,
    record: bool = False,
) -> Joined:
    """Take part in a plan as one of its parties, with the others, over TLS.

    ``data`` is a holder's table or path, ``ledger`` what it charges if the plan says that it pays, ``home``
    where its identity and the cards of the others lie, ``wait`` the seconds in which the others must come.
    **Reveals** what the plan says, to whom it says. **Costs** what the plan says. The result is for those who
    receive: for others ``model`` and ``tables`` are None.
    """
    from discreet.session.meeting import take_part
    from discreet.wire.identity import Home, default_home
    from discreet.wire.tls import Place

    agreed = plan_of(plan)
    if name not in agreed.parties:
        raise ParameterError("the plan has no such party", got=name, wanted=" or ".join(agreed.parties))
    purse = None if ledger is None else Purse.of(ledger, agreed)
    folder = Home(default_home() if home is None else os.fspath(home))
    me = folder.identity(name)
    cards = {other: folder.card(other) for other in agreed.parties if other != name}
    places = {other: Place.of(party.place) for other, party in agreed.parties.items() if party.place}
    steps = _steps(agreed, name, data, purse)
    with watched({} if purse is None else {name: purse}, agreed):
        outcome = take_part(
            agreed.session_plan(),
            name,
            steps,
            me,
            cards,
            places,
            wait=wait,
            silence=agreed.time.silence,
            whole=agreed.time.whole,
            record=record,
        )
    return _joined(agreed, {name: outcome}, {} if purse is None else {name: purse}, seeded=False)


def _purses(
    plan: JoinPlan, data: Mapping[str, Any], ledgers: Mapping[str, Any], seed: int | None
) -> dict[str, Purse]:
    """The purses of a rehearsal, after a look at what was given."""
    if set(data) != set(plan.holders):
        raise ParameterError(
            "every holder brings a table, and nobody else", got=sorted(data), wanted=str(list(plan.holders))
        )
    if not set(ledgers) <= set(plan.payers):
        raise ParameterError(
            "only those who pay have a ledger", got=sorted(ledgers), wanted=str(list(plan.payers))
        )
    purses = {name: Purse.of(given, plan) for name, given in ledgers.items()}
    for purse in purses.values():
        Payment(plan, purse, seeded=seed is not None).quote()
    return purses


def _steps(plan: JoinPlan, name: str, data: Any, purse: Purse | None) -> Steps[Any]:
    """The role of a party, with its table read and its ledger asked."""
    from discreet.join import roles
    from discreet.randomness import secure

    if (purse is not None) != (name in plan.payers):
        raise ParameterError(
            f"{name!r} pays, and has no ledger"
            if purse is None
            else f"{name!r} has a ledger, and does not pay",
            wanted="a ledger for those whom the plan names in release.pays, and for nobody else",
            remedy="`discreet ledger new` makes one, for a data set called like the plan."
            if purse is None
            else "",
        )
    if name not in plan.holders:
        if data is not None:
            raise ParameterError(f"{name!r} brings no table", wanted="no data")
        role = roles.helper if name == plan.helper else roles.analyst
        return role(name, plan.agreed(), secure())
    if data is None:
        raise ParameterError(
            f"{name!r} is a holder, and brings no table",
            wanted="its data",
            remedy="On the command line: --data FILE.",
        )
    if purse is not None:
        Payment(plan, purse, seeded=False).quote()
    return roles.holder(read_holding(plan, name, data).to_dict(purse), plan.agreed(), secure())


def _joined(
    plan: JoinPlan, outcomes: Mapping[str, Outcome], purses: Mapping[str, Purse], *, seeded: bool
) -> Joined:
    """The result with its papers, and a line in every ledger that was charged."""
    joined = Joined.of(plan, outcomes, seeded=seeded)
    for name, purse in purses.items():
        finish(purse, outcomes[name].output["account"], joined.session)
    return joined
