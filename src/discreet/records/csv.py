"""CSV files, plain or gzipped: one part each, streamed in blocks.

The columns asked for are read as numbers. Where none are asked for, the first block of the file decides
which columns hold numbers. The person column is always text, letter by letter: `7` and `07` are two people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from discreet.errors import DataError, DomainError
from discreet.records.chunk import Chunk, Rule, cut
from discreet.records.files import Stamp, reading
from discreet.records.table import float_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from discreet.errors import DiscreetError
    from discreet.records.arrow import Table

__all__ = [
    "MISSING_WORDS",
    "CsvPart",
    "csv_batches",
    "csv_fields",
    "csv_table",
    "same_fields",
    "unnamed_columns",
]

MISSING_WORDS = (*csv.ConvertOptions().null_values, "?")
"""Fields that mean a missing value, in any column."""

_BLOCK_BYTES = 2**20
_IN_MEMORY_BYTES = {".csv": 2**28, ".gz": 2**26}


@dataclass(frozen=True)
class CsvPart:
    """One CSV file."""

    stamp: Stamp
    rule: Rule

    def chunks(self) -> Iterator[Chunk]:
        """Read the rows in order; refuses a file that has changed."""
        for batch in csv_batches(self.stamp, dict.fromkeys(self.rule.names, pa.float64())):
            yield from cut([float_column(batch.column(name), name) for name in self.rule.names], self.rule)


def csv_fields(stamp: Stamp, person: str | None) -> list[tuple[str, Any]]:
    """Names and types of the columns by the first block: float64 or text, and text for the person."""
    with reading(stamp.path), _open(stamp, None) as reader:
        return [
            (field.name, pa.float64() if _numeric(field.type) and field.name != person else pa.string())
            for field in reader.schema
        ]


def same_fields(stamps: Sequence[Stamp], person: str | None) -> list[tuple[str, Any]]:
    """The fields of all files of one set; refuses files whose columns differ in name or order."""
    fields = csv_fields(stamps[0], person)
    for stamp in stamps[1:]:
        if [name for name, _ in csv_fields(stamp, person)] != [name for name, _ in fields]:
            raise DataError(
                f"{stamp.name} has other columns than {stamps[0].name}",
                remedy="Open files of one kind at a time, and name the columns with columns=.",
            )
    return fields


def csv_table(
    stamps: Sequence[Stamp], types: Mapping[str, Any], most: int, refusal: Callable[[], DiscreetError]
) -> Table:
    """Some columns of all files, read whole; ends with the refusal where there are more than so many rows."""
    room = min(size for ending, size in _IN_MEMORY_BYTES.items() if _ends(stamps, ending))
    if sum(stamp.size for stamp in stamps) > room:
        raise refusal()
    batches: list[Any] = []
    rows = 0
    for batch in (batch for stamp in stamps for batch in csv_batches(stamp, types)):
        batches.append(batch)
        rows += batch.num_rows
        if rows > most:
            raise refusal()
    schema = pa.schema([pa.field(name, kind) for name, kind in types.items()])
    return pa.Table.from_batches(batches, schema)


def unnamed_columns(names: Sequence[str]) -> DomainError:
    """Which columns of a CSV file hold numbers can only be told from its rows, so it must be declared."""
    return DomainError(
        "the columns of a CSV file are not named",
        wanted=f"columns=, some of {', '.join(map(repr, names))}",
        remedy="A CSV file does not declare its types: to find them in the rows would reveal something.",
    )


def csv_batches(
    stamp: Stamp, types: Mapping[str, Any], missing: Sequence[str] = MISSING_WORDS
) -> Iterator[Any]:
    """Read some columns of a file as the given types, in batches; refuses a file that has changed.

    ``missing`` lists the words that mean a missing value in every column.
    """
    stamp.verify()
    names = list(types)
    wrong: str | None = None
    with reading(stamp.path):
        try:
            with _open(stamp, types, missing) as reader:
                yield from (batch for batch in reader if batch.num_rows)
        except pa.ArrowInvalid as error:
            # the message quotes a private value: keep nothing of it but the column
            wrong = _column_in(str(error), stamp)
            if wrong not in names:
                raise
    if wrong is not None:
        raise DataError(
            f"column {wrong!r} of {stamp.name} is not made of numbers",
            wanted="numbers, and nothing or `NA` or `?` where one is missing",
            remedy="Leave it out with columns=, or encode it as numbers.",
        )
    stamp.verify()


def _ends(stamps: Sequence[Stamp], ending: str) -> bool:
    return any(stamp.path.lower().endswith(ending) for stamp in stamps)


def _numeric(kind: Any) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)  # `true` cannot be read as a number


def _open(stamp: Stamp, types: Mapping[str, Any] | None, missing: Sequence[str] = MISSING_WORDS) -> Any:
    convert = csv.ConvertOptions(
        null_values=list(missing),
        strings_can_be_null=bool(missing),
        column_types=dict(types or {}),
        include_columns=list(types or ()),
    )
    return csv.open_csv(
        stamp.path,
        read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=convert,
    )


def _column_in(message: str, stamp: Stamp) -> str | None:
    found = re.match(r"In CSV column #(\d+):", message)
    if found is None:
        return None
    return csv_fields(stamp, None)[int(found.group(1))][0]
