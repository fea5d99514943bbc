"""Words that do not exist, said by voices of a computer: noise, privacy, and what a voice's few words save.

Nobody tuned anything on them: settings are the defaults. Voices that are tested were not trained on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.fit import WordModels
from discreet.jobs.tones import melody, speak
from experiments.places import write_table

__all__ = ["run", "spoken_by"]

DELTA, LONGEST = 1e-5, 80
FITS = 3
RECIPE: dict[str, Any] = {
    "covariance_type": "tied",
    "deltas": 0,
    "normalise": "mean-variance",
    "min_covar": 0.05 / 16,
    "max_frames": LONGEST,
}
"""What private fits do, for a plain one to be compared with."""


def run(folder: Path, quick: bool) -> str:
    """Two tables: plain models under noise, and private ones of many voices."""
    levels = (10.0, -10.0) if quick else (10.0, 0.0, -5.0, -10.0)
    words, takes = (5, 3) if quick else (20, 10)
    rows = [_noisy(kind, levels, words, takes) for kind in ("full", "diag")]
    loud = write_table(
        "melodies", rows, f"{words} made-up words: percent recognised by how far noise lies below."
    )
    voices, fits = (40, 1) if quick else (200, FITS)
    note = f"Ten made-up words, {voices} voices, private (delta {DELTA:g}): percent, mean of {fits} fits."
    return loud + "\n" + write_table("melodies_private", _hidden(voices, fits, quick), note)


def spoken_by(
    voices: int, words: int, takes: int, noise: float, seed: int
) -> tuple[list[Any], list[str], list[str]]:
    """Samples, words and voices, the takes of a word one after the other."""
    draw = np.random.default_rng(seed)
    ways = [
        (np.exp(draw.normal(0, 0.1)), np.exp(draw.normal(0, 0.12)), draw.uniform(0.3, 0.8))
        for _ in range(voices)
    ]
    told = [(word, voice) for word in range(words) for voice in range(voices) for _ in range(takes)]
    samples = [speak(melody(word), *ways[voice], noise, draw) for word, voice in told]
    return samples, [f"w{word:02d}" for word, _ in told], [f"v{voice}" for _, voice in told]


def _noisy(kind: str, levels: tuple[float, ...], words: int, takes: int) -> dict[str, Any]:
    row: dict[str, Any] = {"covariances": kind}
    for level in levels:
        heard = spoken_by(6, words, takes, level, 1)
        models = WordModels(epsilon=float("inf"), covariance_type=kind).fit(*heard[:2])
        row[f"{level:g} dB"] = 100 * models.score(*spoken_by(6, words, 5, level, 2)[:2])
    return row


def _hidden(voices: int, fits: int, quick: bool) -> list[dict[str, Any]]:
    heard, others = spoken_by(voices, 10, 2, 10.0, 1), spoken_by(20, 10, 2, 10.0, 2)
    few = [at for at in range(len(heard[0])) if (int(heard[1][at][1:]) - int(heard[2][at][1:])) % 10 < 2]
    some: Any = tuple([part[at] for at in few] for part in heard)
    epsilons = (8.0,) if quick else (1.0, 4.0, 8.0, 16.0)
    exact = 100 * WordModels(epsilon=float("inf"), **RECIPE).fit(*heard[:2]).score(*others[:2])
    rows = []
    for name, data, more in (
        ("recordings", heard, {}),
        ("voices, ten words each", heard, {"person": "speaker"}),
        ("voices, two words each", some, {"person": "speaker"}),
        ("the same, words_per_person=2", some, {"person": "speaker", "words_per_person": 2}),
    ):
        row: dict[str, Any] = {"protects": name}
        for epsilon in epsilons:
            row[f"epsilon {epsilon:g}"] = float(
                np.mean([_once(data, others, epsilon, more) for _ in range(fits)])
            )
        rows.append(row | {"plain": exact if data is heard else None})
    return rows


def _once(heard: Any, others: Any, epsilon: float, more: dict[str, Any]) -> float:
    words = sorted(set(heard[1]))
    models = WordModels(epsilon=epsilon, delta=DELTA, vocabulary=words, max_frames=LONGEST, **more)
    models.fit(heard[0], heard[1], heard[2] if more else None)
    return 100 * models.score(*others[:2])
