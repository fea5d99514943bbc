"""Fit a hidden Markov model by a plan: sequences and a skeleton in; a folder with the model and papers out.

The plan is what the miner of a data set sends to whoever keeps it (how many states, which skeleton, how much
of the budget); the folder is the answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.fit import CategoricalHMM, GaussianHMM
from discreet.jobs.order import Order, charge_of, engine_of, place_of
from discreet.jobs.purchase import hmm_purchases, hmm_sentence
from discreet.jobs.result import Result, deliver
from discreet.jobs.schema import locate
from discreet.records import Roles
from discreet.records.sequence_file import name_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.jobs.plan import FitHMM

    Estimator = CategoricalHMM | GaussianHMM

__all__ = ["fit_hmm", "order_hmm"]


def fit_hmm(plan: FitHMM, progress: Callable[[int, int], None] | None = None) -> Result:
    """Run a plan.

    **Reveals** the model, with its guarantee and receipt. **Costs** what the plan says, charged to the
    ledger before noise is drawn. **Trusts** whoever runs it.

    The place for the result is checked before anything is spent. The model is written as soon as it is
    paid for, and the report is added to it.
    """
    model = order_hmm(plan).model
    place = place_of(plan)
    model.fit(list(plan.data), states=plan.states_column, progress=progress)
    return deliver(model, place)


def order_hmm(plan: FitHMM) -> Order[Estimator]:
    """The estimator that a plan asks for, the columns it will read, and what it would promise."""
    _check(plan)
    roles = Roles(
        plan.columns or _bounded(plan),
        plan.sequence,
        plan.order,
        plan.person,
        plan.states_column,
        plan.symbols,
    )
    columns = name_columns(list(plan.data), roles)
    model = _points(plan, columns) if plan.points else _symbols(plan, columns)
    guarantee = model.plan(labelled=plan.states_column is not None, dimension=len(columns))
    bought = hmm_purchases(guarantee)
    return Order(model, columns, guarantee, bought, hmm_sentence(guarantee, bought))


def _check(plan: FitHMM) -> None:
    if plan.points == (plan.symbols is not None):
        raise ParameterError(
            "it must be said whether rows are symbols or points",
            got="both" if plan.points else "neither",
            wanted="symbols= (how many, or what they are called), or else points=",
        )
    if plan.method == "labelled" and plan.states_column is None:
        raise ParameterError(
            "method='labelled' needs the hidden states", remedy="Name their column as states_column."
        )
    if plan.person is None and plan.sequences_per_person != 1.0:
        raise ParameterError(
            "sequences_per_person bounds nobody",
            got=plan.sequences_per_person,
            remedy="Name the person column.",
        )
    region = plan.bounds, plan.radius, plan.center
    if not plan.points and region != (None, None, None):
        raise ParameterError("bounds, radius and center are for points", remedy="Symbols lie nowhere.")
    if not plan.points and plan.covariance_type != "diag":
        raise ParameterError(
            "covariance_type is for points", got=plan.covariance_type, remedy="Symbols have no covariance."
        )


def _bounded(plan: FitHMM) -> tuple[str, ...] | None:
    return tuple(plan.bounds) if isinstance(plan.bounds, dict) else None


def _symbols(plan: FitHMM, columns: tuple[str, ...]) -> CategoricalHMM:
    symbols: Any = plan.symbols
    return CategoricalHMM(
        plan.states,
        symbols if isinstance(symbols, int) else len(symbols),
        symbols=None if isinstance(symbols, int) else list(symbols),
        **_shared(plan, columns),
    )


def _points(plan: FitHMM, columns: tuple[str, ...]) -> GaussianHMM:
    declared = locate(plan, columns)
    return GaussianHMM(
        plan.states,
        covariance_type=plan.covariance_type,
        bounds=declared.bounds,
        radius=declared.radius,
        center=declared.center,
        **_shared(plan, columns),
    )


def _shared(plan: FitHMM, columns: tuple[str, ...]) -> dict[str, Any]:
    """What models of symbols and of points have in common."""
    ledger, dataset = charge_of(plan)
    return {
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "max_length": plan.max_length,
        "method": plan.method,
        "skeleton": None if plan.skeleton is None else Path(plan.skeleton).expanduser(),
        "topology": plan.topology,
        "noise": plan.noise,
        "n_rounds": plan.rounds,
        "sequences_per_person": plan.sequences_per_person,
        "columns": list(columns),
        "sequence": plan.sequence,
        "order": plan.order,
        "person": plan.person,
        "ledger": ledger,
        "dataset": dataset,
        "random_state": plan.random_state,
        "engine": engine_of(plan),
    }
