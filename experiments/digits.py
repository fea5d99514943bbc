"""Spoken digits (FSDD): 3,000 recordings of ten digits by six speakers, as cepstra.

Every speaker was recorded in one session with one microphone: what tells speakers apart here is partly the
room. The official test set, takes 0 to 4 of each digit and speaker, has all speakers in the training set;
leaving one speaker out is the harder and more honest question.

The experiment trains one hidden Markov model a digit, five states from left to right, ten rounds, and takes
the digit whose model makes a recording most likely.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.fit import GaussianHMM
from discreet.speech import Normalise, cepstra, read_sound
from experiments.places import data_folder, write_table

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Digits", "Fold", "read_digits", "read_recordings", "run"]

STATES, ROUNDS, FLOOR = 5, 10, 1e-2


@dataclass(frozen=True)
class Fold:
    """Numbers of the recordings to train and to test on; ``name`` is the split, or the speaker left out."""

    name: str
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Digits:
    """Recordings in the order of the index: features (frames, 39), and the labels of each recording."""

    features: list[np.ndarray]
    digits: np.ndarray
    speakers: np.ndarray
    takes: np.ndarray
    test: np.ndarray

    @property
    def official(self) -> Fold:
        """2,700 recordings to train on, 300 to test on."""
        return Fold("official", np.flatnonzero(~self.test), np.flatnonzero(self.test))

    @property
    def leave_one_speaker_out(self) -> Iterator[Fold]:
        """One fold for each speaker, who is tested on models of the five others."""
        for speaker in np.unique(self.speakers):
            theirs = self.speakers == speaker
            yield Fold(str(speaker), np.flatnonzero(~theirs), np.flatnonzero(theirs))

    def of(self, which: np.ndarray, digit: int | None = None) -> list[np.ndarray]:
        """The features of some recordings, or of those among them that say one digit."""
        return [self.features[i] for i in which if digit is None or self.digits[i] == digit]


def read_digits(folder: Path | None = None, *, normalise: Normalise = "mean") -> Digits:
    """All digits as 39 cepstra, kept in memory and read only; FileNotFoundError where the data are absent."""
    folder = data_folder() if folder is None else folder
    if folder is None or not (folder / "speech" / "fsdd" / "index.csv").is_file():
        raise FileNotFoundError("no spoken digits here: set DISCREET_DATA")
    return _read(folder, normalise)


@lru_cache(maxsize=4)
def _read(folder: Path, normalise: Normalise) -> Digits:
    rows, recordings = read_recordings(folder)
    features = [cepstra(samples, 8000, normalise=normalise) for samples in recordings]
    for one in features:
        one.flags.writeable = False
    return Digits(
        features,
        np.array([int(row["digit"]) for row in rows]),
        np.array([row["speaker"] for row in rows]),
        np.array([int(row["take"]) for row in rows]),
        np.array([row["split"] == "test" for row in rows]),
    )


@lru_cache(maxsize=4)
def read_recordings(folder: Path, name: str = "fsdd") -> tuple[list[dict[str, str]], list[np.ndarray]]:
    """The rows of the index of a folder of ``speech``, and the samples of each."""
    home = folder / "speech" / name
    with (home / "index.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    whole = {file: read_sound(home / file)[0] for file in sorted({row["file"] for row in rows})}
    return rows, [whole[row["file"]][int(row["start"]) :][: int(row["frames"])] for row in rows]


def run(folder: Path, quick: bool) -> str:
    """Accuracy of plain models on the official split and leaving one speaker out; quick: the former only."""
    digits = read_digits(folder)
    folds = [digits.official] if quick else [digits.official, *digits.leave_one_speaker_out]
    rows = [_row(digits, folds, kind) for kind in ("diag", "full")]
    note = (
        "Spoken digits (FSDD), plain hidden Markov models of 39 normalised cepstra: percent of recordings "
        f"recognised. {STATES} states from left to right, {ROUNDS} rounds, variances of at least {FLOOR:g}."
    )
    return write_table("digits", rows, note)


def _row(digits: Digits, folds: list[Fold], kind: str) -> dict[str, Any]:
    right = {fold.name: _recognise(digits, fold, kind) == digits.digits[fold.test] for fold in folds}
    shares = {name: 100 * float(correct.mean()) for name, correct in right.items()}
    row: dict[str, Any] = {"covariances": kind, "official": shares.pop("official")}
    if shares:
        left_out = [correct for name, correct in right.items() if name != "official"]
        row["one speaker left out"] = 100 * float(np.concatenate(left_out).mean())
    return row | shares


def _recognise(digits: Digits, fold: Fold, kind: str) -> np.ndarray:
    """The most likely digit of each test recording."""
    spoken = digits.of(fold.test)
    scores = []
    for digit in range(10):
        model = GaussianHMM(
            STATES,
            epsilon=float("inf"),
            covariance_type=kind,
            topology="left-right",
            min_covar=FLOOR,
            max_iter=ROUNDS,
            tol=0,
        )
        scores.append(model.fit(digits.of(fold.train, digit)).scores(spoken))
    return np.argmax(scores, axis=0)
