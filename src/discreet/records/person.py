"""Rows of one person: which ids there are, how they are hashed, and what each of their rows weighs.

**Weights.** A person with n rows gets the weight min(1, rows_per_person / n) on each: together at most
rows_per_person, whatever they contributed. Weights are rounded down, so this holds for the float64 numbers
themselves and not only for the reals they stand for.

**Hash.** Integers: splitmix64 of the value modulo 2**64. Text: the first 8 bytes of BLAKE2b with an 8-byte
digest, of the UTF-8 bytes, little-endian. The bucket is the hash modulo the number of buckets. The hash
only spreads people over files; it hides nothing.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError, ParameterError
from discreet.records.arrow import Array, compute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = [
    "RunWeights",
    "bucket_of",
    "check_rows_per_person",
    "group_rows",
    "hash_name",
    "person_weights",
    "plain_ids",
    "run_lengths",
]


def check_rows_per_person(value: object) -> float:
    """The declared bound as a float; refuses what is not a finite number above 0."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ParameterError("rows_per_person is out of range", got=value, wanted="a finite number above 0")
    return number


def plain_ids(ids: Array, name: str, role: str = "person") -> Array:
    """Ids as integers or text, dictionaries unfolded; refuses other types and missing ids.

    ``role`` is what the ids tell apart: persons, or sequences.
    """
    kind: Any = ids.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        ids = ids.cast(kind)
    if pa.types.is_string_view(kind):
        ids = ids.cast(pa.large_string())
    elif not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(
            f"{role} column {name!r} cannot tell {'people' if role == 'person' else f'{role}s'} apart",
            got=str(kind),
            wanted="integers or text",
            remedy="Cast it first; rounded numbers and times are no identities.",
        )
    if ids.null_count:
        raise DataError(
            f"{role} column {name!r} has missing ids",
            remedy="Every row needs an owner: remove such rows, or give each an id of its own."
            if role == "person"
            else f"Every row needs an {role}: remove such rows.",
        )
    return ids


def hash_name(ids: Array) -> str:
    """The hash that `bucket_of` uses for ids of this type."""
    return "splitmix64" if pa.types.is_integer(ids.type) else "blake2b-64"


def bucket_of(ids: Array, buckets: int) -> NDArray[np.int64]:
    """The bucket of each id; text costs a Python call an id, so pass each id once."""
    hashed = _mix(ids) if pa.types.is_integer(ids.type) else _digest(ids)
    return (hashed % np.uint64(buckets)).astype(np.int64)


def person_weights(counts: NDArray[np.int64], rows_per_person: float) -> NDArray[np.float64]:
    """The weight of each row of people with so many rows: min(1, rows_per_person / n), rounded down."""
    weights = rows_per_person / counts
    with np.errstate(invalid="ignore"):  # a weight too small for float64 is 0, and 0 fits
        # fmod is exact, so the quotient tells without rounding how many such weights fit
        fitting = np.rint((rows_per_person - np.fmod(rows_per_person, weights)) / weights)
    weights = np.where(fitting < counts, np.nextafter(weights, 0.0), weights)
    return np.minimum(weights, 1.0)


def group_rows(ids: Array) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """An order that brings each person's rows together (None: they already are), and the length of each run.

    People come in the order of their first rows, and the rows of one person keep their order.
    """
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.cast(pa.large_string()) if pa.types.is_string(ids.type) else ids
        ids = ids.combine_chunks()
    codes: NDArray[np.int32] = compute.dictionary_encode(ids).indices.to_numpy()
    counts = np.bincount(codes).astype(np.int64)
    if bool((codes[1:] >= codes[:-1]).all()):
        return None, counts
    return np.argsort(codes, kind="stable"), counts


def run_lengths(batches: Iterator[Array], check: Callable[[Array], None]) -> Iterator[NDArray[np.int64]]:
    """How many rows each person has, in file order, from ids that arrive in batches.

    ``check`` sees every run's id once, in order, beginning with the last one of the batch before. A run is
    handed over when it has ended, so a person who owns every row costs no memory.
    """
    last: Array = None
    pending = 0
    for batch in batches:
        if not len(batch):
            continue
        encoded: Any = compute.run_end_encode(batch)
        lengths = np.diff(encoded.run_ends.to_numpy(), prepend=0).astype(np.int64)
        people: Array = encoded.values
        if last is not None and people[0] == last[0]:
            lengths[0] += pending
        elif last is not None:
            people = pa.concat_arrays([last, people])
            lengths = np.concatenate([[pending], lengths])
        check(people)
        yield lengths[:-1]
        last, pending = people[-1:], int(lengths[-1])
    if last is not None:
        yield np.array([pending], dtype=np.int64)


class RunWeights:
    """The weights of rows in file order, from run lengths that are read ahead just far enough."""

    def __init__(self, lengths: Iterator[NDArray[np.int64]], rows_per_person: float) -> None:
        self._lengths = lengths
        self._rows_per_person = rows_per_person
        self._ends = np.zeros(1, dtype=np.int64)  # where each known run ends, counted in rows of the file
        self._weights = np.zeros(1)
        self._at = 0

    def take(self, rows: int) -> NDArray[np.float64]:
        """The weights of the next rows."""
        stop = self._at + rows
        while self._ends[-1] < stop:
            self._read_ahead()
        first, last = np.searchsorted(self._ends, [self._at + 1, stop])
        ends = np.minimum(self._ends[first : last + 1], stop)
        weights = np.repeat(self._weights[first : last + 1], np.diff(ends, prepend=self._at))
        self._at = stop
        return weights

    def finish(self) -> None:
        """Refuse ids that have no row: the id column must end where the rows end."""
        if self._ends[-1] > self._at or any(len(lengths) for lengths in self._lengths):
            raise _uneven()

    def _read_ahead(self) -> None:
        lengths = next(self._lengths, None)
        if lengths is None:
            raise _uneven()
        if len(lengths):
            keep = int(np.searchsorted(self._ends, self._at))
            ends = self._ends[-1] + np.cumsum(lengths)
            weights = person_weights(lengths, self._rows_per_person)
            self._ends = np.concatenate([self._ends[keep:], ends])
            self._weights = np.concatenate([self._weights[keep:], weights])


def _uneven() -> DataError:
    return DataError(
        "the person column and the other columns differ in length",
        remedy="The file is damaged or changed while it was read; write it again.",
    )


def _mix(ids: Array) -> NDArray[np.uint64]:
    signed = pa.types.is_signed_integer(ids.type)
    values = ids.to_numpy().astype(np.int64 if signed else np.uint64)
    z = values.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _digest(ids: Array) -> NDArray[np.uint64]:
    texts: list[bytes] = ids.cast(pa.large_binary()).to_pylist()
    joined = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64)
