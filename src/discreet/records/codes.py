"""Columns of declared states, read as small numbers: 0 for the first state that was declared, and so on.

The states are declared, never collected from the rows: a state that nobody is in has its place, and a value
that was not declared is refused, in words that do not contain it. What becomes of missing values is declared
too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.domain import code_type
from discreet.errors import DataError, ParameterError
from discreet.records.arrow import compute
from discreet.records.batches import read_batches
from discreet.records.csv import MISSING_WORDS
from discreet.records.ids import id_bytes, read_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["MISSING_REMEDY", "check_missing", "code_chunks", "read_codes", "read_ids", "read_rows"]

MISSING_REMEDY = "Say missing='drop', or name the declared state that stands for missing values."
"""What can be done about a missing value where a rule for missing values can be given."""

_MISSING = -1
Codes = dict[str, "NDArray[np.signedinteger]"]


def read_codes(source: Any, states: Mapping[str, Sequence[str | int]], *, missing: str = "refuse") -> Codes:
    """The declared columns of a table or of files as arrays of small codes, all rows of them.

    ``states`` maps each column to its states, as text or as whole numbers; other columns are not looked at.
    ``missing`` says what becomes of a row without a value: "refuse" the data, "drop" the row, or the name of
    the declared state that stands for a missing value. **Reveals** the rows: handle codes like them.
    """
    return _joined([codes for codes, _ in code_chunks(source, states, missing=missing)], states)


def read_rows(
    source: Any,
    states: Mapping[str, Sequence[str | int]],
    column: str,
    *,
    missing: str = "refuse",
    gaps: bool = False,
) -> tuple[Codes, list[bytes]]:
    """Codes as `read_codes` gives them, and the id of each row that is left, as `read_ids` gives it.

    A row without an id is refused, or comes with no bytes where ``gaps`` are allowed.
    """
    chunks: list[Codes] = []
    ids: list[bytes] = []
    for codes, named in code_chunks(source, states, missing=missing, column=column, gaps=gaps):
        chunks.append(codes)
        ids += named
    return _joined(chunks, states), ids


def code_chunks(
    source: Any,
    states: Mapping[str, Sequence[str | int]],
    *,
    missing: str = "refuse",
    column: str | None = None,
    gaps: bool = False,
    keep: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[Codes, list[bytes]]]:
    """The codes batch by batch, with the ids in ``column``; memory is bounded by the batch.

    ``keep`` says, row by row of the whole source, which rows are read at all.
    """
    legends = [_Legend.of(name, listed) for name, listed in states.items()]
    filled = check_missing(states, missing)
    names: list[str] = list(states)
    if column is not None and column not in states:
        names.append(column)
    start = 0
    for batch, bare in read_batches(source, names):
        rows = batch.num_rows
        if keep is not None and len(keep) < start + rows:
            raise _other_length()
        chosen = np.ones(rows, dtype=np.bool_) if keep is None else keep[start : start + rows].copy()
        start += rows
        codes = {legend.name: legend.read(batch.column(legend.name), filled, bare) for legend in legends}
        for array in codes.values():
            if missing == "drop":
                chosen &= array != _MISSING
        ids = id_bytes(batch.column(column), column, bare=bare, gaps=gaps) if column else []
        if not chosen.all():
            codes = {name: array[chosen] for name, array in codes.items()}
            ids = [ids[row] for row in np.flatnonzero(chosen)] if ids else []
        yield codes, ids
    if keep is not None and len(keep) != start:
        raise _other_length()


def _other_length() -> DataError:
    return DataError("the ids are not as many as the rows", wanted="one id for each row")


def check_missing(states: Mapping[str, Sequence[str | int]], missing: str) -> str:
    """The rule for missing values; refuses the name of a state that no column declares."""
    if not states:
        raise ParameterError("no column is declared", wanted="at least one column with its states")
    if missing not in ("refuse", "drop") and not any(
        missing in map(str, listed) for listed in states.values()
    ):
        raise ParameterError(
            "no such rule for missing values", got=missing, wanted="refuse, drop, or the name of a state"
        )
    return missing


@dataclass(frozen=True)
class _Legend:
    """What the values of one column stand for."""

    name: str
    states: tuple[str, ...]
    kind: np.dtype[np.signedinteger]
    numbers: Any  # the states as an Arrow array of integers, where all are numbers
    words: Any  # the states as an Arrow array of text

    @classmethod
    def of(cls, name: str, listed: Sequence[str | int]) -> _Legend:
        states = tuple(map(str, listed))
        if isinstance(listed, str) or not states or len(set(states)) < len(states):
            raise ParameterError(f"the states of {name!r} are not distinct names", wanted="each state once")
        numbers = None
        if all(_is_whole(state) for state in states):
            numbers = pa.array([int(state) for state in states], pa.int64())
        return cls(name, states, code_type(len(states)), numbers, pa.array(states, pa.large_string()))

    def read(self, column: Any, missing: str, bare: bool) -> NDArray[np.signedinteger]:
        """The codes of one batch, -1 for a value that is missing and whose row is to go."""
        if pa.types.is_dictionary(column.type) and not self._find(column.dictionary).null_count:
            codes = self._codes(column.dictionary, missing, bare)
            index = column.indices
            if not index.null_count:
                return codes[index.to_numpy(zero_copy_only=False)]
            gap = np.append(codes, self._gap(missing))
            return gap[compute.fill_null(index.cast(pa.int64()), len(codes)).to_numpy(zero_copy_only=False)]
        if pa.types.is_dictionary(column.type):  # an entry that is not declared may also never be used
            column = column.cast(column.type.value_type)
        return self._codes(column, missing, bare)

    def _codes(self, values: Any, missing: str, bare: bool) -> NDArray[np.signedinteger]:
        found = self._find(values)
        if not found.null_count:
            return found.to_numpy(zero_copy_only=False).astype(self.kind)
        absent = values.is_null()
        if bare:  # a word that is declared as a state is a state, whatever else it may mean
            others = [word for word in MISSING_WORDS if word not in self.states]
            absent = compute.or_(absent, compute.is_in(values, pa.array(others, values.type)))
        gaps = absent.to_numpy(zero_copy_only=False)
        if int(gaps.sum()) < found.null_count:
            raise DataError(
                f"column {self.name!r} has a value that is not among its declared states",
                wanted=", ".join(self.states[:12]) + (", ..." if len(self.states) > 12 else ""),
                remedy="Declare every state that can occur; what was found is not told.",
            )
        codes = compute.fill_null(found, 0).to_numpy(zero_copy_only=False).astype(self.kind)
        codes[gaps] = self._gap(missing)
        return codes

    def _gap(self, missing: str) -> int:
        """The code of a missing value, if it may be missing."""
        if missing == "drop":
            return _MISSING
        if missing in self.states:
            return self.states.index(missing)
        raise DataError(
            f"column {self.name!r} has a missing value",
            remedy=MISSING_REMEDY,
        )

    def _find(self, values: Any) -> Any:
        """The place of each value among the states; null where it has none."""
        kind = values.type
        if self.numbers is not None and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            try:
                return compute.index_in(values.cast(pa.int64()), self.numbers)
            except pa.ArrowException:
                kind = None  # no whole numbers: not declared
        if kind is not None and pa.types.is_boolean(kind) and {"True", "False"} & set(self.states):
            values, kind = compute.if_else(values, "True", "False"), pa.string()
        try:
            return compute.index_in(values.cast(pa.large_string()), self.words)
        except pa.ArrowException:
            raise DataError(
                f"column {self.name!r} cannot hold states",
                got=str(values.type),
                wanted="text or whole numbers",
            ) from None


def _is_whole(state: str) -> bool:
    """Whether the text is how a whole number is written."""
    digits = state.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= 18 and str(int(state)) == state


def _joined(chunks: list[Codes], states: Mapping[str, Sequence[str | int]]) -> Codes:
    empty = {name: np.zeros(0, dtype=code_type(len(listed))) for name, listed in states.items()}
    return {name: np.concatenate([empty[name], *(chunk[name] for chunk in chunks)]) for name in states}
