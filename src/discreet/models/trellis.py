"""One recursion over time, for many sequences at once, in any semiring.

Walking forwards, the states s_t (one column a sequence) follow from those before by

    p_t = M s_{t-1}        (p_0 is given)
    s_t = p_t * b_t

where the sum and the product are those of a semiring, M[j, i] belongs to the step from i to j, and b_t is the
evidence at time t. With ordinary numbers s_t is the forward probability (`Sum`); with the larger of two for
the sum, logarithms of the best path (`Max`); with or and and, whether a state can be reached at all
(`Reach`). `LogSum` is `Sum` in logarithms: slow, and exact however small the numbers get. Walking from the
end with M transposed gives the backward probabilities by the same steps.

A step is one product of matrices over all sequences that are still running: nothing here is done sequence by
sequence or symbol by symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from discreet.models.room import FRESH, Room

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.models.sequences import Pack

    Multiply = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], Any]

__all__ = [
    "LogSum",
    "Max",
    "Reach",
    "Semiring",
    "Sum",
    "Walk",
    "add_lines",
    "log_sum",
    "trace_back",
    "walk",
]

_LEAST = 1e-300  # what a column is divided by at least: zeros stay zeros
_TENSOR = 2**17  # numbers of a product that is made in one piece


class Semiring(Protocol):
    """What a walk needs to know of its numbers."""

    def multiply(self, matrix: NDArray[Any], states: NDArray[Any], out: NDArray[Any]) -> None:
        """The product of a matrix (..., N, N) and columns (..., N, n)."""
        ...

    def join(self, predicted: NDArray[Any], evidence: NDArray[Any], out: NDArray[Any]) -> None:
        """The product of numbers, one by one."""
        ...

    def rescale(self, step: int, states: NDArray[Any]) -> NDArray[Any] | None:
        """Divide every column by a number, in place, and return these (..., 1, n); or leave all as it is."""
        ...


@dataclass(frozen=True)
class Sum:
    """Ordinary numbers: plus and times. Every so many steps a column is divided by its largest number.

    ``product`` is the product of two matrices into a third; whoever needs columns that do not depend, in any
    bit, on where they stand (private sums) hands in one that promises this. All else that is done to a column
    here is arithmetic element by element.
    """

    product: Multiply = np.matmul
    every: int = 8

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


@dataclass(frozen=True)
class Max:
    """Logarithms: the larger of two, and plus. Minus infinity is what cannot be."""

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


@dataclass(frozen=True)
class LogSum:
    """Logarithms of ordinary numbers: exact where `Sum` would underflow, and many times slower."""

    def multiply(self, matrix: NDArray[Any], states: NDArray[Any], out: NDArray[Any]) -> None:
        """log sum_i exp(M[j, i] + s[i])."""
        for target in range(matrix.shape[-2]):
            np.copyto(out[..., target, :], log_sum(states + matrix[..., target, :, None], axis=-2))

    def join(self, predicted: NDArray[Any], evidence: NDArray[Any], out: NDArray[Any]) -> None:
        """Logarithms add."""
        np.add(predicted, evidence, out=out)

    def rescale(self, step: int, states: NDArray[Any]) -> None:
        """Logarithms need none."""


@dataclass(frozen=True)
class Reach:
    """Truth values: or, and and."""

    def multiply(self, matrix: NDArray[Any], states: NDArray[Any], out: NDArray[Any]) -> None:
        """Whether any i has both M[j, i] and s[i]."""
        np.matmul(matrix, states, out=out)

    def join(self, predicted: NDArray[Any], evidence: NDArray[Any], out: NDArray[Any]) -> None:
        """And."""
        np.logical_and(predicted, evidence, out=out)

    def rescale(self, step: int, states: NDArray[Any]) -> None:
        """Truth values need none."""


class Walk(NamedTuple):
    """p_t and s_t (..., N, F) in time order, and what columns were divided by on the way.

    ``scale`` (..., S) is the logarithm of all divisors together, ``least`` (..., S) the smallest of them, at
    most 1; both in the order of the blocks, longest sequence first.
    """

    predicted: NDArray[Any]
    states: NDArray[Any]
    scale: NDArray[np.float64]
    least: NDArray[np.float64]


def walk(
    semiring: Semiring,
    start: NDArray[Any],
    matrix: NDArray[Any],
    evidence: NDArray[Any],
    pack: Pack,
    room: Room = FRESH,
) -> Walk:
    """Walk all sequences of a pack from ``start`` (..., N), with evidence (..., N, F) in time order.

    Leading dimensions, the same for all, are walks of their own side by side (forwards and backwards).
    Floats are written into arrays of ``room``.
    """
    if evidence.dtype != np.float64:
        room, predicted, states = FRESH, np.empty_like(evidence), np.empty_like(evidence)
    else:
        predicted, states = room.take("predicted", *evidence.shape), room.take("states", *evidence.shape)
    taken: list[NDArray[Any]] = []
    before = 0
    for step, (width, at) in enumerate(zip(pack.widths, pack.starts, strict=False)):
        here = predicted[..., at : at + width]
        if step == 0:
            here[...] = start[..., None]
        else:
            semiring.multiply(matrix, states[..., before : before + width], here)
        now = states[..., at : at + width]
        semiring.join(here, evidence[..., at : at + width], now)
        if (top := semiring.rescale(step, now)) is not None:
            taken.append(top)
        before = at
    divisors = np.ones((len(taken) + 1, *evidence.shape[:-2], pack.widths[0]))
    for row, top in zip(divisors, taken, strict=False):
        row[..., : top.shape[-1]] = top[..., 0, :]
    return Walk(predicted, states, np.log(divisors).sum(axis=0), divisors.min(axis=0))


def trace_back(states: NDArray[Any], matrix: NDArray[Any], pack: Pack) -> NDArray[np.intp]:
    """The best path (F,) in time order, from the states (N, F) of a walk in `Max`; of equals, the first."""
    path = np.empty(states.shape[-1], dtype=np.intp)
    columns = np.ascontiguousarray(matrix.T)
    following, going = path[:0], 0
    for width, at in zip(reversed(pack.widths), reversed(pack.starts[:-1]), strict=True):
        choice = path[at : at + width]
        if going:
            joint = columns.take(following, axis=1)
            joint += states[:, at : at + going]
            joint.argmax(axis=0, out=choice[:going])
        if going < width:
            choice[going:] = states[:, at + going : at + width].argmax(axis=0)
        following, going = choice, width
    return path


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
