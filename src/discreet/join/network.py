"""The joint network, one role at a time: who says what to whom, and in which order.

    holder  -> holders            "join/ready"     how many rows it has
    holder  -> holders            "join/paid"      its ledger has been charged         (if it pays)
    holders <-> holders           "match/..."      which ids all share                 (if rows have ids)
    holder  -> helper, analysts   "join/rows"      how many rows there are
    holders <-> holders, helper   "families/..."   shares of the crossing tables
    garbler <-> evaluator         "garbled/..."    shares of their noise               (if there is noise)
    all at once                   "join/done", "join/opened"                           (`opening`)
    at work -> who waits          "join/busy"      it goes on, or has ended             (`pulse`)

**Nothing private moves before the ledgers are charged.** A ledger that refuses does so before "ready", so
that no other is charged in vain; what is charged is not given back, whatever happens later: a failure can
waste budget, never hide spending.

**Noise.** Its law is that of a single holder's fit (`discreet.mechanisms.tables`), one sigma for every cell.
The noise of crossing tables is drawn between two parties, neither of whom knows it, and is added to shares. A
family that lies at one holder gets its noise from this holder alone. That is as private: what the noise must
hide is this holder's counts, from the others, and the holder knows those counts anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, ProtocolError
from discreet.join.layout import Layout
from discreet.join.opening import Opening
from discreet.join.pulse import busy, wait
from discreet.mechanisms.noise import NoisePlan, draw_noise
from discreet.models.tally import tally
from discreet.protocols.step import Limit, Receive, Send

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.accounting.account import Account
    from discreet.join.payment import Payment
    from discreet.join.plan import JoinPlan
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Codes = Mapping[str, NDArray[np.integer]]

__all__ = ["analyse", "hold", "lend_help"]

_MOST_ROWS = 2**24
"""Rows that can be matched by id; aligned ones are as many as the plan says."""

_WORD = {"rows": Limit.array("<u8", ())}


@dataclass(frozen=True, repr=False)
class _Holder:
    """What a holder brings: its codes by column, its ids if rows are matched, and how it pays."""

    name: str
    layout: Layout
    codes: Codes
    ids: list[bytes] | None
    payment: Payment

    @property
    def plan(self) -> JoinPlan:
        return self.layout.plan

    @property
    def rows(self) -> int:
        return len(next(iter(self.codes.values())))

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(holder for holder in self.plan.holders if holder != self.name)


def hold(
    name: str, codes: Codes, ids: list[bytes] | None, plan: JoinPlan, payment: Payment, bits: Bits
) -> Steps[dict[str, Any]]:
    """A holder's role; returns numbers of rows, the account and, to a receiver, the tables."""
    own = _Holder(name, Layout(plan), codes, ids, payment)
    _check(own)
    payment.quote()
    sizes = yield from _ready(own)
    if own.layout.crossing:  # what cannot be counted on so many rows is refused while nothing is paid
        own.layout.sharing(min(sizes.values())).bytes()
    account = yield from _pay(own)
    aligned = codes if ids is None else (yield from _aligned(own, sizes, bits))
    opening = Opening(name, own.layout, _count(aligned))
    for other in own.layout.onlookers:
        yield Send("join/rows", {"rows": np.array(opening.rows, dtype="<u8")}, other)
    local = _local(own, aligned, account, bits)
    share = yield from _shared(own, aligned, opening.rows, bits)
    noise = yield from _noise(name, own.layout, opening.rows, bits)
    if share is not None and noise is not None:
        share = share + noise
    share = yield from opening.renew(share, bits)
    yield from opening.tell(share, local)
    result: dict[str, Any] = {"rows": opening.rows, "sizes": sizes, "account": account.receipt()}
    if name in plan.receivers:
        result["tables"] = yield from opening.gather(share, local)
    return result


def lend_help(name: str, plan: JoinPlan, bits: Bits) -> Steps[dict[str, Any]]:
    """The helper's role: it deals masks, and a part of the noise; returns the number of rows."""
    from discreet.protocols.families import help_out

    layout, rows = Layout(plan), (yield from _told_rows(plan))
    if layout.crossing:
        yield from help_out(layout.sharing(rows), bits)
        yield from wait(layout.shareholders[0])
    if name in layout.keepers:
        opening = Opening(name, layout, rows)
        noise = yield from _noise(name, layout, rows, bits)
        noise = yield from opening.renew(noise, bits)
        yield from opening.tell(noise, None)
    return {"rows": rows}


def analyse(name: str, plan: JoinPlan, bits: Bits) -> Steps[dict[str, Any]]:
    """An analyst's role: it waits for the result."""
    layout, rows = Layout(plan), (yield from _told_rows(plan))
    if layout.crossing:
        yield from wait(layout.shareholders[0])
        yield from _noise(name, layout, rows, bits)
    tables = yield from Opening(name, layout, rows).gather(None, None)
    return {"rows": rows, "tables": tables}


def _check(own: _Holder) -> None:
    """Refuse what does not fit the plan, before a byte is sent."""
    declared = own.plan.rows.count
    if declared is not None and own.rows != declared:
        raise DataError(
            "the table does not have as many rows as the plan says",
            wanted=f"{declared:,} rows",
            remedy="Aligned tables have the same rows in the same order. Match rows by id otherwise.",
        )


def _ready(own: _Holder) -> Steps[dict[str, int]]:
    """Tell and hear how many rows everybody has."""
    for other in own.others:
        yield Send("join/ready", {"rows": np.array(own.rows, dtype="<u8")}, other)
    sizes = {own.name: own.rows}
    for other in own.others:
        told = yield Receive("join/ready", _WORD, other)
        sizes[other] = _possible(int(told["rows"]), own.plan)
    return sizes


def _pay(own: _Holder) -> Steps[Account]:
    """Charge the own ledger, and wait until all who pay have charged theirs."""
    account = own.payment.charge()
    if own.name in own.plan.payers:
        for other in own.others:
            yield Send("join/paid", {}, other)
    for other in own.others:
        if other in own.plan.payers:
            yield Receive("join/paid", {}, other)
    return account


def _aligned(own: _Holder, sizes: Mapping[str, int], bits: Bits) -> Steps[Codes]:
    """The rows that all holders share, in one order for all."""
    from discreet.protocols.match import Match, align

    assert own.ids is not None
    agreed = Match(own.plan.holders, tuple(sizes[name] for name in own.plan.holders))
    steps = align(own.name, own.ids, agreed, bits)
    if own.name == own.plan.holders[0]:
        steps = busy(steps, own.layout.onlookers)
    rows = yield from steps
    if not rows.size:
        raise DataError("no id is held by all holders", remedy="Compare how ids are written.")
    return {column: codes[rows] for column, codes in own.codes.items()}


def _local(own: _Holder, codes: Codes, account: Account, bits: Bits) -> NDArray[np.int64]:
    """The tables of the families that lie here, in one row, with their noise."""
    tables = tally(codes, own.layout.structure, own.layout.local_of(own.name)).values()
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *(table.ravel() for table in tables)])
    law = own.layout.law
    if law is None:
        return flat
    if not flat.size:
        account.draw(law.event)  # its part of the event is drawn with others
        return flat
    return flat + draw_noise(
        NoisePlan("gaussian", 0, 1.0, law.bound, law.sigma), flat.size, law.event, account, bits
    )


def _shared(own: _Holder, codes: Codes, rows: int, bits: Bits) -> Steps[NDArray[np.uint64] | None]:
    """A share of all crossing tables in one row; None if it ends elsewhere."""
    from discreet.protocols.address import address
    from discreet.protocols.families import hold as count

    layout = own.layout
    if not layout.crossing:
        return None
    steps = count(own.name, layout.codes_of(own.name, codes), layout.sharing(rows), bits)
    if own.plan.kind in ("transfer", "lattice"):  # written for two, and an analyst may be here as well
        steps = address(steps, own.others[0])
    idle = [other for other in own.others if other not in layout.shareholders]
    if own.name == layout.shareholders[0]:
        steps = busy(steps, [*layout.onlookers, *idle])
    tables = yield from steps
    if tables is None:
        yield from wait(layout.shareholders[0])
        return None
    return np.concatenate([table.ravel() for table in tables])


def _noise(name: str, layout: Layout, rows: int, bits: Bits) -> Steps[NDArray[np.uint64] | None]:
    """A share of the noise of crossing tables, for the two who draw it; the others wait."""
    from discreet.protocols.draw import give_noise, take_noise

    if layout.law is None or not layout.crossing:
        return None
    draw = layout.draw(rows)
    if name == draw.garbler:
        return (yield from give_noise(draw, bits))
    if name == draw.evaluator:
        everybody = (*layout.plan.holders, *layout.onlookers)
        waiting = [other for other in everybody if other not in (draw.garbler, draw.evaluator)]
        return (yield from busy(take_noise(draw, bits), waiting))
    yield from wait(draw.evaluator)
    return None


def _told_rows(plan: JoinPlan) -> Steps[int]:
    """What all holders say the number of rows is."""
    if plan.rows.id is not None:
        yield from wait(plan.holders[0])
    told: set[int] = set()
    for holder in plan.holders:
        answer = yield Receive("join/rows", _WORD, holder)
        told.add(_possible(int(answer["rows"]), plan))
    if len(told) > 1:
        raise ProtocolError("the holders do not agree on the number of rows")
    return told.pop()


def _possible(rows: int, plan: JoinPlan) -> int:
    """A number of rows that somebody tells, if it can be one."""
    if plan.rows.count not in (None, rows):
        raise ProtocolError("a holder has another number of rows than the plan says")
    if plan.rows.count is None and not 1 <= rows <= _MOST_ROWS:
        raise ProtocolError("a holder tells a number of rows that cannot be", wanted=f"1 to {_MOST_ROWS:,}")
    return rows


def _count(codes: Codes) -> int:
    return len(next(iter(codes.values())))
