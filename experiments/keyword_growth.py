"""How time and bytes of a private keyword question grow, beside the formulas of paper 002.

The paper: Alice does O((d**2 + N K) T) work, Bob O(d**2 N K T), for T frames of d numbers, K words of N
states. Every row changes one size of a base question; ratios are to that question. Models are invented.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.ask import rehearse
from discreet.models.blend import Blend
from discreet.models.chain import Chain
from discreet.models.gaussian import Gaussian
from discreet.models.hmm import HMM
from discreet.models.vocabulary import Vocabulary
from experiments.places import write_table

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.ask import Answer

__all__ = ["Size", "invented", "run"]


@dataclass(frozen=True)
class Size:
    """One question: frames, dimensions, states, words, Gaussians a state."""

    frames: int = 98
    dimension: int = 39
    states: int = 5
    words: int = 10
    mixtures: int = 1
    full: bool = True
    kind: str = "full"

    @property
    def terms(self) -> int:
        """Features of a frame."""
        return self.dimension * (self.dimension + 3) // 2 if self.kind == "full" else 2 * self.dimension

    @property
    def arcs(self) -> int:
        """Steps of a word's chain."""
        return self.states**2 if self.full else 2 * self.states - 1

    @property
    def alice(self) -> int:
        """The paper's count of what the owner of the recording does."""
        return (self.dimension**2 + self.states * self.words) * self.frames

    @property
    def bob(self) -> int:
        """The paper's count of what the owner of the models does."""
        return self.dimension**2 * self.states * self.words * self.frames


BASE = Size()
CHANGES: dict[str, list[dict[str, Any]]] = {
    "frames": [{"frames": value} for value in (10, 49, 196, 500)],
    "dimension": [{"dimension": value} for value in (13, 26)],
    "states": [{"states": value} for value in (3, 8)],
    "words": [{"words": value} for value in (3, 20)],
    "mixtures": [{"mixtures": value, "kind": "diag"} for value in (1, 2, 4)],
    "topology": [{"full": False}],
    "covariances": [{"kind": "diag"}],
}

SMALL = Size(frames=20, dimension=6, states=3, words=3)
SMALL_CHANGES: dict[str, list[dict[str, Any]]] = {
    "frames": [{"frames": 40}],
    "dimension": [{"dimension": 12}],
    "states": [{"states": 4}],
    "words": [{"words": 6}],
    "mixtures": [{"mixtures": 2, "kind": "diag"}],
    "topology": [{"full": False}],
}


def run(folder: Path, quick: bool) -> str:
    """One table; quick: one change of every size, of a small base."""
    base, changes = (SMALL, SMALL_CHANGES) if quick else (BASE, CHANGES)
    rows = [_row("base", base, base, first := _ask(base), first)]
    for name, values in changes.items():
        for change in values:
            size = replace(base, **change)
            rows.append(_row(name, size, base, _ask(size), first))
    return write_table("keyword_growth", rows, _NOTE)


_NOTE = (
    "Growth of a private keyword question: two processes over TLS, wall time and bytes of the whole run, and "
    "as multiples of the first row, beside what the paper's formulas for Alice and Bob would give."
)


def _ask(size: Size) -> Answer:
    """The faster of two runs."""
    vocabulary, features = invented(size)
    answers = [rehearse(vocabulary, features, prepared=True) for _ in range(2)]
    return min(answers, key=lambda answer: answer.seconds)


def _row(what: str, size: Size, base: Size, answer: Answer, first: Answer) -> dict[str, Any]:
    return {
        "change": what,
        "frames": size.frames,
        "dimension": size.dimension,
        "states": size.states,
        "arcs": size.arcs,
        "words": size.words,
        "mixtures": size.mixtures,
        "covariances": size.kind,
        "seconds": float(answer.seconds),
        "MB": answer.bytes / 1e6,
        "time x": answer.seconds / first.seconds,
        "bytes x": answer.bytes / first.bytes,
        "paper, Alice x": size.alice / base.alice,
        "paper, Bob x": size.bob / base.bob,
    }


def invented(size: Size, seed: int = 0) -> tuple[Vocabulary, np.ndarray]:
    """Word models of this size and features (frames, dimension) in [-1, 1]."""
    draw = np.random.default_rng(seed)
    models = tuple(_model(size, draw) for _ in range(size.words))
    vocabulary = Vocabulary(tuple(f"word {i}" for i in range(size.words)), models)
    return vocabulary, draw.uniform(-1, 1, (size.frames, size.dimension))


def _model(size: Size, draw: np.random.Generator) -> HMM:
    arcs = draw.dirichlet(np.ones(size.states), size.states)
    start = np.full(size.states, 1 / size.states)
    if not size.full:
        arcs = np.triu(np.tril(arcs, 1))
        arcs, start = arcs / arcs.sum(axis=1, keepdims=True), np.eye(size.states)[0]
    count = size.states * size.mixtures
    means = draw.uniform(-0.5, 0.5, (count, size.dimension))
    if size.kind == "full":
        roots = draw.normal(size=(count, size.dimension, 2 * size.dimension)) * 0.2
        spreads = roots @ roots.swapaxes(1, 2) / size.dimension + 0.02 * np.eye(size.dimension)
    else:
        spreads = draw.uniform(0.03, 0.2, (count, size.dimension))
    gaussian = Gaussian.of(means, spreads, size.kind)
    if size.mixtures == 1:
        return HMM(Chain(start, arcs), gaussian)
    weights = draw.dirichlet(np.ones(size.mixtures), size.states)
    return HMM(Chain(start, arcs), Blend(weights, gaussian))
