"""The low-bits attack: tell two worlds apart by digits that no ordinary analysis looks at.

Noise drawn in doubles has holes (Mironov 2012; Haney et al. 2022). Doubles near 0 are finer than doubles near
1, so 0 + noise can be a number that 1 + noise can never be. One look at the event

    |x| < 1/2 and x is not a multiple of 2**-53

certifies epsilon > 8 from 100,000 draws of numpy's Laplace or normal noise, whatever the claim. `low_bits`
searches over such events: |x| below some size, and the lowest set bit of x below some place. Exact noise on a
grid has the same low bits in both worlds, so it passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.audit.bounds import best_event, check_confidence, epsilon_from_counts, split
from discreet.audit.distinguish import Finding

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["low_bits", "lowest_bit", "off_the_grid"]

_SIZES = 24
_NO_BIT = 2000
"""The place of the lowest bit of zero, and of what is not finite: above that of every double."""


def low_bits(
    draw0: ArrayLike, draw1: ArrayLike, claim: float, *, delta: float = 0.0, confidence: float = 0.95
) -> Finding:
    """What the low bits prove of a mechanism, given its outputs for a true answer of 0 and for another of 1.

    (Any two neighbouring answers will do; 0 and 1 show the most.) Every output is one run.
    """
    error = check_confidence(confidence)
    choose0, test0 = split(draw0)
    choose1, test1 = split(draw1)
    sizes, places = _candidates(choose0, choose1)
    hits0, hits1 = _table(choose0, sizes, places), _table(choose1, sizes, places)
    index, _ = best_event(hits0.ravel(), choose0.size, hits1.ravel(), choose1.size, delta, error)
    size, place = sizes[index // places.size], places[index % places.size]
    epsilon = epsilon_from_counts(
        _count(test0, size, place), test0.size, _count(test1, size, place), test1.size, delta, confidence
    )
    return Finding(epsilon, "low bits", np.size(draw0) + np.size(draw1), claim, delta, confidence)


def off_the_grid(values: ArrayLike) -> NDArray[np.bool_]:
    """The event of the title: |x| < 1/2 and x is not a multiple of 2**-53."""
    array = np.asarray(values, dtype=np.float64)
    return (np.abs(array) < 0.5) & (lowest_bit(array) < -53)


def lowest_bit(values: ArrayLike) -> NDArray[np.int64]:
    """The place of the lowest set bit: the largest k such that x is a multiple of 2**k."""
    array = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(array) & (array != 0)
    fraction, exponent = np.frexp(np.where(finite, array, 1.0))
    integer = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    _, trailing = np.frexp((integer & -integer).astype(np.float64))
    place = exponent.astype(np.int64) - 53 + trailing.astype(np.int64) - 1
    return np.where(finite, place, _NO_BIT)


def _candidates(
    draw0: NDArray[np.float64], draw1: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sizes, powers of two over the range that occurs, and places of the lowest bit."""
    both = np.concatenate([draw0, draw1])
    both = both[np.isfinite(both) & (both != 0)]
    top = np.frexp(np.abs(both).max())[1] if both.size else 0
    sizes = np.append(np.ldexp(1.0, top - np.arange(_SIZES)), np.inf)
    return sizes, np.unique(lowest_bit(np.append(both, 0.0)))


def _table(
    values: NDArray[np.float64], sizes: NDArray[np.float64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many values are below each size and have their lowest bit below each place."""
    magnitude, bits = np.abs(values), lowest_bit(values)
    rows = [np.searchsorted(np.sort(bits[magnitude < size]), places, side="left") for size in sizes]
    return np.array(rows, dtype=np.int64)


def _count(values: NDArray[np.float64], size: float, place: int) -> int:
    return int(np.sum((np.abs(values) < size) & (lowest_bit(values) < place)))
