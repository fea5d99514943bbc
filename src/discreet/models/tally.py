"""Counting: how often each configuration of each family occurs, from columns of small codes.

A configuration becomes one number by mixed radix, and one pass counts the numbers. Codes are multiplied in
the smallest integers that hold them, so that a block of rows stays in the cache through all families.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from discreet.models.structure import Structure

__all__ = ["configurations", "count_rows", "inner_margin", "tally"]

_BLOCK = 2**16


def tally(
    codes: Mapping[str, NDArray[np.integer]], structure: Structure, nodes: Iterable[str] | None = None
) -> dict[str, NDArray[np.int64]]:
    """The counts of every family (of ``nodes``, by default of all) with the shape of its table.

    ``codes`` holds one array of codes 0, 1, ... a node, all of one length. **Reveals** everything about the
    rows that falls into these tables: handle the counts like the rows.
    """
    structure.check_size()
    wanted = structure.nodes if nodes is None else tuple(nodes)
    rows = count_rows({name: codes[name] for node in wanted for name in structure.families[node]}, structure)
    # a family inside another is a margin of its table: a sum over cells instead of a pass over rows
    counted = [node for node in wanted if nodes is not None or node in set(structure.measured)]
    flat = {node: np.zeros(math.prod(structure.shape(node)), dtype=np.int64) for node in counted}
    for start in range(0, rows, _BLOCK):
        for node in counted:
            columns = [codes[name][start : start + _BLOCK] for name in structure.families[node]]
            index = configurations(columns, structure.shape(node))
            flat[node] += np.bincount(index, minlength=flat[node].size)
    tables = {node: table.reshape(structure.shape(node)) for node, table in flat.items()}
    return {
        node: tables[node] if node in tables else inner_margin(node, tables, structure) for node in wanted
    }


def inner_margin(node: str, tables: Mapping[str, NDArray[Any]], structure: Structure) -> NDArray[Any]:
    """The table of a family that lies inside others: its margin in the smallest of those that are given."""
    family = structure.families[node]
    hosts = [other for other in tables if set(family) <= set(structure.families[other])]
    host = min(hosts, key=lambda other: tables[other].size)
    around = structure.families[host]
    gone = tuple(axis for axis, name in enumerate(around) if name not in family)
    left = [name for name in around if name in family]
    return tables[host].sum(axis=gone).transpose([left.index(name) for name in family])


def configurations(columns: list[NDArray[np.integer]], shape: tuple[int, ...]) -> NDArray[np.integer]:
    """One number a row for its states in several columns: the last column counts fastest."""
    cells = math.prod(shape)
    kind = (  # it must hold the number of cells as well: one column may have all of them
        np.int8 if cells < 2**7 else np.int16 if cells < 2**15 else np.int32 if cells < 2**31 else np.int64
    )
    index = columns[0].astype(kind)
    for column, card in zip(columns[1:], shape[1:], strict=True):
        index *= kind(card)
        index += column.astype(kind, copy=False)
    return index


def count_rows(codes: Mapping[str, NDArray[np.integer]], structure: Structure) -> int:
    """How many rows there are; refuses columns that differ in length, and codes that stand for no state."""
    lengths = {len(column) for column in codes.values()}
    if len(lengths) > 1:
        raise DataError("columns differ in length", wanted="one code a row in each column")
    for node, column in codes.items():
        if column.ndim != 1 or not np.issubdtype(column.dtype, np.integer):
            raise DataError(f"the codes of {node!r} are not whole numbers", wanted="a column of integers")
        if column.size and (int(column.min()) < 0 or int(column.max()) >= structure.card(node)):
            raise DataError(f"a code of {node!r} stands for no state", wanted="0 to the number of states - 1")
    return lengths.pop() if lengths else 0
