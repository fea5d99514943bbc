"""What a state emits: the one interface of all families, so that chains need not know them.

A family first turns the rows of the data into a *view* of them that does not depend on its parameters
(symbols; products of coordinates), so that a view can be kept over the rounds of a fit. States run along the
first axis and rows along the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from discreet.models.room import FRESH, Room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.sequences import Pack
    from discreet.randomness import Generator

__all__ = ["Emission", "Evidence", "relative"]

_LOWEST = -600.0  # likelihoods below are taken for this much; see `discreet.models.chain`


class Evidence(NamedTuple):
    """How likely each row is in each state: exp(shift) * likelihood, with the largest likelihood 1.

    ``likelihood`` is (N, F), ``shift`` (F,). A row that no state can emit has only zeros, and shift 0.
    """

    likelihood: NDArray[np.float64]
    shift: NDArray[np.float64]


class Emission(Protocol):
    """The emissions of all states of a hidden Markov model."""

    @property
    def states(self) -> int:
        """How many states there are."""
        ...

    def view(self, rows: NDArray[Any]) -> NDArray[Any]:
        """What is needed of rows (F, d), whatever the parameters."""
        ...

    def evidence(self, view: NDArray[Any], room: Room = FRESH) -> Evidence:
        """How likely each row is in each state, in numbers that can be multiplied."""
        ...

    def log_density(self, view: NDArray[Any], room: Room = FRESH) -> NDArray[np.float64]:
        """log p(row | state), (N, F)."""
        ...

    def log_density_of(self, rows: NDArray[Any], room: Room = FRESH) -> NDArray[np.float64]:
        """The same of rows (F, d) that are looked at only once, without a view of them."""
        ...

    def sums(self, view: NDArray[Any], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sufficient statistic (N, K): for each state, the sum over rows of its share times features."""
        ...

    def sums_by_sequence(
        self, view: NDArray[Any], shares: NDArray[np.float64], pack: Pack
    ) -> NDArray[np.float64]:
        """The same for each sequence of a pack, (S, N, K)."""
        ...

    def maximise(self, sums: NDArray[np.float64]) -> Self:
        """The most likely parameters; states without any share keep theirs."""
        ...

    def sample(self, states: NDArray[np.intp], generator: Generator) -> NDArray[Any]:
        """One row for each of these states."""
        ...


def relative(logs: NDArray[np.float64]) -> Evidence:
    """exp of logarithms less the largest of each row; the array is used up."""
    shift = np.maximum.reduce(logs, axis=0)
    if np.isneginf(shift).any():
        shift = np.where(np.isneginf(shift), 0.0, shift)
    logs -= shift
    impossible = np.isneginf(logs) if np.isneginf(logs.min()) else None
    np.maximum(logs, _LOWEST, out=logs)
    likelihood = np.exp(logs, out=logs)
    if impossible is not None:
        likelihood[impossible] = 0
    return Evidence(likelihood, shift)
