"""Budgets and their history."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from discreet.accounting.ledger import Ledger

if TYPE_CHECKING:
    import os

    from discreet.accounting.ledger import Balance

__all__ = ["new_budget", "open_ledger"]


def open_ledger(path: str | os.PathLike[str]) -> Ledger:
    """An existing ledger."""
    return Ledger.open(path)


def new_budget(
    path: str | os.PathLike[str],
    dataset: str,
    unit: Any,
    epsilon: float,
    delta: float,
    rule: str | None = None,
) -> Balance:
    """Set the budget of a data set, in a new ledger or in one that is there.

    A budget is set once: saying the same again changes nothing, and anything else is refused.
    """
    if Path(path).exists():
        return Ledger.open(path).budget(dataset, unit, epsilon, delta, rule)
    with TemporaryDirectory() as folder:  # a refused budget must not leave an empty ledger behind
        Ledger.create(Path(folder) / "trial").budget(dataset, unit, epsilon, delta, rule)
    return Ledger.create(path).budget(dataset, unit, epsilon, delta, rule)
