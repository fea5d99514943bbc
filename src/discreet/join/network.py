"""The joint network, one role at a time: who says what to whom, and in which order.

    holder  -> holders            "join/ready"    how many rows it has
    holder  -> holders            "join/paid"     its ledger has been charged      (if it pays)
    holders <-> holders           "match/..."     which ids all share              (if rows have ids)
    holder  -> helper, analysts   "join/rows"     how many rows there are
    holders <-> holders, helper   "..."           shares of the crossing tables
    holders <-> holders           "..."           shares of their noise            (if there is noise)
    holder  -> holders            "join/done"     it has all that it will open
    holder  -> receivers          "join/opened"   its shares, and the tables that it counted itself

**Nothing private moves before the ledgers are charged.** A ledger that refuses does so at "ready", before any
other is charged; what is charged is not given back, whatever happens later: a failure can waste budget, never
hide spending. **Nothing is opened before everybody has everything**: shares of single tables are uniform
words, and go to the receivers only after the last "done".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, ProtocolError
from discreet.join import counting
from discreet.join.layout import Layout
from discreet.models.tally import tally
from discreet.protocols.step import Limit, Receive, Send

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.join.plan import JoinPlan
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["analyse", "hold", "lend_help"]

_WORD = {"rows": Limit.array("<u8", (1,))}


@dataclass(frozen=True, repr=False)
class _Holding:
    """What a holder brings: its codes by column, its ids if rows are matched, and who charges its ledger."""

    name: str
    plan: JoinPlan
    layout: Layout
    codes: Mapping[str, NDArray[np.integer]]
    ids: list[bytes] | None

    @property
    def rows(self) -> int:
        return len(next(iter(self.codes.values())))

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(holder for holder in self.plan.holders if holder != self.name)


def hold(
    name: str,
    codes: Mapping[str, NDArray[np.integer]],
    ids: list[bytes] | None,
    plan: JoinPlan,
    bits: Bits,
) -> Steps[dict[str, Any]]:
    """A holder's role; returns the number of rows and, to a receiver, the tables."""
    own = _Holding(name, plan, Layout(plan), codes, ids)
    _check(own)
    yield from _ready(own)
    rows = own.rows
    for other in (*plan.analysts, *([plan.helper] if plan.helper else [])):
        yield Send("join/rows", {"rows": np.array([rows], dtype="<u8")}, other)
    tables = tally(codes, plan.network, own.layout.local_of(name))
    shares = yield from counting.count(name, codes, own.layout, rows, bits)
    yield from _done(own)
    return (yield from _open(own, rows, _flat(tables), shares))


def lend_help(plan: JoinPlan, bits: Bits) -> Steps[dict[str, Any]]:
    """The helper's role: it deals masks; returns the number of rows."""
    rows = yield from _told_rows(plan)
    yield from counting.help_count(Layout(plan), rows, bits)
    return {"rows": rows}


def analyse(plan: JoinPlan) -> Steps[dict[str, Any]]:
    """An analyst's role: it waits for the result."""
    rows = yield from _told_rows(plan)
    layout = Layout(plan)
    tables = yield from _received(plan, layout, rows, {}, None, plan.holders)
    return {"rows": rows, "tables": tables}


def _check(own: _Holding) -> None:
    """Refuse what does not fit the plan, before a byte is sent."""
    count = own.plan.rows.count
    if count is not None and own.rows != count:
        raise DataError(
            "the table does not have as many rows as the plan says",
            wanted=f"{count:,} rows",
            remedy="Aligned tables have the same rows in the same order. Match rows by id otherwise.",
        )


def _ready(own: _Holding) -> Steps[dict[str, int]]:
    """Tell and hear how many rows everybody has."""
    for other in own.others:
        yield Send("join/ready", {"rows": np.array([own.rows], dtype="<u8")}, other)
    sizes = {own.name: own.rows}
    for other in own.others:
        told = yield Receive("join/ready", _WORD, other)
        sizes[other] = int(told["rows"][0])
    if own.plan.rows.count is not None and set(sizes.values()) != {own.plan.rows.count}:
        raise ProtocolError("a holder has another number of rows than the plan says")
    return sizes


def _done(own: _Holding) -> Steps[None]:
    """Wait until every holder has all that it will open."""
    for other in own.others:
        yield Send("join/done", {}, other)
    for other in own.others:
        yield Receive("join/done", {}, other)


def _told_rows(plan: JoinPlan) -> Steps[int]:
    """What all holders say the number of rows is."""
    told: set[int] = set()
    for holder in plan.holders:
        answer = yield Receive("join/rows", _WORD, holder)
        told.add(int(answer["rows"][0]))
    if len(told) > 1 or plan.rows.count not in (None, *told):
        raise ProtocolError("the holders do not agree on the number of rows")
    return told.pop()


def _open(
    own: _Holding, rows: int, local: NDArray[np.int64], shares: NDArray[np.uint64] | None
) -> Steps[dict[str, Any]]:
    """Send to those who receive, and if that includes us, put everything together."""
    plan, layout = own.plan, own.layout
    parts = {"local": local, **({} if shares is None else {"shares": shares})}
    for receiver in plan.receivers:
        if receiver != own.name:
            yield Send("join/opened", parts, receiver)
    if own.name not in plan.receivers:
        return {"rows": rows}
    mine = layout.split_local(local, own.name)
    tables = yield from _received(plan, layout, rows, mine, shares, own.others)
    return {"rows": rows, "tables": tables}


def _received(
    plan: JoinPlan,
    layout: Layout,
    rows: int,
    tables: Mapping[str, NDArray[np.integer]],
    share: NDArray[np.uint64] | None,
    senders: tuple[str, ...],
) -> Steps[dict[str, NDArray[np.int64]]]:
    """All tables, from what the holders send; one's own share and tables are there already."""
    cells = layout.crossing_cells()
    total = np.zeros(cells, dtype=np.uint64) if share is None else share
    found = dict(tables)
    for sender in senders:
        limits = {"local": Limit.array("<i8", (plan.network.cells(layout.local_of(sender)),))}
        if sender in counting.shareholders(layout):
            limits["shares"] = Limit.array("<u8", (cells,))
        told = yield Receive("join/opened", limits, sender)
        found |= layout.split_local(told["local"], sender)
        if "shares" in told:
            total = total + told["shares"]
    found |= layout.split(_decoded(total, rows, counting.BITS))
    return {node: np.ascontiguousarray(found[node], dtype=np.int64) for node in plan.network.measured}


def _decoded(total: NDArray[np.uint64], rows: int, bits: int) -> NDArray[np.int64]:
    """Words modulo 2**bits as integers around 0 to rows: half of what is left over lies on either side."""
    below = (2**bits - rows) // 2
    shifted = (total + np.uint64(below)) & np.uint64(2**bits - 1)
    return (shifted - np.uint64(below)).view(np.int64)


def _flat(tables: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(table.ravel() for table in tables.values())])
