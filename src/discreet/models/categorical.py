"""Categorical emissions: each state throws a die with as many faces as there are symbols."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.models.chain import check_rows, share_out
from discreet.models.emission import Evidence
from discreet.models.room import FRESH, Room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.sequences import Pack
    from discreet.randomness import Generator

__all__ = ["Categorical"]


@dataclass(frozen=True)
class Categorical:
    """Emission probabilities (N, M); entries where ``fixed`` is true keep their values in every fit."""

    probabilities: NDArray[np.float64]
    fixed: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.probabilities.ndim != 2 or not self.probabilities.size:
            raise ParameterError(
                "emission probabilities have another shape", got=self.probabilities.shape, wanted="(N, M)"
            )
        check_rows("emission", self.probabilities)

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.probabilities)

    @property
    def symbols(self) -> int:
        """How many symbols there are."""
        return self.probabilities.shape[1]

    def view(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The symbols (F,), whole numbers from 0 to M - 1."""
        return np.ascontiguousarray(rows.reshape(len(rows)), dtype=np.intp)

    def evidence(self, view: NDArray[Any], room: Room = FRESH) -> Evidence:
        """The column of each symbol, over its largest entry."""
        table, shift = self._relative
        likelihood = room.take("evidence", self.states, len(view))
        np.take(table, view, axis=1, out=likelihood, mode="clip")
        return Evidence(likelihood, shift[view])

    def log_density(self, view: NDArray[Any], room: Room = FRESH) -> NDArray[np.float64]:
        """log p(symbol | state), (N, F)."""
        with np.errstate(divide="ignore"):
            table = np.log(self.probabilities)
        logs = room.take("logs", self.states, len(view))
        return np.take(table, view, axis=1, out=logs, mode="clip")

    def log_density_of(self, rows: NDArray[Any], room: Room = FRESH) -> NDArray[np.float64]:
        """log p(symbol | state), (N, F)."""
        return self.log_density(self.view(rows), room)

    def sums(self, view: NDArray[Any], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """How often each state is expected to have emitted each symbol, (N, M)."""
        sums = np.empty((self.states, self.symbols))
        for line, share in zip(sums, shares, strict=True):
            line[:] = np.bincount(view, weights=share, minlength=self.symbols)
        return sums

    def sums_by_sequence(
        self, view: NDArray[Any], shares: NDArray[np.float64], pack: Pack
    ) -> NDArray[np.float64]:
        """The same for each sequence, (S, N, M)."""
        places = pack.owners * self.symbols + view
        sums = np.empty((len(pack.lengths), self.states, self.symbols))
        for state, share in enumerate(shares):
            counts = np.bincount(places, weights=share, minlength=len(sums) * self.symbols)
            sums[:, state] = counts.reshape(len(sums), self.symbols)
        return sums

    def maximise(self, sums: NDArray[np.float64]) -> Categorical:
        """Probabilities in proportion to counts."""
        return Categorical(share_out(sums, self.probabilities, self.fixed), self.fixed)

    def sample(self, states: NDArray[np.intp], generator: Generator) -> NDArray[Any]:
        """One symbol for each state, (F, 1)."""
        ends = np.cumsum(self.probabilities, axis=1)
        points = generator.random(len(states))
        symbols = np.empty((len(states), 1), dtype=np.intp)
        for state, line in enumerate(ends):
            here = np.flatnonzero(states == state)
            symbols[here, 0] = np.searchsorted(line, points[here] * line[-1], side="right")
        return symbols

    @cached_property
    def _relative(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        top = self.probabilities.max(axis=0)
        possible = np.where(top > 0, top, 1.0)
        return self.probabilities / possible, np.log(possible)
