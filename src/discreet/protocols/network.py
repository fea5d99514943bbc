"""A permutation as a network of switches (Benes 1964): each switch passes two neighbours straight or crossed.

A network for 2**k places has 2 k - 1 columns of 2**(k-1) switches. Its wiring is public; the permutation is
all in the switches. `route` finds them by array operations: in every block, an input and its neighbour must
take different halves, and so must the inputs of two neighbouring outputs; following both rules in turn walks
around a cycle on which every second input takes the same half. The least input of a walk names it, found by
doubling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["columns", "pairs", "route", "wire"]


def columns(places: int) -> int:
    """Columns of switches for so many places, a power of two."""
    if places < 2 or places & (places - 1):
        raise ParameterError("a network has a power of two places", got=places, wanted="2, 4, 8, ...")
    return 2 * (places.bit_length() - 1) - 1


def pairs(values: NDArray[Any]) -> NDArray[Any]:
    """Values (places, ...) as the switches of a column see them: (switches, 2, ...)."""
    return values.reshape(-1, 2, *values.shape[1:])


def wire(values: NDArray[Any], column: int) -> NDArray[Any]:
    """Carry values (places, ...) from the switches of a column to those of the next."""
    places = len(values)
    middle = columns(places) // 2
    if column < middle:  # the first of each pair to the upper half of its block, the second to the lower
        split = values.reshape(2**column, -1, 2, *values.shape[1:])
        return np.ascontiguousarray(split.swapaxes(1, 2)).reshape(values.shape)
    if column + 1 == columns(places):
        return values
    joined = values.reshape(2 ** (columns(places) - 2 - column), 2, -1, *values.shape[1:])
    return np.ascontiguousarray(joined.swapaxes(1, 2)).reshape(values.shape)


def route(permutation: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Switches (columns, places / 2), 1 for crossed, such that output j is input ``permutation[j]``."""
    places = len(permutation)
    depth = columns(places)
    if not np.array_equal(np.sort(permutation), np.arange(places)):
        raise ParameterError("not a permutation of its places")
    switches = np.zeros((depth, places // 2), dtype=np.uint8)
    blocks = permutation.reshape(1, -1)
    for level in range(depth // 2):
        half = _halves(blocks)
        switches[level] = half[:, ::2].ravel()
        leaving = np.take_along_axis(half, blocks, axis=1)[:, ::2]
        switches[depth - 1 - level] = leaving.ravel()
        first, second = blocks[:, ::2], blocks[:, 1::2]
        upper = np.where(leaving == 0, first, second) >> 1
        lower = np.where(leaving == 0, second, first) >> 1
        blocks = np.stack([upper, lower], axis=1).reshape(-1, blocks.shape[1] // 2)
    switches[depth // 2] = blocks[:, 0]
    return switches


def _halves(blocks: NDArray[np.int64]) -> NDArray[np.uint8]:
    """For every input of every block, the half it takes: 0 the upper, 1 the lower."""
    count, size = blocks.shape
    inverse = np.empty_like(blocks)
    np.put_along_axis(inverse, blocks, np.broadcast_to(np.arange(size), blocks.shape), axis=1)
    neighbour = np.arange(size) ^ 1
    ahead = np.take_along_axis(blocks, np.take(inverse, neighbour, axis=1) ^ 1, axis=1)
    least = np.broadcast_to(np.arange(size), (count, size)).copy()
    for _ in range(size.bit_length() - 1):
        least = np.minimum(least, np.take_along_axis(least, ahead, axis=1))
        ahead = np.take_along_axis(ahead, ahead, axis=1)
    return (least > np.take(least, neighbour, axis=1)).astype(np.uint8)
