"""How people move between parts of New York: private hidden Markov models of Gowalla check-ins.

A person is one sequence: their first check-ins in order of time, as cells of a 10 x 10 grid over the declared
region. Everything but the check-ins is public: grid, longest length, number of states. People who were not
trained on are the test; each weighs what their symbols weigh.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from discreet.fit import CategoricalHMM
from experiments.gowalla import REGION
from experiments.places import write_table

SIDE, LONGEST, DELTA, BLUR = 10, 50, 1e-6, 0.01
SETTINGS = ((1, "auto"), (4, "auto"), (6, "auto"), (8, "iterate"))
EPSILONS = (1.0, 4.0, math.inf)
SEEDS = 1
NOTE = (
    "Gowalla check-ins in New York as cells of a 10 x 10 grid, one sequence a person, at most 50 check-"
    "ins, delta 1e-6 per person: log-likelihood a check-in of people who were not trained on (20 "
    "percent), in nats; all cells alike is -4.61. One state is a histogram. No skeleton: emissions "
    "start at random. Emissions of all models are mixed with 1 percent of all cells alike before they "
    "are scored."
)


def run(folder: Path, quick: bool) -> str:
    """Every number of states at every budget."""
    sequences = read_visits(folder)
    settings = SETTINGS[:1] if quick else SETTINGS
    rows = [row_of(sequences, *setting, seeds=1 if quick else SEEDS) for setting in settings]
    return write_table("visits", rows, NOTE)


def read_visits(folder: Path) -> list[np.ndarray]:
    """One array of cells a person, in order of time."""
    names = ["user", "time", "lat", "lon"]
    table = pq.read_table(folder / "location" / "gowalla_nyc.parquet", columns=names)
    user, time = table["user"].to_numpy(), table["time"].to_numpy()
    order = np.lexsort((time, user))
    places = np.stack([table["lat"].to_numpy(), table["lon"].to_numpy()], axis=1)[order]
    unit = (places - np.array(REGION.low)) / (np.array(REGION.high) - np.array(REGION.low))
    grid = np.clip((unit * SIDE).astype(np.intp), 0, SIDE - 1)
    _, firsts = np.unique(user[order], return_index=True)
    return np.split(grid[:, 0] * SIDE + grid[:, 1], firsts[1:])


def row_of(sequences: list[np.ndarray], states: int, method: str, *, seeds: int) -> dict[str, Any]:
    """The held-out likelihood at every budget, and the method."""
    row: dict[str, Any] = {"states": states}
    for epsilon in EPSILONS:
        fits = [score_of(sequences, states, method, epsilon, seed) for seed in range(seeds)]
        row["method"] = fits[0][1] if math.isfinite(epsilon) else row["method"]
        label = f"epsilon {epsilon:g}" if math.isfinite(epsilon) else "plain"
        row[label] = f"{np.mean([value for value, _ in fits]):.3f}"
    return row


def score_of(
    sequences: list[np.ndarray], states: int, method: str, epsilon: float, seed: int
) -> tuple[float, str]:
    """Fit on four fifths of the people, and score the others."""
    chosen = np.random.default_rng(seed).random(len(sequences)) < 0.8
    train = [one for one, here in zip(sequences, chosen, strict=True) if here]
    test = [one[:LONGEST] for one, here in zip(sequences, chosen, strict=True) if not here]
    model = CategoricalHMM(
        states,
        SIDE * SIDE,
        epsilon=epsilon,
        delta=DELTA,
        max_length=LONGEST,
        method=method if math.isfinite(epsilon) else "auto",
        random_state=seed,
        max_iter=100,
    ).fit(train)
    # some cells were never visited by those who were trained on: without noise they would be impossible
    model.emissionprob_ = (1 - BLUR) * model.emissionprob_ + BLUR / SIDE**2
    return model.score(test) / sum(map(len, test)), str(model.receipt_["method"])
