"""The account of one run: charged in full when it is opened, then drawn down release by release."""

from __future__ import annotations

import threading
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetError, ParameterError, UnplannedError

if TYPE_CHECKING:
    from discreet.accounting.event import Event
    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.ledger import Entry, Ledger

__all__ = ["Account"]

_ROUNDING = 1 - 1e-12


class Account:
    """What one run may release, and what it has released so far.

    **Costs** the whole plan of the guarantee at once, durably, when the account is opened; what is not
    drawn is not given back. Without a ledger nothing is charged, but the plan is enforced all the same.
    Plain runs (epsilon infinity) and seeded runs are refused together with a ledger: its rows stand for
    protected results.
    """

    def __init__(
        self,
        guarantee: Guarantee,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        label: str = "",
    ) -> None:
        if ledger is not None and dataset is None:
            raise ParameterError(
                "a ledger needs to know which data set is charged",
                wanted="dataset=",
                remedy="Give the data set the name under which its budget was set.",
            )
        guarantee.check()
        self.guarantee = guarantee
        self._ledger = ledger
        self._dataset = dataset
        self._label = label
        self._left = [event.count for event in guarantee.events]
        self._digest: str | None = None
        self._turn = threading.Lock()
        self._entry: Entry | None = None
        if ledger is not None and dataset is not None:
            self._entry = ledger.spend(dataset, guarantee, label)

    def __repr__(self) -> str:
        return f"Account({self._label!r}, {self.guarantee.summary()})"

    @property
    def entry(self) -> Entry | None:
        """The row of the ledger that pays for this run, if there is a ledger."""
        return self._entry

    def draw(self, event: Event) -> None:
        """Take a release from the plan; to be called before its noise is drawn.

        A release is covered by planned ones of the same mechanism with no more noise than it has. Raises
        `UnplannedError`, and takes nothing, if not enough of them are left.
        """
        with self._turn:
            if self._digest is not None:
                raise UnplannedError("a release was attempted after the account was closed", got=event)
            taken = self._cover(event)
            for index, count in taken.items():
                self._left[index] -= count

    def close(self, digest: str) -> None:
        """Record the digest of the result; nothing can be drawn afterwards."""
        with self._turn:
            if self._digest is not None:
                raise BudgetError(
                    "this account is closed already", got=digest, wanted="one result an account"
                )
            self._digest = digest
            if self._ledger is not None and self._entry is not None:
                self._ledger.finish(self._entry, digest)

    def receipt(self) -> dict[str, Any]:
        """The account as plain data, for the receipt of the run."""
        entry = self._entry
        plan = zip(self.guarantee.events, self._left, strict=True)
        return {
            "label": self._label,
            "dataset": self._dataset,
            "guarantee": self.guarantee.to_dict(),
            "private": self.guarantee.private,
            "plan": [{**event.to_dict(), "drawn": event.count - left} for event, left in plan],
            "ledger": None
            if entry is None
            else {
                "file": self._ledger.path.name if self._ledger else None,
                "seq": entry.seq,
                "hash": entry.hash,
                "time": entry.time,
                "rule": entry.rule,
                "cost": list(map(str, entry.cost)),
            },
            "digest": self._digest,
            "versions": {name: version(name) for name in ("discreet", "dp-accounting")},
        }

    def _cover(self, event: Event) -> dict[int, int]:
        """How many to take from which planned event; the noisiest that still covers it comes first."""
        fitting = [
            index
            for index, planned in enumerate(self.guarantee.events)
            if planned.mechanism == event.mechanism and event.noise >= planned.noise * _ROUNDING
        ]
        wanted, taken = event.count, dict[int, int]()
        for index in sorted(fitting, key=lambda index: -self.guarantee.events[index].noise):
            taken[index] = min(wanted, self._left[index])
            wanted -= taken[index]
        if wanted:
            raise UnplannedError(
                "a release is not covered by what is left of the plan",
                got=event,
                wanted=f"planned {event.mechanism} releases with no more noise: {event.count - wanted} left",
                remedy="Plan every release in the guarantee before the account is opened.",
            )
        return taken
