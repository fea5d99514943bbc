"""Private fit of a hidden Markov model of points: rounds of noisy local moments and steps.

**Reveals** one noisy vector a round, and nothing else. **Costs** one event a round, fixed before the
sequences are read. **Trusts** the curator.

A sequence of T rows answers with averages over its rows, so a long one weighs no more than a short one: the
moments of every state in that state's own local coordinates (see `discreet.fit.mixture.joint`), its steps and
its start. In these coordinates a typical answer has a norm of about one whatever the region and the number of
states; the bound is the norm that most sequences drawn from the present model have.

The start looks at no data. A left-right model begins with states that share out each sequence in equal parts;
any other grows from one state that stands for the declared region, by splitting states in two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.fit.hmm.belief import LONGEST, Crowd
from discreet.fit.hmm.counts import steady_rows
from discreet.fit.hmm.measure import SUMS, Census, norms, usual_norm
from discreet.fit.hmm.scoring import length_classes, release_answers
from discreet.fit.mixture.measure import Layout
from discreet.fit.mixture.scales import Scales
from discreet.fit.steady import multiply_tiles
from discreet.models.chain import Chain, Smoothed, smooth
from discreet.models.emission import Evidence, relative
from discreet.models.hmm import UNKNOWN
from discreet.models.moments import Frame, Pairs, maximise
from discreet.models.semiring import add_lines
from discreet.models.sequences import pack_sequences
from discreet.models.split import split
from discreet.randomness import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.event import Event
    from discreet.fit.hmm.measure import Norm
    from discreet.fit.hmm.task import Payment, Task
    from discreet.models.moments import CovarianceType
    from discreet.models.sequences import Pack
    from discreet.randomness import Generator

__all__ = ["MomentQuestion", "PointModel", "fit_points"]

KEPT = 0.9
"""The share of expected sequences that the bound leaves as they are."""

STAY = 0.8
_STEPS = 1.0  # the weight of steps beside that of counts of states
_DRAWN = 60_000


@dataclass(frozen=True)
class PointModel:
    """A chain and a frame of its states' Gaussians, in the unit coordinates of the declared region."""

    chain: Chain
    frame: Frame


@dataclass(frozen=True)
class MomentQuestion:
    """Averages over a sequence of each state's local moments, of steps and of starts.

    With ``even`` rows are given to states by their place in the sequence, in equal parts, whatever they are.
    """

    model: PointModel
    layout: Layout
    even: bool
    limit: float
    norm: Norm

    @property
    def size(self) -> int:
        """Moments, steps and starts."""
        states = self.model.chain.states
        return self.layout.size + states * states + states

    @property
    def work(self) -> int:
        """Features of a row, raw and local moments of all states."""
        pairs, dimension = len(self.layout.pairs.rows), self.layout.pairs.dimension
        return (1 + dimension + pairs) * (1 + 2 * self.model.chain.states) + self.size

    def answers(self, rows: NDArray[Any], pack: Pack, states: NDArray[np.intp] | None) -> NDArray[np.float64]:
        """The averages of each sequence of a pack."""
        features = _features(rows[pack.rows], self.layout.pairs)
        if self.even:
            smoothed = _share_evenly(self.model.chain, pack)
        else:
            known = None if states is None else states[pack.rows]
            smoothed = self._smooth(features, pack, known)
        blocks = self._local(features, smoothed.shares, pack)
        steps = smoothed.transitions_by_sequence().reshape(len(pack.lengths), -1).T * _STEPS
        starts = smoothed.starts_by_sequence().T * _STEPS
        return np.concatenate([*blocks, steps, starts * pack.lengths]) / pack.lengths

    def _smooth(self, features: NDArray[np.float64], pack: Pack, known: NDArray[np.intp] | None) -> Smoothed:
        frame = self.model.frame
        even = Frame(np.ones(frame.size), frame.means, frame.roots, frame.inverses)
        slopes, constants = even.natural(self.layout.pairs)
        slopes[:, 0] += constants
        logs = np.empty((frame.size, features.shape[1]))
        multiply_tiles(slopes, features, logs)
        if known is not None:
            logs[(np.arange(frame.size)[:, None] != known) & (known != UNKNOWN)] = -np.inf
        evidence: Evidence = relative(logs)
        return smooth(self.model.chain, evidence, lambda chosen: logs[:, chosen], pack, SUMS)

    def _local(
        self, features: NDArray[np.float64], shares: NDArray[np.float64], pack: Pack
    ) -> list[NDArray[np.float64]]:
        """Counts, first and second moments of all states in local coordinates, as `Layout` orders them."""
        frame, pairs = self.model.frame, self.layout.pairs
        dimension, sequences = pairs.dimension, len(pack.lengths)
        counts, firsts, seconds = list[Any](), list[Any](), list[Any]()
        for share, mean, inverse in zip(shares, frame.means, frame.inverses, strict=True):
            raw = pack.sum_sequences(features * share)
            local = np.empty_like(raw)
            multiply_tiles(_localising(mean, inverse, pairs), raw, local)
            counts.append(local[:1] * self.layout.scales.count)
            firsts.append(local[1 : 1 + dimension] * self.layout.scales.first)
            second = local[1 + dimension :]
            if self.layout.second_shape[1] == 1:
                second = add_lines(second)[None]
            seconds.append(second * self.layout.second_weights[:, None])
        if self.layout.tied:
            total = np.zeros((len(seconds[0]), sequences))
            for second in seconds:
                total += second
            seconds = [total]
        return [*counts, *firsts, *seconds]


def fit_points(
    task: Task,
    chain: Chain,
    start: Frame | None,
    fixed: dict[str, NDArray[np.bool_]],
    kind: CovarianceType,
    floor: float,
    reach: float,
    events: tuple[Event, ...],
    payment: Payment,
) -> PointModel:
    """Fit by as many releases as there are events; the first counts the sequences.

    ``chain`` gives the topology; without ``start`` the states grow out of the region, or share out each
    sequence where the topology is left-right.
    """
    norm: Norm = "l1" if events[0].mechanism == "laplace" else "l2"
    census = Census(length_classes(task.max_length), norm)
    noisy, deviation = release_answers(task, census, events[0], payment)
    crowd, drawing = Crowd.from_census(census.tops, noisy, deviation), generator(payment.bits)
    dimension = task.dimension
    whole = Frame.whole(dimension, reach)
    ordered = not np.tril(chain.transition, -1).any() and chain.states > 1
    grown = start is None and not ordered and not task.sequences.labelled
    model = PointModel(chain, start or (whole if grown else _repeat(whole, chain.states)))
    if grown:
        model = PointModel(Chain(np.ones(1), np.ones((1, 1))), whole)
    for index, event in enumerate(events[1:], start=1):
        if grown and index > 1 and model.frame.size < chain.states:
            model = _split(model, chain, kind)
        first = index == 1 and start is None
        even = first and ordered and not task.sequences.labelled
        question = _question(model, kind, norm, crowd, drawing, whole=first, even=even)
        noisy, deviation = release_answers(task, question, event, payment)
        model = _step(
            question, noisy, deviation, fixed, kind, floor, reach, done=model.frame.size == chain.states
        )
        task.report(index + 1, len(events))
    return model


def _question(
    model: PointModel,
    kind: CovarianceType,
    norm: Norm,
    crowd: Crowd,
    drawing: Generator,
    *,
    whole: bool,
    even: bool,
) -> MomentQuestion:
    """The question at the present model, with a bound that most sequences drawn from it keep."""
    dimension = model.frame.means.shape[1]
    scales = Scales.choose(dimension, kind, norm, whole=whole)
    layout = Layout(model.frame.size, Pairs.of(kind, dimension), scales)
    free = MomentQuestion(model, layout, even, 1.0, norm)
    answers: list[NDArray[np.float64]] = []
    for length in crowd.lengths:
        short = min(int(length), LONGEST)
        count = max(20, _DRAWN // (short * max(1, free.work // 64)))
        lengths = np.full(count, short, dtype=np.intp)
        path = model.chain.sample(lengths, drawing)
        normals = drawing.standard_normal((len(path), dimension))
        rows = model.frame.means[path] + np.einsum("fij,fj->fi", model.frame.roots[path], normals)
        packs = pack_sequences(lengths, max(1, 2**22 // free.work))
        answers.append(np.concatenate([norms(free.answers(rows, pack, None), norm) for pack in packs])[None])
    limit = usual_norm(answers, crowd.counts / crowd.counts.sum(), norm, KEPT)
    return MomentQuestion(model, layout, even, limit, norm)


def _step(
    question: MomentQuestion,
    noisy: NDArray[np.float64],
    deviation: float,
    fixed: dict[str, NDArray[np.bool_]],
    kind: CovarianceType,
    floor: float,
    reach: float,
    *,
    done: bool,
) -> PointModel:
    """The next model from the noisy averages."""
    model, layout = question.model, question.layout
    states = model.chain.states
    moments = layout.read(noisy[: layout.size], deviation)
    frame = maximise(model.frame, moments, kind, floor, ceiling=reach**2)
    frame = _hold(frame, model.frame, fixed) if done else frame
    rest = noisy[layout.size :] / _STEPS
    steps, starts = rest[: states * states].reshape(states, states), rest[states * states :]
    held = fixed if done else {}
    spread = deviation / _STEPS
    chain = Chain(
        steady_rows(starts, model.chain.start, spread, held.get("startprob")),
        steady_rows(steps, model.chain.transition, spread, held.get("transmat")),
    )
    return PointModel(chain, frame)


def _hold(frame: Frame, old: Frame, fixed: dict[str, NDArray[np.bool_]]) -> Frame:
    """Keep what is held fixed."""
    means, covariances = frame.means, frame.covariances
    if "means" in fixed:
        means = np.where(fixed["means"][:, None], old.means, means)
    if "covars" in fixed:
        covariances = np.where(fixed["covars"][:, None, None], old.covariances, covariances)
    return Frame.of(frame.weights, means, covariances)


def _split(model: PointModel, chain: Chain, kind: CovarianceType) -> PointModel:
    """Halve states, at most doubling them; they start with even odds to stay or to go anywhere."""
    frame = split(model.frame, chain.states, kind)
    size = frame.size
    if size == chain.states:
        return PointModel(chain, frame)
    away = np.full((size, size), (1 - STAY) / size) + STAY * np.eye(size)
    return PointModel(Chain(np.full(size, 1 / size), away), frame)


def _repeat(frame: Frame, states: int) -> Frame:
    return Frame(
        np.full(states, 1 / states),
        np.repeat(frame.means, states, axis=0),
        np.repeat(frame.roots, states, axis=0),
        np.repeat(frame.inverses, states, axis=0),
    )


def _features(rows: NDArray[Any], pairs: Pairs) -> NDArray[np.float64]:
    """[1, u, products of u], one row a column."""
    points = np.ascontiguousarray(rows.T)
    return np.concatenate([np.ones((1, len(rows))), points, points[pairs.rows] * points[pairs.columns]])


def _localising(mean: NDArray[np.float64], inverse: NDArray[np.float64], pairs: Pairs) -> NDArray[np.float64]:
    """The matrix that takes sums of [1, u, u u'] to those of [1, z, z z'] with z = inverse (u - mean)."""
    dimension, size = pairs.dimension, len(pairs.rows)
    matrix = np.zeros((1 + dimension + size, 1 + dimension + size))
    moved = -inverse @ mean
    matrix[0, 0] = 1
    matrix[1 : 1 + dimension, 0] = moved
    matrix[1 : 1 + dimension, 1 : 1 + dimension] = inverse
    left, right = inverse[pairs.rows], inverse[pairs.columns]
    below = matrix[1 + dimension :]
    below[:, 0] = moved[pairs.rows] * moved[pairs.columns]
    below[:, 1 : 1 + dimension] = left * moved[pairs.columns][:, None] + right * moved[pairs.rows][:, None]
    both = left[:, pairs.rows] * right[:, pairs.columns]
    crossed = left[:, pairs.columns] * right[:, pairs.rows]
    below[:, 1 + dimension :] = np.where(pairs.rows == pairs.columns, both, both + crossed)
    return matrix


def _share_evenly(chain: Chain, pack: Pack) -> Smoothed:
    """Each sequence cut into as many equal parts as there are states."""
    states = chain.states
    places = np.arange(pack.frames) - pack.firsts[pack.owners]
    path = places * states // pack.lengths[pack.owners]
    shares = (np.arange(states)[:, None] == path).astype(np.float64)
    before = np.zeros_like(shares)
    before[:, 1:] = shares[:, :-1]
    before[:, pack.firsts] = 0
    every = Chain(np.full(states, 1 / states), np.full((states, states), 1.0 / states))
    return Smoothed(pack, every, shares, before * states, shares, np.zeros(len(pack.lengths)))
