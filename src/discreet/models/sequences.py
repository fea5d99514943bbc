"""Ragged sequences side by side: which row of the data stands where, at each step of time.

The rows of all sequences are stacked. A `Pack` is a group of sequences to be walked together: at step t the
frames of all sequences longer than t form one block of columns, the longest sequence first, so the block of
step t + 1 belongs to the first few columns of the block of step t. Read backwards in time, the same
sequences form blocks of the same widths: one walk serves both directions (see `discreet.models.trellis`).

Two orders of the same frames: *row order* is that of the stacked data, sequence after sequence; *time order*
is that of the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from discreet.models.cut import Cut

__all__ = ["Pack", "check_lengths", "frames_for", "pack_sequences"]

_PACK_FRAMES = 2**15  # walked together: enough to hide the cost of a step, few enough for the cache
_PACK_NUMBERS = 2**20  # states times frames


@dataclass(frozen=True, eq=False)
class Pack:
    """Sequences to be walked together.

    ``sequences`` (S,) are their numbers among all sequences, ``lengths`` (S,) how long they are, ``rows``
    where their frames stand in the stacked data: a slice, or the numbers of the rows. All in row order.
    """

    sequences: NDArray[np.intp]
    lengths: NDArray[np.intp]
    rows: slice | NDArray[np.intp]

    @cached_property
    def cuts(self) -> dict[int, Cut | None]:
        """Where a walk is cut, by the number of states (see `discreet.models.cut`)."""
        return {}

    @cached_property
    def frames(self) -> int:
        """How many frames there are."""
        return int(self.lengths.sum())

    @cached_property
    def firsts(self) -> NDArray[np.intp]:
        """Where each sequence starts in row order, (S,)."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def lasts(self) -> NDArray[np.intp]:
        """Where each sequence ends in row order, (S,)."""
        return np.cumsum(self.lengths) - 1

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """Which sequence of the pack each row belongs to, (F,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The sequences of the pack, longest first: column r of a block belongs to ``order[r]``."""
        return np.argsort(-self.lengths, kind="stable")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many sequences are still running at each step."""
        ends = np.bincount(self.lengths, minlength=1)
        return tuple((len(self.lengths) - np.cumsum(ends)[:-1]).tolist())

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the block of each step starts in time order; the last entry is the number of frames."""
        return (0, *np.cumsum(self.widths).tolist())

    def blocks(self, steps: int) -> tuple[tuple[Any, Any], ...]:
        """For each of so many steps the index of its block, and of what it follows in the block before."""
        if steps not in self._block_lists:
            spans = list(zip(self.starts, self.widths[:steps], strict=False))
            here = [(Ellipsis, slice(at, at + width)) for at, width in spans]
            pairs = zip(self.starts, self.widths[1:steps], strict=False)
            before = [(Ellipsis, slice(at, at + width)) for at, width in pairs]
            self._block_lists[steps] = tuple(zip(here, [here[0], *before], strict=True))
        return self._block_lists[steps]

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Where each row stands in time order, (F,)."""
        return self._blocks[self._times] + self._ranks

    @cached_property
    def places_back(self) -> NDArray[np.intp]:
        """Where each row stands in time order when every sequence is read from its end, (F,)."""
        return self._blocks[self.lengths[self.owners] - 1 - self._times] + self._ranks

    @cached_property
    def forth(self) -> NDArray[np.intp]:
        """The row of each place in time order, (F,): ``values[..., forth]`` brings rows into time order."""
        return _invert(self.places)

    @cached_property
    def back(self) -> NDArray[np.intp]:
        """The same for sequences read from their ends, (F,)."""
        return _invert(self.places_back)

    def sum_sequences(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum values (..., F) in row order over each sequence: (..., S)."""
        return np.add.reduceat(values, self.firsts, axis=-1)

    def part(self, which: NDArray[np.intp]) -> tuple[Pack, NDArray[np.intp]]:
        """A pack of some of the sequences (ascending), and the numbers of their rows within this one."""
        rows = _rows(self.firsts[which], self.lengths[which])
        places = np.arange(self.rows.start, self.rows.stop) if isinstance(self.rows, slice) else self.rows
        return Pack(self.sequences[which], self.lengths[which], places[rows]), rows

    @cached_property
    def _block_lists(self) -> dict[int, tuple[tuple[Any, Any], ...]]:
        return {}

    @cached_property
    def _times(self) -> NDArray[np.intp]:
        return np.arange(self.frames) - self.firsts[self.owners]

    @cached_property
    def _ranks(self) -> NDArray[np.intp]:
        return _invert(self.order)[self.owners]

    @cached_property
    def _blocks(self) -> NDArray[np.intp]:
        return np.array(self.starts, dtype=np.intp)


def check_lengths(lengths: ArrayLike | None, rows: int) -> NDArray[np.intp]:
    """Lengths of sequences that make up so many rows; without lengths all rows are one sequence."""
    if rows == 0:
        raise DataError("there are no rows", wanted="at least one sequence with one row")
    if lengths is None:
        return np.array([rows], dtype=np.intp)
    array = np.asarray(lengths)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise DataError(
            "lengths are not a list of whole numbers",
            got=f"{array.dtype} with {array.ndim} dimensions",
            wanted="one whole number a sequence",
        )
    if array.size == 0 or array.min() < 1:
        raise DataError(
            "a sequence is empty", wanted="lengths of at least 1", remedy="Leave empty sequences out."
        )
    if int(array.sum(dtype=object)) != rows:
        raise DataError(
            "the lengths do not add up to the number of rows",
            wanted="lengths whose sum is the number of rows",
        )
    return array.astype(np.intp)


def frames_for(states: int) -> int:
    """How many frames to walk together with so many states, so that memory stays bounded."""
    return max(2**10, min(_PACK_FRAMES, _PACK_NUMBERS // states))


def pack_sequences(lengths: NDArray[np.intp], frames: int = _PACK_FRAMES) -> tuple[Pack, ...]:
    """Packs of about so many frames each; together they hold every sequence once.

    What fits into one pack is left where it is. Otherwise sequences of about the same length are walked
    together, the longest first. A sequence is never cut: one longer than ``frames`` makes a pack of its own.
    """
    if int(lengths.sum()) <= frames:
        return (Pack(np.arange(len(lengths)), lengths, slice(0, int(lengths.sum()))),)
    return tuple(_cut(lengths, frames))


def _cut(lengths: NDArray[np.intp], frames: int) -> Iterator[Pack]:
    order = np.argsort(-lengths, kind="stable")
    firsts, ends = np.cumsum(lengths) - lengths, np.cumsum(lengths[order])
    start = 0
    while start < len(order):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + frames, side="right")))
        chosen = np.sort(order[start:stop])
        yield Pack(chosen, lengths[chosen], _rows(firsts[chosen], lengths[chosen]))
        start = stop


def _rows(firsts: NDArray[np.intp], lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """The numbers firsts[s], firsts[s] + 1, ... of each sequence, one after the other."""
    shift = np.repeat(firsts - (np.cumsum(lengths) - lengths), lengths)
    return np.arange(int(lengths.sum())) + shift


def _invert(permutation: NDArray[np.intp]) -> NDArray[np.intp]:
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse
