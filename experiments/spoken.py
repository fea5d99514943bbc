"""Spoken digits (FSDD) by `WordModels`: plain models of every kind, and private ones against epsilon.

The recogniser is the one that people get: recordings in, words out. What differs from `experiments.digits`
are the features, which lie in a declared range, [-1, 1] in unit coordinates, and what differs from
`experiments.private_digits` is that all words have one budget: per speaker, noise grows with the root of the
number of words and not with that number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.fit import WordModels
from experiments.digits import Digits, Fold, read_digits, read_recordings
from experiments.places import write_table

__all__ = ["PLAIN", "run"]

DELTA, LONGEST, WORDS = 1e-5, 100, [str(digit) for digit in range(10)]
PLAIN: dict[str, dict[str, Any]] = {
    "39, full": {},
    "39, full, every step possible": {"topology": "full", "random_state": 0},
    "39, diagonal": {"covariance_type": "diag"},
    "39, mixtures of 4 diagonal": {"covariance_type": "diag", "n_mix": 4, "random_state": 0},
    "26, full": {"deltas": 1},
    "13, full": {"deltas": 0},
    "symbols, codebook of 64": {"codebook": 64, "random_state": 0},
    "symbols, codebook of 256": {"codebook": 256, "random_state": 0},
}
LEFT_OUT = ("39, full", "39, diagonal", "39, mixtures of 4 diagonal")
PRIVATE = ((None, (1.0, 2.0, 4.0, 8.0, 16.0)), ("speaker", (8.0, 64.0)))
FITS = 3


def run(folder: Path, quick: bool) -> str:
    """Percent of recordings recognised; quick: two kinds of plain models and one private, official split."""
    digits, recordings = read_digits(folder), read_recordings(folder)[1]
    kinds = LEFT_OUT[:2] if quick else tuple(PLAIN)
    rows = [_plain(digits, recordings, kind, quick) for kind in kinds]
    plain = write_table(
        "spoken", rows, "Spoken digits (FSDD), plain word models: percent of recordings recognised."
    )
    asked = ((None, (8.0,)),) if quick else PRIVATE
    hidden = [
        _private(digits, recordings, unit, epsilon, 1 if quick else FITS)
        for unit, many in asked
        for epsilon in many
    ]
    fits = 1 if quick else FITS
    note = f"The same, private (delta {DELTA:g}), official split: mean, least and most of {fits} fits."
    return plain + "\n" + write_table("spoken_private", hidden, note)


def _plain(digits: Digits, recordings: list[np.ndarray], kind: str, quick: bool) -> dict[str, Any]:
    fold = digits.official
    models = WordModels(epsilon=float("inf"), **PLAIN[kind])
    scores, right = _scores(models, digits, recordings, fold)
    ordered = np.sort(scores, axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    best = models.predict(_of(recordings, fold.test), "viterbi") == _said(digits, fold.test)
    row: dict[str, Any] = {
        "models": kind,
        "official": 100 * float(right.mean()),
        "best path": 100 * float(best.mean()),
        "margins below 1 nat": int((margins < 1).sum()),
        "smallest margin": float(margins.min()),
    }
    if not quick:
        row["one speaker left out"] = _left_out(digits, recordings, kind) if kind in LEFT_OUT else None
    return row


def _left_out(digits: Digits, recordings: list[np.ndarray], kind: str) -> float:
    models = WordModels(epsilon=float("inf"), **PLAIN[kind])
    folds = digits.leave_one_speaker_out
    return 100 * float(
        np.concatenate([_scores(models, digits, recordings, fold)[1] for fold in folds]).mean()
    )


def _private(
    digits: Digits, recordings: list[np.ndarray], unit: str | None, epsilon: float, fits: int
) -> dict[str, Any]:
    fold, found = digits.official, []
    for _ in range(fits):
        models = WordModels(epsilon=epsilon, delta=DELTA, vocabulary=WORDS, max_frames=LONGEST, person=unit)
        found.append(100 * float(_scores(models, digits, recordings, fold)[1].mean()))
    return {
        "protects": "recordings" if unit is None else "6 speakers",
        "epsilon": epsilon,
        "mean": float(np.mean(found)),
        "least": min(found),
        "most": max(found),
    }


def _scores(
    models: WordModels, digits: Digits, recordings: list[np.ndarray], fold: Fold
) -> tuple[np.ndarray, np.ndarray]:
    """The scores of the recordings of a fold, and which of them are recognised."""
    who = digits.speakers[fold.train] if models.person is not None else None
    models.fit(_of(recordings, fold.train), _said(digits, fold.train), who)
    scores = models.scores(_of(recordings, fold.test))
    return scores, np.array(models.vocabulary_.words)[scores.argmax(axis=1)] == _said(digits, fold.test)


def _of(recordings: list[np.ndarray], which: np.ndarray) -> list[np.ndarray]:
    return [recordings[at] for at in which]


def _said(digits: Digits, which: np.ndarray) -> np.ndarray:
    return digits.digits[which].astype(str)
