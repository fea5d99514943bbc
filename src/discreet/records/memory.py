"""Rows that lie in memory: arrays as they are, tables as columns, and by person through an order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError, TooLargeError
from discreet.records.arrow import Table
from discreet.records.chunk import CHUNK_ROWS, LIMIT_BYTES, Chunk, Rule
from discreet.records.person import RunWeights, group_rows, plain_ids
from discreet.records.table import float_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Lines = NDArray[Any] | tuple[NDArray[Any], ...]

__all__ = ["PART_ROWS", "MemoryPart", "cut_array", "cut_table"]

PART_ROWS = 2**18
"""About how many rows make a part: fixed, so that sums do not depend on the machine."""

_BYTES_A_ROW = 32
"""What grouping by person takes for each row: ids, codes, order."""


@dataclass(frozen=True, eq=False, repr=False)
class MemoryPart:
    """A range of rows. ``lines`` is an (n, d) array or a tuple of columns; nothing is copied but the chunk.

    In person mode ``order`` lists the rows of the part and ``counts`` the rows of each of its people.
    """

    lines: Lines
    rule: Rule
    order: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None
    rows_per_person: float = 1.0

    def __reduce__(self) -> tuple[Any, ...]:
        lines = self.lines
        if _rows(self) * len(self.rule.names) * 8 > LIMIT_BYTES:
            raise TooLargeError("the rows are too many to send to another process", remedy="Use threads.")
        if self.order is not None:  # send only the rows of this part
            if isinstance(lines, tuple):
                lines = tuple(line.take(self.order) for line in lines)
            else:
                lines = lines.take(self.order, axis=0)
        return MemoryPart, (lines, self.rule, None, self.counts, self.rows_per_person)

    def chunks(self) -> Iterator[Chunk]:
        """Read the rows in order."""
        rows = _rows(self)
        weights = None if self.counts is None else RunWeights(iter([self.counts]), self.rows_per_person)
        for start in range(0, rows, CHUNK_ROWS):
            size = min(CHUNK_ROWS, rows - start)
            values = np.empty((len(self.rule.names), size))
            self._fill(values, start, start + size)
            chunk = self.rule.admit(values, weights.take(size) if weights else None)
            if chunk is not None:
                yield chunk

    def _fill(self, values: NDArray[np.float64], start: int, stop: int) -> None:
        order = None if self.order is None else self.order[start:stop]
        if not isinstance(self.lines, tuple):
            block = self.lines[start:stop] if order is None else self.lines.take(order, axis=0)
            values[...] = block.T
            return
        for line, column in zip(values, self.lines, strict=True):
            line[:] = column[start:stop] if order is None else column.take(order)


def cut_array(
    array: NDArray[Any], rule: Rule, ids: Any = None, name: str = "person", rows_per_person: float = 1.0
) -> tuple[MemoryPart, ...]:
    """Parts of an (n, d) array, without a copy of it; with ids, every person lies in one part."""
    _refuse_empty(len(array))
    if ids is None:
        return tuple(
            MemoryPart(array[start : start + PART_ROWS], rule) for start in range(0, len(array), PART_ROWS)
        )
    return _cut_people(array, len(array), rule, ids, name, rows_per_person)


def cut_table(
    table: Table, rule: Rule, person: str | None = None, rows_per_person: float = 1.0
) -> tuple[MemoryPart, ...]:
    """Parts of an Arrow table; columns of plain numbers without gaps are not copied in row mode."""
    _refuse_empty(table.num_rows)
    if person is not None:
        ids = table.column(person)
        columns = tuple(float_column(table.column(name), name) for name in rule.names)
        return _cut_people(columns, table.num_rows, rule, ids, person, rows_per_person)
    table = table.select(list(rule.names))
    if table.num_rows < CHUNK_ROWS * table.column(0).num_chunks:
        table = table.combine_chunks()  # in crumbs; thousands of tiny chunks would be slow
    return tuple(
        MemoryPart(tuple(float_column(batch.column(name), name) for name in rule.names), rule)
        for batch in table.to_batches(max_chunksize=PART_ROWS)
    )


def _cut_people(
    lines: Lines, rows: int, rule: Rule, ids: Any, name: str, rows_per_person: float
) -> tuple[MemoryPart, ...]:
    order, counts = group_rows(_arrow_ids(ids, rows, name))
    ends = np.cumsum(counts)
    cuts = np.searchsorted(ends, np.arange(PART_ROWS, rows, PART_ROWS)) + 1
    people = np.unique(np.concatenate([[0], cuts, [len(counts)]]))
    parts: list[MemoryPart] = []
    for first, last in pairwise(people):
        start, stop = int(ends[first] - counts[first]), int(ends[last - 1])
        piece = lines if order is not None else _slice(lines, start, stop)
        chosen = None if order is None else order[start:stop]
        parts.append(MemoryPart(piece, rule, chosen, counts[first:last], rows_per_person))
    return tuple(parts)


def _arrow_ids(ids: Any, rows: int, name: str) -> Any:
    if rows * _BYTES_A_ROW > LIMIT_BYTES:
        raise TooLargeError(
            "too many rows to group by person in memory",
            wanted=f"at most {LIMIT_BYTES // _BYTES_A_ROW} rows",
            remedy="Write them to Parquet, run `discreet prep`, and open what it wrote.",
        )
    if isinstance(ids, pa.Array | pa.ChunkedArray):
        return plain_ids(ids, name)
    try:
        return plain_ids(pa.array(ids, from_pandas=True), name)
    except (pa.ArrowException, OverflowError):
        raise DataError(f"person column {name!r} mixes types", wanted="integers or text") from None


def _slice(lines: Lines, start: int, stop: int) -> Lines:
    return tuple(line[start:stop] for line in lines) if isinstance(lines, tuple) else lines[start:stop]


def _rows(part: MemoryPart) -> int:
    if part.order is not None:
        return len(part.order)
    return len(part.lines[0]) if isinstance(part.lines, tuple) else len(part.lines)


def _refuse_empty(rows: int) -> None:
    if not rows:
        raise DataError("there are no rows", wanted="at least one")
