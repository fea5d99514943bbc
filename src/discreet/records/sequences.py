"""Private sequences: opened, checked, cut to a declared length, weighted per person, and summed over.

A sequence is a run of rows in the order of time. One person owns one or more sequences; they share a total
weight of at most ``sequences_per_person``, as rows do in `discreet.records.person`, so no loop over people is
needed to bound what one of them can change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError, ParameterError, TooLargeError
from discreet.records.engine import LocalEngine
from discreet.records.person import group_rows, person_weights, plain_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from discreet.records.engine import Engine

    SequenceFunction = Callable[["SequenceChunk", Any], Mapping[str, NDArray[Any]]]

__all__ = ["CHUNK_FRAMES", "SequenceChunk", "Sequences", "hold_sequences"]

CHUNK_FRAMES = 2**16
"""About how many rows a chunk holds; a sequence is never cut between chunks."""

_PART_FRAMES = 2**18
_LIMIT_BYTES = 8 * 2**30


@dataclass(frozen=True, eq=False, slots=True)
class SequenceChunk:
    """Whole sequences: ``rows`` (F, ...) stacked, ``lengths`` (S,), ``weights`` (S,), ``states`` (F,) or
    None.

    **Reveals** the sequences themselves: only map functions see it.
    """

    rows: NDArray[Any]
    lengths: NDArray[np.intp]
    weights: NDArray[np.float64]
    states: NDArray[np.intp] | None

    def __repr__(self) -> str:
        return "SequenceChunk(...)"


@dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """Some sequences that one worker reads alone; nothing is copied but what was cut."""

    rows: NDArray[Any]
    lengths: NDArray[np.intp]
    weights: NDArray[np.float64]
    states: NDArray[np.intp] | None

    def chunks(self) -> Iterator[SequenceChunk]:
        """Read the sequences in order."""
        for first, last in _cuts(self.lengths, CHUNK_FRAMES):
            yield SequenceChunk(*_slice(self, first, last))


class Sequences:
    """Sequences that can be summed over but not looked at; `hold_sequences` makes them.

    **Reveals** nothing by itself: neither its repr nor its errors hold a count or a value.
    """

    def __init__(self, parts: tuple[_Part, ...], labelled: bool) -> None:
        self.parts = parts
        self.labelled = labelled

    def __repr__(self) -> str:
        return "Sequences(labelled)" if self.labelled else "Sequences(...)"

    def map_reduce(
        self, function: SequenceFunction, broadcast: Any, engine: Engine | None = None
    ) -> dict[str, NDArray[Any]]:
        """Sum ``function(chunk, broadcast)`` over all sequences: int64 exactly, float64 in a fixed order.

        **Reveals** the sums, which are as private as the sequences until noise is added.
        """
        return (engine or LocalEngine()).map_reduce(self.parts, function, broadcast)  # pyright: ignore[reportArgumentType]


def hold_sequences(
    rows: NDArray[Any],
    lengths: NDArray[np.intp],
    *,
    max_length: int | None = None,
    states: NDArray[np.intp] | None = None,
    person: Any = None,
    sequences_per_person: float = 1.0,
    factors: NDArray[np.float64] | None = None,
) -> Sequences:
    """Hold sequences that lie stacked in memory.

    ``lengths`` says how many rows each sequence has. What is longer than ``max_length`` is cut to its first
    ``max_length`` rows, without a word: how many were is private. ``person`` holds one id a sequence.
    ``factors`` (at most 1) makes weights smaller, rounded down: for persons who are in other sums, too.

    **Reveals** nothing.
    """
    if rows.nbytes > _LIMIT_BYTES:
        raise TooLargeError("the sequences are too many to hold in memory", remedy="Fit a sample of them.")
    weights = _weights(person, len(lengths), sequences_per_person)
    if factors is not None:
        weights = np.where(factors < 1, np.nextafter(weights * factors, 0.0), weights)
    if max_length is not None and (lengths > max_length).any():
        keep = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths) < max_length
        rows, states = rows[keep], None if states is None else states[keep]
        lengths = np.minimum(lengths, max_length)
    whole = _Part(rows, lengths, weights, states)
    parts = tuple(_Part(*_slice(whole, first, last)) for first, last in _cuts(lengths, _PART_FRAMES))
    return Sequences(parts, states is not None)


def _weights(person: Any, sequences: int, bound: float) -> NDArray[np.float64]:
    """What each sequence weighs: its person's sequences weigh at most ``bound`` together."""
    if person is None:
        if bound != 1.0:
            raise ParameterError(
                "sequences_per_person bounds nobody", remedy="Name the person of each sequence with person=."
            )
        return np.ones(sequences)
    try:
        ids = plain_ids(pa.array(np.asarray(person), from_pandas=True), "person")
    except (pa.ArrowException, OverflowError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("person mixes types", wanted="integers or text") from None
    if len(ids) != sequences:
        raise DataError("person does not fit the sequences", wanted="one id for each sequence")
    order, counts = group_rows(ids)
    weights = np.repeat(person_weights(counts, bound), counts)
    if order is None:
        return weights
    scattered = np.empty_like(weights)
    scattered[order] = weights
    return scattered


def _cuts(lengths: NDArray[np.intp], frames: int) -> Iterator[tuple[int, int]]:
    """Ranges of sequences with about so many rows each."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + frames, side="right")))
        yield first, last
        first = last


def _slice(part: _Part, first: int, last: int) -> tuple[Any, ...]:
    start = int(part.lengths[:first].sum())
    stop = start + int(part.lengths[first:last].sum())
    states = None if part.states is None else part.states[start:stop]
    return part.rows[start:stop], part.lengths[first:last], part.weights[first:last], states
