"""Joint runs: rehearsed with all parties on this machine, or run as one of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.join.holding import Purse, read_holding
from discreet.join.joined import Joined, model_of
from discreet.join.plan import JoinPlan
from discreet.join.promise import guarantee

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["plan_of", "rehearse"]

_ROLES = "discreet.join.roles"


def plan_of(plan: JoinPlan | str | os.PathLike[str] | Mapping[str, Any]) -> JoinPlan:
    """A plan, from itself, its settings, or the path of its file."""
    if isinstance(plan, JoinPlan):
        return plan
    return JoinPlan.of(plan) if isinstance(plan, Mapping) else JoinPlan.read(plan)


def rehearse(
    plan: JoinPlan | str | os.PathLike[str] | Mapping[str, Any],
    data: Mapping[str, Any],
    *,
    ledgers: Mapping[str, Any] | None = None,
    seed: int | None = None,
    record: bool = False,
) -> Joined:
    """Run a plan with every party as its own process on this machine, over TLS as between organisations.

    ``data`` holds a table or a path for each holder; ``ledgers`` a path (or a path and the name of a budget)
    for each holder that pays. **Reveals** to this process everything: it has all the tables. **Costs** what
    the plan says, charged to the ledgers that are given; without them nothing is charged. With a ``seed`` the
    run can be repeated, and is *not private*.
    """
    from discreet.session.rehearsal import Part
    from discreet.session.rehearsal import rehearse as play

    agreed = plan_of(plan)
    if set(data) != set(agreed.holders):
        raise ParameterError(
            "a table for each holder is needed", got=sorted(data), wanted=str(list(agreed.holders))
        )
    purses = {name: Purse.of(given, agreed) for name, given in (ledgers or {}).items()}
    if not set(purses) <= set(agreed.payers):
        raise ParameterError("only those who pay have a ledger", got=sorted(purses), wanted=str(agreed.payers))
    parts = {
        name: Part(f"{_ROLES}:holder", read_holding(agreed, name, data[name]).to_dict(purses.get(name)))
        for name in agreed.holders
    }
    parts |= {name: Part(f"{_ROLES}:analyst") for name in agreed.analysts}
    if agreed.helper is not None:
        parts[agreed.helper] = Part(f"{_ROLES}:helper")
    outcomes = play(
        agreed.session_plan(),
        parts,
        seed=seed,
        silence=agreed.time.silence,
        whole=agreed.time.whole,
        record=record,
    )
    tables = outcomes[agreed.receivers[0]].output["tables"]
    receipts = {name: outcome.receipt.to_dict() for name, outcome in outcomes.items()}
    return Joined(agreed, model_of(agreed, tables), tables, guarantee(agreed, seed is not None), receipts, outcomes)
