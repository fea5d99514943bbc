"""Tables 4.1 and 4.2 of paper 002 beside ours: which of ten digits was said, between two parties.

The published protocol is priced from its own operations, run here (`experiments.published_words`) at the
paper's key sizes and at those that are safe: 98 frames, 39 dimensions, 10 words of 5 states. Ours is a whole
run of two processes over mutual TLS, everything counted after the connection.

Then the digits of FSDD, official split: what the plain recogniser says, what the encrypted one says, and what
the published last step, a sum of logarithms where the logarithm of a sum is meant, would say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.ask import rehearse
from discreet.fit import WordModels
from experiments.digits import read_recordings
from experiments.places import write_table
from experiments.published_words import Job, encryptions, price, sum_of_logarithms

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.models.vocabulary import Vocabulary

__all__ = ["Spoken", "last_logarithms", "read_spoken", "run"]

PAPER = {256: (205.23, 79.47, 16.28), 512: (1944.27, 230.30, 107.35)}
"""Table 4.1: encrypting, log b for one word, the recursion for one word; in seconds."""

KEYS = {64: 15873.02, 128: 4694.84, 256: 828.50, 512: 119.92, 1024: 15.90, 2048: None, 3072: None}
"""Table 4.2: encryptions a second."""

SECURITY = {
    64: "none",
    128: "none",
    1024: "80 bits",
    256: "none",
    512: "none",
    2048: "112 bits",
    3072: "128 bits",
}
FRAMES, WORDS, MARGIN = 98, 10, 1.0


class Spoken:
    """Word models fitted to the training recordings, and the test recordings as features."""

    def __init__(self, vocabulary: Vocabulary, features: list[np.ndarray], digits: list[str]) -> None:
        self.vocabulary = vocabulary
        self.features = features
        self.digits = np.array(digits)
        self.scores = vocabulary.scores_of(features)

    @property
    def plain(self) -> np.ndarray:
        """What the plain recogniser says."""
        return np.array(self.vocabulary.words)[self.scores.argmax(axis=1)]

    @property
    def margins(self) -> np.ndarray:
        """By how many nats the best word leads."""
        ordered = np.sort(self.scores, axis=1)
        return ordered[:, -1] - ordered[:, -2]


def read_spoken(folder: Path, covariance_type: str = "full") -> Spoken:
    """Five states from left to right, 39 cepstra, plain training on the 2,700 recordings of the split."""
    rows, recordings = read_recordings(folder)
    train, test = (
        [i for i, row in enumerate(rows) if (row["split"] == "test") == held] for held in (False, True)
    )
    models = WordModels(5, epsilon=float("inf"), covariance_type=covariance_type)
    models.fit([recordings[i] for i in train], [rows[i]["digit"] for i in train])
    features = models.features([recordings[i] for i in test])
    return Spoken(models.vocabulary_, features, [rows[i]["digit"] for i in test])


def run(folder: Path, quick: bool) -> str:
    """Both tables; quick: two key sizes and a dozen recordings."""
    spoken = read_spoken(folder)
    times = write_table("keyword", _times(spoken, quick), _TIMES)
    keys = write_table("keyword_keys", _keys(quick), _KEYS)
    return "\n".join([times, keys, write_table("keyword_accuracy", _accuracy(spoken, quick), _ACCURACY)])


_TIMES = (
    "Which of ten words was said in 0.98 s (98 frames, 39 dimensions, 5 states, full covariances), in "
    "seconds for all ten words. Published: table 4.1 as printed (3.2 GHz Pentium 4), and the same protocol "
    "priced here from its operations (CPU time, one core, gmpy2; fully connected). Ours: two processes over "
    "mutual TLS, wall time."
)
_KEYS = (
    "Paillier encryptions a second by size of the key: table 4.2 as printed, the textbook's formula here, "
    "and ours with short exponents (one core, gmpy2). Ours asks for at least 2048 bits."
)
_ACCURACY = (
    "FSDD, official split: percent right, and how many answers differ from the plain recogniser's. "
    "Differences with a margin above 1 nat would be errors of the encrypted run."
)


def _times(spoken: Spoken, quick: bool) -> list[dict[str, Any]]:
    rows = [
        _row(f"paper, {size}-bit keys", SECURITY[size], encrypts, WORDS * scores, WORDS * recursion)
        for size, (encrypts, scores, recursion) in PAPER.items()
    ]
    for size in (256, 2048) if quick else (256, 512, 2048, 3072):
        took = price(Job(), size, 10 if quick else 40)
        rows.append(_row(f"published, here, {size}-bit keys", SECURITY[size], *took.values()))
    return rows + [
        _ours(spoken, topology, ahead) for topology in ("left-right", "full") for ahead in (False, True)
    ]


def _keys(quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for size in (256, 2048) if quick else KEYS:
        found = {name: float(value) for name, value in encryptions(size, 10 if quick else 60).items()}
        rows.append({"bits": size, "security": SECURITY[size], "paper": KEYS[size], **found})
    return rows


def _row(
    who: str, security: str, encrypts: float, scores: float, recursion: float, **more: Any
) -> dict[str, Any]:
    total = encrypts + scores + recursion
    phases = {"encrypt": float(encrypts), "log b": float(scores), "recursion": float(recursion)}
    return {"who": who, "security": security, **phases, "all": float(total), "MB": None} | more


def _ours(spoken: Spoken, topology: Any, ahead: bool) -> dict[str, Any]:
    """One word of 98 frames, made of a test recording's own frames."""
    features = np.resize(spoken.features[0], (FRAMES, spoken.vocabulary.dimension))
    answers = [
        rehearse(spoken.vocabulary, features, topology=topology, ahead=ahead, prepared=True) for _ in range(3)
    ]
    best = min(answers, key=lambda answer: answer.online)
    phases = best.phases
    scores = phases.get("scores", 0.0)
    who = f"ours, {topology}" + (", set up ahead: after the recording is there" if ahead else "")
    row = _row(who, "128 bits", 0.0, scores, best.online - scores, MB=best.bytes / 1e6)
    return row | {"encrypt": None}


def _accuracy(spoken: Spoken, quick: bool) -> list[dict[str, Any]]:
    """Plain, encrypted, and with the published mistake."""
    chosen = np.arange(0, len(spoken.features), 25 if quick else 1)
    answer = rehearse(spoken.vocabulary, [spoken.features[i] for i in chosen], prepared=True, padding=8)
    encrypted = np.array(answer.words)
    wrong = sum_of_logarithms(last_logarithms(spoken, chosen)).argmax(axis=1)
    mistaken = np.array(spoken.vocabulary.words)[wrong]
    truth, plain, margins = spoken.digits[chosen], spoken.plain[chosen], spoken.margins[chosen]
    close = int((margins < MARGIN).sum())

    def row(who: str, said: np.ndarray) -> dict[str, Any]:
        other = said != plain
        return {
            "who": who,
            "recordings": len(chosen),
            "right": 100 * float((said == truth).mean()),
            "differ from plain": int(other.sum()),
            "of these, margin above 1 nat": int((other & (margins >= MARGIN)).sum()),
            "recordings with less": close,
        }

    return [row("plain", plain), row("encrypted", encrypted), row("sum of logarithms (published)", mistaken)]


def last_logarithms(spoken: Spoken, chosen: np.ndarray) -> np.ndarray:
    """log alpha_T(j) of every word's states, (recordings, words, states); unreachable states at -1e9."""
    out = np.empty((len(chosen), len(spoken.vocabulary.words), spoken.vocabulary.states))
    with np.errstate(divide="ignore"):
        for column, model in enumerate(spoken.vocabulary.models):
            arcs, start = np.log(model.chain.transition), np.log(model.chain.start)
            for place, number in enumerate(chosen):
                scores = model.emission.log_density_of(spoken.features[number]).T
                state = start + scores[0]
                for frame in scores[1:]:
                    state = np.logaddexp.reduce(state[:, None] + arcs, axis=0) + frame
                out[place, column] = state
    return np.maximum(out, -1e9)
