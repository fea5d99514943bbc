"""The hidden part of a hidden Markov model: where it starts, how it moves, and what evidence says about it.

Everything here takes evidence (N, F) in row order for the sequences of one `Pack` and knows nothing of what
the evidence comes from. With forward states a_t, backward states w_t (evidence at t included) and
q_t = A w_{t+1}, all scaled by whatever kept them in range,

    share of state i at t       a_t[i] q_t[i] / Z_t             Z_t = sum_i a_t[i] q_t[i]
    steps from i to j at t+1    a_t[i] A[i, j] w_{t+1}[j] / Z_t

so no scale has to be remembered but that of the likelihood.

**When numbers get too small.** Evidence below e^-600 times that of the likeliest state is taken for that, and
products can underflow. Every number of a walk is at most N, so what is lost or made up so in a_t or w_t,
before they are rescaled, is less than some 1e-250, while what they are parts of is then
sum_i a_t[i] q_t[i] = c_t Z_t, with c_t what a_t is divided by afterwards. Where c_t Z_t is at least `TRUST`
= 1e-200 for all t, nothing that matters was lost. The other sequences are walked again with columns rescaled
at every step, and those for which even this is not enough are walked in logarithms, exactly. A sequence that
the model cannot emit has log-likelihood minus infinity and contributes nothing to any count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.errors import ParameterError
from discreet.models.emission import Evidence
from discreet.models.room import FRESH, Room
from discreet.models.semiring import LogSum, Max, Sum, log_sum
from discreet.models.trellis import trace_back, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.models.sequences import Pack
    from discreet.randomness import Generator

    Logs = Callable[[NDArray[np.intp]], NDArray[np.float64]]

__all__ = [
    "TRUST",
    "Chain",
    "Rare",
    "Smoothed",
    "add_states",
    "check_rows",
    "decode",
    "score",
    "share_out",
    "smooth",
    "smooth_between",
]

TRUST = 1e-200
"""The least c_t Z_t that is believed; see above."""

_SURE = 1e-20  # with no step rarer than this, mass lost on the way would soon be nothing beside the rest
_SHARE_OFF = 1e-6


@dataclass(frozen=True)
class Chain:
    """Start probabilities (N,) and transition probabilities (N, N), from row to column.

    Zeros are topology: they stay zero in every fit.
    """

    start: NDArray[np.float64]
    transition: NDArray[np.float64]

    def __post_init__(self) -> None:
        states = len(self.start)
        if self.start.shape != (states,) or self.transition.shape != (states, states) or not states:
            raise ParameterError(
                "start and transitions do not fit together",
                got=(self.start.shape, self.transition.shape),
                wanted="(N,) and (N, N) with N at least 1",
            )
        check_rows("start", self.start)
        check_rows("transition", self.transition)

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.start)

    def maximise(
        self,
        starts: NDArray[np.float64],
        transitions: NDArray[np.float64],
        *,
        fixed_start: NDArray[np.bool_] | None = None,
        fixed_transition: NDArray[np.bool_] | None = None,
    ) -> Chain:
        """The most likely chain for these counts; fixed entries and zeros keep their values."""
        return Chain(
            share_out(starts, self.start, fixed_start),
            share_out(transitions, self.transition, fixed_transition),
        )

    def sample(self, lengths: NDArray[np.intp], generator: Generator) -> NDArray[np.intp]:
        """Paths of these lengths, one after the other; all sequences take their steps together."""
        order = np.argsort(-lengths, kind="stable")
        firsts, sorted_lengths = (np.cumsum(lengths) - lengths)[order], lengths[order]
        path = np.empty(int(lengths.sum()), dtype=np.intp)
        states = _draw(np.broadcast_to(self.start, (len(order), self.states)), generator)
        path[firsts] = states
        for step in range(1, int(sorted_lengths[0])):
            going = int(np.searchsorted(-sorted_lengths, -step))
            states = _draw(self.transition[states[:going]], generator)
            path[firsts[:going] + step] = states
        return path


class Rare(NamedTuple):
    """Steps (R, N, N) of the few sequences (R,) whose numbers had to be computed in logarithms."""

    sequences: NDArray[np.intp]
    transitions: NDArray[np.float64]


@dataclass(frozen=True)
class Smoothed:
    """What the evidence says about the hidden states of the sequences of a pack, all in row order.

    ``shares`` (N, F): the probability of each state at each row; zero for sequences that cannot be.
    ``before`` and ``after`` (N, F): the steps into row f are before[i, f] A[i, j] after[j, f].
    ``log_likelihood`` (S,).
    """

    pack: Pack
    chain: Chain
    shares: NDArray[np.float64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    rare: Rare | None = None

    def weighted(self, weights: NDArray[np.float64]) -> Smoothed:
        """The same with the shares and steps of each sequence multiplied by its weight (S,)."""
        each, rare = weights[self.pack.owners], self.rare
        if rare is not None:
            rare = Rare(rare.sequences, rare.transitions * weights[rare.sequences, None, None])
        return replace(self, shares=self.shares * each, before=self.before * each, rare=rare)

    def starts(self) -> NDArray[np.float64]:
        """Expected starts in each state, (N,)."""
        return self.shares[:, self.pack.firsts].sum(axis=1)

    def transitions(self) -> NDArray[np.float64]:
        """Expected steps from each state to each, (N, N)."""
        steps = self.chain.transition * (self.before @ self.after.T)
        return steps if self.rare is None else steps + self.rare.transitions.sum(axis=0)

    def starts_by_sequence(self) -> NDArray[np.float64]:
        """Expected starts of each sequence, (S, N)."""
        return self.shares[:, self.pack.firsts].T.copy()

    def transitions_by_sequence(self) -> NDArray[np.float64]:
        """Expected steps of each sequence, (S, N, N)."""
        states = len(self.shares)
        steps = np.empty((len(self.pack.lengths), states, states))
        for state in range(states):
            sums = self.pack.sum_sequences(self.before[state] * self.after)
            steps[:, state] = (self.chain.transition[state, :, None] * sums).T
        if self.rare is not None:
            steps[self.rare.sequences] = self.rare.transitions
        return steps


def smooth(
    chain: Chain,
    evidence: Evidence,
    logs: Logs,
    pack: Pack,
    sums: Sum | None = None,
    room: Room = FRESH,
) -> Smoothed:
    """Forwards and backwards, side by side.

    ``logs`` gives log p(row | state), (N, rows), for the numbers of some rows of the pack; it is asked only
    for sequences that floating point cannot hold otherwise. The result lies in arrays of ``room``.
    """
    sums = sums or Sum()
    start = np.stack([chain.start, np.ones(chain.states)])[..., None]
    smoothed, lowest = smooth_between(chain, evidence, pack, sums, room, start)
    doubtful = np.flatnonzero(lowest < TRUST)
    if len(doubtful) == 0:
        return smoothed
    part, rows = pack.part(doubtful)
    if sums.every > 1:
        few = Evidence(evidence.likelihood[:, rows], evidence.shift[rows])
        again = smooth(chain, few, lambda inner: logs(rows[inner]), part, replace(sums, every=1))
    else:
        again = _smooth_logs(chain, logs(rows), part, cut=sums.cut)
    return _merge(smoothed, doubtful, rows, again)


def score(
    chain: Chain,
    evidence: Evidence,
    logs: Logs,
    pack: Pack,
    sums: Sum | None = None,
    room: Room = FRESH,
) -> NDArray[np.float64]:
    """The log-likelihood of each sequence of a pack, (S,).

    One walk is enough where every step is possible: then the likeliest state at a time, with evidence 1, gets
    at least `_SURE` of what there was before, so nothing that was lost after a first row that can be trusted
    is more than N 1e-250 / `_SURE` of what is left.
    """
    sums = sums or Sum()
    if chain.transition.min() < _SURE:  # only a walk back can tell whether what was lost mattered
        return smooth(chain, evidence, logs, pack, sums, room).log_likelihood
    ordered = _take(evidence.likelihood, pack.forth, room.take("both", *evidence.likelihood.shape))
    forth = walk(sums, chain.start[:, None], chain.transition.T, ordered, pack, room)
    last = add_states(forth.states[:, pack.places[pack.lasts]])
    likelihood = _log_likelihood(last, forth.scale, evidence.shift, pack)
    first = add_states(forth.predicted[:, pack.places[pack.firsts]] * evidence.likelihood[:, pack.firsts])
    last[pack.order] *= forth.least
    doubtful = np.flatnonzero(np.minimum(first, last) < TRUST)
    if len(doubtful):
        part, rows = pack.part(doubtful)
        few = Evidence(evidence.likelihood[:, rows], evidence.shift[rows])
        likelihood[doubtful] = smooth(
            chain, few, lambda inner: logs(rows[inner]), part, replace(sums, every=1)
        ).log_likelihood
    return likelihood


def decode(
    chain: Chain, logs: NDArray[np.float64], pack: Pack, room: Room = FRESH
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The best path of each sequence, in row order (F,), and its log-probability (S,): Viterbi's."""
    with np.errstate(divide="ignore"):
        start, matrix = np.log(chain.start), np.log(chain.transition.T)
    ordered = _take(logs, pack.forth, room.take("ordered", *logs.shape))
    forth = walk(Max(), start[:, None], matrix, ordered, pack, room)
    best = forth.states[:, pack.places[pack.lasts]].max(axis=0)
    return best, trace_back(forth.states, matrix, pack)[pack.places]


def add_states(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum over states, one state after the other: the same bits wherever a column stands."""
    total = values[0].copy()
    for line in values[1:]:
        total += line
    return total


def share_out(
    counts: NDArray[np.float64],
    old: NDArray[np.float64],
    fixed: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Rows of probabilities in proportion to counts, where what is fixed keeps its old value.

    What the fixed entries leave over is shared out among the others; a row without counts stays as it was.
    """
    if fixed is not None:
        counts = np.where(fixed, 0.0, counts)
    free = 1.0 if fixed is None else 1 - np.where(fixed, old, 0.0).sum(axis=-1, keepdims=True)
    total = counts.sum(axis=-1, keepdims=True)
    shared = counts * (free / np.where(total > 0, total, 1.0))
    shared = np.where(total > 0, shared, old)
    return shared if fixed is None else np.where(fixed, old, shared)


def check_rows(name: str, rows: NDArray[np.float64]) -> None:
    """Rows of probabilities: finite, not negative, each summing to one."""
    if not (np.isfinite(rows).all() and (rows >= 0).all()):
        raise ParameterError(f"{name} probabilities are not finite numbers of at least 0")
    if (np.abs(rows.sum(axis=-1) - 1) > _SHARE_OFF).any():
        raise ParameterError(f"{name} probabilities do not sum to one", wanted="rows that each sum to 1")


def smooth_between(
    chain: Chain,
    evidence: Evidence,
    pack: Pack,
    sums: Sum,
    room: Room,
    start: NDArray[np.float64],
) -> tuple[Smoothed, NDArray[np.float64]]:
    """Both walks at once, and a number for each sequence that no c_t Z_t is below.

    ``start`` (2, N, 1) is what is predicted before the first row, and after the last.
    """
    shape = evidence.likelihood.shape
    both = room.take("both", 2, *shape)
    _take(evidence.likelihood, pack.forth, both[0])
    _take(evidence.likelihood, pack.back, both[1])
    walked = walk(sums, start, np.stack([chain.transition.T, chain.transition]), both, pack, room)
    forward = _take(walked.states[0], pack.places, both[0])
    after = _take(walked.states[1], pack.places_back, room.take("after", *shape))
    shares = _take(walked.predicted[1], pack.places_back, room.take("shares", *shape))
    last = add_states(forward[:, pack.lasts])
    shares *= forward
    total = add_states(shares)
    lowest = np.minimum.reduceat(total, pack.firsts)
    lowest[pack.order] *= walked.least[0]
    possible = np.repeat(lowest >= TRUST, pack.lengths)
    inverse = np.divide(1.0, total, out=np.zeros_like(total), where=possible)
    shares *= inverse
    before = room.take("before", *shape)
    np.multiply(forward[:, :-1], inverse[:-1], out=before[:, 1:])
    before[:, pack.firsts] = 0
    likelihood = _log_likelihood(last, walked.scale[0], evidence.shift, pack)
    return Smoothed(pack, chain, shares, before, after, likelihood), lowest


def _take(
    values: NDArray[np.float64], places: NDArray[np.intp], out: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.take(values, places, axis=1, out=out, mode="clip")


def _smooth_logs(chain: Chain, logs: NDArray[np.float64], pack: Pack, *, cut: bool) -> Smoothed:
    """Exactly, in logarithms; the steps of each sequence are summed here, since they cannot be factored."""
    with np.errstate(divide="ignore"):
        start, matrix = np.log(chain.start), np.log(chain.transition)
    forth = walk(LogSum(), start[:, None], matrix.T, logs[:, pack.forth], pack, cut=cut)
    back = walk(LogSum(), np.zeros((chain.states, 1)), matrix, logs[:, pack.back], pack, cut=cut)
    forward = forth.states[:, pack.places]
    after, following = back.states[:, pack.places_back], back.predicted[:, pack.places_back]
    likelihood = log_sum(forward[:, pack.lasts], axis=0)
    possible = np.isfinite(likelihood)
    safe = np.where(possible, likelihood, 0.0)[pack.owners]
    shares = np.exp(forward + following - safe)
    shares /= np.maximum(add_states(shares), TRUST)
    inner = np.ones(pack.frames, dtype=bool)
    inner[pack.firsts] = False
    steps = np.zeros((len(pack.lengths), chain.states, chain.states))
    for state in range(chain.states):
        pairs = np.zeros_like(shares)
        pairs[:, 1:] = (
            np.exp(forward[state, :-1] + matrix[state, :, None] + after[:, 1:] - safe[1:]) * inner[1:]
        )
        steps[:, state] = pack.sum_sequences(pairs).T
    nothing = np.zeros_like(shares)
    rare = Rare(np.arange(len(pack.lengths)), steps)
    return Smoothed(pack, chain, shares, nothing, nothing, likelihood, rare)


def _merge(whole: Smoothed, sequences: NDArray[np.intp], rows: NDArray[np.intp], part: Smoothed) -> Smoothed:
    """Put what was found for some sequences into its places."""
    whole.shares[:, rows] = part.shares
    whole.before[:, rows] = part.before
    whole.after[:, rows] = part.after
    whole.log_likelihood[sequences] = part.log_likelihood
    rare = None if part.rare is None else Rare(sequences[part.rare.sequences], part.rare.transitions)
    return replace(whole, rare=rare)


def _log_likelihood(
    last: NDArray[np.float64], scale: NDArray[np.float64], shift: NDArray[np.float64], pack: Pack
) -> NDArray[np.float64]:
    """log of what is left at the end, and of all that was taken off before."""
    taken = np.empty_like(scale)
    taken[pack.order] = scale
    with np.errstate(divide="ignore"):
        return np.log(last) + taken + pack.sum_sequences(shift)


def _draw(probabilities: NDArray[np.float64], generator: Generator) -> NDArray[np.intp]:
    """One state for each row of probabilities."""
    ends = np.cumsum(probabilities, axis=1)
    points = generator.random(len(ends)) * ends[:, -1]
    return (points[:, None] >= ends).sum(axis=1).astype(np.intp)
