"""Joint tables of the ALARM network, its 37 columns split at random, each party a process over mutual TLS.

Against the protocol for one product at a time (`discreet.protocols.product`): seconds and bytes for the same
tables. Two holders without a helper, by transfers and over a lattice; three holders among themselves. Codes
are uniform: nothing here depends on them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.table import Finding
from discreet.protocols import product
from discreet.protocols.families import Families, Vector, help_out, hold
from discreet.session import Part, Plan, rehearse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Codes = list[NDArray[np.int8]]

__all__ = ["alarm", "helper", "holder", "old_helper", "old_holder", "run"]

_ALARM = (
    "HISTORY 2 LVFAILURE; CVP 3 LVEDVOLUME; PCWP 3 LVEDVOLUME; HYPOVOLEMIA 2; LVEDVOLUME 3 "
    "HYPOVOLEMIA LVFAILURE; LVFAILURE 2; STROKEVOLUME 3 HYPOVOLEMIA LVFAILURE; ERRLOWOUTPUT 2; HRBP "
    "3 ERRLOWOUTPUT HR; HREKG 3 ERRCAUTER HR; ERRCAUTER 2; HRSAT 3 ERRCAUTER HR; INSUFFANESTH 2; "
    "ANAPHYLAXIS 2; TPR 3 ANAPHYLAXIS; EXPCO2 4 ARTCO2 VENTLUNG; KINKEDTUBE 2; MINVOL 4 INTUBATION "
    "VENTLUNG; FIO2 2; PVSAT 3 FIO2 VENTALV; SAO2 3 PVSAT SHUNT; PAP 3 PULMEMBOLUS; PULMEMBOLUS 2; "
    "SHUNT 2 INTUBATION PULMEMBOLUS; INTUBATION 3; PRESS 4 INTUBATION KINKEDTUBE VENTTUBE; "
    "DISCONNECT 2; MINVOLSET 3; VENTMACH 4 MINVOLSET; VENTTUBE 4 DISCONNECT VENTMACH; VENTLUNG 4 "
    "INTUBATION KINKEDTUBE VENTTUBE; VENTALV 4 INTUBATION VENTLUNG; ARTCO2 3 VENTALV; CATECHOL 2 "
    "ARTCO2 INSUFFANESTH SAO2 TPR; HR 3 CATECHOL; CO 3 HR STROKEVOLUME; BP 3 CO TPR "
)
"""Node, states, parents (Beinlich and others 1989), as in the BIF of bnlearn."""

_MINUTE = 60.0


def run(full: bool) -> list[Finding]:
    """All routes, bytes against what was announced, and one product at a time."""
    many, some = (1_000_000, 100_000) if full else (50_000, 20_000)
    findings: list[Finding] = []
    seconds, moved, told = _measured(alarm(many, 2, "helper"), whole=True)
    what = f"ALARM, {many:,} rows, two holders and a helper"
    findings.append(Finding(what, f"{seconds:.1f} s", "a minute", _MINUTE / seconds, 1.0))
    close = min(moved / told, told / moved)
    findings.append(
        Finding(f"{what}: announced bytes", f"{moved / 1e6:.1f} MB", f"{told / 1e6:.1f} MB", close, 0.98)
    )
    agreed = alarm(some, 2, "helper")
    ours, bytes_ours, _ = _measured(agreed)
    theirs, bytes_theirs = _old(agreed)
    what = f"ALARM, {some:,} rows, helper: one product at a time"
    findings.append(
        Finding(f"{what}, seconds", f"{ours:.1f} s", f"{theirs:.1f} s", theirs / ours, 2.0 if full else None)
    )
    sizes = f"{bytes_ours / 1e6:.0f} MB", f"{bytes_theirs / 1e6:.0f} MB"
    findings.append(Finding(f"{what}, bytes", *sizes, bytes_theirs / bytes_ours, 5.0))
    for route, holders in (("transfer", 2), ("lattice", 2), ("three", 3)):
        seconds, moved, _ = _measured(alarm(some, holders, route))
        what = f"ALARM, {some:,} rows, {route}: with a helper"
        findings.append(
            Finding(what, f"{seconds:.1f} s, {moved / 1e6:.0f} MB", f"{ours:.1f} s", ours / seconds)
        )
    return findings


def alarm(rows: int, holders: int, route: Any) -> Families:
    """The crossing families of ALARM, columns dealt out at random (always the same way)."""
    nodes = [line.split() for line in _ALARM.split("; ")]
    states = {name: int(count) for name, count, *_ in nodes}
    order = np.random.default_rng(1).permutation(np.arange(len(nodes)) % holders)
    site = {node[0]: f"holder-{place}" for node, place in zip(nodes, order, strict=True)}
    vectors: dict[tuple[str, tuple[str, ...]], int] = {}
    families: list[tuple[int, ...]] = []
    for name, _, *parents in nodes:
        parts: dict[str, list[str]] = {}
        for column in (*parents, name):
            parts.setdefault(site[column], []).append(column)
        if len(parts) > 1:
            keys = [(holder, tuple(sorted(columns))) for holder, columns in parts.items()]
            families.append(tuple(vectors.setdefault(key, len(vectors)) for key in keys))
    sizes = [Vector(holder, int(np.prod([states[c] for c in columns]))) for holder, columns in vectors]
    names = tuple(f"holder-{place}" for place in range(holders))
    return Families(rows, names, tuple(sizes), tuple(families), route)


def holder(private: Any, agreed: Any, bits: Bits) -> Steps[Any]:
    """A holder's role."""
    return hold(private["name"], private["codes"], Families.of(agreed), bits)


def helper(private: Any, agreed: Any, bits: Bits) -> Steps[None]:
    """The helper's role."""
    del private
    return help_out(Families.of(agreed), bits)


def old_holder(private: Any, agreed: Any, bits: Bits) -> Steps[list[Any]]:
    """The same tables, one product after the other."""
    del bits
    plan, shares = Families.of(agreed), list[Any]()
    own = dict(zip(plan.own(private["name"]), private["codes"], strict=True))
    for family in plan.families:
        (index,) = (index for index in family if index in own)
        ones = (own[index][:, None] == np.arange(plan.vectors[index].size)).astype(np.int64)
        shares.append((yield from product.join_in(private["name"], ones, _joint(plan, family))))
    return shares


def old_helper(private: Any, agreed: Any, bits: Bits) -> Steps[None]:
    """Deals for one product after the other."""
    del private
    plan = Families.of(agreed)
    for family in plan.families:
        yield from product.help_out(_joint(plan, family), bits)


def _joint(plan: Families, family: tuple[int, ...]) -> product.Joint:
    vectors = [plan.vectors[index] for index in family]
    return product.Joint(plan.rows, tuple((vector.holder, vector.size) for vector in vectors))


def _codes(agreed: Families) -> Codes:
    random = np.random.default_rng(2)
    return [random.integers(0, vector.size, agreed.rows).astype(np.int8) for vector in agreed.vectors]


def _measured(agreed: Families, *, whole: bool = False) -> tuple[float, int, int]:
    """Seconds, bytes of frames that moved, bytes that were announced.

    Seconds are those of the session, from greeting to receipt, or of the ``whole`` rehearsal, with starting
    processes, making keys and connecting.
    """
    codes = _codes(agreed)
    start = time.perf_counter()
    seconds, moved, outputs = _rehearsed(agreed, codes, "holder", "helper")
    seconds = time.perf_counter() - start if whole else seconds
    mask = np.uint64(2**agreed.ring_bits - 1)
    _check(agreed, codes, [sum(shares) & mask for shares in zip(*outputs, strict=True)])
    return seconds, moved, sum(agreed.bytes().values())


def _old(agreed: Families) -> tuple[float, int]:
    codes = _codes(agreed)
    seconds, moved, outputs = _rehearsed(agreed, codes, "old_holder", "old_helper")
    _check(agreed, codes, [sum(shares) for shares in zip(*outputs, strict=True)])
    return seconds, moved


def _rehearsed(agreed: Families, codes: Codes, hold: str, help_out: str) -> tuple[float, int, list[Any]]:
    parts = {
        name: Part(
            f"benchmarks.families:{hold}",
            {"name": name, "codes": [codes[index] for index in agreed.own(name)]},
        )
        for name in agreed.holders
    }
    if agreed.route == "helper":
        parts["helper"] = Part(f"benchmarks.families:{help_out}")
    plan = Plan("families", 1, agreed.to_dict(), dict.fromkeys(parts, "shares"))
    ended = rehearse(plan, parts)
    seconds = max(one.receipt.seconds for one in ended.values())
    moved = sum(meter.total().sent for one in ended.values() for meter in one.receipt.peers.values())
    return seconds, moved, [ended[name].output for name in agreed.holders]


def _check(agreed: Families, codes: Codes, tables: list[NDArray[np.uint64]]) -> None:
    for family, table in zip(agreed.families, tables, strict=True):
        shape = agreed.shape(family)
        flat = np.ravel_multi_index(tuple(codes[index] for index in family), shape)
        assert np.array_equal(table.ravel(), np.bincount(flat, minlength=int(np.prod(shape))))
