"""What a plan would reveal and cost, before anything is read but the schema, and nothing is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.accounting.ledger import Ledger
from discreet.bundle import check_place
from discreet.errors import BundleError, ParameterError
from discreet.fit import GaussianMixture
from discreet.jobs.purchase import purchases, sentence_of
from discreet.jobs.schema import declare
from discreet.records import LocalEngine

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.ledger import Balance
    from discreet.jobs.plan import FitMixture
    from discreet.report.paper import Purchase

__all__ = ["Preview", "budget_of", "estimator_of", "place_of", "preview"]


@dataclass(frozen=True)
class Preview:
    """What a run would promise, what its budget would buy, and what would be left."""

    columns: tuple[str, ...]
    guarantee: Guarantee
    bought: tuple[Purchase, ...]
    sentence: str
    out: Path
    before: Balance | None
    after: Balance | None

    def to_dict(self) -> dict[str, Any]:
        """The preview as plain data."""
        return {
            "columns": list(self.columns),
            "guarantee": self.guarantee.to_dict(),
            "private": self.guarantee.private,
            "words": self.guarantee.words(),
            "bought": [purchase.to_dict() for purchase in self.bought],
            "sentence": self.sentence,
            "out": str(self.out),
            "ledger": None
            if self.before is None or self.after is None
            else {"before": self.before.to_dict(), "after": self.after.to_dict()},
        }


def preview(plan: FitMixture) -> Preview:
    """Everything that can be known before the rows are read, or the error that the run would end with.

    **Reveals** nothing. **Costs** nothing.
    """
    model, columns = estimator_of(plan)
    guarantee = model.plan(len(columns))
    place = place_of(plan)
    before = after = None
    if plan.ledger is not None:
        ledger, dataset = budget_of(plan)
        cost = ledger.quote(dataset, guarantee)
        before = ledger.left(dataset, guarantee.unit)
        spent = before.spent[0] + cost[0], before.spent[1] + cost[1]
        after = replace(before, spent=spent, runs=before.runs + 1)
    method = "plain" if model.epsilon == float("inf") else plan.method
    bought = purchases(guarantee, method, model.covariance_type, len(columns))  # type: ignore[arg-type]
    return Preview(columns, guarantee, bought, sentence_of(guarantee, bought, method), place, before, after)


def estimator_of(plan: FitMixture) -> tuple[GaussianMixture, tuple[str, ...]]:
    """The estimator that a plan asks for, and the columns it will read."""
    if plan.person is None and plan.rows_per_person != 1.0:
        raise ParameterError(
            "rows_per_person bounds nobody", got=plan.rows_per_person, remedy="Name the person column."
        )
    declared = declare(plan)
    if plan.ledger is None and plan.dataset is not None:
        raise ParameterError("dataset names a budget, but there is no ledger", remedy="Give a ledger too.")
    ledger, dataset = budget_of(plan) if plan.ledger is not None else (None, None)
    model = GaussianMixture(
        plan.components,
        epsilon=plan.epsilon,
        delta=plan.delta,
        bounds=declared.bounds,
        radius=declared.radius,
        center=declared.center,
        covariance_type=plan.covariance_type,
        method=plan.method,
        noise=plan.noise,
        n_rounds=plan.rounds,
        columns=declared.columns,
        person=plan.person,
        rows_per_person=plan.rows_per_person,
        missing=plan.missing,
        ledger=ledger,
        dataset=dataset,
        random_state=plan.random_state,
        engine=None if plan.workers is None else LocalEngine(plan.workers),
    )
    return model, declared.columns


def place_of(plan: FitMixture) -> Path:
    """The folder that a plan will write, or a refusal before anything is spent."""
    try:
        return check_place(plan.place)
    except BundleError as error:
        raise ParameterError(error.what, got=error.got, wanted=error.wanted) from None


def budget_of(plan: FitMixture) -> tuple[Ledger, str]:
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
