"""Turn noisy numbers back into parameters: weights that sum to one, covariances that are positive definite.

All of this is post-processing of what has been released, so it costs nothing and reveals nothing more. Every
function returns a valid result for any input, infinities and NaN included: a fit must not fall over after
its budget is spent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["to_positive", "to_positive_definite", "to_simplex"]

_HUGE = 1e100
_SMALLEST_RATIO = 1e-12


def to_positive(values: ArrayLike, floor: float) -> NDArray[np.float64]:
    """The values, with everything below ``floor`` (and NaN) raised to it."""
    _check_floor(floor)
    return np.clip(np.nan_to_num(_floats(values), nan=floor, posinf=_HUGE, neginf=floor), floor, _HUGE)


def to_simplex(values: ArrayLike, floor: float = 0.0) -> NDArray[np.float64]:
    """The nearest weights (Euclidean) along the last axis that sum to 1 and are all at least ``floor``.

    Sort, find the level that leaves a mass of one above it, cut (Held, Wolfe, Crowder 1974); the floor is
    taken off before and added after. NaN counts as minus infinity: the smallest weight.
    """
    array = _floats(values)
    size = array.shape[-1] if array.ndim else 0
    if size == 0 or not 0 <= floor * size <= 1:
        raise ParameterError(
            "weights with this floor cannot sum to one", got=(size, floor), wanted="0 <= size * floor <= 1"
        )
    spread = 1 - floor * size
    if spread <= 0:
        return np.full(array.shape, 1 / size)
    weights = _project(_below_top(array, spread))
    return floor + spread * weights


def to_positive_definite(
    matrices: ArrayLike, floor: float, ceiling: float | None = None
) -> NDArray[np.float64]:
    """The nearest symmetric matrices (Frobenius) whose eigenvalues lie between ``floor`` and ``ceiling``.

    Works on one matrix or a stack of them. The floor is raised to 1e-12 of the largest eigenvalue, so that
    rounding cannot undo it. Entries that are not numbers count as zero.
    """
    _check_floor(floor)
    if ceiling is not None and not ceiling >= floor:
        raise ParameterError("the ceiling lies below the floor", got=ceiling, wanted=f">= {floor}")
    array = np.clip(np.nan_to_num(_floats(matrices), posinf=_HUGE, neginf=-_HUGE), -_HUGE, _HUGE)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ParameterError("not a square matrix", got=array.shape, wanted="(..., d, d)")
    values, vectors = np.linalg.eigh(_symmetric(array))
    values = np.clip(values, floor, ceiling)
    np.maximum(values, _SMALLEST_RATIO * values[..., -1:], out=values)
    return _symmetric((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def _floats(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)


def _check_floor(floor: float) -> None:
    if not 0 < floor < _HUGE:
        raise ParameterError("the floor must be a positive number", got=floor, wanted="0 < floor < 1e100")


def _symmetric(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    return matrices / 2 + np.swapaxes(matrices, -1, -2) / 2


def _below_top(array: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """Distances below the largest value, in units of the mass to share; beyond 1 they get no share at all."""
    finite = np.clip(np.nan_to_num(array, nan=-_HUGE, posinf=_HUGE, neginf=-_HUGE), -_HUGE, _HUGE)
    return np.maximum((finite - finite.max(axis=-1, keepdims=True)) / spread, -2.0)


def _project(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Euclidean projection onto the probability simplex; the largest value is 0 and the smallest >= -2."""
    falling = -np.sort(-values, axis=-1)
    ranks = np.arange(1, values.shape[-1] + 1)
    levels = (np.cumsum(falling, axis=-1) - 1) / ranks
    count = np.sum(falling > levels, axis=-1, keepdims=True)
    level = np.take_along_axis(levels, count - 1, axis=-1)
    weights = np.maximum(values - level, 0.0)
    return weights / weights.sum(axis=-1, keepdims=True)
