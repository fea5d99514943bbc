"""What private training of the dice models is worth: similarity to plain training, and likelihood lost.

Plain training is 80 rounds, as in paper 000, and 1,000 rounds. From ten thousand sequences 80 rounds are not
enough: how far the plain model of 80 rounds is from that of 1,000 is the ceiling of what a better fit can
have in common with the former, and is shown beside.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.models.hmm import HMM
from experiments.casino import Judge, fit_private, make_skeleton, make_throws, make_truth, train
from experiments.places import write_table

LENGTH, FRESH, DELTA = 20, 2000, 1e-6
SIZES, RUNS = (300, 1000, 3000, 10000), 10
EPSILONS = (0.1, 0.5, 1.0, 4.0)
BUDGET_SIZE = 3000
Values = dict[tuple[Any, ...], list[dict[str, float]]]
NOTE = (
    "Dice models, L = {length}, delta {delta:g} (Laplace: 0). Similarity to plain training: share of "
    "equal states on best paths of {fresh} fresh sequences under the best naming of states, percent, to"
    " 80 rounds and to 1,000. Excess: held-out log-likelihood a symbol lost against plain training, in "
    "nats. Means over runs, each with its own data, skeleton and noise."
)


def run(folder: Path, quick: bool) -> str:
    """Both tables: over the number of sequences, and over epsilon."""
    runs, sizes = (1, SIZES[:1]) if quick else (RUNS, SIZES)
    found: Values = {}
    text = ""
    for seed in range(runs):
        for states in (2, 3):
            for kind in ("near", "random"):
                for count in sizes:
                    budgets = EPSILONS if (count, kind) == (BUDGET_SIZE, "near") else (1.0,)
                    one = compare(states, kind, count, seed, budgets)
                    for name, values in one.items():
                        found.setdefault((states, kind, count, *name), []).append(values)
        text = write(found)
    return text


def compare(
    states: int, kind: str, count: int, seed: int, epsilons: tuple[float, ...]
) -> dict[tuple[str, float], dict[str, float]]:
    """One run: every fit beside both plain ones, by name and epsilon."""
    draw = np.random.default_rng([7, states, count, seed])
    truth = make_truth(states)
    throws = make_throws(truth, np.full(count, LENGTH), draw)
    fresh = make_throws(truth, np.full(FRESH, LENGTH), draw)
    start = make_skeleton(truth, kind, draw)
    short = train(start, throws, 80)
    long = train(short, throws, 920)
    judges = Judge.of(short, fresh), Judge.of(long, fresh)
    models: dict[tuple[str, float], HMM] = {
        ("skeleton", 0.0): start,
        ("plain, 80 rounds", 0.0): short,
        ("plain, 1,000 rounds", 0.0): long,
        ("truth", 0.0): truth,
    }
    for epsilon in epsilons:
        for name, noise in (("private, Gaussian", "gaussian"), ("private, Laplace, delta 0", "laplace")):
            models[name, epsilon] = fit_private(
                start, throws, epsilon=epsilon, max_length=LENGTH, noise=noise, random_state=seed
            )
    return {name: _judge(judges, model) for name, model in models.items()}


def _judge(judges: tuple[Judge, Judge], model: HMM) -> dict[str, float]:
    short, long = judges
    return {
        "similarity to 80": short.similarity(model),
        "similarity to 1,000": long.similarity(model),
        "excess over 80": short.excess(model),
        "excess over 1,000": long.excess(model),
    }


def write(found: Values) -> str:
    """The table: one row for each model, size and epsilon."""
    note = NOTE.format(length=LENGTH, delta=DELTA, fresh=FRESH)
    rows = [
        {"states": states, "start": kind, "D": count, "model": name, "epsilon": epsilon or None}
        | {key: _mean(values, key) for key in values[0]}
        | {"standard error of similarity to 80": _error(values, "similarity to 80"), "runs": len(values)}
        for (states, kind, count, name, epsilon), values in found.items()
    ]
    return write_table("dice_utility", rows, note)


def _mean(values: list[dict[str, float]], key: str) -> Any:
    mean = float(np.mean([one[key] for one in values]))
    return mean if key.startswith("similarity") else f"{mean:.5f}"


def _error(values: list[dict[str, float]], key: str) -> float | None:
    many = [one[key] for one in values]
    return float(np.std(many, ddof=1) / len(many) ** 0.5) if len(many) > 1 else None
