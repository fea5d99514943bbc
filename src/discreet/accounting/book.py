"""What the rows of a ledger amount to: budgets, what was spent from them, and how each run ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from discreet.accounting.chain import Head
from discreet.accounting.filter import Cost, Filter, affordable, cost_of, limit_of, rounded_down
from discreet.accounting.guarantee import Guarantee, Neighbours, Unit
from discreet.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.accounting.chain import Row

__all__ = ["INTERRUPTED", "Balance", "Book", "Entry", "balance_from", "entry_from"]

INTERRUPTED = "spent, outcome unknown (the run was interrupted, or the result was not saved)"


@dataclass(frozen=True)
class Balance:
    """The budget of one data set and unit: what it holds and what is gone, in whole units of its rule."""

    dataset: str
    unit: Unit
    rule: Filter
    epsilon: float
    delta: float
    limit: Cost
    spent: Cost = (0, 0)
    runs: int = 0
    person: str | None = None
    neighbours: Neighbours | None = None

    @property
    def left(self) -> Cost:
        """What is left, in whole units of the rule."""
        return self.limit[0] - self.spent[0], self.limit[1] - self.spent[1]

    @property
    def share(self) -> float:
        """The part that is gone, from 0 to 1."""
        return max(gone / limit if limit else 0.0 for gone, limit in zip(self.spent, self.limit, strict=True))

    @property
    def epsilon_left(self) -> float:
        """The largest epsilon that the next run may ask for.

        Under "gaussian": with Gaussian noise, at the delta of the budget. Under "sum": at any delta left.
        """
        return affordable(self.rule, self.left, self.delta if self.rule == "gaussian" else 0.0)

    def words(self) -> str:
        """The balance on one line."""
        return (
            f"{self.dataset}, per {self.unit}: epsilon {self.epsilon:g}, delta {self.delta:g} "
            f"(rule {self.rule}); {self.share:.1%} spent in {self.runs} run(s); "
            f"room for epsilon {rounded_down(self.epsilon_left)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The balance as plain data; costs in whole units of the rule, as text."""
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "rule": self.rule,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "limit": list(map(str, self.limit)),
            "spent": list(map(str, self.spent)),
            "share": self.share,
            "epsilon_left": self.epsilon_left,
            "runs": self.runs,
            "person": self.person,
            "neighbours": self.neighbours,
        }


@dataclass(frozen=True)
class Entry:
    """One spending: the promise that was charged, and what became of the run."""

    seq: int
    hash: str
    time: str
    dataset: str
    label: str
    guarantee: Guarantee
    cost: Cost
    rule: Filter
    digest: str | None = None
    finished: str | None = None

    @property
    def outcome(self) -> str:
        """What became of the run, in words."""
        return f"finished {self.finished}, result {self.digest}" if self.digest is not None else INTERRUPTED

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain data."""
        return {
            "seq": self.seq,
            "hash": self.hash,
            "time": self.time,
            "dataset": self.dataset,
            "label": self.label,
            "guarantee": self.guarantee.to_dict(),
            "rule": self.rule,
            "cost": list(map(str, self.cost)),
            "digest": self.digest,
            "outcome": self.outcome,
        }


@dataclass
class Book:
    """The sum of all rows up to a head; rows are applied in order."""

    head: Head | None = None
    balances: dict[tuple[str, str], Balance] = field(default_factory=dict[tuple[str, str], Balance])
    entries: dict[int, Entry] = field(default_factory=dict[int, Entry])

    def apply(self, row: Row) -> None:
        """Take one verified row into account; refuses rows that no ledger would have written."""
        try:
            self._apply(row)
        except (KeyError, TypeError, ValueError) as error:
            raise _nonsense(row) from error
        self.head = Head(row.seq, row.hash)

    def _apply(self, row: Row) -> None:
        body = row.body
        if body["kind"] == "budget":
            self._begin(balance_from(body))
        elif body["kind"] == "spend":
            self._spend(entry_from(row))
        elif body["kind"] == "outcome":
            seq = int(body["entry"])
            if self.entries[seq].digest is not None:
                raise ValueError("a run has two outcomes")
            self.entries[seq] = replace(self.entries[seq], digest=body["digest"], finished=body["time"])
        elif body["kind"] != "ledger":
            raise _nonsense(row)

    def _begin(self, balance: Balance) -> None:
        """A budget is set once, to what its epsilon and delta hold."""
        key = balance.dataset, balance.unit
        if key in self.balances or balance.limit != limit_of(balance.rule, balance.epsilon, balance.delta):
            raise ValueError("a budget was set twice, or holds another amount than it says")
        self.balances[key] = balance

    def _spend(self, entry: Entry) -> None:
        key = entry.dataset, entry.guarantee.unit
        before = self.balances[key]
        whole = before.runs == 0 and entry.cost == before.limit
        if entry.rule != before.rule or not (whole or entry.cost == cost_of(entry.rule, entry.guarantee)):
            raise ValueError("a run was charged another amount than its guarantee costs")
        gone = before.spent[0] + entry.cost[0], before.spent[1] + entry.cost[1]
        if min(entry.cost) < 0 or gone[0] > before.limit[0] or gone[1] > before.limit[1]:
            raise ValueError("more is spent than there was")
        person = before.person or entry.guarantee.person
        self.balances[key] = replace(
            before,
            spent=gone,
            runs=before.runs + 1,
            person=person,
            neighbours=entry.guarantee.neighbours,
        )
        self.entries[entry.seq] = entry


def _nonsense(row: Row) -> LedgerError:
    return LedgerError(
        f"row {row.seq} of the ledger does not make sense",
        wanted="a row written by this version or an older one",
        remedy="The file was forged or comes from another program: compare it with the receipts.",
    )


def balance_from(body: Mapping[str, Any]) -> Balance:
    """A fresh balance from the body of a budget row."""
    return Balance(
        dataset=body["dataset"],
        unit=cast("Unit", body["unit"]),
        rule=cast("Filter", body["rule"]),
        epsilon=body["epsilon"],
        delta=body["delta"],
        limit=_cost(body["limit"]),
    )


def entry_from(row: Row) -> Entry:
    """An entry without outcome from a spending row."""
    body = row.body
    return Entry(
        seq=row.seq,
        hash=row.hash,
        time=body["time"],
        dataset=body["dataset"],
        label=body["label"],
        guarantee=Guarantee.from_dict(body["guarantee"]),
        cost=_cost(body["cost"]),
        rule=cast("Filter", body["rule"]),
    )


def _cost(texts: list[str]) -> Cost:
    first, second = texts
    return int(first), int(second)
