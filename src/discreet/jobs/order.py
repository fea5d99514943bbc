"""A plan made ready: the estimator it asks for, the budget it charges, the place it writes to.

**Reveals** nothing, and **costs** nothing: whatever is wrong with a plan is found here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from discreet.accounting.ledger import Ledger
from discreet.bundle import check_place
from discreet.errors import BundleError, ParameterError
from discreet.records import LocalEngine

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.accounting.guarantee import Guarantee
    from discreet.jobs.plan import FitPlan, JobPlan
    from discreet.records import Engine
    from discreet.report.paper import Purchase

__all__ = ["Order", "budget_of", "charge_of", "engine_of", "place_of"]

E = TypeVar("E")


@dataclass(frozen=True)
class Order(Generic[E]):
    """An estimator that is ready to fit, the columns it will read, what it would promise and buy."""

    model: E
    columns: tuple[str, ...]
    guarantee: Guarantee
    bought: tuple[Purchase, ...]
    sentence: str


def place_of(plan: JobPlan) -> Path:
    """The folder that a plan will write, or a refusal before anything is spent."""
    try:
        return check_place(plan.place)
    except BundleError as error:
        raise ParameterError(error.what, got=error.got, wanted=error.wanted) from None


def charge_of(plan: JobPlan) -> tuple[Ledger | None, str | None]:
    """The ledger and the data set that a plan charges, if any."""
    if plan.ledger is None and plan.dataset is not None:
        raise ParameterError("dataset names a budget, but there is no ledger", remedy="Give a ledger too.")
    return budget_of(plan) if plan.ledger is not None else (None, None)


def budget_of(plan: JobPlan) -> tuple[Ledger, str]:
    """The ledger of a plan and the data set to charge: the only one it has, if none is named."""
    assert plan.ledger is not None
    ledger = Ledger.open(plan.ledger)
    if plan.dataset is not None:
        return ledger, plan.dataset
    names = sorted({balance.dataset for balance in ledger.budgets()})
    if len(names) != 1:
        raise ParameterError(
            "the ledger holds several data sets" if names else "the ledger holds no budget yet",
            wanted=f"dataset= one of: {', '.join(names)}" if names else "a budget for the data set",
            remedy="" if names else "Set one with `discreet ledger new`.",
        )
    return ledger, names[0]


def engine_of(plan: FitPlan) -> Engine | None:
    """The threads that a plan asks for."""
    return None if plan.workers is None else LocalEngine(plan.workers)
