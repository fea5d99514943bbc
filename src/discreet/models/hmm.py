"""A hidden Markov model: a chain and its emissions, and what data say about both.

Data are rows stacked sequence after sequence, and packs that say which rows are whose (`pack_sequences`).
Work is done pack by pack, so that memory beside the data is bounded; packs are independent of each other and
may go to threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain, Smoothed, decode, score, smooth
from discreet.models.emission import Evidence, relative
from discreet.models.room import FRESH, Room
from discreet.models.semiring import Sum
from discreet.models.stretch import Doubtful, decode_long, is_long, smooth_long, stretches

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.models.emission import Emission
    from discreet.models.sequences import Pack
    from discreet.randomness import Generator

__all__ = ["HMM", "Counts", "View"]

_room = Room()

UNKNOWN = -1
"""The label of a row whose state is not known."""


@dataclass(frozen=True)
class Counts:
    """Expected counts: starts (N,), transitions (N, N), the emissions' sums (N, K), and the log-likelihood.

    ``possible`` is how many sequences the model can emit at all; the others count for nothing.
    """

    starts: NDArray[np.float64]
    transitions: NDArray[np.float64]
    emissions: NDArray[np.float64]
    log_likelihood: float
    possible: int

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.starts + other.starts,
            self.transitions + other.transitions,
            self.emissions + other.emissions,
            self.log_likelihood + other.log_likelihood,
            self.possible + other.possible,
        )


@dataclass(frozen=True, eq=False)
class View:
    """The rows of one pack as the emissions see them, and the labels of those whose state is known.

    Either prepared for many rounds (``features``), or as they are (``rows``), to be looked at once.
    """

    pack: Pack
    features: NDArray[Any] | None
    labels: NDArray[np.intp] | None = None
    rows: NDArray[Any] | None = None


@dataclass(frozen=True)
class HMM:
    """A chain and what its states emit."""

    chain: Chain
    emission: Emission

    def __post_init__(self) -> None:
        if self.chain.states != self.emission.states:
            raise ParameterError(
                "the chain and the emissions have other numbers of states",
                got=(self.chain.states, self.emission.states),
                wanted="the same",
            )

    def view(self, rows: NDArray[Any], pack: Pack, labels: NDArray[np.intp] | None = None) -> View:
        """The rows of a pack, out of all rows (F, d), prepared once for all rounds of a fit."""
        return View(pack, self.emission.view(rows[pack.rows]), None if labels is None else labels[pack.rows])

    def look(self, rows: NDArray[Any], pack: Pack) -> View:
        """The rows of a pack, out of all rows (F, d), to be scored, smoothed or decoded once."""
        if isinstance(self.emission, Categorical):
            return self.view(rows, pack)
        return View(pack, None, rows=rows[pack.rows])

    def smooth(self, view: View, sums: Sum | None = None, room: Room = FRESH) -> Smoothed:
        """The probabilities of all hidden states of a pack, in row order; they lie in arrays of ``room``."""
        evidence = self._evidence(view, room)
        return smooth(self.chain, evidence, lambda rows: self._logs(view, rows), view.pack, sums, room)

    def count(
        self, view: View, weights: NDArray[np.float64] | None = None, sums: Sum | None = None
    ) -> Counts:
        """The expected counts of a pack; ``weights`` (S,) are those of its sequences."""
        assert view.features is not None, "rows that are counted are prepared first: see `view`"
        if is_long(view.pack, self.chain.states):
            try:
                weight = 1.0 if weights is None else float(weights[0])
                return self._count_long(view, view.features, weight, sums or Sum())
            except Doubtful:
                pass
        smoothed = self.smooth(view, sums, _room)
        likelihoods = smoothed.log_likelihood
        possible = np.isfinite(likelihoods)
        likelihood = np.where(possible, likelihoods, 0.0)
        if weights is not None:
            smoothed, likelihood = smoothed.weighted(weights), likelihood * weights
        return Counts(
            smoothed.starts(),
            smoothed.transitions(),
            self.emission.sums(view.features, smoothed.shares),
            float(likelihood.sum()),
            int(possible.sum()),
        )

    def score(self, view: View, sums: Sum | None = None) -> NDArray[np.float64]:
        """The log-likelihood of each sequence of a pack, (S,); minus infinity where it cannot be."""
        if is_long(view.pack, self.chain.states):
            try:
                parts = stretches(view.pack.frames, self.chain.states)
                whole, back = smooth_long(self.chain, parts, self._evidence_of(view), sums or Sum(), _room)
                for _ in back:  # only the way back can tell whether anything was lost
                    pass
                return np.array([whole])
            except Doubtful:
                pass
        evidence = self._evidence(view, _room)
        return score(self.chain, evidence, lambda rows: self._logs(view, rows), view.pack, sums, _room)

    def decode(self, view: View) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The log-probability of the best path of each sequence (S,), and the paths in row order (F,)."""
        if is_long(view.pack, self.chain.states):
            parts = stretches(view.pack.frames, self.chain.states)
            return decode_long(self.chain, parts, lambda part: self._logs(view, part, _room), _room)
        return decode(self.chain, self._logs(view, slice(None), _room), view.pack, _room)

    def maximise(
        self,
        counts: Counts,
        *,
        fixed_start: NDArray[np.bool_] | None = None,
        fixed_transition: NDArray[np.bool_] | None = None,
    ) -> HMM:
        """The model that makes these counts most likely."""
        return HMM(
            self.chain.maximise(
                counts.starts,
                counts.transitions,
                fixed_start=fixed_start,
                fixed_transition=fixed_transition,
            ),
            self.emission.maximise(counts.emissions),
        )

    def sample(
        self, lengths: NDArray[np.intp], generator: Generator
    ) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Rows and hidden states of sequences of these lengths, stacked."""
        path = self.chain.sample(lengths, generator)
        return self.emission.sample(path, generator), path

    def _count_long(self, view: View, features: NDArray[Any], weight: float, sums: Sum) -> Counts:
        """The counts of one long sequence, stretch by stretch."""
        parts = stretches(view.pack.frames, self.chain.states)
        whole, back = smooth_long(self.chain, parts, self._evidence_of(view), sums, _room)
        starts, transitions, emissions = np.zeros(self.chain.states), 0.0, 0.0
        for part, smoothed in back:
            if part.start == 0:
                starts = weight * smoothed.starts()
            transitions = transitions + weight * smoothed.transitions()
            emissions = emissions + weight * self.emission.sums(features[..., part], smoothed.shares)
        return Counts(starts, np.asarray(transitions), np.asarray(emissions), weight * whole, 1)

    def _evidence_of(self, view: View) -> Callable[[slice], Evidence]:
        """The evidence of some of the rows of a view."""

        def part_of(values: Any, part: slice) -> Any:
            return None if values is None else values[..., part]

        def evidence(part: slice) -> Evidence:
            rows = None if view.rows is None else view.rows[part]
            few = View(view.pack, part_of(view.features, part), part_of(view.labels, part), rows)
            return self._evidence(few, _room)

        return evidence

    def _evidence(self, view: View, room: Room) -> Evidence:
        if view.labels is None and view.features is not None:
            return self.emission.evidence(view.features, room)
        return relative(self._logs(view, slice(None)))

    def _logs(self, view: View, rows: NDArray[np.intp] | slice, room: Room = FRESH) -> NDArray[np.float64]:
        if view.features is None:
            assert view.rows is not None
            return self.emission.log_density_of(view.rows[rows], room)
        logs = self.emission.log_density(view.features[..., rows], room)
        if view.labels is not None:
            labels = view.labels[rows]
            known = labels != UNKNOWN
            logs[(np.arange(len(logs))[:, None] != labels) & known] = -np.inf
        return logs
