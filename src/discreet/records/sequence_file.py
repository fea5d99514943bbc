"""Files of sequences, read whole: a file is refused if it could not be sorted in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import DataError, DomainError, TooLargeError
from discreet.records.csv import MISSING_WORDS, csv_table, same_fields, unnamed_columns
from discreet.records.files import Stamp, find_files
from discreet.records.parquet import check_schemas, count_values, read_columns, read_footer

if TYPE_CHECKING:
    from discreet.records.arrow import Table
    from discreet.records.roles import Roles

__all__ = ["IN_MEMORY_BYTES", "name_columns", "read_files"]

IN_MEMORY_BYTES = 2**30
"""Files of sequences are read whole up to this size in memory: some 26 million symbols."""


def read_files(source: Any, roles: Roles) -> tuple[tuple[str, ...], Table]:
    """The columns to learn from, and a table with these and all others that have a role."""
    kind, stamps = find_files(source)
    names = _choose(kind, stamps, roles)
    others = tuple(roles.others.values())
    most = IN_MEMORY_BYTES // (8 * (len(names) + 4))
    if kind == "csv":
        return names, _read_csv(stamps, names, others, roles, most)
    if sum(count_values(stamp, (*names, *others)) for stamp in stamps) > most:
        raise _too_large()
    batches = [batch for stamp in stamps for batch in read_columns(stamp, (*names, *others))]
    if not batches:
        raise DataError("there are no rows in the files", wanted="at least one")
    return names, pa.Table.from_batches(batches)


def name_columns(source: Any, roles: Roles) -> tuple[str, ...]:
    """The columns that `read_files` would learn from; of Parquet files only the footer is read."""
    return _choose(*find_files(source), roles)


def _choose(kind: str, stamps: list[Stamp], roles: Roles) -> tuple[str, ...]:
    if kind == "csv":
        names = [name for name, _ in same_fields(stamps, None)]
        if roles.columns is None:
            raise unnamed_columns(names)
        return roles.choose(dict.fromkeys(names), names)
    footers = [read_footer(stamp) for stamp in stamps]
    check_schemas(footers)
    return roles.choose(dict(footers[0].fields), [name for name, _ in footers[0].fields])


def _read_csv(
    stamps: list[Stamp], names: tuple[str, ...], others: tuple[str, ...], roles: Roles, most: int
) -> Table:
    if not isinstance(roles.symbols, int | None):
        words = [name for name in roles.symbols if name in MISSING_WORDS]
        if words:
            raise DomainError(
                "a symbol means a missing value in CSV files", got=words[0], remedy="Use Parquet files."
            )
    kind = pa.float64() if roles.symbols is None else pa.string()
    types = {**dict.fromkeys(names, kind), **dict.fromkeys(others, pa.string())}
    table = csv_table(stamps, types, most, _too_large)
    for name in names if isinstance(roles.symbols, int) else ():
        table = _numbered(table, name, (pa.int64(),))
    return table if roles.states is None else _numbered(table, roles.states, (pa.int64(), pa.float64()))


def _numbered(table: Table, name: str, kinds: tuple[Any, ...]) -> Table:
    """A column of text as numbers of the first type that fits; left as it is, to be refused, where none."""
    for kind in kinds:
        try:
            numbers = table.column(name).cast(kind)
        except pa.ArrowException:  # its words would quote a value
            continue
        return table.set_column(table.schema.get_field_index(name), name, numbers)
    return table


def _too_large() -> TooLargeError:
    return TooLargeError(
        "the files are too large to bring the rows of each sequence together in memory",
        wanted=f"at most {IN_MEMORY_BYTES // 2**30} GiB, some {IN_MEMORY_BYTES // 40:,} symbols",
        remedy="Fit a sample of the sequences: a private fit rarely needs more.",
    )
