"""Private training of hidden Markov models that nothing was tuned on: random models of several shapes.

Every world draws its own model, skeleton and sequences. Lengths vary within a world; the declared longest
length is the longest that the world allows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.fit import CategoricalHMM
from discreet.fit.hmm import ask
from discreet.models.hmm import HMM
from experiments.casino import fit_private, make_model, make_skeleton, make_throws, train
from experiments.places import write_table

__all__ = ["WORLDS", "World", "compare", "run"]


class World(NamedTuple):
    """States and symbols, shortest and longest sequence, how many there are, and how long states last."""

    states: int
    symbols: int
    shortest: int
    longest: int
    sequences: int
    sticky: float


WORLDS = (
    World(2, 4, 5, 60, 500, 0.8),
    World(3, 20, 5, 60, 2000, 0.7),
    World(4, 8, 100, 400, 1000, 0.9),
    World(5, 30, 20, 20, 10000, 0.5),
    World(2, 2, 1, 8, 3000, 0.8),
    World(3, 6, 2000, 3000, 200, 0.9),
)
EPSILON, ROUNDS, RUNS, FRESH_ROWS = 1.0, 150, 2, 200_000
NOTE = (
    "Random models, epsilon 1, delta 1e-6, method auto: held-out log-likelihood a symbol below that of "
    "the true model, in nats (plain: {rounds} rounds of Baum-Welch from the same skeleton). Mean of "
    "{runs} runs."
)


def run(folder: Path, quick: bool) -> str:
    """Every world from both kinds of skeleton."""
    rows = []
    for world in WORLDS[4:5] if quick else WORLDS:
        for kind in ("near", "random"):
            runs = [compare(world, kind, seed) for seed in range(1 if quick else RUNS)]
            rows.append(tabulate(world, kind, runs))
    return write_table("worlds", rows, NOTE.format(rounds=ROUNDS, runs=1 if quick else RUNS))


def compare(world: World, kind: str, seed: int) -> dict[str, float]:
    """What the skeleton, the plain and the private model lose against the truth."""
    draw = np.random.default_rng([11, *world[:5], seed])
    truth = make_world(world, draw)
    throws = make_throws(truth, draw.integers(world.shortest, world.longest + 1, world.sequences), draw)
    fresh_count = max(100, min(2000, FRESH_ROWS // world.longest))
    fresh = make_throws(truth, draw.integers(world.shortest, world.longest + 1, fresh_count), draw)
    start = make_skeleton(truth, kind, draw)

    def worth(model: HMM) -> float:
        return float(ask.scores(model, fresh).sum()) / fresh.frames

    private = fit_private(start, throws, epsilon=EPSILON, max_length=world.longest, random_state=seed)
    models = {"skeleton": start, "plain": train(start, throws, ROUNDS), "private": private}
    return {name: worth(truth) - worth(model) for name, model in models.items()}


def make_world(world: World, draw: np.random.Generator) -> HMM:
    """A random model whose states last about as long as the world says, and emit few symbols often."""
    steps = (1 - world.sticky) * draw.dirichlet(np.ones(world.states), world.states)
    emission = np.maximum(draw.dirichlet(np.full(world.symbols, 0.5), world.states), 1e-4)
    return make_model(
        draw.dirichlet(np.full(world.states, 2.0)),
        steps + world.sticky * np.eye(world.states),
        emission / emission.sum(axis=1, keepdims=True),
    )


def tabulate(world: World, kind: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    """One row of the table."""
    lengths = f"{world.shortest} to {world.longest}"
    row: dict[str, Any] = {"states": world.states, "symbols": world.symbols, "lengths": lengths}
    row |= {"sequences": world.sequences, "start": kind}
    plan = CategoricalHMM(
        world.states, world.symbols, epsilon=EPSILON, delta=1e-6, max_length=world.longest
    ).plan()
    row["rounds"] = len(plan.events) - 1
    return row | {name: f"{np.mean([one[name] for one in runs]):.5f}" for name in runs[0]}
