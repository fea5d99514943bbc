"""Traces: a table with a user, a time and a place a row, read and put in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError
from discreet.records.files import find_files, is_path, reading
from discreet.records.person import plain_ids
from discreet.records.table import float_column, require_columns, whole_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Traces", "read_traces"]


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """Fixes in the order of users and times. ``names`` are the users, ``user`` their numbers, ``time`` seconds."""

    names: list[Any]
    user: NDArray[np.int64]
    time: NDArray[np.float64]
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.user)

    def moves(self, step: float | None) -> NDArray[np.bool_]:
        """Whether each fix and the next belong together: one user, and ``step`` seconds apart, give or take half."""
        together = self.user[1:] == self.user[:-1]
        if step is not None:
            gap = np.diff(self.time)
            together &= (gap > step / 2) & (gap < step * 3 / 2)
        return together

    def trips(self, step: float | None) -> Iterator[slice]:
        """The longest runs of fixes that belong together."""
        cuts = np.flatnonzero(~self.moves(step)) + 1
        edges = [0, *cuts.tolist(), len(self)]
        yield from (slice(start, stop) for start, stop in zip(edges[:-1], edges[1:], strict=True))


def read_traces(source: Any, columns: tuple[str, str, str, str] = ("user", "time", "lat", "lon")) -> Traces:
    """Read traces from a data frame, an Arrow table, or paths of Parquet or CSV files.

    Refuses missing or infinite values: leaving such rows out silently would join what lies around them.
    """
    table = _table(source, columns)
    require_columns(table.column_names, columns, None)
    user, time, lat, lon = (table.column(name).combine_chunks() for name in columns)
    if not len(user):
        raise DataError("there are no traces", wanted="at least one row")
    codes: Any = plain_ids(user, columns[0]).dictionary_encode()
    seconds = _seconds(time, columns[1])
    places = [_numbers(column, name) for column, name in ((lat, columns[2]), (lon, columns[3]))]
    order = np.lexsort((seconds, codes.indices.to_numpy()))
    owner = codes.indices.to_numpy()[order].astype(np.int64)
    return Traces(codes.dictionary.to_pylist(), owner, seconds[order], places[0][order], places[1][order])


def _table(source: Any, columns: tuple[str, ...]) -> Any:
    if not is_path(source):
        return whole_table(source)
    kind, stamps = find_files(source)
    tables = [_read(kind, stamp.path, columns) for stamp in stamps]
    if len({table.schema for table in tables}) > 1:
        raise DataError("the files of traces differ in their columns or types")
    return pa.concat_tables(tables)


def _read(kind: str, path: str, columns: tuple[str, ...]) -> Any:
    from pyarrow import csv, parquet

    with reading(path):
        if kind == "parquet":
            require_columns(parquet.read_schema(path).names, columns, None)
            return parquet.read_table(path, columns=list(columns))
        table = csv.read_csv(path)
    require_columns(table.column_names, columns, None)
    return table.select(list(columns))


def _seconds(column: Any, name: str) -> NDArray[np.float64]:
    """Times as seconds; timestamps, or numbers of seconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
        if column.null_count:
            raise _missing(name)
        return column.to_numpy().astype(np.float64) / 1e6
    return _numbers(column, name)


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    numbers = np.asarray(float_column(column, name), dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise _missing(name)
    return numbers


def _missing(name: str) -> DataError:
    return DataError(
        f"column {name!r} has missing or infinite values",
        wanted="a number in every row",
        remedy="Leave such rows out, and see what that joins.",
    )
