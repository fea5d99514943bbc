"""Columns of tables of sequences: symbols, numbers, states, times, and lists of these, each checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError, DomainError, ParameterError
from discreet.records.arrow import compute
from discreet.records.table import float_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Symbols",
    "check_symbols",
    "flat_lists",
    "is_list",
    "point_column",
    "state_column",
    "symbol_column",
    "time_column",
]

Symbols = int | Sequence[str] | None
"""How many symbols there are, or what they are called; None where rows hold numbers instead."""

UNKNOWN = -1


def check_symbols(symbols: Any) -> Symbols:
    """A number of symbols as it is, and names as a tuple; refuses what is neither, and a name twice."""
    if symbols is None or isinstance(symbols, int):
        return symbols
    if not isinstance(symbols, list | tuple) or not all(type(name) is str for name in symbols):  # pyright: ignore[reportUnknownVariableType]
        raise ParameterError(
            "the symbols are not a list of names", got=type(symbols).__name__, wanted="such as ['a', 'b']"
        )
    names: tuple[str, ...] = tuple(symbols)
    if len(set(names)) < len(names):
        raise DomainError("a symbol is named twice", wanted="each once")
    return names


def is_list(kind: Any) -> bool:
    """Whether an Arrow type holds lists."""
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def flat_lists(column: Any, name: str) -> tuple[Any, NDArray[np.intp]]:
    """The values of a column of lists, one list after the other, and how long each list is."""
    if not is_list(column.type):
        raise DataError(f"column {name!r} does not hold lists", got=str(column.type), wanted="lists")
    if column.null_count:
        raise _missing(name)
    lengths: NDArray[np.intp] = compute.list_value_length(column).to_numpy().astype(np.intp)
    if not lengths.all():
        raise DataError(f"a sequence in column {name!r} is empty", remedy="Leave empty sequences out.")
    return compute.list_flatten(column), lengths


def symbol_column(column: Any, name: str, symbols: Symbols) -> NDArray[np.int64]:
    """Symbols as whole numbers from 0; names as their places in the list of declared names."""
    column = _unfolded(column)
    if column.null_count:
        raise _missing(name)
    if not isinstance(symbols, int):
        return _named(column, name, symbols or ())
    if not pa.types.is_integer(column.type):
        text = _is_text(column.type)
        raise DataError(
            f"the symbols in column {name!r} are not whole numbers",
            got=str(column.type),
            wanted=f"integers from 0 to {symbols - 1}",
            remedy="Declare what the symbols are called: symbols=['a', 'b', ...]."
            if text
            else "Number the symbols from 0; for measurements fit Gaussian emissions.",
        )
    values = column.to_numpy()
    if values.min(initial=0) < 0 or values.max(initial=0) >= symbols:
        raise DataError(
            f"a symbol in column {name!r} is out of range",
            wanted=f"whole numbers from 0 to {symbols - 1}",
            remedy="Declare all symbols that can occur, whether or not they do.",
        )
    return values.astype(np.int64)


def point_column(column: Any, name: str) -> NDArray[np.float64]:
    """Numbers, none of them missing or infinite."""
    values = float_column(column, name).astype(np.float64)
    if not np.isfinite(values).all():
        raise DataError(
            f"column {name!r} has a value that is missing or not finite",
            wanted="finite numbers",
            remedy="Leave out such rows, or the sequences that they belong to.",
        )
    return values


def state_column(column: Any, name: str) -> NDArray[np.int64]:
    """Hidden states as whole numbers, -1 where one is missing."""
    filled = None
    if not _is_text(_unfolded(column).type):
        try:
            filled = compute.fill_null(column.cast(pa.int64()), UNKNOWN)
        except pa.ArrowException:
            filled = None
    if filled is None:
        raise DataError(
            f"the states in column {name!r} are not whole numbers",
            got=str(column.type),
            wanted="integers from 0, and -1 or nothing where the state is not known",
        )
    return filled.to_numpy()


def time_column(column: Any, name: str) -> NDArray[Any]:
    """What rows are sorted by: numbers, dates and times, or text that is one of these."""
    column = _unfolded(column)
    if column.null_count:
        raise _missing(name)
    kinds = (pa.int64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("us"))
    if _is_text(column.type):
        found = next((cast for kind in kinds if (cast := _cast(column, kind)) is not None), None)
    elif pa.types.is_temporal(column.type):
        found = column
        # a time of day has 32 or 64 bits, a date 32 or 64
        wide = pa.types.is_time32(column.type) or pa.types.is_date32(column.type)
        found = column.cast(pa.int32() if wide else pa.int64())
    else:
        found = column if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) else None
    if found is None:
        raise DataError(
            f"column {name!r} cannot put rows in order",
            got=str(column.type),
            wanted="numbers, dates or times",
        )
    values: NDArray[Any] = found.to_numpy()
    if values.dtype.kind == "M":
        return values.astype(np.int64)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise _missing(name)
    return values


def _named(column: Any, name: str, names: Sequence[str]) -> NDArray[np.int64]:
    if not (_is_text(column.type) or pa.types.is_integer(column.type)):
        raise DataError(
            f"the symbols in column {name!r} cannot be names", got=str(column.type), wanted="text or integers"
        )
    places = compute.index_in(column.cast(pa.large_string()), pa.array(names, pa.large_string()))
    if places.null_count:
        raise DataError(
            f"column {name!r} has a symbol that is not declared",
            wanted="the names of all symbols that can occur",
            remedy="Declare them from public knowledge, whether or not they occur.",
        )
    return places.to_numpy().astype(np.int64)


def _unfolded(column: Any) -> Any:
    """Categories as what they stand for: their own numbers depend on the data."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def _is_text(kind: Any) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _cast(column: Any, kind: Any) -> Any:
    try:
        return column.cast(kind)
    except pa.ArrowException:  # its words would quote a value
        return None


def _missing(name: str) -> DataError:
    return DataError(
        f"column {name!r} has missing values",
        remedy="Leave out such rows, or the sequences that they belong to.",
    )
