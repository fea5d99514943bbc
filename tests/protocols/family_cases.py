"""Tables of counts with small inputs, one case a route, for the tests that every protocol must pass.

`family_cases(Plan, Case)` gives lines for the registry of contracts.
"""

from __future__ import annotations

import numpy as np

from discreet.protocols.families import Families, Vector, help_out, hold

__all__ = ["AGREED", "family_cases", "pooled", "right"]

_TWO = (Vector("a", 3), Vector("b", 2), Vector("b", 4), Vector("a", 1), Vector("a", 2))
_FOUR = (Vector("a", 3), Vector("b", 2), Vector("c", 2), Vector("d", 3), Vector("d", 1))

AGREED = {
    "families with a helper": Families(40, ("a", "b"), _TWO, ((0, 1), (2, 0), (1, 3)), "helper"),
    "long families with a helper": Families(
        30, ("a", "b", "c", "d"), _FOUR, ((3, 0, 2), (0, 1, 2, 3), (1, 4)), "helper"
    ),
    "families by transfers": Families(40, ("a", "b"), _TWO, ((0, 1), (2, 0), (1, 3)), "transfer"),
    "families over a lattice": Families(40, ("a", "b"), _TWO[:2], ((1, 0),), "lattice"),
    "families of three": Families(30, ("a", "b", "c"), _FOUR[:3], ((0, 1), (2, 0), (1, 0, 2)), "three"),
    "families of three for a fourth": Families(
        30, ("a", "b", "c", "d"), _FOUR, ((3, 0), (0, 1, 3, 2), (2, 4)), "three", ("c", "a", "b")
    ),
}


def pooled(agreed, private):
    """The slow, obvious tables: one row after the other."""
    columns = {}
    for name in agreed.holders:
        columns |= dict(zip(agreed.own(name), private[name], strict=True))
    tables = [np.zeros(agreed.shape(family), dtype=np.int64) for family in agreed.families]
    for row in range(agreed.rows):
        for table, family in zip(tables, agreed.families, strict=True):
            table[tuple(int(columns[index][row]) for index in family)] += 1
    return tables


def right(agreed, private, out):
    """Whether the shares of those who have some add up to the pooled tables."""
    if any(out[name] is not None for name in out if name not in agreed.shareholders):
        return False
    mask = np.uint64(2**agreed.ring_bits - 1)
    for number, table in enumerate(pooled(agreed, private)):
        total = sum(np.asarray(out[name][number], dtype=np.uint64) for name in agreed.shareholders)
        if not np.array_equal(total & mask, table.astype(np.uint64)):
            return False
    return True


def family_cases(plan, case):
    """Lines for a registry: ``plan`` and ``case`` are its classes."""
    return {name: _line(plan, case, agreed) for name, agreed in AGREED.items()}


def _line(plan, case, agreed):
    roles = {
        name: lambda private, plain, bits, name=name: hold(name, private, Families.of(plain), bits)
        for name in agreed.holders
    }
    learns = dict.fromkeys(agreed.holders, "a share")
    if agreed.route == "helper":
        roles["helper"] = lambda private, plain, bits: help_out(Families.of(plain), bits)
        learns["helper"] = "nothing"
    inputs = tuple(_codes(agreed, value) for value in (0, 1))
    return case(
        plan("families", 1, agreed.to_dict(), learns),
        roles,
        inputs,
        lambda private, out: right(agreed, private, out),
    )


def _codes(agreed, value):
    """Everybody in the first configuration, or everybody in the last; and no code for a helper."""
    return {"helper": None} | {
        name: [
            np.full(agreed.rows, value * (agreed.vectors[index].size - 1), dtype=np.int8)
            for index in agreed.own(name)
        ]
        for name in agreed.holders
    }
