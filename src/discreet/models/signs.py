"""The linear system of Meng, Sivakumar and Kargupta (ICDM 2004): tables of yes/no columns from their signs.

Columns of a family are coded -1 and 1. The pseudo inner product of some of them is the sum over rows of their
product; that of none is the number of rows. For k columns there are 2**k, one for every subset S, and
    product[S] = sum over configurations c of count[c] times the signs in c of the columns in S,
a system whose matrix is a Hadamard matrix: its inverse is its transpose over 2**k, so that for any number of
parents all counts follow exactly.

This is the plain mathematics of section 3.1, kept as an oracle. The paper sums products between sites under a
secret rotation of the rows, which gives the rows away; joint counts here come from
`discreet.protocols.families`, whose tables must equal these.

**Reveals** everything: it works on rows in the open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["counts", "paper_bytes", "pseudo_products", "sign_matrix"]

_MOST, _MOST_LINES = 20, 12
_PIECE = 2**24


def sign_matrix(columns: int) -> NDArray[np.int64]:
    """The matrix of the system, (2**k, 2**k): a line for each subset, a column for each configuration.

    Both are in binary order with the first column of data as the highest digit: digit 1 means that it is in
    the subset, or that it is 1 and not -1.
    """
    _check(columns, _MOST_LINES)
    matrix = np.ones((1, 1), dtype=np.int64)
    for _ in range(columns):
        matrix = np.kron(matrix, np.array([[1, 1], [-1, 1]], dtype=np.int64))
    return matrix


def pseudo_products(columns: NDArray[Any]) -> NDArray[np.int64]:
    """All pseudo inner products of columns (k, rows) of -1 and 1, in the order of `sign_matrix`.

    Raises `DataError` for other numbers, and shows none.
    """
    _check(len(columns))
    if columns.ndim != 2 or not np.isin(columns, (-1, 1)).all():
        raise DataError("columns are not coded as signs", got=columns.shape, wanted="-1 and 1, (k, rows)")
    total = np.zeros(2 ** len(columns), dtype=np.int64)
    piece = max(1, _PIECE >> len(columns))
    for start in range(0, columns.shape[1], piece):
        signs = columns[:, start : start + piece].astype(np.int8)
        products = np.ones((1, signs.shape[1]), dtype=np.int8)
        for column in signs:
            products = np.stack([products, products * column], axis=1).reshape(-1, signs.shape[1])
        total += products.sum(axis=1, dtype=np.int64)
    return total


def counts(products: NDArray[np.int64]) -> NDArray[np.int64]:
    """The table (2, ..., 2) that solves the system; index 0 stands for -1.

    One column after the other: of what is summed with and without its sign, half the difference has the sign
    -1 and half the sum has 1. Raises `DataError` if no table has these products.
    """
    depth = max(len(products), 1).bit_length() - 1
    if products.shape != (2**depth,) or depth < 1:
        raise ParameterError("not all products of some columns", got=products.shape, wanted="2**k of them")
    _check(depth)
    table = products.reshape((2,) * depth)
    for axis in range(depth):
        without, signed = np.moveaxis(table, axis, 0)
        table = np.stack([without - signed, without + signed], axis=axis)
    if (table % 2**depth).any() or (table < 0).any():
        raise DataError("no table has these products", remedy="They are not all of the same rows.")
    return table >> depth


def paper_bytes(rows: int, parents: int) -> int:
    """What the paper's section 3.3 says that a node costs: m 2**n bits, n one more than its parents.

    For nodes with a parent at another site; all others cost nothing.
    """
    if rows < 0 or parents < 0:
        raise ParameterError("rows and parents are not negative", got=(rows, parents))
    return -(-rows * 2 ** (parents + 1) // 8)


def _check(columns: int, most: int = _MOST) -> None:
    if not 1 <= columns <= most:
        raise ParameterError("a system has some columns, not too many", got=columns, wanted=f"1 to {most}")
