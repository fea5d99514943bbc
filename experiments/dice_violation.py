"""How far one sequence moves the counts that paper 000 protects with noise for a change of L.

The published algorithm with noise at the end claims that adding or removing one sequence changes either table
of counts by at most L in L1. Here it is run twice, without noise, from the same start: on D sequences and on
D - 1, or with one sequence replaced by the same face throughout (where the claim would be 2 L).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.fit.hmm.data import Sequences
from discreet.models.hmm import HMM, Counts
from experiments.casino import make_skeleton, make_throws, make_truth
from experiments.places import write_table
from experiments.unsound import counts_of_the_last_round

SETTINGS = (
    (2, 10, 100, "near"),
    (2, 10, 100, "random"),
    (2, 20, 200, "near"),
    (2, 30, 300, "near"),
    (3, 10, 100, "near"),
    (3, 10, 100, "random"),
    (3, 30, 300, "near"),
    (3, 30, 300, "random"),
)
NEIGHBOURS, SEEDS = 48, 3
NOTE = (
    "Paper 000 with noise at the end: L1 change of the counts of the last round, in units of L, when "
    "one sequence is left out (claimed: at most 1 for each table) or replaced by one face throughout "
    "(claimed: at most 2). Largest and mean over neighbours of several data sets: lower bounds of the "
    "sensitivity. Counts with the noise of epsilon 1 have a privacy loss up to these figures, for each "
    "of the two tables."
)


def run(folder: Path, quick: bool) -> str:
    """Measure the change for every setting, and write the table."""
    rows = [_row(*setting, quick=quick) for setting in (SETTINGS[:1] if quick else SETTINGS)]
    return write_table("dice_violation", rows, NOTE)


def measure_changes(
    start: HMM, throws: Sequences, removed: np.ndarray, face: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Changes of the transition and emission counts in units of L, for each sequence left out or replaced."""
    whole, _ = counts_of_the_last_round(start, throws)
    changes = [_change(whole, _neighbour(start, throws, int(one), face)) for one in removed]
    transitions, emissions = np.transpose(changes) / throws.lengths.max()
    return transitions, emissions


def _neighbour(start: HMM, throws: Sequences, one: int, face: int | None) -> Counts:
    if face is None:
        weights = np.ones(len(throws.lengths))
        weights[one] = 0
        return counts_of_the_last_round(start, throws, weights)[0]
    rows = throws.rows.copy()
    rows[np.repeat(np.arange(len(throws.lengths)), throws.lengths) == one] = face
    return counts_of_the_last_round(start, Sequences(rows, throws.lengths))[0]


def _change(whole: Counts, other: Counts) -> tuple[float, float]:
    return (
        float(np.abs(whole.transitions - other.transitions).sum()),
        float(np.abs(whole.emissions - other.emissions).sum()),
    )


def _row(states: int, length: int, count: int, kind: str, *, quick: bool) -> dict[str, Any]:
    found: dict[str, list[np.ndarray]] = {"left out": [], "replaced": []}
    for seed in range(1 if quick else SEEDS):
        draw = np.random.default_rng([states, length, count, seed])
        truth = make_truth(states)
        throws = make_throws(truth, np.full(count, length), draw)
        start = make_skeleton(truth, kind, draw)
        some = draw.permutation(count)[: 8 if quick else NEIGHBOURS]
        found["left out"].append(np.stack(measure_changes(start, throws, some)))
        found["replaced"].append(np.stack(measure_changes(start, throws, some[: len(some) // 4], face=5)))
    row: dict[str, Any] = {"states": states, "L": length, "D": count, "start": kind}
    for name, changes in found.items():
        every = np.concatenate(changes, axis=1)
        for table, values in zip(("transitions", "emissions"), every, strict=True):
            row[f"{name}, {table}: largest"] = float(values.max())
            row[f"{name}, {table}: mean"] = float(values.mean())
    return row
