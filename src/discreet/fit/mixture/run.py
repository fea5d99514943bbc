"""Run a request: check the rows, charge the ledger, draw the noise, hand over what may be shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.account import Account
from discreet.accounting.ledger import Ledger
from discreet.bundle import tensor_digest
from discreet.domain import Box
from discreet.errors import DataError, DomainError, ParameterError
from discreet.fit.mixture.card import pack_covariances
from discreet.fit.mixture.joint import fit_joint
from discreet.fit.mixture.local import check_size, fit_noised, noise_rows
from discreet.fit.mixture.plain import fit_plain
from discreet.fit.mixture.published import fit_published
from discreet.fit.mixture.request import plan
from discreet.fit.mixture.task import Payment, Task
from discreet.models.mixture import Mixture
from discreet.records import open_records
from discreet.records.table import make_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.fit.mixture.request import Plan, Request
    from discreet.fit.mixture.task import Listen
    from discreet.models.moments import Frame
    from discreet.records import Chunk, Records

__all__ = ["Outcome", "run"]


@dataclass(frozen=True)
class Outcome:
    """A released mixture with its papers."""

    mixture: Mixture
    guarantee: Guarantee
    receipt: dict[str, Any]
    names: tuple[str, ...]
    named: bool
    rounds: int
    converged: bool


def run(
    wanted: Request,
    source: Any,
    *,
    person: Any = None,
    progress: Callable[[int, int], None] | None = None,
    listen: Listen | None = None,
) -> Outcome:
    """Fit as requested. ``listen`` is told every released vector: for audits."""
    if person is not None and wanted.person is not None:
        raise ParameterError("the person is named twice", remedy="Give a column name or an array of ids.")
    ids = wanted.person if person is None else person
    wanted = replace(wanted, by_person=ids is not None)
    records = open_records(
        source,
        columns=wanted.columns,
        person=ids,
        rows_per_person=wanted.rows_per_person if wanted.by_person else 1.0,
        missing=wanted.missing,
    )
    planned = plan(wanted, records.dimension)
    ledger = _ledger(wanted)
    region = _inspect(records, wanted, planned)
    task = Task(
        records,
        region,
        wanted.n_components,
        wanted.covariance_type,
        wanted.reg_covar,
        wanted.rows_per_person if wanted.by_person else 1.0,
        wanted.engine,
        progress,
    )
    account = Account(planned.guarantee, ledger, wanted.dataset, f"fit mixture, method {wanted.method}")
    frame, rounds, converged = _fit(task, wanted, planned, Payment(account, wanted.bits, listen))
    mixture = Mixture.from_unit(frame, region.center, region.scale)
    tensors = {
        "weights": mixture.weights,
        "means": mixture.means,
        "covariances": pack_covariances(mixture.covariances, wanted.covariance_type),
    }
    account.close(tensor_digest(tensors))
    receipt = _receipt(wanted, planned, records, account, region, rounds)
    named = make_of(source) in ("pandas", "polars")
    return Outcome(mixture, planned.guarantee, receipt, records.names, named, rounds, converged)


def _fit(task: Task, wanted: Request, planned: Plan, payment: Payment) -> tuple[Frame, int, bool]:
    """The fitted frame, the number of rounds, and whether the fit came to rest."""
    if wanted.plain:
        plain = fit_plain(task, wanted.max_iter, wanted.tol)
        return plain.frame, plain.rounds, plain.converged
    events = planned.guarantee.events
    if wanted.method == "input":
        noisy, variance = noise_rows(task, events[0], payment)
        return fit_noised(task, noisy, variance), 1, True
    if wanted.method == "published":
        return fit_published(task, events, payment), events[0].count, True
    assert planned.schedule is not None
    return fit_joint(task, planned.schedule, payment), len(planned.schedule.rounds), True


def _ledger(wanted: Request) -> Ledger | None:
    if wanted.ledger is None:
        if wanted.dataset is not None:
            raise ParameterError(
                "dataset names a budget, but there is no ledger", remedy="Give ledger= as well."
            )
        return None
    return wanted.ledger if isinstance(wanted.ledger, Ledger) else Ledger.open(wanted.ledger)


def _inspect(records: Records, wanted: Request, planned: Plan) -> Any:
    """One pass over the rows before anything is spent; a plain fit without a region finds one here."""
    if planned.region is not None and not wanted.plain:
        records.check(wanted.engine)
        if wanted.method == "input":
            check_size(records)  # how many rows there are is revealed by this method in any case
        return planned.region
    parts = [_extremes(chunk) for part in records.parts for chunk in part.chunks()]
    if not parts:
        raise DataError("there are no rows", wanted="at least one row without missing values")
    if sum(count for count, _, _ in parts) < wanted.n_components:
        raise ParameterError(
            "there are fewer rows than components",
            got=f"{wanted.n_components} components",
            wanted="at least one row for each",
        )
    if planned.region is not None:
        return planned.region
    low = np.min([low for _, low, _ in parts], axis=0)
    high = np.max([high for _, _, high in parts], axis=0)
    margin = np.maximum((high - low) / 2, 1e-9 * np.maximum(np.abs(low), np.abs(high)) + 1e-12)
    try:
        return Box(tuple((low - margin).tolist()), tuple((high + margin).tolist()))
    except DomainError:
        raise DataError("the numbers are too large to fit", remedy="Rescale the columns.") from None


def _extremes(chunk: Chunk) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    return chunk.values.shape[1], chunk.values.min(axis=1), chunk.values.max(axis=1)


def _receipt(
    wanted: Request, planned: Plan, records: Records, account: Account, region: Any, rounds: int
) -> dict[str, Any]:
    """What was asked, paid and used: nothing in it was computed from rows but noisy releases."""
    return {
        "job": "fit mixture",
        "method": "plain" if wanted.plain else wanted.method,
        "noise": "none" if wanted.plain else wanted.noise,
        "components": wanted.n_components,
        "covariance_type": wanted.covariance_type,
        "rounds": rounds,
        "domain": {
            "columns": list(records.names),
            "region": region.to_dict(),
            "missing": wanted.missing,
            "person": wanted.person if wanted.by_person else None,
            "rows_per_person": wanted.rows_per_person if wanted.by_person else None,
        },
        "reg_covar": wanted.reg_covar,
        "account": account.receipt(),
        "versions": {name: version(name) for name in ("discreet", "numpy", "opendp", "dp-accounting")},
    }
