"""Spoken digits (FSDD) with private models: accuracy against epsilon, per recording and per speaker.

What is declared, and how it is known without looking at the recordings: cepstra are normalised within each
recording, so that every column of a recording has mean 0 and variance 1. The rows of a recording of d
columns then have a mean square norm of d at most, whatever was recorded; the radius is a multiple of
sqrt(d), and rows beyond are moved to the border. The longest recording is declared as 100 frames, one
second.

Covariances, columns, states, rounds and radius were chosen on the training part alone (`tune`: trained on
takes 15 to 49, tested on takes 5 to 14), for epsilon 1 and 4. Each recording is in the training set of one
digit, so per recording the ten models together cost what one of them costs. A speaker is in all ten: per
speaker the budget is split between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from discreet.fit import GaussianHMM
from experiments.digits import Digits, Fold, read_digits
from experiments.places import OUT, write_table

__all__ = ["CHOICES", "Choice", "accuracy", "run", "tune"]

DELTA, LONGEST, DIGITS = 1e-5, 100, 10
EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, math.inf)


@dataclass(frozen=True)
class Choice:
    """What a private fit of a digit is told; ``reach`` is the radius in units of sqrt(columns)."""

    name: str
    columns: int = 13
    states: int = 5
    covariances: str = "tied"
    rounds: int | None = 2
    reach: float = 1.0
    floor: float = 0.05


BEST = Choice("13 columns, tied, 2 rounds")
CHOICES = (
    BEST,
    replace(BEST, name="13 columns, spherical, 2 rounds", covariances="spherical"),
    replace(BEST, name="39 columns, diagonal, default rounds", columns=39, covariances="diag", rounds=None),
)
SEEDS = 2
NOTE = (
    "Spoken digits (FSDD), official split: percent of 300 recordings recognised (chance: 10), mean of "
    "{seeds} fits. One private model a digit of 270 recordings, 5 states from left to right, cepstra "
    "with mean 0 and variance 1 in each recording, delta {delta:g}; no start from data. Per recording, "
    "unless a row says per speaker (6 of them: nobody can hide among so few)."
)


def run(folder: Path, quick: bool) -> str:
    """Accuracy of every choice at every epsilon on the official split, and the picture."""
    digits = digits_of(folder)
    epsilons, seeds = ((8.0,), 1) if quick else (EPSILONS, SEEDS)
    rows = []
    for choice in CHOICES[:1] if quick else CHOICES:
        cells = {
            _head(epsilon): np.mean(
                [accuracy(digits, digits.official, choice, epsilon, seed) for seed in range(seeds)]
            )
            for epsilon in epsilons
        }
        rows.append({"models": choice.name} | {head: float(value) for head, value in cells.items()})
    speakers = {
        _head(epsilon): accuracy(digits, digits.official, BEST, epsilon, 0, by_speaker=True)
        for epsilon in epsilons
    }
    rows.append({"models": f"{BEST.name}, per speaker"} | speakers)
    return write(rows, seeds)


def write(rows: list[dict[str, Any]], seeds: int) -> str:
    """The table and the picture."""
    _draw(rows)
    return write_table("private_digits", rows, NOTE.format(seeds=seeds, delta=DELTA))


def tune(folder: Path, choice: Choice, epsilon: float, seed: int) -> float:
    """The accuracy that choices are made by: the test part is not looked at."""
    digits = digits_of(folder)
    later = Fold(
        "tune", np.flatnonzero(digits.takes >= 15), np.flatnonzero((digits.takes >= 5) & (digits.takes < 15))
    )
    return accuracy(digits, later, choice, epsilon, seed)


@lru_cache(maxsize=1)
def digits_of(folder: Path) -> Digits:
    """Digits whose columns have mean 0 and variance 1 in each recording."""
    return read_digits(folder, normalise="mean-variance")


def accuracy(
    digits: Digits, fold: Fold, choice: Choice, epsilon: float, seed: int, *, by_speaker: bool = False
) -> float:
    """Percent of the test recordings whose most likely digit is the right one."""
    spoken = _cut(digits.of(fold.test), choice)
    scores = [
        _fit(digits, fold, choice, epsilon, DIGITS * seed + digit, digit, by_speaker).scores(spoken)
        for digit in range(DIGITS)
    ]
    return 100 * float(np.mean(np.argmax(scores, axis=0) == digits.digits[fold.test]))


def _fit(
    digits: Digits, fold: Fold, choice: Choice, epsilon: float, seed: int, digit: int, by_speaker: bool
) -> GaussianHMM:
    private = math.isfinite(epsilon)
    shared = DIGITS if by_speaker and private else 1
    model = GaussianHMM(
        choice.states,
        epsilon=epsilon / shared,
        delta=DELTA / shared,
        covariance_type=choice.covariances,
        topology="left-right",
        radius=choice.reach * math.sqrt(choice.columns),
        min_covar=choice.floor,
        max_length=LONGEST,
        n_rounds=choice.rounds,
        max_iter=10,
        random_state=seed,
    )
    theirs = fold.train[digits.digits[fold.train] == digit]
    speakers = digits.speakers[theirs] if by_speaker and private else None
    return model.fit(_cut(digits.of(theirs), choice), person=speakers)


def _cut(features: list[np.ndarray], choice: Choice) -> list[np.ndarray]:
    return [one[:, : choice.columns] for one in features]


def _head(epsilon: float) -> str:
    return f"epsilon {epsilon:g}" if math.isfinite(epsilon) else "plain"


def _draw(rows: list[dict[str, Any]]) -> None:
    heads = [head for head in rows[0] if head.startswith("epsilon")]
    epsilons = [float(head.split()[1]) for head in heads]
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    for color, row in enumerate(rows):
        line = ":" if "speaker" in row["models"] else "-"
        axes.plot(
            epsilons,
            [row[head] for head in heads],
            line,
            marker="o",
            ms=4,
            color=f"C{color}",
            label=row["models"],
        )
        if "plain" in row and "speaker" not in row["models"]:
            axes.axhline(row["plain"], color=f"C{color}", lw=0.9, ls="--", alpha=0.6)
    axes.axhline(10, color="0.6", lw=1)
    axes.text(epsilons[0], 11, "chance", fontsize=8, color="0.4")
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_ylim(0, 101)
    axes.set_xlabel(f"epsilon (delta {DELTA:g}); dashed: the same models without noise")
    axes.set_ylabel("recognised, percent")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="center right")
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / "private_digits.png", dpi=140)
