"""Sequences out of tables: pandas, polars, Arrow, and paths to Parquet and CSV files.

A table has one row a step, and a column that says which sequence a row belongs to; or one row a sequence, and
columns of lists. Long tables are brought together by sequence and put in order of time; where nothing says
which time it was, the rows of a sequence keep the order of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError, ParameterError, PersonError, TooLargeError
from discreet.records.arrow import compute
from discreet.records.chunk import LIMIT_BYTES
from discreet.records.files import is_path
from discreet.records.person import group_rows, plain_ids
from discreet.records.sequence_column import (
    flat_lists,
    is_list,
    point_column,
    state_column,
    symbol_column,
    time_column,
)
from discreet.records.sequence_file import read_files
from discreet.records.table import arrow_table, make_of, whole_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.records.arrow import Table
    from discreet.records.roles import Roles

__all__ = ["SequenceTable", "is_table", "read_sequences"]

_TABLES = {"pandas": ("DataFrame",), "polars": ("DataFrame", "LazyFrame"), "pyarrow": ()}


@dataclass(frozen=True, eq=False, repr=False)
class SequenceTable:
    """Rows (F, d) stacked sequence after sequence, and the length of each.

    ``people`` has one number a sequence, the same for all of one person; ``states`` one a row, -1 where the
    state is not known.

    **Reveals** the sequences themselves.
    """

    names: tuple[str, ...]
    rows: NDArray[Any]
    lengths: NDArray[np.intp]
    people: NDArray[np.int64] | None
    states: NDArray[np.int64] | None


def is_table(source: Any) -> bool:
    """Whether a source has columns with names: a path, or a data frame or table of any make."""
    make, kind = make_of(source), type(source).__name__
    known = make == "pyarrow" and isinstance(source, pa.Table | pa.RecordBatch)
    return is_path(source) or known or kind in _TABLES.get(make, ())


def read_sequences(source: Any, roles: Roles) -> SequenceTable:
    """Read sequences out of a table: a frame, an Arrow table, a path, a glob, or a list of paths.

    With ``roles.sequence`` the rows of one sequence are brought together; with ``roles.person`` alone, all
    rows of a person are one sequence. A column of lists holds one sequence a row.

    **Reveals** nothing; the names and types of columns count as public. Errors name columns, never values.
    """
    if is_path(source):
        names, table = read_files(source, roles)
    else:
        names, table = _open(source, roles)
    if not table.num_rows:
        raise DataError("there are no rows", wanted="at least one")
    if table.num_rows * 8 * (len(names) + 4) > LIMIT_BYTES:
        raise TooLargeError("the table is too large to sort in memory", remedy="Fit a sample of it.")
    listed = [name for name in names if is_list(table.schema.field(name).type)]
    if not listed:
        return _read_long(table, names, roles)
    if len(listed) < len(names):
        plain = next(name for name in names if name not in listed)
        raise DataError(
            f"column {listed[0]!r} holds lists, and column {plain!r} does not",
            wanted="one row a sequence in all columns, or in none",
        )
    return _read_lists(table, names, roles)


def _open(source: Any, roles: Roles) -> tuple[tuple[str, ...], Table]:
    if roles.columns is None:
        table: Any = whole_table(source)
    else:
        table = arrow_table(source, (*roles.columns, *roles.others.values()), None)
    names = roles.choose({one.name: one.type for one in table.schema}, table.schema.names)
    return names, table.select([*names, *roles.others.values()])


def _read_long(table: Table, names: tuple[str, ...], roles: Roles) -> SequenceTable:
    """One row a step."""
    key = roles.sequence or roles.person
    if key is None:
        raise ParameterError(
            "nothing says which sequence a row belongs to",
            wanted="sequence= or person=, the name of a column",
            remedy="A column of lists, one sequence a row, needs neither.",
        )
    place, counts = group_rows(
        plain_ids(table.column(key), key, "person" if key is roles.person else "sequence")
    )
    if roles.order is not None:
        times = time_column(table.column(roles.order), roles.order)
        times = times if place is None else times[place]
        owner = np.repeat(np.arange(len(counts)), counts)
        sorted_ = np.lexsort((times, owner))
        place = sorted_ if place is None else place[sorted_]
    lengths = counts.astype(np.intp)
    rows = _rows([_value(table.column(name), name, roles) for name in names], place)
    states = None
    if roles.states is not None:
        states = _placed(state_column(table.column(roles.states), roles.states), place)
    people = None
    if roles.person is not None:
        people = _owners(_placed(_codes(table.column(roles.person), roles.person), place), lengths, roles)
    return SequenceTable(names, rows, lengths, people, states)


def _read_lists(table: Table, names: tuple[str, ...], roles: Roles) -> SequenceTable:
    """One row a sequence."""
    for role, name in (("sequence", roles.sequence), ("order", roles.order)):
        if name is not None:
            raise ParameterError(
                f"{role} names a column, but each row is a sequence already",
                got=name,
                remedy=f"Leave {role}= out.",
            )
    columns: list[Any] = []
    lengths: Any = None
    for name in (*names, *(() if roles.states is None else (roles.states,))):
        values, counts = flat_lists(table.column(name), name)
        if lengths is not None and (counts != lengths).any():
            raise DataError(f"the lists of column {name!r} are not as long as those of {names[0]!r}")
        lengths = counts
        columns.append(values)
    states = None if roles.states is None else state_column(columns.pop(), roles.states)
    rows = _rows([_value(values, name, roles) for name, values in zip(names, columns, strict=True)], None)
    people = None if roles.person is None else _codes(table.column(roles.person), roles.person)
    return SequenceTable(names, rows, lengths, people, states)


def _value(column: Any, name: str, roles: Roles) -> NDArray[Any]:
    if roles.symbols is None:
        return point_column(column, name)
    return symbol_column(column, name, roles.symbols)


def _rows(columns: list[NDArray[Any]], place: NDArray[np.int64] | None) -> NDArray[Any]:
    rows = np.empty((len(columns[0]), len(columns)), dtype=columns[0].dtype)
    for index, column in enumerate(columns):
        rows[:, index] = _placed(column, place)
    return rows


def _placed(values: NDArray[Any], place: NDArray[np.int64] | None) -> NDArray[Any]:
    return values if place is None else values[place]


def _codes(column: Any, name: str) -> NDArray[np.int64]:
    """Numbers that are the same where the ids are."""
    ids = plain_ids(column, name)
    if isinstance(ids, pa.ChunkedArray):
        ids = (ids.cast(pa.large_string()) if pa.types.is_string(ids.type) else ids).combine_chunks()
    return compute.dictionary_encode(ids).indices.to_numpy().astype(np.int64)


def _owners(codes: NDArray[np.int64], lengths: NDArray[np.intp], roles: Roles) -> NDArray[np.int64]:
    """Whose each sequence is; refuses a sequence of several persons."""
    firsts = np.cumsum(lengths) - lengths
    if (np.minimum.reduceat(codes, firsts) != np.maximum.reduceat(codes, firsts)).any():
        raise PersonError(
            f"a sequence of column {roles.sequence!r} has rows of several persons in column {roles.person!r}",
            wanted="one person for each sequence",
            remedy="Give the sequences of different persons different ids.",
        )
    return codes[firsts]
