"""Fit a mixture by a plan: rows in; a folder with the model, its papers and a report out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.fit import GaussianMixture
from discreet.jobs.order import Order, charge_of, engine_of, place_of
from discreet.jobs.purchase import purchases, sentence_of
from discreet.jobs.result import Result, deliver
from discreet.jobs.schema import declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.jobs.plan import FitMixture

__all__ = ["fit_mixture", "order_mixture"]


def fit_mixture(plan: FitMixture, progress: Callable[[int, int], None] | None = None) -> Result:
    """Run a plan.

    **Reveals** the mixture, with its guarantee and receipt. **Costs** what the plan says, charged to the
    ledger before noise is drawn. **Trusts** whoever runs it.

    The place for the result is checked before anything is spent. The model is written as soon as it is
    paid for, and the report is added to it.
    """
    model = order_mixture(plan).model
    place = place_of(plan)
    model.fit(list(plan.data), progress=progress)
    return deliver(model, place)


def order_mixture(plan: FitMixture) -> Order[GaussianMixture]:
    """The estimator that a plan asks for, the columns it will read, and what it would promise."""
    if plan.person is None and plan.rows_per_person != 1.0:
        raise ParameterError(
            "rows_per_person bounds nobody", got=plan.rows_per_person, remedy="Name the person column."
        )
    declared = declare(plan)
    ledger, dataset = charge_of(plan)
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
        engine=engine_of(plan),
    )
    guarantee = model.plan(len(declared.columns))
    method = "plain" if model.epsilon == float("inf") else plan.method
    kind: Any = plan.covariance_type
    bought = purchases(guarantee, method, kind, len(declared.columns))
    return Order(model, declared.columns, guarantee, bought, sentence_of(guarantee, bought, method))
