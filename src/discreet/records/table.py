"""Tables of any make: which columns they have, which of them are numbers, and how those are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import DataError, DomainError, ParameterError
from discreet.records.arrow import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "arrow_table",
    "check_columns",
    "choose_columns",
    "float_column",
    "is_number",
    "make_of",
    "require_columns",
    "whole_table",
]


def make_of(source: Any) -> str:
    """The library an object comes from, without importing it."""
    return type(source).__module__.partition(".")[0]


def is_number(kind: Any) -> bool:
    """Whether values of an Arrow type are read as numbers: integers, floats, decimals and booleans."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def float_column(column: Any, name: str) -> NDArray[Any]:
    """A column as an array of numbers, missing ones as NaN; shares memory where Arrow can."""
    if not is_number(column.type):
        raise DataError(
            f"column {name!r} is not made of numbers",
            got=str(column.type),
            wanted="integers, floats, decimals or booleans",
            remedy="Leave it out with columns=, or encode it as numbers.",
        )
    plain = pa.types.is_integer(column.type) or column.type == pa.float32() or column.type == pa.float64()
    if not plain or (column.null_count and column.type != pa.float64()):
        column = column.cast(pa.float64(), safe=False)
    if isinstance(column, pa.ChunkedArray):
        return column.to_numpy()
    return column.to_numpy(zero_copy_only=False)


def choose_columns(
    fields: Sequence[tuple[str, Any]], columns: Sequence[str] | None, person: str | None
) -> tuple[str, ...]:
    """The columns to read out of (name, Arrow type) pairs: those asked for, or all numbers but the person.

    Refuses a column that is not there, is there twice, or holds no numbers. The schema is public.
    """
    kinds = dict(fields)
    if columns is None:
        chosen = tuple(name for name, kind in fields if is_number(kind) and name != person)
    else:
        chosen = check_columns(columns, person)
    require_columns([name for name, _ in fields], chosen, person)
    if not chosen:
        raise DataError("no column holds numbers", got=list(kinds)[:40])
    for name in chosen:
        float_column(pa.array([], kinds[name]), name)  # refuses other types
    return chosen


def require_columns(names: Sequence[str], asked: Sequence[str], person: str | None) -> None:
    """Refuse a column that is not among the names, or there more than once."""
    for name in (*asked, *(() if person is None else (person,))):
        if names.count(name) != 1:
            raise DataError(
                f"there is {'more than one' if name in names else 'no'} column {name!r}",
                wanted=f"one of {', '.join(map(repr, names[:40]))}",
            )


def check_columns(columns: Sequence[str], person: str | None) -> tuple[str, ...]:
    """The names asked for; refuses none, a name twice, and the person's own column."""
    if isinstance(columns, str) or any(type(name) is not str for name in columns):
        raise ParameterError("columns is not a list of names", got=columns, wanted="such as ['lat', 'lon']")
    chosen = tuple(columns)
    if not chosen:
        raise ParameterError("no column is asked for", wanted="at least one")
    if len(set(chosen)) < len(chosen):
        raise DomainError("a column is asked for twice", got=list(chosen), wanted="each once")
    if person in chosen:
        raise DomainError(f"column {person!r} cannot be both a person and a number to learn from")
    return chosen


def arrow_table(source: Any, columns: Sequence[str] | None, person: str | None) -> Table:
    """The columns that matter of a pandas, polars or Arrow table, as an Arrow table."""
    make = make_of(source)
    if make == "pandas" and type(source).__name__ == "DataFrame":
        return _from_pandas(source, columns, person)
    if make == "polars" and type(source).__name__ == "DataFrame":
        return _from_polars(source, columns, person)
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return source
    remedies = {"LazyFrame": "Call .collect() first.", "RecordBatchReader": "Call .read_all() first."}
    raise DataError(
        "this kind of table cannot be read several times",
        got=f"{make} {type(source).__name__}",
        wanted="a pandas or polars DataFrame, an Arrow Table, or a path",
        remedy=remedies.get(type(source).__name__, ""),
    )


def whole_table(source: Any) -> Table:
    """All columns of a pandas, polars or Arrow table, as they are."""
    make, kind = make_of(source), type(source).__name__
    if make == "polars" and kind == "DataFrame":
        return source.to_arrow()
    if make != "pandas" or kind != "DataFrame":
        return arrow_table(source, None, None)
    try:
        return pa.Table.from_pandas(source, preserve_index=False)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise DataError(
            "a column of the frame mixes types", remedy="Give it one type, with .astype()."
        ) from None


def _from_polars(frame: Any, columns: Sequence[str] | None, person: str | None) -> Table:
    require_columns(frame.columns, columns or (), person)
    kept = columns
    if kept is None:
        kinds = frame.schema.items()
        kept = [name for name, kind in kinds if kind.is_numeric() or str(kind) == "Boolean"]
    return frame.select(list(dict.fromkeys([*kept, *([person] if person else [])]))).to_arrow()


def _from_pandas(frame: Any, columns: Sequence[str] | None, person: str | None) -> Table:
    names = [str(label) for label in frame.columns]
    require_columns(names, columns or (), person)
    arrays: dict[str, Any] = {}
    for index, name in enumerate(names):
        series = frame.iloc[:, index]
        asked = series.dtype.kind in "biuf" if columns is None else name in columns
        if asked or name == person:
            require_columns(names, (name,), None)
            arrays[name] = _from_series(series, name)
    return pa.table(arrays)


def _from_series(series: Any, name: str) -> Any:
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):
        raise DataError(
            f"column {name!r} mixes types", got=str(series.dtype), remedy="Give it one type, with .astype()."
        ) from None
