"""Preparing files by person: hash people into buckets, sort each bucket, seal each file.

Memory stays bounded whatever the data: the rows are cut into runs of some 32 MB, each sorted by bucket and
person, and the runs are then merged bucket by bucket (`merge`). So one person may own every row.

Nothing is visible until all is done: the files are written into a hidden folder beside ``out``, flushed to
the disk, and the folder gets its name last.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import DataError, ParameterError
from discreet.records.arrow import Schema, Table
from discreet.records.csv import csv_batches, csv_fields
from discreet.records.files import find_files, is_path
from discreet.records.merge import OpenRuns, merge_bucket, merge_runs, sort_run
from discreet.records.parquet import check_schemas, read_columns, read_footer
from discreet.records.person import hash_name, plain_ids
from discreet.records.seal import KEY, Seal
from discreet.records.table import require_columns, whole_table

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from discreet.records.merge import Run

__all__ = ["PrepSummary", "prepare"]

_RUN_BYTES = 2**25
_BUCKET_BYTES = 2**26
_FAN = 128  # so many runs are open at once
_GROUP_BYTES = 2**24
_GROUP_ROWS = 2**17


@dataclass(frozen=True)
class PrepSummary:
    """What `prepare` wrote: where, by which column, in how many files. No counts of rows or people."""

    out: Path
    person: str
    columns: tuple[str, ...]
    buckets: int
    hash: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class _Source:
    schema: Schema
    bytes: int
    batches: Iterator[Any]


def prepare(
    source: Any,
    person: str,
    out: str | Path,
    *,
    buckets: int | None = None,
    columns: Sequence[str] | None = None,
) -> PrepSummary:
    """Write rows as sealed Parquet files in which the rows of each person lie together.

    ``source`` is whatever `open_records` opens, arrays excepted; ``columns`` are kept beside the person (by
    default all, as they are, but categories as their values); ``out`` is a new or empty folder. Rows of one
    person keep their order.

    **Reveals** the rows to whoever may read ``out``: it is a copy of the data, for the curator alone.
    """
    if buckets is not None and not 1 <= buckets <= 10_000:
        raise ParameterError("the number of buckets is out of range", got=buckets, wanted="1 to 10000")
    target = Path(out).expanduser()
    _refuse_used(target)
    rows = _rows_of(source, person, columns)
    schema = _plain(rows.schema, person)
    buckets = buckets or min(max(rows.bytes // _BUCKET_BYTES, 16), 1024)
    seal = Seal(person, 0, buckets, hash_name(pa.array([], schema.field(person).type)))
    with _staging(target) as folder:
        runs = _write_runs(_pieces(rows.batches, schema, person), person, buckets, folder)
        files = _write_buckets(runs, schema, seal, folder)
    return PrepSummary(target, person, tuple(schema.names), buckets, seal.hash, files)


def _rows_of(source: Any, person: str, columns: Sequence[str] | None) -> _Source:
    wanted = None if columns is None else tuple(dict.fromkeys([*columns, person]))
    if not is_path(source):
        table = whole_table(source)
        schema = _selected(table.schema, wanted, person)
        return _Source(schema, table.nbytes, iter(table.select(schema.names).to_batches(max_chunksize=2**16)))
    kind, stamps = find_files(source)
    if kind == "parquet":
        footers = [read_footer(stamp) for stamp in stamps]
        check_schemas(footers)
        size = sum(footer.bytes for footer in footers)
        schema = _selected(footers[0].schema, wanted, person)
        return _Source(
            schema, size, (batch for stamp in stamps for batch in read_columns(stamp, schema.names))
        )
    fields = [csv_fields(stamp, person) for stamp in stamps]
    if any(other != fields[0] for other in fields[1:]):
        raise DataError("the files have different columns", wanted="the same names and types in every file")
    schema = _selected(pa.schema(fields[0]), wanted, person)
    types = {field.name: field.type for field in schema}
    size = sum(stamp.size for stamp in stamps) * 2
    return _Source(schema, size, (batch for stamp in stamps for batch in csv_batches(stamp, types)))


def _selected(schema: Schema, wanted: Sequence[str] | None, person: str) -> Schema:
    names = tuple(schema.names)
    require_columns(names, names if wanted is None else wanted, person)
    return pa.schema([schema.field(name) for name in names if wanted is None or name in wanted])


def _plain(schema: Schema, person: str) -> Schema:
    """The schema of what is written: ids are integers or text, and categories their values."""
    for index, field in enumerate(schema):
        if field.name == person:
            field = pa.field(person, plain_ids(pa.array([], field.type), person).type)
        elif pa.types.is_dictionary(field.type):
            field = pa.field(field.name, field.type.value_type)
        schema = schema.set(index, field)
    return schema


def _pieces(batches: Iterator[Any], schema: Schema, person: str) -> Iterator[Table]:
    """Tables of about `_RUN_BYTES`."""
    held: list[Table] = []
    size = 0
    for batch in batches:
        table = pa.Table.from_batches([batch])
        plain_ids(table.column(person), person)  # refuses missing ids
        table = table.cast(schema)
        step = _RUN_BYTES * table.num_rows // (table.nbytes + 1) + 1
        for start in range(0, table.num_rows, step):
            held.append(table.slice(start, step))
            size += held[-1].nbytes
            if size >= _RUN_BYTES:
                yield pa.concat_tables(held)
                held, size = [], 0
    if held:
        yield pa.concat_tables(held)


def _write_runs(pieces: Iterator[Table], person: str, buckets: int, folder: Path) -> list[Run]:
    runs: list[Run] = []
    for number, table in enumerate(pieces):
        runs.append(sort_run(table, person, buckets, folder / f"run-{number}.arrow"))
    if not runs:
        raise DataError("there are no rows", wanted="at least one")
    level = 0
    while len(runs) > _FAN:
        level += 1
        runs = [
            merge_runs(runs[first : first + _FAN], person, folder / f"merged-{level}-{first}.arrow")
            for first in range(0, len(runs), _FAN)
        ]
    return runs


def _write_buckets(runs: list[Run], schema: Schema, seal: Seal, folder: Path) -> tuple[str, ...]:
    names: list[str] = []
    with OpenRuns(runs) as readers:
        for bucket in range(seal.buckets):
            names.append(f"bucket-{bucket:05}-of-{seal.buckets:05}.parquet")
            mark = {KEY: replace(seal, bucket=bucket).to_bytes()}
            tables = merge_bucket(readers, bucket, seal.person)
            _write_sealed(folder / names[-1], schema.with_metadata(mark), tables)
    for run in runs:
        run.path.unlink()
    return tuple(names)


def _write_sealed(path: Path, schema: Schema, tables: Iterator[Table]) -> None:
    held: list[Table] = []
    size = rows = 0
    with pq.ParquetWriter(path, schema) as writer:
        for table in tables:
            held.append(table)
            size, rows = size + table.nbytes, rows + table.num_rows
            if size >= _GROUP_BYTES or rows >= _GROUP_ROWS:
                writer.write_table(pa.concat_tables(held).cast(schema))
                held, size, rows = [], 0, 0
        if held:
            writer.write_table(pa.concat_tables(held).cast(schema))
    _flush(path)


@contextmanager
def _staging(target: Path) -> Generator[Path]:
    """A hidden folder that becomes ``target`` when all went well, and vanishes when not."""
    folder: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        yield folder
        _flush(folder)
        folder.rename(target)  # over an empty folder, but never over a full one
        _flush(target.parent)
    except pa.ArrowMemoryError:
        raise
    except OSError as error:
        raise DataError(
            f"{target} cannot be written", got=error.strerror, remedy="Check the disk and the permission."
        ) from None
    except pa.ArrowException:
        raise DataError(
            "a column is of a type that cannot be prepared", remedy="Choose plain columns with columns=."
        ) from None
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _refuse_used(target: Path) -> None:
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise DataError(
            f"the folder {target} is not empty", wanted="a new or empty folder", remedy="Choose another."
        )


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
