"""Columns of ids: as bytes that parties can compare, and the first rows of every person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError, ParameterError
from discreet.records.arrow import compute
from discreet.records.batches import read_batches
from discreet.records.person import plain_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["first_rows", "id_bytes", "read_ids"]


def read_ids(source: Any, column: str) -> list[bytes]:
    """The ids of all rows in UTF-8; a whole number is its digits, so that 7 and "7" are the same id.

    **Reveals** the ids: handle them like the rows. Missing ids are refused.
    """
    ids: list[bytes] = []
    for batch, bare in read_batches(source, [column]):
        ids += id_bytes(batch.column(column), column, bare=bare)
    return ids


def id_bytes(column: Any, name: str, *, bare: bool = False, gaps: bool = False) -> list[bytes]:
    """One column of ids as bytes; ``bare`` words of a CSV file are missing where they are empty.

    Missing ids are refused, or come as no bytes where ``gaps`` are allowed.
    """
    absent = None
    if gaps:
        column, absent = _filled(column)
    ids = plain_ids(column, name, "id").cast(pa.large_string())
    if absent is not None:
        ids = compute.if_else(absent, "", ids)
    elif bare and compute.any(compute.equal(ids, "")).as_py():
        raise DataError(f"id column {name!r} has missing ids", remedy="Every row needs an id.")
    return ids.cast(pa.large_binary()).to_pylist()


def _filled(column: Any) -> tuple[Any, Any]:
    """The column with something in its gaps, and where these are."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    absent = column.is_null()
    if not column.null_count or pa.types.is_null(column.type):
        return column, absent
    return compute.fill_null(column, 0 if pa.types.is_integer(column.type) else ""), absent


def first_rows(source: Any, column: str, limit: int) -> NDArray[np.bool_]:
    """Which rows are among the first ``limit`` of their person, in the order of the table.

    What is kept of one person depends on that person's rows alone: the others can come and go.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(
            "rows_per_person is not a number of rows", got=limit, wanted="a whole number >= 1"
        )
    parts: list[Any] = []
    for batch, bare in read_batches(source, [column]):
        ids = plain_ids(batch.column(column), column).cast(pa.large_string())
        if bare and compute.any(compute.equal(ids, "")).as_py():
            raise DataError(f"person column {column!r} has missing ids", remedy="Every row needs an owner.")
        parts.append(ids)
    if not parts:
        return np.zeros(0, dtype=np.bool_)
    codes = pa.chunked_array(parts).combine_chunks().dictionary_encode().indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    kept = np.empty(len(codes), dtype=np.bool_)
    kept[order] = np.arange(len(codes)) - starts < limit
    return kept
