"""Products of matrices whose columns do not depend, in any bit, on where they stand.

Private sums need it: removing one person moves all later columns, and what is rounded to integers afterwards
must not feel that. BLAS rounds a column otherwise when it stands in the ragged end of a matrix, or alone. So
products are made at one fixed width, the last one filled up, and each shape is tried out before it is relied
on; where BLAS is not steady, the product is made line by line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TILE", "multiply", "multiply_tiles"]

TILE = 256
"""Columns of a product in `multiply_tiles`, for small matrices: one call does for many sequences."""

NARROW = 8
"""The same for matrices of more columns than `_NARROW_FROM`: a sequence alone must not pay for 256."""

_NARROW_FROM = 32

_SMALL = 12  # inner sizes up to this are multiplied line by line: as fast, and steady without a trial

_steady: dict[tuple[int, int, int], bool] = {}


def multiply(
    coefficients: NDArray[np.float64], features: NDArray[np.float64], out: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The product of two matrices; callers always come with the same number of columns."""
    (rows, inner), columns = coefficients.shape, features.shape[1]
    shape = rows, inner, columns
    if shape not in _steady:
        _steady[shape] = _is_steady(rows, inner, columns)
    if _steady[shape]:
        return np.matmul(coefficients, features, out=out)
    return _by_lines(coefficients, features, out)


def multiply_tiles(
    matrix: NDArray[np.float64], columns: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """The product of (..., R, N) and (..., N, n) for any number of columns, in tiles of one width."""
    if matrix.ndim > 2:
        for left, right, into in zip(matrix, columns, out, strict=True):
            multiply_tiles(left, right, into)
        return
    if not matrix.shape[1]:
        out[...] = 0
        return
    if matrix.shape[1] <= _SMALL:
        _by_lines(matrix, columns, out)
        return
    width, step = columns.shape[1], NARROW if matrix.shape[1] > _NARROW_FROM else TILE
    tile, made = np.zeros((matrix.shape[1], step)), np.empty((matrix.shape[0], step))
    for start in range(0, width, step):
        size = min(step, width - start)
        tile[:, :size] = columns[:, start : start + size]
        out[:, start : start + size] = multiply(matrix, tile, made)[:, :size]


def _by_lines(
    coefficients: NDArray[np.float64], features: NDArray[np.float64], out: NDArray[np.float64]
) -> NDArray[np.float64]:
    np.multiply(coefficients[:, :1], features[0], out=out)
    for column, line in zip(coefficients.T[1:], features[1:], strict=True):
        out += column[:, None] * line
    return out


def _is_steady(rows: int, inner: int, columns: int) -> bool:
    """Whether the BLAS of this machine makes equal columns of equal columns, at these sizes."""
    left = np.sin(1.0 + np.arange(rows * inner)).reshape(rows, inner)
    for trial in range(4):
        right = np.sin(np.arange(2.0, inner + 2.0) * (trial + 2)).reshape(inner, 1)
        product = left @ np.ascontiguousarray(np.broadcast_to(right, (inner, columns)))
        if (product != product[:, :1]).any():
            return False
    return True
