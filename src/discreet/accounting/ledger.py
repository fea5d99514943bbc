"""The ledger: who spent how much privacy of which data set, durably, and never more than the budget.

**What it promises.** A spending is on disk before `Ledger.spend` returns, hence before any noise is drawn:
a crash can waste budget but never hide spending. Many processes may spend one ledger; together they never
pass a budget. Every row is chained to all before it (`chain`), and costs follow a privacy filter
(`filter`), so the promise holds even though each request is made after seeing the results of the earlier
ones.

**What it cannot do.** It works for the processes of one machine (SQLite's write-ahead log needs shared
memory: no network folders). And it is a file: whoever may write it can also replace it by an older copy, or
run without it. Receipts carry the number and hash of their row, and `Ledger.contains` tells whether a
ledger still has that row, with everything before it unchanged.

**Units are separate.** A budget is for one data set and one unit. A promise about rows is never charged to a
budget about persons, nor the other way round: the two bound different things.
"""

from __future__ import annotations

import math
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.accounting.accountant import check_budget
from discreet.accounting.book import Balance, Book, Entry, entry_from
from discreet.accounting.chain import Chain, Head, canonical
from discreet.accounting.filter import affordable, choose_filter, cost_of, limit_of, rounded_down
from discreet.accounting.guarantee import UNITS
from discreet.errors import BudgetError, LedgerError, OverspentError, ParameterError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from discreet.accounting.filter import Cost
    from discreet.accounting.guarantee import Guarantee, Unit

__all__ = ["Balance", "Entry", "Head", "Ledger"]


class Ledger:
    """An append-only account of privacy budgets in one file; safe for threads, forks and many processes."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._book = Book()
        self._turn = threading.Lock()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def __reduce__(self) -> tuple[Callable[[str], Ledger], tuple[str]]:
        """Copies, and estimators cloned with a ledger, open the same file."""
        return Ledger.open, (str(self.path),)

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> Ledger:
        """Make a new, empty ledger; never overwrites a file."""
        return cls(Chain.create(Path(path), clock))

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> Ledger:
        """Open a ledger, after a look at its schema, its triggers and its last row."""
        chain = Chain(Path(path), clock)
        chain.check()
        return cls(chain)

    @property
    def path(self) -> Path:
        """Where the ledger lies."""
        return self._chain.path

    def budget(
        self, dataset: str, unit: Unit, epsilon: float, delta: float, rule: str | None = None
    ) -> Balance:
        """Set the budget of a data set and unit, once; saying the same again changes nothing.

        ``rule``: "gaussian" (the usual one if delta > 0) or "sum" (the usual one if delta is 0); see
        `filter`.
        """
        fresh = _declare(dataset, unit, epsilon, delta, rule)
        with self._turn, self._chain.writing() as connection:
            self._catch_up(connection)
            known = self._book.balances.get((dataset, unit))
            if known is None:
                self._chain.append(connection, _budget_row(fresh))
                return fresh
        if (known.epsilon, known.delta, known.rule) != (fresh.epsilon, fresh.delta, fresh.rule):
            raise BudgetError(
                f"the data set {dataset!r} already has a budget per {unit}",
                got=f"epsilon {fresh.epsilon:g}, delta {fresh.delta:g}, rule {fresh.rule}",
                wanted=f"epsilon {known.epsilon:g}, delta {known.delta:g}, rule {known.rule}",
                remedy="A budget is a promise to the people in the data: it is set once.",
            )
        return known

    def spend(self, dataset: str, guarantee: Guarantee, label: str) -> Entry:
        """Charge a run to its budget; the spending is on disk when this returns.

        **Costs** what `filter` says, or `OverspentError` and nothing at all.
        """
        _check_claim(guarantee)
        with self._turn:
            with self._chain.writing() as connection:
                self._catch_up(connection)
                balance = _find(self._book, dataset, guarantee.unit)
                body = _spend_row(balance, guarantee, label, _charge(balance, guarantee))
                row = self._chain.append(connection, body)
            self._book.apply(row)
        return entry_from(row)

    def quote(self, dataset: str, guarantee: Guarantee) -> Cost:
        """What `spend` would charge, or the error it would raise; writes nothing."""
        _check_claim(guarantee)
        book = self._read()
        return _charge(_find(book, dataset, guarantee.unit), guarantee)

    def finish(self, entry: Entry, digest: str) -> None:
        """Record that the run of this entry ended with a result of this digest."""
        with self._turn, self._chain.writing() as connection:
            self._catch_up(connection)
            known = self._book.entries.get(entry.seq)
            if known is None or known.hash != entry.hash:
                raise LedgerError("this entry is not in the ledger", got=entry.seq, remedy="Check the path.")
            if known.digest is not None:
                raise LedgerError(
                    "this entry was finished before", got=entry.seq, wanted="one outcome an entry"
                )
            self._chain.append(connection, {"kind": "outcome", "entry": entry.seq, "digest": digest})

    def entries(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """Every spending in order, with its outcome if there is one."""
        entries = self._read().entries.values()
        return tuple(entry for entry in entries if dataset in (None, entry.dataset))

    def budgets(self) -> tuple[Balance, ...]:
        """Every budget with what is left of it."""
        return tuple(self._read().balances.values())

    def left(self, dataset: str, unit: Unit | None = None) -> Balance:
        """The balance of a data set; the unit must be named if it has budgets for several."""
        book = self._read()
        if unit is not None:
            return _find(book, dataset, unit)
        found = [balance for balance in book.balances.values() if balance.dataset == dataset]
        if len(found) > 1:
            units = " and ".join(f"one per {balance.unit}" for balance in found)
            raise ParameterError(f"the data set {dataset!r} has several budgets, {units}", wanted="unit=")
        return found[0] if found else _find(book, dataset, "person")

    def head(self) -> Head:
        """Number and hash of the last row, after verifying the rows that are new to this object."""
        head = self._read().head
        if head is None:
            raise LedgerError("row 0 of the ledger is missing", remedy="Restore it from a copy.")
        return head

    def verify(self) -> Head:
        """Recompute the whole chain; raises `LedgerError` naming the first row that is damaged or missing."""
        with self._turn:
            self._book = Book()
        return self.head()

    def contains(self, seq: int, hash: str) -> bool:
        """Whether row ``seq`` is the one a receipt names; verifies the whole chain.

        If so, every row up to it is what it was when the receipt was written.
        """
        with self._chain.reading() as connection:
            found = {row.seq: row.hash for row in self._chain.rows(connection)}
        return found.get(seq) == hash

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write all rows as JSON lines: number, hash, and the text that was hashed."""
        target = Path(path)
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        try:
            with self._chain.reading() as connection, draft.open("w", encoding="utf-8", newline="\n") as file:
                for row in self._chain.rows(connection):
                    print(canonical({"seq": row.seq, "hash": row.hash, "body": row.text}), file=file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        except OSError as error:
            raise LedgerError("the ledger cannot be exported there", got=f"{target}: {error}") from error
        finally:
            draft.unlink(missing_ok=True)

    def _read(self) -> Book:
        with self._turn, self._chain.reading() as connection:
            self._catch_up(connection)
            return Book(self._book.head, dict(self._book.balances), dict(self._book.entries))

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Verify and apply the rows that are new; what was verified before is not read again."""
        for row in self._chain.rows(connection, self._book.head):
            self._book.apply(row)


def _declare(dataset: object, unit: Unit, epsilon: float, delta: float, rule: str | None) -> Balance:
    epsilon, delta = check_budget(epsilon, delta)
    if not (isinstance(dataset, str) and dataset.strip()):
        raise ParameterError("a budget needs the name of a data set", got=dataset, wanted="a name")
    if unit not in UNITS:
        raise ParameterError("no such unit of privacy", got=unit, wanted=" or ".join(UNITS))
    if math.isinf(epsilon):
        raise ParameterError("an infinite budget is none", got=epsilon, wanted="a finite epsilon")
    chosen = choose_filter(rule, delta)
    return Balance(dataset, unit, chosen, epsilon, delta, limit_of(chosen, epsilon, delta))


def _budget_row(balance: Balance) -> dict[str, object]:
    return {
        "kind": "budget",
        "dataset": balance.dataset,
        "unit": balance.unit,
        "rule": balance.rule,
        "epsilon": balance.epsilon,
        "delta": balance.delta,
        "limit": list(map(str, balance.limit)),
    }


def _spend_row(balance: Balance, guarantee: Guarantee, label: str, cost: Cost) -> dict[str, object]:
    return {
        "kind": "spend",
        "dataset": balance.dataset,
        "unit": balance.unit,
        "label": label,
        "rule": balance.rule,
        "cost": list(map(str, cost)),
        "guarantee": guarantee.to_dict(),
    }


def _check_claim(guarantee: Guarantee) -> None:
    """Only private runs are charged, and only for what they really cost."""
    if not guarantee.private:
        raise ParameterError(
            "a run that is not private cannot be charged to a ledger",
            got=guarantee.summary(),
            wanted="a finite epsilon and no seed",
            remedy="Leave the ledger out: its rows stand for protected results only.",
        )
    guarantee.check()


def _find(book: Book, dataset: str, unit: str) -> Balance:
    balance = book.balances.get((dataset, unit))
    if balance is not None:
        return balance
    for other in (one for one in UNITS if (dataset, one) in book.balances):
        raise BudgetError(
            f"the data set {dataset!r} has a budget per {other} and none per {unit}",
            got=f"a promise per {unit}",
            wanted=f"a promise per {other}",
            remedy=f"Promises per {unit} and per {other} bound different things. Protect each {other}, or "
            f"set a budget per {unit} as well.",
        )
    names = ", ".join(sorted({name for name, _ in book.balances})) or "none yet"
    raise BudgetError(
        "the ledger has no budget for this data set",
        got=dataset,
        wanted=f"one of: {names}",
        remedy="Set one with `discreet ledger new`, before anything is released.",
    )


def _check_kind(balance: Balance, guarantee: Guarantee) -> None:
    """Promises add up only if they are about the same persons and the same neighbours."""
    if balance.person and guarantee.person and balance.person != guarantee.person:
        raise BudgetError(
            "the budget protects persons of another column",
            got=guarantee.person,
            wanted=balance.person,
            remedy="Promises about different kinds of persons do not add up: use another data set name.",
        )
    if balance.neighbours not in (None, guarantee.neighbours):
        raise BudgetError(
            "the budget was spent on promises for other neighbours",
            got=guarantee.neighbours,
            wanted=balance.neighbours,
            remedy="The two kinds of promises do not add up: use another data set name, and tell the owner.",
        )


def _charge(balance: Balance, guarantee: Guarantee) -> Cost:
    """The cost of a run under the rule of its budget, if the budget can bear it."""
    _check_kind(balance, guarantee)
    cost, left = cost_of(balance.rule, guarantee), balance.left
    if cost[0] <= left[0] and cost[1] <= left[1]:
        return cost
    if balance.runs == 0 and guarantee.epsilon <= balance.epsilon and guarantee.delta <= balance.delta:
        return balance.limit
    delta = guarantee.delta if balance.rule == "sum" else guarantee.delta or balance.delta
    room = rounded_down(affordable(balance.rule, left, delta))
    raise OverspentError(
        f"the budget of {balance.dataset!r} per {balance.unit} does not hold this run",
        got=f"epsilon {guarantee.epsilon:g}, delta {guarantee.delta:g}",
        wanted=f"at most epsilon {room} at delta {delta:g}"
        + (", with Gaussian noise" if balance.rule == "gaussian" else ""),
        remedy=_advice(balance, guarantee),
    )


def _advice(balance: Balance, guarantee: Guarantee) -> str:
    laplace = any(event.mechanism == "laplace" for event in guarantee.events)
    if balance.rule == "gaussian" and laplace:
        return (
            "Nothing was spent. Laplace noise is dear under the rule of this budget: prefer a method with "
            'Gaussian noise, or keep Laplace runs on a budget with rule="sum".'
        )
    return "Nothing was spent. Ask for less, or stop here: what is gone cannot be had back."
