"""Free coordinates of a hidden Markov model with categorical emissions: logarithms of what is not fixed.

A model is three tables of rows that sum to one: start (1, N), transitions (N, N), emissions (N, M). Zeros are
topology and other entries may be held fixed; the rest of a row shares out what the fixed entries leave over,

    p_j = r exp(theta_j) / sum_l exp(theta_l)        r = 1 - sum of the fixed entries of the row,

so theta is free: every vector of coordinates is a model. For expected counts c the derivative of the
log-likelihood of a sequence is its score

    d log p / d theta_j = c_j - (p_j / r) sum_l c_l        (sums over the free entries of the row).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.categorical import Categorical
from discreet.models.chain import Chain

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Logits", "Tables"]

_LEAST = 1e-9
"""Free entries stay at least so large: nothing that is possible becomes impossible."""


@dataclass(frozen=True)
class Tables:
    """The three tables of a model: start (N,), transitions (N, N), emissions (N, M)."""

    start: NDArray[np.float64]
    transition: NDArray[np.float64]
    emission: NDArray[np.float64]

    @property
    def chain(self) -> Chain:
        """Start and transitions."""
        return Chain(self.start, self.transition)

    @property
    def categorical(self) -> Categorical:
        """The emissions."""
        return Categorical(self.emission)

    def flat(self) -> NDArray[np.float64]:
        """All entries in one line: start, transitions row by row, emissions row by row."""
        return np.concatenate([part.ravel() for part in self.parts()])

    def parts(self) -> tuple[NDArray[np.float64], ...]:
        """The three tables."""
        return self.start, self.transition, self.emission

    def split(self, line: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut a line as long as `flat` into three tables."""
        states = len(self.start)
        start, transition, emission = np.split(line, [states, states + states * states])
        return [start, transition.reshape(states, states), emission.reshape(states, -1)]


@dataclass(frozen=True)
class Logits:
    """Which entries of the tables are free, and the values of the others.

    ``tables`` gives the values of what is fixed; ``places`` (P,) are the free entries in `Tables.flat`;
    ``rows`` says where the free entries of each row begin in ``places``; ``owners`` (P,) numbers these rows;
    ``rest`` (P,) is what the fixed entries of its row leave over.
    """

    tables: Tables
    places: NDArray[np.intp]
    rows: NDArray[np.intp]
    owners: NDArray[np.intp]
    rest: NDArray[np.float64]

    @staticmethod
    def of(tables: Tables, fixed: NDArray[np.bool_] | None = None) -> Logits:
        """The coordinates of models like this one; ``fixed`` marks entries of `Tables.flat`, zeros are
        fixed."""
        values, owners = tables.flat(), _row_numbers(tables)
        free = values > 0 if fixed is None else (values > 0) & ~fixed
        alone = np.bincount(owners, weights=free)[owners] < 2  # one free entry has no freedom
        places = np.flatnonzero(free & ~alone)
        shared = np.bincount(owners, weights=np.where(free & ~alone, values, 0.0))  # 1 - fixed may round to 0
        _, rows, numbers = np.unique(owners[places], return_index=True, return_inverse=True)
        return Logits(tables, places, rows, numbers, np.asarray(shared[owners[places]], dtype=np.float64))

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return len(self.places)

    def flatten(self, tables: Tables) -> NDArray[np.float64]:
        """The coordinates of a model."""
        return np.log(np.maximum(tables.flat()[self.places] / self.rest, _LEAST))

    def model(self, theta: NDArray[np.float64]) -> Tables:
        """The model at these coordinates."""
        values = self.tables.flat()
        values[self.places] = self.shares(theta) * self.rest
        return Tables(*self.tables.split(values))

    def shares(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """p / r of every free entry."""
        if not self.size:
            return theta
        top = np.maximum.reduceat(theta, self.rows)[self.owners]
        weights = np.maximum(np.exp(theta - top), _LEAST)
        return weights / np.add.reduceat(weights, self.rows)[self.owners]

    def soften(self, theta: NDArray[np.float64], share: float) -> NDArray[np.float64]:
        """The coordinates of a model mixed with rows that are uniform over their free entries."""
        sizes = np.bincount(self.owners)[self.owners]
        return np.log((1 - share) * self.shares(theta) + share / sizes)

    def score(self, counts: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores (P, S) of sequences with these expected counts (all entries, S).

        Each column is computed by the same steps wherever it stands.
        """
        chosen = counts[self.places]
        totals = np.zeros((len(self.rows), counts.shape[1]))
        for line, owner in zip(chosen, self.owners, strict=True):
            totals[owner] += line
        chosen -= shares[:, None] * totals[self.owners]
        return chosen


def _row_numbers(tables: Tables) -> NDArray[np.intp]:
    """The number of the row to which each entry of `Tables.flat` belongs."""
    states, symbols = tables.emission.shape
    sizes = [states] * (1 + states) + [symbols] * states
    return np.repeat(np.arange(len(sizes)), sizes)
