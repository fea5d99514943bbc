"""Named columns of any table, read in batches of rows as they are: data frames, Arrow, mappings, files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import DataError
from discreet.records.csv import csv_batches, same_fields
from discreet.records.files import find_files, is_path
from discreet.records.parquet import check_schemas, read_columns, read_footer
from discreet.records.table import arrow_table, require_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["BATCH_ROWS", "read_batches"]

BATCH_ROWS = 2**16
"""About how many rows a batch of a table in memory has; batches of files are of some megabytes."""


def read_batches(source: Any, names: Sequence[str]) -> Iterator[tuple[Any, bool]]:
    """Arrow batches with these columns, in the order of the rows; and whether they are bare words of CSV.

    ``source`` is a pandas or polars frame, an Arrow table, a mapping of names to arrays of equal length, or
    paths of Parquet or CSV files. In CSV files nothing is taken for a number or for missing here.
    """
    if is_path(source):
        yield from _read_files(source, names)
        return
    table = _from_mapping(source, names) if isinstance(source, Mapping) else arrow_table(source, names, None)
    require_columns(table.column_names, names, None)
    for batch in table.select(list(names)).to_batches(max_chunksize=BATCH_ROWS):
        yield batch, False


def _read_files(source: Any, names: Sequence[str]) -> Iterator[tuple[Any, bool]]:
    kind, stamps = find_files(source)
    if kind == "csv":
        require_columns([name for name, _ in same_fields(stamps, None)], names, None)
        types = dict.fromkeys(names, pa.string())
        for stamp in stamps:
            for batch in csv_batches(stamp, types, missing=()):
                yield batch.select(list(names)), True
        return
    footers = [read_footer(stamp) for stamp in stamps]
    check_schemas(footers)
    require_columns([name for name, _ in footers[0].fields], names, None)
    for stamp in stamps:
        for batch in read_columns(stamp, names):
            yield batch, False


def _from_mapping(source: Mapping[str, Any], names: Sequence[str]) -> Any:
    require_columns([str(name) for name in source], names, None)
    columns: dict[str, Any] = {}
    for name in names:
        try:
            columns[name] = pa.array(source[name], from_pandas=True)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            raise DataError(
                f"column {name!r} mixes types, or is no column", wanted="one value a row"
            ) from None
    if len({len(column) for column in columns.values()}) > 1:
        raise DataError("columns differ in length", wanted="one value a row in each column")
    return pa.table(columns)
