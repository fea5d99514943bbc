"""The occasionally dishonest casino of paper 000: dice models, skeletons, and how trained models compare.

The paper prints no transition probabilities, and its emission table sums to 0.7 in the second row. Chosen
here: a fair die, a die loaded on six (1/2, the others 1/10), and for three states one loaded on one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from discreet.fit import CategoricalHMM
from discreet.fit.hmm import ask
from discreet.fit.hmm.data import Sequences
from discreet.fit.hmm.plain import fit_plain
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.hmm import HMM

__all__ = [
    "Judge",
    "fit_private",
    "make_model",
    "make_skeleton",
    "make_throws",
    "make_truth",
    "train",
]

FACES = 6


def make_model(start: np.ndarray, transition: np.ndarray, emission: np.ndarray) -> HMM:
    """A model of these three tables."""
    return HMM(Chain(start, transition), Categorical(emission))


def make_truth(states: int) -> HMM:
    """The dice models with two and three states; each die is equally likely at the start."""
    fair, loaded = np.full(FACES, 1 / FACES), np.full(FACES, 0.1)
    six, one = loaded.copy(), loaded.copy()
    six[-1] = one[0] = 0.5
    if states == 2:
        steps = np.array([[0.95, 0.05], [0.10, 0.90]])
        return make_model(np.full(2, 1 / 2), steps, np.stack([fair, six]))
    steps = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    return make_model(np.full(3, 1 / 3), steps, np.stack([fair, six, one]))


def make_skeleton(truth: HMM, kind: str, draw: np.random.Generator) -> HMM:
    """Where all fits start: "near" is 0.7 of the truth and 0.3 of a random model, "random" is that alone."""
    states, symbols = truth.chain.states, truth.emission.probabilities.shape[1]
    parts = (
        draw.dirichlet(np.ones(states)),
        draw.dirichlet(np.ones(states), states),
        draw.dirichlet(np.ones(symbols), states),
    )
    if kind == "near":
        true = (truth.chain.start, truth.chain.transition, truth.emission.probabilities)
        parts = tuple(0.7 * known + 0.3 * drawn for known, drawn in zip(true, parts, strict=True))
    return make_model(*(_rows(part) for part in parts))


def make_throws(model: HMM, lengths: np.ndarray, draw: np.random.Generator) -> Sequences:
    """Sequences of these lengths."""
    return Sequences(model.sample(lengths, draw)[0].reshape(-1), lengths)


def train(start: HMM, throws: Sequences, rounds: int) -> HMM:
    """So many rounds of plain Baum-Welch."""
    return fit_plain(start, throws, rounds, 0.0).model


def fit_private(
    start: HMM,
    throws: Sequences,
    *,
    epsilon: float,
    max_length: int,
    method: str = "auto",
    noise: str = "gaussian",
    delta: float = 1e-6,
    random_state: int | None = None,
) -> HMM:
    """What `CategoricalHMM` releases, started from this skeleton."""
    skeleton = {
        "startprob": start.chain.start,
        "transmat": start.chain.transition,
        "emissionprob": start.emission.probabilities,
    }
    fitted = CategoricalHMM(
        start.chain.states,
        start.emission.probabilities.shape[1],
        epsilon=epsilon,
        delta=0.0 if noise == "laplace" else delta,
        noise=noise,
        method=method,
        max_length=max_length,
        skeleton=skeleton,
        random_state=random_state,
    ).fit(throws.rows, throws.lengths)
    return make_model(fitted.startprob_, fitted.transmat_, fitted.emissionprob_)


@dataclass(frozen=True)
class Judge:
    """Fresh sequences, and what one model makes of them: others are compared with it."""

    throws: Sequences
    states: int
    path: np.ndarray
    likelihood: float

    @staticmethod
    def of(model: HMM, throws: Sequences) -> Judge:
        """What this model says of these sequences."""
        return Judge(
            throws,
            model.chain.states,
            ask.paths(model, throws)[1],
            float(ask.scores(model, throws).sum()) / throws.frames,
        )

    def similarity(self, model: HMM) -> float:
        """The percentage of rows with the same state on the best path, under the best naming of states."""
        table = np.zeros((self.states, self.states))
        np.add.at(table, (self.path, ask.paths(model, self.throws)[1]), 1.0)
        named = range(self.states)
        best = max(table[list(named), list(order)].sum() for order in permutations(named))
        return 100 * float(best) / self.throws.frames

    def excess(self, model: HMM) -> float:
        """How much less likely a row is under the other model, in nats."""
        return self.likelihood - float(ask.scores(model, self.throws).sum()) / self.throws.frames


def _rows(part: np.ndarray) -> np.ndarray:
    kept = np.maximum(part, 1e-9)
    return kept / kept.sum(axis=-1, keepdims=True)
