"""What can be opened as records: arrays, frames, Arrow tables, and paths to Parquet and CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError, DomainError, ParameterError, PersonError
from discreet.records.arrow import Table
from discreet.records.chunk import Missing, Part, Rule, check_width
from discreet.records.csv import CsvPart, csv_batches, csv_table, same_fields, unnamed_columns
from discreet.records.files import Stamp, find_files, is_path
from discreet.records.memory import cut_array, cut_table
from discreet.records.parquet import (
    Footer,
    ParquetPart,
    check_schemas,
    cut_groups,
    read_columns,
    read_footer,
)
from discreet.records.person import check_rows_per_person, plain_ids
from discreet.records.records import Records
from discreet.records.seal import check_set
from discreet.records.table import arrow_table, check_columns, choose_columns, make_of, require_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["IN_MEMORY_ROWS", "open_records"]

IN_MEMORY_ROWS = 4_000_000
"""Files that nobody prepared are sorted by person in memory up to this many rows."""

_IN_MEMORY_BYTES = 2**30


def open_records(
    source: Any,
    *,
    columns: Sequence[str] | Sequence[int] | None = None,
    person: Any = None,
    rows_per_person: float = 1.0,
    missing: Missing = "error",
) -> Records:
    """Open private rows, to be summed over in chunks.

    ``source`` is an (n, d) array, a pandas or polars DataFrame, an Arrow table, a path to a Parquet or CSV
    file, a glob, a folder of Parquet files, or a list of paths. ``columns`` names the columns to read
    (numbers for an array); by default all that hold numbers, the person column excepted. (A CSV file
    declares no types: its columns must be named.)

    ``person`` makes the person the unit of privacy instead of the row: a column name, or an array of ids for
    an array. The rows of one person then share a total weight of at most ``rows_per_person``. Large files
    must have been prepared by `prepare` (`discreet prep`), and are checked on every pass.

    ``missing="error"`` refuses rows with missing values (null, NaN); ``"drop"`` leaves them out.

    **Reveals** nothing; the names and types of columns count as public.
    """
    bound = check_rows_per_person(rows_per_person)
    if person is None and bound != 1.0:
        raise ParameterError("rows_per_person bounds nobody", remedy="Name the person column with person=.")
    if is_path(source):
        return _open_files(source, _names(columns, person), person, bound, missing)
    if make_of(source) in ("pandas", "polars", "pyarrow"):
        return _open_table(source, _names(columns, person), person, bound, missing)
    return _open_array(source, columns, person, bound, missing)


def _names(columns: Any, person: Any) -> tuple[str, ...] | None:
    if person is not None and not isinstance(person, str):
        raise ParameterError(
            "person is not a column name", got=type(person).__name__, wanted="the name of a column"
        )
    return None if columns is None else check_columns(columns, person)


def _open_table(
    source: Any, columns: tuple[str, ...] | None, person: str | None, bound: float, missing: Missing
) -> Records:
    table = arrow_table(source, columns, person)
    names = choose_columns([(field.name, field.type) for field in table.schema], columns, person)
    rule = _rule(names, missing)
    return Records(make_of(source), rule, cut_table(table, rule, person, bound), person, bound)


def _open_array(source: Any, columns: Any, person: Any, bound: float, missing: Missing) -> Records:
    array = _as_array(source)
    check_width(array.shape[1])
    names = tuple(f"x{index}" for index in range(array.shape[1]))
    if columns is not None:
        chosen = [_index(column, names) for column in columns]
        names = check_columns([names[index] for index in chosen], None)
        array = array[:, chosen] if len(chosen) < array.shape[1] or chosen != sorted(chosen) else array
    rule = _rule(names, missing)
    if person is None:
        return Records("array", rule, cut_array(array, rule))
    ids = _as_ids(person, len(array))
    return Records("array", rule, cut_array(array, rule, ids, "person", bound), "person", bound)


def _open_files(
    source: Any, columns: tuple[str, ...] | None, person: str | None, bound: float, missing: Missing
) -> Records:
    kind, stamps = find_files(source)
    cut = _cut_parquet if kind == "parquet" else _cut_csv
    rule, parts = cut(stamps, columns, person, bound, missing)
    return Records(kind, rule, parts, person, bound)


def _cut_parquet(
    stamps: list[Stamp], columns: tuple[str, ...] | None, person: str | None, bound: float, missing: Missing
) -> tuple[Rule, Sequence[Part]]:
    footers = [read_footer(stamp) for stamp in stamps]
    check_schemas(footers)
    rows = sum(footer.rows for footer in footers)
    if not rows:
        raise DataError("there are no rows in the files", wanted="at least one")
    rule = _rule(choose_columns(footers[0].fields, columns, person), missing)
    if person is None:
        return rule, [part for footer in footers for part in cut_groups(footer, rule)]
    plain_ids(pa.array([], dict(footers[0].fields)[person]), person)  # refuses other types
    sealed = _cut_sealed(footers, rule, person, bound)
    if sealed:
        return rule, sealed
    if rows > IN_MEMORY_ROWS or rows * 8 * (len(rule.names) + 4) > _IN_MEMORY_BYTES:
        raise _unprepared(stamps, person)
    wanted = (*rule.names, person)
    table = pa.Table.from_batches(batch for stamp in stamps for batch in read_columns(stamp, wanted))
    return rule, cut_table(table, rule, person, bound)


def _cut_sealed(footers: list[Footer], rule: Rule, person: str, bound: float) -> list[ParquetPart]:
    sealed = [footer for footer in footers if footer.seal is not None and footer.seal.person == person]
    if not sealed:
        return []
    if len(sealed) < len(footers):
        stray = next(footer for footer in footers if footer not in sealed)
        raise PersonError(
            f"{stray.stamp.name} was not prepared, other files were",
            remedy="Run `discreet prep` on all of them together.",
        )
    check_set([footer.seal for footer in sealed if footer.seal], [footer.stamp.name for footer in sealed])
    return [
        ParquetPart(footer.stamp, rule, tuple(range(len(footer.group_rows))), footer.seal, bound)
        for footer in sealed
    ]


def _cut_csv(
    stamps: list[Stamp], columns: tuple[str, ...] | None, person: str | None, bound: float, missing: Missing
) -> tuple[Rule, Sequence[Part]]:
    fields = same_fields(stamps, person)
    if columns is None:
        raise unnamed_columns([name for name, _ in fields])
    require_columns([name for name, _ in fields], columns, person)
    rule = _rule(columns, missing)
    if not any(_has_rows(stamp, columns[0]) for stamp in stamps):
        raise DataError("there are no rows in the files", wanted="at least one")
    if person is None:
        return rule, [CsvPart(stamp, rule) for stamp in stamps]
    return rule, cut_table(_read_csv(stamps, rule, person), rule, person, bound)


def _read_csv(stamps: list[Stamp], rule: Rule, person: str) -> Table:
    types = {**dict.fromkeys(rule.names, pa.float64()), person: pa.string()}
    return csv_table(stamps, types, IN_MEMORY_ROWS, lambda: _unprepared(stamps, person))


def _has_rows(stamp: Stamp, column: str) -> bool:
    return next(csv_batches(stamp, {column: pa.string()}), None) is not None


def _unprepared(stamps: list[Stamp], person: str) -> PersonError:
    files = stamps[0].path + (" ..." if len(stamps) > 1 else "")
    return PersonError(
        "the files are too large to bring each person's rows together in memory",
        remedy=f"Run `discreet prep {files} --person {person} --out FOLDER`, then open FOLDER.",
    )


def _rule(names: tuple[str, ...], missing: Missing) -> Rule:
    check_width(len(names))
    return Rule(names, missing)


def _as_array(source: Any) -> NDArray[Any]:
    if isinstance(source, np.ma.MaskedArray):
        raise DataError("a masked array hides values", remedy="Pass source.filled(numpy.nan).")
    try:
        array = np.asarray(source)
    except (TypeError, ValueError):
        raise DataError("the rows cannot be made an array", wanted="rows of numbers, all as long") from None
    if array.ndim == 2 and array.size == 0:
        raise DataError("there are no rows", got=array.shape, wanted="at least one row and one column")
    if array.ndim != 2:
        raise DataError(
            "the array is not a table",
            got=f"{array.ndim} dimensions",
            wanted="two: rows and columns",
            remedy="One column of numbers is values.reshape(-1, 1).",
        )
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            "the array is not made of numbers",
            got=str(array.dtype),
            wanted="integers, floats up to 64 bits, or booleans",
        )
    return array


def _as_ids(person: Any, rows: int) -> Any:
    if isinstance(person, str):
        raise ParameterError(
            "an array has no column names", got=person, wanted="person= as an array with one id a row"
        )
    if isinstance(person, np.ma.MaskedArray):
        raise DataError("a masked array hides ids", remedy="Every row needs an owner.")
    ids: Any = np.asarray(person)
    if ids.shape != (rows,):
        raise DataError("person= does not fit the rows", wanted="one id for each row")
    return ids


def _index(column: Any, names: tuple[str, ...]) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(names):
        return int(column)
    raise DomainError(
        "the array has no such column",
        got=column,
        wanted=f"0 to {len(names) - 1}, or x0 to x{len(names) - 1}",
    )
