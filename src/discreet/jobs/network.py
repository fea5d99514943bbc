"""Fit a Bayesian network by a plan: rows and a structure in; a folder with tables and papers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.fit import BayesianNetwork
from discreet.fit.network.request import structure_of
from discreet.jobs.order import Order, charge_of, place_of
from discreet.jobs.purchase import network_purchases, network_sentence
from discreet.jobs.result import Result, deliver
from discreet.jobs.schema import check_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.jobs.plan import FitNetwork

__all__ = ["fit_network", "order_network"]


def fit_network(plan: FitNetwork, progress: Callable[[int, int], None] | None = None) -> Result:
    """Run a plan.

    **Reveals** the tables, with their guarantee and receipt. **Costs** what the plan says, charged to the
    ledger before noise is drawn. **Trusts** whoever runs it.

    The place for the result is checked before anything is spent. The model is written as soon as it is
    paid for, and the report is added to it.
    """
    model = order_network(plan).model
    place = place_of(plan)
    model.fit(list(plan.data), progress=progress)
    return deliver(model, place)


def order_network(plan: FitNetwork) -> Order[BayesianNetwork]:
    """The estimator that a plan asks for, the columns it will read, and what it would promise."""
    if plan.person is None and plan.rows_per_person != 1:
        raise ParameterError(
            "rows_per_person bounds nobody", got=plan.rows_per_person, remedy="Name the person column."
        )
    structure = structure_of(plan.structure)
    ledger, dataset = charge_of(plan)
    model = BayesianNetwork(
        structure,
        epsilon=plan.epsilon,
        delta=plan.delta,
        prior=plan.prior,
        person=plan.person,
        rows_per_person=plan.rows_per_person,
        missing=plan.missing,
        ledger=ledger,
        dataset=dataset,
        random_state=plan.random_state,
    )
    guarantee = model.plan()
    check_files(plan.data, structure.nodes, plan.person)
    bought = network_purchases(guarantee)
    return Order(model, structure.nodes, guarantee, bought, network_sentence(guarantee, bought))
