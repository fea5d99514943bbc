"""Where a walk that has become narrow is cut, so that its steps can be taken side by side.

A step costs a few microseconds however few sequences are still running: a hundred thousand steps of one
sequence would take a second, most of it waiting. But steps are products of matrices, and products can be
grouped: the tail is cut into pieces of equal length, the transfer of every piece (from each state before it
to each state at its end) is computed for all pieces at once, a scan over the pieces gives what arrives at
each, and then all pieces are walked side by side. In place of T steps there are some 3 sqrt(T).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.models.sequences import Pack

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Cut", "find_cut"]

_NARROW = 64  # numbers of a step (states times sequences) below which only its overhead counts
_FEWEST_STEPS = 96
_MOST_STATES = 16  # the transfer of a piece costs as many times more
_SHORTEST = 8


@dataclass(frozen=True, eq=False)
class Cut:
    """The steps of a pack from ``step`` on, in pieces.

    ``pieces`` is a pack whose sequences are the pieces, sequence by sequence in the order of the blocks;
    ``columns`` (F') says where each of its rows stands in the time order of the whole pack; ``owners`` (P,)
    is the column of the sequence that a piece belongs to.
    """

    step: int
    pieces: Pack
    columns: NDArray[np.intp]
    owners: NDArray[np.intp]

    @cached_property
    def heads(self) -> NDArray[np.intp]:
        """The first piece of each sequence, (k,)."""
        return np.flatnonzero(np.diff(self.owners, prepend=-1))

    @cached_property
    def ends(self) -> NDArray[np.intp]:
        """The last piece of each sequence, (k,)."""
        return np.append(self.heads[1:], len(self.owners)) - 1

    @cached_property
    def inner(self) -> NDArray[np.intp]:
        """The pieces that are followed by another, (P',); they are all of the same length."""
        return np.setdiff1d(np.arange(len(self.owners)), self.ends)

    @cached_property
    def turns(self) -> tuple[NDArray[np.intp], ...]:
        """Inner pieces that can be passed at once: the first of every sequence, the second, and so on."""
        turn = self.inner - self.heads[self.owners[self.inner]]
        return tuple(np.flatnonzero(turn == number) for number in range(int(turn.max(initial=-1)) + 1))


def find_cut(pack: Pack, states: int) -> Cut | None:
    """The cut that pays for so many states, if there is one; remembered by the pack."""
    if states not in pack.cuts:
        pack.cuts[states] = _find(pack, states)
    return pack.cuts[states]


def _find(pack: Pack, states: int) -> Cut | None:
    widths = np.array(pack.widths)
    step = max(1, int((widths * states > _NARROW).sum()))
    left = len(widths) - step
    if states > _MOST_STATES or left < _FEWEST_STEPS:
        return None
    running = int(widths[step])
    lengths = pack.lengths[pack.order[:running]] - step
    size = max(_SHORTEST, math.isqrt(left))
    counts = -(-lengths // size)
    owners = np.repeat(np.arange(running), counts)
    parts = np.full(len(owners), size)
    parts[np.cumsum(counts) - 1] = lengths - (counts - 1) * size
    total = int(lengths.sum())
    rank = np.repeat(np.arange(running), lengths)
    times = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    columns = np.array(pack.starts)[step + times] + rank
    return Cut(step, Pack(np.arange(len(parts)), parts, slice(0, total)), columns, owners)
