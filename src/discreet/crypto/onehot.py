"""Columns of zeros and ones, and tables from which the last row and column were left out.

Codes 0 ... size-1 become size columns, of which the last is one less the others. So a table of products
needs (left - 1)(right - 1) products only, and the rest follows from its two margins: `completed`. All of it
is linear, so it holds for shares as well, and for every row of the data as for their sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["columns", "completed"]


def columns(codes: NDArray[Any], size: int) -> NDArray[np.uint32]:
    """Zeros and ones, (size, rows)."""
    return (codes == np.arange(size, dtype=codes.dtype)[:, None]).astype(np.uint32)


def completed(body: NDArray[Any], left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """The whole table (a, b, ...) from its body (a-1, b-1, ...), all a row sums, and b-1 column sums.

    Modulo the ring of the words. With body, left and right shared, so is the result.
    """
    rows, wide = left.shape[0], right.shape[0] + 1
    whole = np.empty((rows, wide, *left.shape[1:]), dtype=left.dtype)
    whole[:-1, :-1] = body
    whole[-1, :-1] = right - body.sum(axis=0, dtype=left.dtype)
    whole[:, -1] = left - whole[:, :-1].sum(axis=1, dtype=left.dtype)
    return whole
