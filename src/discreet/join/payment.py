"""The ledger of one holder: asked before a run, and charged before anything private moves."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.accounting.account import Account
from discreet.accounting.ledger import Ledger
from discreet.errors import LedgerError, ParameterError
from discreet.join.promise import guarantee

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.join.plan import JoinPlan

__all__ = ["Payment", "Purse", "finish"]


@dataclass(frozen=True)
class Purse:
    """The ledger that a holder charges, and the name of the budget in it."""

    path: str
    dataset: str

    @staticmethod
    def of(given: Purse | Ledger | str | os.PathLike[str] | tuple[Any, str], plan: JoinPlan) -> Purse:
        """A path, a `Ledger`, or either with the name of a data set; by default the name of the plan."""
        if isinstance(given, Purse):
            return given
        ledger, dataset = given if isinstance(given, tuple) else (given, plan.name)
        return Purse(str(getattr(ledger, "path", ledger)), dataset)

    def to_dict(self) -> dict[str, str]:
        """As plain data."""
        return {"path": self.path, "dataset": self.dataset}


class Payment:
    """What one holder pays for a run, once; nothing is given back."""

    def __init__(self, plan: JoinPlan, purse: Purse | None, *, seeded: bool) -> None:
        if purse is not None and seeded:
            raise ParameterError(
                "a run that can be repeated is not private, and charges no ledger",
                got="a seed and a ledger",
                wanted="one of them",
            )
        self._plan = plan
        self._purse = purse
        self._promise = guarantee(plan, seeded=seeded)
        self._ledger = None if purse is None else Ledger.open(purse.path)

    def quote(self) -> None:
        """Raise what `charge` would raise; writes nothing."""
        if self._ledger is not None and self._purse is not None:
            self._ledger.quote(self._purse.dataset, self._promise)

    def charge(self) -> Account:
        """Charge the ledger, if there is one: the spending is on disk when this returns."""
        label = f"joint network {self._plan.name}, plan {self._plan.session_plan().digest()[:16]}"
        dataset = None if self._purse is None else self._purse.dataset
        return Account(self._promise, self._ledger, dataset, label)


def finish(purse: Purse, account: Mapping[str, Any], digest: str) -> None:
    """Record in the ledger that the run which this account paid for has ended with this result."""
    ledger, row = Ledger.open(purse.path), account["ledger"]
    entry = next((one for one in ledger.entries() if one.seq == row["seq"] and one.hash == row["hash"]), None)
    if entry is None:
        raise LedgerError("the row that paid for this run is gone", got=row["seq"])
    ledger.finish(entry, digest)
