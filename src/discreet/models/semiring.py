"""The numbers that a walk over a trellis may be made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Multiply = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], Any]

__all__ = ["LogSum", "Max", "Reach", "Semiring", "Sum", "add_lines", "log_sum"]

_LEAST = 1e-300  # what a column is divided by at least: zeros stay zeros
_TENSOR = 2**17  # numbers of a product that is made in one piece


class Semiring(Protocol):
    """What a walk needs to know of its numbers."""

    @property
    def zero(self) -> Any:
        """What adds nothing."""
        ...

    @property
    def one(self) -> Any:
        """What multiplies by nothing."""
        ...

    @property
    def cut(self) -> bool:
        """Whether a walk may be cut into pieces, whose steps are grouped otherwise."""
        ...

    def multiply(self, matrix: NDArray[Any], states: NDArray[Any], out: NDArray[Any]) -> None:
        """The product of a matrix (..., N, N) and columns (..., N, n)."""
        ...

    def join(self, predicted: NDArray[Any], evidence: NDArray[Any], out: NDArray[Any]) -> None:
        """The product of numbers, one by one."""
        ...

    def rescale(self, step: int, states: NDArray[Any]) -> NDArray[Any] | None:
        """Divide every column by a number, in place, and return these (..., 1, n); or leave all as it is."""
        ...

    def compose(
        self, transfer: NDArray[Any], states: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Carry states (..., N, n) over transfers (..., N, N, n), a matrix for each column.

        Returned are the states, and what they were divided by (..., 1, n), if anything.
        """
        ...


@dataclass(frozen=True)
class Sum:
    """Ordinary numbers: plus and times. Every so many steps a column is divided by its largest number.

    ``product`` is the product of two matrices into a third; whoever needs columns that do not depend, in any
    bit, on where they stand or on what stands beside them (private sums) hands in one that promises this, and
    sets ``cut`` to false. All else that is done to a column here is then arithmetic element by element.
    """

    product: Multiply = np.matmul
    every: int = 8
    cut: bool = True
    zero = 0.0
    one = 1.0

    def multiply(self, matrix: NDArray[Any], states: NDArray[Any], out: NDArray[Any]) -> None:
        """The usual product of matrices."""
        self.product(matrix, states, out)

    def join(self, predicted: NDArray[Any], evidence: NDArray[Any], out: NDArray[Any]) -> None:
        """The usual product."""
        np.multiply(predicted, evidence, out=out)

    def rescale(self, step: int, states: NDArray[Any]) -> NDArray[Any] | None:
        """Divide by the largest number of each column: which that is does not depend on any order."""
        if step % self.every != self.every - 1:
            return None
        top = np.maximum.reduce(states, axis=-2, keepdims=True)
        np.maximum(top, _LEAST, out=top)
        states /= top
        return top

    def compose(
        self, transfer: NDArray[Any], states: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """sum_k T[j, k] s[k], divided by the largest."""
        carried = np.einsum("...jkn,...kn->...jn", transfer, states)
        top = np.maximum.reduce(carried, axis=-2, keepdims=True)
        np.maximum(top, _LEAST, out=top)
        carried /= top
        return carried, top


@dataclass(frozen=True)
class Max:
    """Logarithms: the larger of two, and plus. Minus infinity is what cannot be."""

    zero = -np.inf
    one = 0.0
    cut = True

    def multiply(self, matrix: NDArray[Any], states: NDArray[Any], out: NDArray[Any]) -> None:
        """max_i (M[j, i] + s[i])."""
        if matrix.shape[-1] * states.size <= _TENSOR:
            pairs = states[..., :, None, :] + matrix.swapaxes(-1, -2)[..., None]
            np.maximum.reduce(pairs, axis=-3, out=out)
            return
        for target in range(matrix.shape[-2]):
            np.maximum.reduce(states + matrix[..., target, :, None], axis=-2, out=out[..., target, :])

    def join(self, predicted: NDArray[Any], evidence: NDArray[Any], out: NDArray[Any]) -> None:
        """Logarithms add."""
        np.add(predicted, evidence, out=out)

    def rescale(self, step: int, states: NDArray[Any]) -> None:
        """Logarithms need none."""

    def compose(
        self, transfer: NDArray[Any], states: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """max_k (T[j, k] + s[k])."""
        return (transfer + states[..., None, :, :]).max(axis=-2), None


@dataclass(frozen=True)
class LogSum:
    """Logarithms of ordinary numbers: exact where `Sum` would underflow, and many times slower."""

    zero = -np.inf
    one = 0.0
    cut = True

    def multiply(self, matrix: NDArray[Any], states: NDArray[Any], out: NDArray[Any]) -> None:
        """log sum_i exp(M[j, i] + s[i])."""
        for target in range(matrix.shape[-2]):
            np.copyto(out[..., target, :], log_sum(states + matrix[..., target, :, None], axis=-2))

    def join(self, predicted: NDArray[Any], evidence: NDArray[Any], out: NDArray[Any]) -> None:
        """Logarithms add."""
        np.add(predicted, evidence, out=out)

    def rescale(self, step: int, states: NDArray[Any]) -> None:
        """Logarithms need none."""

    def compose(
        self, transfer: NDArray[Any], states: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """log sum_k exp(T[j, k] + s[k])."""
        return log_sum(transfer + states[..., None, :, :], axis=-2), None


@dataclass(frozen=True)
class Reach:
    """Truth values: or, and and."""

    zero = False
    one = True
    cut = True

    def multiply(self, matrix: NDArray[Any], states: NDArray[Any], out: NDArray[Any]) -> None:
        """Whether any i has both M[j, i] and s[i]."""
        np.matmul(matrix, states, out=out)

    def join(self, predicted: NDArray[Any], evidence: NDArray[Any], out: NDArray[Any]) -> None:
        """And."""
        np.logical_and(predicted, evidence, out=out)

    def rescale(self, step: int, states: NDArray[Any]) -> None:
        """Truth values need none."""

    def compose(
        self, transfer: NDArray[Any], states: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Whether any k has both T[j, k] and s[k]."""
        return np.asarray((transfer & states[..., None, :, :]).any(axis=-2)), None


def log_sum(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """log sum exp along an axis; of nothing but minus infinity it is minus infinity, without a warning."""
    top = np.maximum.reduce(values, axis=axis, keepdims=True)
    safe = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(add_lines(np.exp(values - safe), axis)) + safe.squeeze(axis)


def add_lines(values: NDArray[Any], axis: int = 0) -> NDArray[Any]:
    """The sum along an axis, one line after the other: the same bits wherever a column stands.

    numpy adds in another order where there is only one column.
    """
    lines = np.moveaxis(values, axis, 0)
    total = lines[0].copy()
    for line in lines[1:]:
        total += line
    return total
