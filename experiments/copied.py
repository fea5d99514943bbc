"""How many answers copy what a recogniser does: word models trained on the labels that another one gives.

The owner has models of digits (FSDD) from the recordings of half of the speakers. A client has recordings
of the other half, without labels, asks for the word of some of them, and fits its own models to the
answers. The answer is one word, as `discreet ask` gives it. Told is how often client and owner agree on 300
other recordings of all speakers, how often each is right, and how often a client is right who had listened
instead of asking.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.fit import WordModels
from discreet.randomness import generator, seeded
from experiments.digits import read_digits, read_recordings
from experiments.places import write_table

__all__ = ["ANSWERS", "run"]

ANSWERS = (30, 100, 300, 1000)


def run(folder: Path, quick: bool) -> str:
    """A table of answers against agreement; quick: two numbers of answers."""
    digits, recordings = read_digits(folder), read_recordings(folder)[1]
    fold, speakers = digits.official, np.unique(digits.speakers)
    ours = np.isin(digits.speakers[fold.train], speakers[: len(speakers) // 2])
    said = digits.digits.astype(str)
    owner = _fit(recordings, said, fold.train[ours])
    pool = generator(seeded(0)).permutation(fold.train[~ours])
    tests = [recordings[at] for at in fold.test]
    told, owned = np.empty(len(said), dtype=object), owner.predict(tests)
    told[pool] = owner.predict([recordings[at] for at in pool])
    rows: list[dict[str, Any]] = []
    for count in ANSWERS[:2] if quick else ANSWERS:
        asked = pool[:count]
        listened = _fit(recordings, said, asked).predict(tests)
        copy = _fit(recordings, told, asked).predict(tests)
        rows.append(
            {
                "answers": count,
                "agrees with the owner": _percent(copy == owned),
                "right": _percent(copy == said[fold.test]),
                "right if it had listened": _percent(listened == said[fold.test]),
                "the owner is right": _percent(owned == said[fold.test]),
            }
        )
    note = "Digits (FSDD), diagonal covariances: models copied by asking, in percent of 300 recordings."
    return write_table("copied", rows, note)


def _fit(recordings: list[np.ndarray], words: np.ndarray, which: np.ndarray) -> WordModels:
    models = WordModels(epsilon=float("inf"), covariance_type="diag")
    return models.fit([recordings[at] for at in which], [str(words[at]) for at in which])


def _percent(right: np.ndarray) -> float:
    return 100 * float(np.mean(right))
