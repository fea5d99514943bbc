"""The ledger of one holder: asked before a run, and charged before anything private moves."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.accounting.account import Account
from discreet.accounting.ledger import Ledger
from discreet.errors import LedgerError, ParameterError, PartyError
from discreet.join.promise import guarantee

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from discreet.join.plan import JoinPlan

__all__ = ["Payment", "Purse", "finish", "watched"]


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

    def charges(self, plan: JoinPlan) -> int:
        """How often this plan has been paid for so far."""
        label = _label(plan)
        return sum(entry.label == label for entry in Ledger.open(self.path).entries(self.dataset))


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
        dataset = None if self._purse is None else self._purse.dataset
        return Account(self._promise, self._ledger, dataset, _label(self._plan))


@contextmanager
def watched(purses: Mapping[str, Purse], plan: JoinPlan) -> Generator[None]:
    """While parties work: an error that ends the run says which of these ledgers have been charged."""
    before = {name: purse.charges(plan) for name, purse in purses.items()}
    try:
        yield
    except PartyError as error:
        paid = [name for name, purse in purses.items() if purse.charges(plan) > before[name]]
        if paid:
            whose = " and ".join(map(repr, paid))
            raise error.noting(f"The run was charged to the ledger of {whose}, and stays charged.") from error
        if purses:
            raise error.noting("No ledger was charged.") from error
        raise


def _label(plan: JoinPlan) -> str:
    return f"joint network {plan.name}, plan {plan.session_plan().digest()[:16]}"


def finish(purse: Purse, account: Mapping[str, Any], digest: str) -> None:
    """Record in the ledger that the run which this account paid for has ended with this result."""
    ledger, row = Ledger.open(purse.path), account["ledger"]
    entry = next((one for one in ledger.entries() if one.seq == row["seq"] and one.hash == row["hash"]), None)
    if entry is None:
        raise LedgerError("the row that paid for this run is gone", got=row["seq"])
    ledger.finish(entry, digest)
