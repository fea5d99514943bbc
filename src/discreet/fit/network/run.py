"""Run a request: count the rows, charge the ledger, draw the noise, hand over what may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.account import Account
from discreet.accounting.ledger import Ledger
from discreet.bundle import tensor_digest
from discreet.errors import DataError, ParameterError
from discreet.fit.network.card import tensors_of
from discreet.fit.network.request import plan
from discreet.mechanisms.tables import release_tables
from discreet.models.margins import parameters
from discreet.models.tally import tally
from discreet.records.codes import code_chunks
from discreet.records.ids import first_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.fit.network.request import Plan, Request
    from discreet.models.network import Network

    Listen = Callable[[Mapping[str, NDArray[np.int64]]], None]

__all__ = ["Outcome", "count", "run"]


@dataclass(frozen=True)
class Outcome:
    """A released network with its papers."""

    network: Network
    guarantee: Guarantee
    receipt: dict[str, Any]


def run(
    wanted: Request,
    source: Any,
    *,
    person: Any = None,
    progress: Callable[[int, int], None] | None = None,
    listen: Listen | None = None,
) -> Outcome:
    """Fit as requested. ``person`` holds one id a row; ``listen`` is told the noisy tables: for audits.

    The rows are read and counted first, so that everything that can be refused is refused; then the whole
    cost is charged; then noise is drawn.
    """
    if person is not None and wanted.person is not None:
        raise ParameterError("the person is named twice", remedy="Give a column name or an array of ids.")
    by_person = person is not None or wanted.person is not None
    planned = plan(wanted, by_person=by_person)
    ledger = wanted.ledger
    if ledger is not None and not isinstance(ledger, Ledger):
        ledger = Ledger.open(ledger)
    counts = count(wanted, source, person=person)
    _report(progress, 1)
    account = Account(planned.guarantee, ledger, wanted.dataset, f"fit network, method {_method(wanted)}")
    network = _fit(wanted, planned, counts, account, listen)
    _report(progress, 2)
    account.close(tensor_digest(tensors_of(network)))
    return Outcome(network, planned.guarantee, _receipt(wanted, planned, account, by_person=by_person))


def count(wanted: Request, source: Any, *, person: Any = None) -> dict[str, NDArray[np.int64]]:
    """The counts of the families that are measured (of all, in a plain fit): batch by batch, exact.

    **Reveals** everything until noise is added. Of every person only the first ``rows_per_person`` count.
    """
    structure = wanted.structure
    nodes = structure.nodes if wanted.plain else structure.measured
    keep = _kept(wanted, source, person)
    counts = {node: np.zeros(structure.shape(node), dtype=np.int64) for node in nodes}

    for codes, _ in code_chunks(source, structure.states, missing=wanted.missing, keep=keep):
        for node, table in tally(codes, structure, nodes).items():
            counts[node] += table

    return counts


def _kept(wanted: Request, source: Any, person: Any) -> NDArray[np.bool_] | None:
    if person is None and wanted.person is None:
        return None
    if person is None:
        assert wanted.person is not None
        return first_rows(source, wanted.person, wanted.rows_per_person)
    ids = np.asarray(person)
    if ids.ndim != 1:
        raise DataError("person= does not fit the rows", wanted="one id for each row")
    return first_rows({"person": ids}, "person", wanted.rows_per_person)


def _fit(
    wanted: Request,
    planned: Plan,
    counts: dict[str, NDArray[np.int64]],
    account: Account,
    listen: Listen | None,
) -> Network:
    if planned.law is None:
        return parameters(counts, wanted.structure, prior=wanted.prior)
    noisy = release_tables(counts, planned.law, account, wanted.bits)
    if listen is not None:
        listen(noisy)
    return parameters(noisy, wanted.structure, prior=wanted.prior, sigma=planned.law.sigma)


def _report(progress: Callable[[int, int], None] | None, done: int) -> None:
    if progress is not None:
        progress(done, 2)


def _method(wanted: Request) -> str:
    return "plain" if wanted.plain else "tables"


def _receipt(wanted: Request, planned: Plan, account: Account, *, by_person: bool) -> dict[str, Any]:
    """What was asked, paid and used: nothing in it was computed from rows."""
    structure = wanted.structure
    measured = structure.nodes if wanted.plain else structure.measured
    return {
        "job": "fit network",
        "method": _method(wanted),
        "noise": "none" if wanted.plain else "gaussian",
        "nodes": len(structure.nodes),
        "families": len(measured),
        "cells": structure.cells(measured),
        "sigma": None if planned.law is None else planned.law.sigma,
        "prior": wanted.prior,
        "domain": {
            "columns": list(structure.nodes),
            "missing": wanted.missing,
            "person": wanted.person if by_person else None,
            "rows_per_person": wanted.rows_per_person if by_person else None,
        },
        "account": account.receipt(),
        "versions": {name: version(name) for name in ("discreet", "numpy", "opendp", "dp-accounting")},
    }
