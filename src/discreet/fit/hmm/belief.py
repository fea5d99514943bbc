"""What is believed about the parameters after some noisy answers, and what a model expects of an answer.

A round releases R = sum over sequences of psi(x) + noise, where psi is the bounded answer to a
`ScoreQuestion` put at the coordinates c. To first order around c, with theta the most likely parameters of
the data,

    R = sum_b n_b (m_b + J_b (theta - c)) + noise       m_b = E[psi],  J_b = E[psi s'] = dE[psi] / d theta

for n_b sequences of length class b. Expectations are those of the model at c: they are estimated from
sequences drawn from it, which costs nothing, since the model is made of releases alone. (Unbounded answers
have mean zero, so m is estimated from what the bound takes away, with little error.)

Every release is therefore a linear measurement of theta with known noise. They are put together with a
prior N(skeleton, spread^2) by least squares; the spread is that for which the releases are likeliest. Far
from c the linear form is wrong by about the square of the distance; a release counts the less for it the
further away the estimate has moved from where it was asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.fit.hmm.measure import ScoreQuestion, flat_counts, norms, usual_norm
from discreet.models.hmm import HMM
from discreet.models.sequences import pack_sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.fit.hmm.measure import Norm
    from discreet.models.logits import Logits, Tables
    from discreet.randomness import Generator

__all__ = ["LONGEST", "Belief", "Crowd", "Expectation", "ask", "shortened"]

SPREADS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
"""How far a logit may be from the skeleton, as a standard deviation: the releases say which fits them
best."""

KEPT = 0.7
"""The share of expected answers that the bound leaves as they are."""

CURVE = 2.0
"""How wrong a linear measurement is: the relative error at distance one."""

STEP = 1.0
"""The longest step of a round, and the unit of distance: what 20 rows of the model tell apart, in
deviations."""

_UNIT_ROWS = 20
LONGEST = 256
"""Rows of a simulated sequence: longer ones are sums of many nearly independent pieces."""

_DRAWN = 200_000  # rows that are drawn for an expectation
_NUMBERS = 2**24  # scores that are held at once
_FEWEST = 400  # sequences that are drawn of each length
_TRIES = 8
_RIDGE = 1e-3
_STILL = 1e-4


@dataclass(frozen=True)
class Crowd:
    """About how many sequences there are of each length; from a noisy census."""

    lengths: NDArray[np.intp]
    counts: NDArray[np.float64]

    @staticmethod
    def from_census(tops: NDArray[np.intp], noisy: NDArray[np.float64], deviation: float) -> Crowd:
        """Keep the classes that stand out of the noise; if none does, one sequence of the largest."""
        counts = np.where(noisy[1:] > 2 * deviation, noisy[1:], 0.0)
        if not counts.any():
            best = int(np.argmax(noisy[1:] * tops))
            counts[best] = max(noisy[1 + best], deviation, 1.0)
        kept = counts > 0
        return Crowd(tops[kept], counts[kept])


@dataclass(frozen=True)
class Expectation:
    """What the model at ``place`` expects of the sum of answers: ``mean`` (P,), ``slope`` (P, Q).

    ``information`` (Q, Q) is that of `_UNIT_ROWS` rows.
    """

    question: ScoreQuestion
    place: NDArray[np.float64]
    mean: NDArray[np.float64]
    slope: NDArray[np.float64]
    information: NDArray[np.float64]


@dataclass(frozen=True)
class _Measured:
    """One release: where it was asked, its slope, answer less mean, and the deviation of its noise."""

    place: NDArray[np.float64]
    slope: NDArray[np.float64]
    answer: NDArray[np.float64]
    deviation: float
    information: NDArray[np.float64]

    def trust(self, theta: NDArray[np.float64]) -> float:
        """One over the variance of each number of the answer, as a measurement at theta."""
        step = theta - self.place
        far = step @ self.information @ step  # the square of a distance
        bent = CURVE**2 * far * float(np.sum((self.slope @ step) ** 2)) / len(self.answer)
        return 1 / (self.deviation**2 + float(bent))


@dataclass
class Belief:
    """The prior and all measurements so far; ``theta`` is the present estimate."""

    logits: Logits
    prior: NDArray[np.float64]
    theta: NDArray[np.float64] = field(init=False)
    _measured: list[_Measured] = field(init=False, default_factory=list["_Measured"])

    def __post_init__(self) -> None:
        self.theta = self.prior.copy()

    @property
    def tables(self) -> Tables:
        """The model at the present estimate."""
        return self.logits.model(self.theta)

    def learn(self, asked: Expectation, noisy: NDArray[np.float64], deviation: float) -> None:
        """Take in the noisy sum of answers, and move, by no more than `STEP`."""
        self._measured.append(
            _Measured(asked.place, asked.slope, noisy - asked.mean, deviation, asked.information)
        )
        here, wanted = self.theta, self.theta
        for _ in range(_TRIES):
            before = wanted
            wanted = here + shortened(self._solve(wanted) - here, asked.information)
            if np.abs(wanted - before).max(initial=0.0) < _STILL:
                break
        self.theta = self.logits.flatten(self.logits.model(wanted))

    def _solve(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The most likely coordinates when every measurement is trusted as far as it is valid at theta.

        With A = sum G' G / var and b = sum G' r / var for the residuals r at the prior, the estimate is
        prior + (A + I / spread^2)^-1 b, and twice the logarithm of the releases' likelihood is, up to a
        constant, sum_i b_i^2 / (l_i + spread^-2) - log(1 + spread^2 l_i)    in the directions of A, with
        its values l_i.
        """
        precision, pull = np.zeros((len(theta), len(theta))), np.zeros(len(theta))
        for one in self._measured:
            trust = one.trust(theta)
            residual = one.answer - one.slope @ (self.prior - one.place)
            precision += trust * (one.slope.T @ one.slope)
            pull += trust * (one.slope.T @ residual)
        values, vectors = np.linalg.eigh(precision)
        values, along = np.maximum(values, 0.0), vectors.T @ pull
        fits = [
            float(np.sum(along**2 / (values + spread**-2) - np.log1p(spread**2 * values)))
            for spread in SPREADS
        ]
        spread = SPREADS[int(np.argmax(fits))]
        return self.prior + vectors @ (along / (values + spread**-2))


def ask(
    belief: Belief, crowd: Crowd, norm: Norm, generator: Generator, *, labelled: bool = False
) -> Expectation:
    """The next question, put at the present estimate, with what the model expects to be answered.

    With ``labelled`` sequences the scores are those of known paths.
    """
    tables, logits = belief.tables, belief.logits
    model = HMM(tables.chain, tables.categorical)
    shares = logits.shares(belief.theta)
    drawn = [
        _draw_scores(model, logits, shares, int(length), len(crowd.lengths), generator, labelled)
        for length in crowd.lengths
    ]
    mix = crowd.counts / crowd.counts.sum()
    whole = sum(part * (scores @ scores.T) / scores.shape[1] for part, scores in zip(mix, drawn, strict=True))
    information = np.asarray(whole)
    whitening = _whiten(information)
    answers = [whitening @ scores for scores in drawn]
    limit = usual_norm(answers, mix, norm, KEPT)
    mean, slope = np.zeros(len(whitening)), np.zeros_like(whitening)
    for count, scores, answer in zip(crowd.counts, drawn, answers, strict=True):
        kept = np.minimum(1.0, limit / np.maximum(norms(answer, norm), 1e-300))
        mean += count * ((kept - 1) * answer).mean(axis=1)
        slope += count * ((kept * answer) @ scores.T) / scores.shape[1]
    question = ScoreQuestion(model, logits, shares, whitening, limit, norm)
    rows = float(mix @ crowd.lengths)
    return Expectation(question, belief.theta.copy(), mean, slope, information * (_UNIT_ROWS / rows))


def _draw_scores(
    model: HMM,
    logits: Logits,
    shares: NDArray[np.float64],
    length: int,
    classes: int,
    generator: Generator,
    labelled: bool,
) -> NDArray[np.float64]:
    """Scores (Q, K) of sequences of this length, drawn from the model.

    The score of a very long sequence is drawn as that of a shorter one, stretched to its deviation.
    """
    short = min(length, LONGEST)
    count = max(_FEWEST, min(_DRAWN // (short * classes), _NUMBERS // max(logits.size, 1)))
    lengths = np.full(count, short, dtype=np.intp)
    rows, paths = model.sample(lengths, generator)
    made = [
        logits.score(flat_counts(model, rows, pack, paths if labelled else None), shares)
        for pack in pack_sequences(lengths)
    ]
    return np.concatenate(made, axis=1) * math.sqrt(length / short)


def _whiten(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows W with W I W' nearly the identity; directions about which nothing can be learnt are left out."""
    values, vectors = np.linalg.eigh(information)
    kept = values > 1e-7 * max(values.max(initial=0.0), 1e-300)
    cover = _RIDGE * float(values.sum()) / max(len(values), 1)
    return np.ascontiguousarray((vectors[:, kept] / np.sqrt(values[kept] + cover)).T)


def shortened(step: NDArray[np.float64], information: NDArray[np.float64]) -> NDArray[np.float64]:
    """The step, or as much of it as `STEP` and a factor of e^2 for every entry allow."""
    far = math.sqrt(max(float(step @ information @ step), 0.0))
    return step * min(1.0, STEP / max(far, 1e-12), 2.0 / max(float(np.abs(step).max(initial=0.0)), 1e-12))
