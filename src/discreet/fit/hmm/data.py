"""Sequences as callers hand them over, checked and stacked, before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.errors import DataError, ParameterError
from discreet.models.hmm import UNKNOWN
from discreet.models.sequences import check_lengths

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Sequences", "read_labels", "read_points", "read_symbols", "read_weights"]

_LARGEST = 1e100  # squares of larger numbers, and sums of these, would leave the range of float64


@dataclass(frozen=True, eq=False)
class Sequences:
    """Rows (F, d) stacked sequence after sequence, their lengths (S,), and, if known, labels and weights."""

    rows: NDArray[Any]
    lengths: NDArray[np.intp]
    labels: NDArray[np.intp] | None = None
    weights: NDArray[np.float64] | None = None

    @property
    def frames(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def shortened(self, longest: int | None) -> Sequences:
        """The same with what lies beyond the declared longest length left out."""
        if longest is None or self.lengths.max() <= longest:
            return self
        firsts = np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        kept = np.arange(self.frames) - firsts < longest
        labels = None if self.labels is None else self.labels[kept]
        return Sequences(self.rows[kept], np.minimum(self.lengths, longest), labels, self.weights)


def read_symbols(X: Any, lengths: ArrayLike | None, symbols: int) -> Sequences:
    """Symbols from 0 to ``symbols`` - 1: one array with lengths, (F,) or (F, 1), or a list of arrays."""
    rows, counted = _stack(X, lengths, _one_column)
    if not np.issubdtype(rows.dtype, np.integer):
        raise DataError(
            "symbols are not whole numbers",
            got=str(rows.dtype),
            wanted="an array of integers",
            remedy="Number the symbols from 0; for measurements use GaussianHMM.",
        )
    if rows.min() < 0 or rows.max() >= symbols:
        raise DataError(
            "a symbol is out of range",
            wanted=f"whole numbers from 0 to n_symbols - 1 = {symbols - 1}",
            remedy="Declare all symbols that can occur, whether or not they do.",
        )
    return Sequences(rows, counted)


def read_points(X: Any, lengths: ArrayLike | None, dimension: int | None = None) -> Sequences:
    """Points, one a row: one array (F, d) with lengths, or a list of arrays (F, d)."""
    rows, counted = _stack(X, lengths, _columns)
    if not (np.issubdtype(rows.dtype, np.floating) or np.issubdtype(rows.dtype, np.integer)):
        raise DataError("the array is not made of numbers", got=str(rows.dtype), wanted="floats or integers")
    if dimension is not None and rows.shape[1] != dimension:
        raise DataError(
            "the rows have another width", got=f"{rows.shape[1]} columns", wanted=f"{dimension} columns"
        )
    points = np.ascontiguousarray(rows, dtype=np.float64)
    with np.errstate(all="ignore"):
        small = float(np.vdot(points, points)) <= _LARGEST  # false if any number is none
    if not small and not np.abs(points).max() <= _LARGEST:
        raise DataError(
            "a value is missing, infinite or too large",
            wanted=f"finite numbers of at most {_LARGEST:g} in size",
            remedy="Leave such rows out, or rescale the columns.",
        )
    return Sequences(points, counted)


def read_labels(labels: Any, lengths: NDArray[np.intp], states: int) -> NDArray[np.intp]:
    """States of all rows, stacked or as a list of arrays; -1 where the state is not known."""
    path, counted = _stack(labels, lengths if _is_array(labels) else None, _one_column)
    if len(counted) != len(lengths) or (counted != lengths).any():
        raise DataError(
            "the state paths do not fit the sequences", wanted="one state for each row of each sequence"
        )
    if not np.issubdtype(path.dtype, np.integer) or path.min() < UNKNOWN or path.max() >= states:
        raise DataError(
            "a state is out of range",
            wanted=f"whole numbers from 0 to n_states - 1 = {states - 1}, or {UNKNOWN} where it is not known",
        )
    return path.astype(np.intp)


def read_weights(weights: ArrayLike, sequences: int) -> NDArray[np.float64]:
    """One weight a sequence, finite and not negative, and not all zero."""
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (sequences,):
        raise DataError(
            "the weights do not fit the sequences", got=array.shape, wanted=f"one for each of {sequences}"
        )
    if not (np.isfinite(array).all() and (array >= 0).all() and array.sum() > 0):
        raise DataError("a weight is not a finite number of at least 0, or all are 0")
    return array


def _stack(X: Any, lengths: ArrayLike | None, shape: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """One array and its lengths, from either form."""
    if _is_array(X):
        rows = shape(np.asarray(X))
        return rows, check_lengths(lengths, len(rows))
    if lengths is not None:
        raise ParameterError(
            "lengths are given twice", got="a list of arrays and lengths", wanted="one array and lengths"
        )
    parts = [shape(np.asarray(part)) for part in cast("Sequence[Any]", X)]
    if not parts:
        raise DataError("there are no sequences", wanted="at least one")
    if len({part.shape[1:] for part in parts}) > 1:
        raise DataError("the sequences have other numbers of columns", wanted="the same for all")
    counts = np.array([len(part) for part in parts], dtype=np.intp)
    if counts.min() < 1:
        raise DataError("a sequence is empty", remedy="Leave empty sequences out.")
    return np.concatenate(parts), counts


def _is_array(X: Any) -> bool:
    """Whether X is one array rather than a list of arrays; a list of numbers is one array."""
    if not isinstance(X, list | tuple):
        return True
    listed = cast("Sequence[Any]", X)
    return len(listed) > 0 and not any(np.ndim(part) for part in listed)


def _one_column(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim != 1:
        raise DataError(
            "the symbols of a sequence are not in one column", got=array.shape, wanted="(F,) or (F, 1)"
        )
    return array


def _columns(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim != 2 or not array.shape[1]:
        raise DataError(
            "the points of a sequence are not rows of numbers",
            got=array.shape,
            wanted="(F, d)",
            remedy="For one column, use X.reshape(-1, 1).",
        )
    return array
