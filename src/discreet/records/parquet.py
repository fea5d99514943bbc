"""Parquet files: streamed by row group, or, when prepared by person, file by file with every promise checked.

A plain file is cut into parts of whole row groups. A sealed file (see `seal`) is one part. Its weights need
the number of rows of each person before their first row is handed out, so a second reader runs ahead over
the person column alone and keeps only run lengths: one person may own every row.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from discreet.errors import DataError
from discreet.records.arrow import Schema
from discreet.records.chunk import CHUNK_ROWS, Chunk, Rule, cut
from discreet.records.files import Stamp, reading
from discreet.records.memory import PART_ROWS
from discreet.records.person import RunWeights, plain_ids, run_lengths
from discreet.records.seal import Seal
from discreet.records.table import float_column

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Footer",
    "ParquetPart",
    "check_schemas",
    "count_values",
    "cut_groups",
    "open_parquet",
    "read_columns",
    "read_footer",
]

_READ_BYTES = 2**20
"""Column chunks are read through buffers of this size, so that huge row groups cost no memory."""

_BATCH_ROWS = 8 * CHUNK_ROWS


@dataclass(frozen=True)
class Footer:
    """What a Parquet file says of itself: its columns, the rows of each row group, and its seal."""

    stamp: Stamp
    schema: Schema
    group_rows: tuple[int, ...]
    bytes: int
    seal: Seal | None

    @property
    def fields(self) -> list[tuple[str, Any]]:
        """Names and types of the columns."""
        return [(field.name, field.type) for field in self.schema]

    @property
    def rows(self) -> int:
        """The number of rows. It is private where nobody published it."""
        return sum(self.group_rows)


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a file, or with a seal the whole file and the weights of its people."""

    stamp: Stamp
    rule: Rule
    groups: tuple[int, ...]
    seal: Seal | None = None
    rows_per_person: float = 1.0

    def chunks(self) -> Iterator[Chunk]:
        """Read the rows in order; refuses a file that has changed, and a seal that is broken."""
        self.stamp.verify()
        with reading(self.stamp.path), open_parquet(self.stamp.path) as file:
            weights = None if self.seal is None else RunWeights(self._run_lengths(), self.rows_per_person)
            weigh = weights.take if weights else None
            for batch in self._batches(file, self.rule.names):
                columns = [float_column(batch.column(name), name) for name in self.rule.names]
                yield from cut(columns, self.rule, weigh)
            if weights is not None:
                weights.finish()
        self.stamp.verify()

    def _run_lengths(self) -> Iterator[Any]:
        seal = self.seal
        assert seal is not None
        with open_parquet(self.stamp.path) as file:
            if Seal.read(file.metadata.metadata, self.stamp.name) != seal:
                self.stamp.verify()
                raise DataError(f"{self.stamp.name} has lost its seal", remedy="Run `discreet prep` again.")
            batches = self._batches(file, (seal.person,))
            ids = (plain_ids(batch.column(seal.person), seal.person) for batch in batches)
            yield from run_lengths(ids, lambda people: seal.check_people(people, self.stamp.name))

    def _batches(self, file: pq.ParquetFile, names: Sequence[str]) -> Iterator[Any]:
        # wide rows come in smaller batches, but always in whole chunks
        rows = max(CHUNK_ROWS, min(_BATCH_ROWS, _READ_BYTES // len(names) // CHUNK_ROWS * CHUNK_ROWS))
        groups, columns = list(self.groups), list(names)
        for batch in file.iter_batches(rows, row_groups=groups, columns=columns, use_threads=False):
            if batch.num_rows:
                yield batch


@contextmanager
def open_parquet(path: str) -> Generator[pq.ParquetFile]:
    """A file for streaming: one thread, small buffers, nothing read ahead."""
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_READ_BYTES) as file:
        yield file


def read_footer(stamp: Stamp) -> Footer:
    """Read what a Parquet file says of itself; refuses what is no Parquet file."""
    with reading(stamp.path), open_parquet(stamp.path) as file:
        metadata = file.metadata
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        return Footer(
            stamp,
            file.schema_arrow,
            tuple(group.num_rows for group in groups),
            sum(group.total_byte_size for group in groups),
            Seal.read(metadata.metadata, stamp.name),
        )


def check_schemas(footers: Sequence[Footer]) -> None:
    """Refuse files of one set whose columns differ in name, order or type."""
    for footer in footers[1:]:
        if footer.fields != footers[0].fields:
            raise DataError(
                f"{footer.stamp.name} has other columns than {footers[0].stamp.name}",
                wanted="the same names and types in every file",
                remedy="Open files of one schema at a time.",
            )


def count_values(stamp: Stamp, names: Sequence[str]) -> int:
    """How many values the longest of these columns holds: the steps in lists, where it is one of lists."""
    totals = dict.fromkeys(names, 0)
    with reading(stamp.path), open_parquet(stamp.path) as file:
        metadata: Any = file.metadata
        for group in (metadata.row_group(index) for index in range(metadata.num_row_groups)):
            for column in (group.column(index) for index in range(group.num_columns)):
                path = column.path_in_schema
                for name in names:
                    if path == name or path.startswith(f"{name}."):
                        totals[name] += column.num_values
    return max(totals.values())


def cut_groups(footer: Footer, rule: Rule) -> tuple[ParquetPart, ...]:
    """Parts of whole row groups; a file never makes more than about 64, as each part reads its footer."""
    target = max(PART_ROWS, footer.rows // 64)
    starts = np.cumsum((0, *footer.group_rows))[:-1] // target
    return tuple(
        ParquetPart(footer.stamp, rule, tuple(np.flatnonzero(starts == number).tolist()))
        for number in np.unique(starts)
    )


def read_columns(stamp: Stamp, names: Sequence[str]) -> Iterator[Any]:
    """Read columns as Arrow batches, in the order of the names; refuses a changed file."""
    stamp.verify()
    with reading(stamp.path), open_parquet(stamp.path) as file:
        for batch in file.iter_batches(_narrow(file.metadata), columns=list(names), use_threads=False):
            if batch.num_rows:
                yield batch.select(list(names))
    stamp.verify()


def _narrow(metadata: Any) -> int:
    """How many rows of all columns make a batch of some 8 MB."""
    size = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    return max(64, min(_BATCH_ROWS, 8 * _READ_BYTES * metadata.num_rows // (size + 1)))
