"""Sorting more rows than fit into memory: sorted runs on disk, merged bucket by bucket, ties in file order.

One round of the merge looks at a block of every run. Let c be the smallest among the last ids of the blocks
that have a successor, and r the first run with that last id. Every row with an id below c has been loaded;
so have the rows with id c of the runs up to r, but not those of r's next block, so the rows with id c of the
runs after r must wait. What may go is sorted, with ties in the order of the runs, and handed over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.records.arrow import Array, Schema, Table, compute
from discreet.records.person import bucket_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["OpenRuns", "Run", "merge_bucket", "merge_runs", "sort_run"]

_BLOCK_BYTES = 2**18
_BLOCK_ROWS = 2**14


@dataclass(frozen=True)
class Run:
    """A file of rows sorted by bucket and person, and which of its blocks belong to each bucket."""

    path: Path
    blocks: tuple[range, ...]


def sort_run(table: Table, person: str, buckets: int, path: Path) -> Run:
    """Sort rows by bucket and person, ties in the order they came, and write them as a run."""
    encoded = compute.dictionary_encode(table.column(person).combine_chunks())
    codes, people = encoded.indices.to_numpy(), encoded.dictionary
    bucket = bucket_of(people, buckets)
    ordered = table.take(np.argsort(_ranks(bucket, people)[codes], kind="stable"))
    ends = np.cumsum(np.bincount(bucket[codes], minlength=buckets))

    def tables_of(number: int) -> Iterator[Table]:
        start = int(ends[number - 1]) if number else 0
        yield ordered.slice(start, int(ends[number]) - start)

    return _write_run(table.schema, tables_of, buckets, path)


def merge_runs(runs: Sequence[Run], person: str, path: Path) -> Run:
    """Merge runs into one, and remove them."""
    with OpenRuns(runs) as readers:
        run = _write_run(
            readers.schema, lambda bucket: merge_bucket(readers, bucket, person), len(runs[0].blocks), path
        )
    for old in runs:
        old.path.unlink()
    return run


def merge_bucket(readers: OpenRuns, bucket: int, person: str) -> Iterator[Table]:
    """The rows of one bucket of all runs, sorted by person, in pieces."""
    cursors = [_Cursor(reader, blocks[bucket], person) for reader, blocks in readers.pairs if blocks[bucket]]
    while cursors:
        waiting = [(cursor.top, index) for index, cursor in enumerate(cursors) if not cursor.final]
        top, at = min(waiting) if waiting else (None, 0)
        pieces = [cursor.take(top, index <= at) for index, cursor in enumerate(cursors)]
        piece = pa.Table.from_batches([piece for piece in pieces if piece.num_rows])
        yield piece if len(cursors) == 1 else piece.sort_by(person)
        cursors = [cursor for cursor in cursors if cursor.refill()]


class OpenRuns:
    """Runs opened for reading, as long as the context lasts."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        self._stack = ExitStack()
        self.pairs: list[tuple[Any, tuple[range, ...]]] = []

    def __enter__(self) -> OpenRuns:
        for run in self._runs:
            file = self._stack.enter_context(pa.OSFile(str(run.path), "rb"))
            self.pairs.append((self._stack.enter_context(pa.ipc.open_file(file)), run.blocks))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def schema(self) -> Schema:
        """The columns, which all runs share."""
        return self.pairs[0][0].schema


class _Cursor:
    """Where the merge stands in one run's blocks of one bucket."""

    def __init__(self, reader: Any, blocks: range, person: str) -> None:
        self._reader = reader
        self._blocks = blocks
        self._person = person
        self._next = 0
        self._load()

    @property
    def final(self) -> bool:
        """Whether no block follows."""
        return self._next == len(self._blocks)

    @property
    def top(self) -> Any:
        """The last id of the block."""
        return self._ids[-1].as_py()

    def take(self, top: Any, inclusive: bool) -> Any:
        """Take the rows up to an id (None: all of them) off the block."""
        size = self._block.num_rows
        if top is not None:
            find = bisect_right if inclusive else bisect_left
            size = find(range(size), top, key=lambda row: self._ids[row].as_py())
        taken = self._block.slice(0, size)
        self._block, self._ids = self._block.slice(size), self._ids.slice(size)
        return taken

    def refill(self) -> bool:
        """Load the next block if this one is used up; False when there is none."""
        if self._block.num_rows:
            return True
        if self.final:
            return False
        self._load()
        return True

    def _load(self) -> None:
        self._block = self._reader.get_batch(self._blocks[self._next])
        self._ids = self._block.column(self._person)
        self._next += 1


def _write_run(schema: Schema, tables_of: Callable[[int], Iterator[Table]], buckets: int, path: Path) -> Run:
    blocks: list[range] = []
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    count = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema, options=options) as writer:
        for bucket in range(buckets):
            first = count
            for table in tables_of(bucket):
                for batch in table.combine_chunks().to_batches(max_chunksize=_block_rows(table)):
                    writer.write_batch(batch)
                    count += 1
            blocks.append(range(first, count))
    return Run(path, tuple(blocks))


def _block_rows(table: Table) -> int:
    bytes_a_row = table.nbytes // max(table.num_rows, 1) + 1
    return max(64, min(_BLOCK_ROWS, _BLOCK_BYTES // bytes_a_row))


def _ranks(bucket: NDArray[np.int64], people: Array) -> NDArray[np.int32]:
    """The place of each person by bucket and id; people are fewer than rows, and the sort is slow."""
    keys = pa.table({"bucket": bucket, "person": people})
    order = compute.sort_indices(keys, sort_keys=[("bucket", "ascending"), ("person", "ascending")])
    ranks = np.empty(len(people), dtype=np.int32)
    ranks[order.to_numpy()] = np.arange(len(people), dtype=np.int32)
    return ranks
