"""How many answers each client has had of each model: durable, and never more than allowed.

A model is learnt from its answers: whoever may ask without end can rebuild it. So the owner of a model
counts, and an answer is on disk **before** the role that gives it has begun. A crash, a client that is
killed or a run that fails in the middle can waste an answer, and never hide one. Many threads and processes
may charge one file; together they never pass what is allowed. The file is a chain of hashed rows
(`discreet.accounting.chain`), as a privacy ledger is.

**Reveals** to whoever reads the file which client asked how much, and when. No recording and no word is in
it. **Trusts** the file system and the clock of this machine: who can set it forward renews what is allowed
a period.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.accounting.chain import Chain, Head
from discreet.errors import LedgerError, OverspentError, ParameterError

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Callable

    from discreet.accounting.chain import Row

__all__ = ["Allowance", "Answers", "Tally"]

_KIND = "answers"


@dataclass(frozen=True)
class Allowance:
    """How many answers a client may have of a model: in all, or in every so many seconds.

    Without a number there is no limit, and answers are counted all the same.
    """

    most: int | None = None
    period: float | None = None

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 0:
            raise ParameterError("a limit of answers is a number", got=self.most, wanted=">= 0")
        if self.period is not None and not self.period > 0:
            raise ParameterError("a period is a time", got=self.period, wanted="seconds > 0")


@dataclass(frozen=True)
class Tally:
    """The answers that one client has had of one model, and when it had the first and the last (UTC)."""

    client: str
    model: str
    answers: int
    charges: int
    first: str
    last: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return dict(vars(self))


class Answers:
    """A file that counts answers."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._head: Head | None = None
        self._accounts: dict[tuple[str, str], _Account] = {}
        self._turn = threading.Lock()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> Answers:
        """A file that is there, its rows checked; it must be one of answers."""
        answers = cls(Chain(Path(path), clock))
        answers.tallies()
        return answers

    @classmethod
    def at(cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> Answers:
        """The file of this name; a new one if there is none."""
        try:
            if not Path(path).exists():
                Chain.create(Path(path), clock)
        except LedgerError:
            if not Path(path).exists():  # otherwise somebody else was quicker
                raise
        return cls.open(path, clock=clock)

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self._chain.path

    def charge(self, client: str, model: str, count: int, allowance: Allowance | None = None) -> int:
        """Record durably that a client will have had so many more answers; what it has had in all.

        Raises `OverspentError` if that is more than allowed; nothing is recorded then.
        """
        if count < 1:
            raise ParameterError("a question has answers", got=count, wanted=">= 1")
        allowed = allowance or Allowance()
        with self._turn:
            with self._chain.writing() as connection:
                self._catch_up(connection)
                account = self._accounts.get((client, model), _Account())
                _check(account, count, allowed, self._chain.now())
                row = self._chain.append(
                    connection, {"kind": _KIND, "client": client, "model": model, "count": count}
                )
            self._apply(row)
            return self._accounts[client, model].total

    def left(self, client: str, model: str, allowance: Allowance) -> int | None:
        """How many answers a client may still have now; None without a limit."""
        self.tallies()
        account = self._accounts.get((client, model), _Account())
        if allowance.most is None:
            return None
        return max(0, allowance.most - account.since(_start(allowance, self._chain.now())))

    def tallies(self) -> list[Tally]:
        """What every client has had of every model, those with most answers first."""
        with self._turn, self._chain.reading() as connection:
            self._catch_up(connection)
            found = [account.tally(*key) for key, account in self._accounts.items()]
        return sorted(found, key=lambda one: (-one.answers, one.client, one.model))

    def verify(self) -> Head:
        """Check the whole chain; number and hash of its last row."""
        with self._turn:
            self._head, self._accounts = None, {}
        self.tallies()
        assert self._head is not None
        return self._head

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        for row in self._chain.rows(connection, self._head):
            self._apply(row)

    def _apply(self, row: Row) -> None:
        body = row.body
        if body["kind"] == _KIND:
            self._accounts.setdefault((body["client"], body["model"]), _Account()).add(
                body["time"], int(body["count"])
            )
        elif body["kind"] != "ledger":
            raise LedgerError(
                "this ledger does not count answers",
                got=f"{self.path.name}, with rows of kind {body['kind']!r}",
                wanted="a file made by `discreet ask serve`",
                remedy="Check the path: budgets of privacy and answers of a model lie in files of their own.",
            )
        self._head = Head(row.seq, row.hash)


class _Account:
    """The charges of one client for one model: times in order, and what had been charged up to each."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._sums: list[int] = []
        self._first = self._last = ""

    @property
    def total(self) -> int:
        return self._sums[-1] if self._sums else 0

    def add(self, when: str, count: int) -> None:
        """One charge. A clock that was set back does not make an older charge out of it."""
        seconds = datetime.fromisoformat(when).timestamp()
        self._times.append(max(seconds, self._times[-1]) if self._times else seconds)
        self._sums.append(self.total + count)
        self._first, self._last = self._first or when, when

    def since(self, start: float | None) -> int:
        """What was charged after this time."""
        if start is None:
            return self.total
        at = bisect_right(self._times, start)
        return self.total - (self._sums[at - 1] if at else 0)

    def tally(self, client: str, model: str) -> Tally:
        return Tally(client, model, self.total, len(self._times), self._first, self._last)


def _start(allowance: Allowance, now: float) -> float | None:
    return None if allowance.period is None else now - allowance.period


def _check(account: _Account, count: int, allowed: Allowance, now: float) -> None:
    if allowed.most is None:
        return
    had = account.since(_start(allowed, now))
    if had + count > allowed.most:
        raise OverspentError(
            "the client has had its answers",
            got=f"{count} more, after {had}",
            wanted=f"at most {allowed.most}" + (f" in {allowed.period:g} seconds" if allowed.period else ""),
            remedy="Nothing was recorded. Who runs the service may allow more.",
        )
