"""A made-up vocabulary: words are melodies of tones, glides and bursts of noise. No recordings of anybody.

Words are made of the same few sounds, so that they can be mistaken for each other. Speakers differ in pitch,
tempo and tone colour, takes in the length of every sound and in loudness; noise lies over all of it. The same
seed gives the same files.
"""

from __future__ import annotations

import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.randomness import generator, seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.randomness import Generator

__all__ = ["NAMES", "Tones", "make_tones", "melody", "speak"]

NAMES = (
    *("alto", "brio", "coda", "duet", "echo", "forte", "gigue", "hymn", "intro", "jota"),
    *("kanon", "lento", "mezzo", "nona", "opus", "presto", "quint", "rondo", "solo", "tutti"),
)
"""What the words are called."""

RATE = 8000
_SECONDS = 0.13  # of a sound
_SOUNDS = (
    ("tone", 350.0, 350.0),
    ("tone", 620.0, 620.0),
    ("tone", 1050.0, 1050.0),
    ("tone", 380.0, 900.0),
    ("tone", 1250.0, 520.0),
    ("burst", 500.0, 1200.0),
    ("burst", 1800.0, 3200.0),
    ("tone", 210.0, 250.0),
)
_MOST = {"words": len(NAMES), "speakers": 100, "takes": 1000}


@dataclass(frozen=True)
class Tones:
    """Where the files lie, and what they are."""

    out: Path
    words: tuple[str, ...]
    speakers: int
    train: int
    test: int

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "out": str(self.out), "words": list(self.words), "simulated": True}


@dataclass(frozen=True)
class _Voice:
    pitch: float
    tempo: float
    bright: float


def make_tones(
    out: str,
    *,
    words: int = 10,
    speakers: int = 4,
    takes: int = 5,
    noise: float = 10.0,
    seed: int = 0,
    tell: Callable[[int, int], None] | None = None,
) -> Tones:
    """Write WAV files WORD_SPEAKER_TAKE.wav to ``out``/train, and the first take of each to ``out``/test.

    ``noise`` is how many decibels it lies below the sound.
    """
    for name, value in (("words", words), ("speakers", speakers), ("takes", takes)):
        if not (2 if name == "takes" else 1) <= value <= _MOST[name]:
            raise ParameterError(
                f"there are not as many {name}",
                got=value,
                wanted=f"{2 if name == 'takes' else 1} to {_MOST[name]}",
            )
    if not -20 <= noise <= 100:
        raise ParameterError(
            "the noise is no loudness", got=noise, wanted="-20 to 100 decibels below the sound"
        )
    folder = _empty(Path(out).expanduser())
    draw = generator(seeded(seed))
    voices = [_voice(draw) for _ in range(speakers)]
    for part in ("train", "test"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    done = 0
    for word in range(words):
        for speaker, voice in enumerate(voices):
            for take in range(takes):
                samples = speak(melody(word), voice.pitch, voice.tempo, voice.bright, noise, draw)
                place = folder / ("test" if take == 0 else "train")
                _write(place / f"{NAMES[word]}_s{speaker}_{take}.wav", samples)
                done += 1
        if tell is not None:
            tell(word + 1, words)
    return Tones(folder, NAMES[:words], speakers, done - words * speakers, words * speakers)


def melody(word: int) -> tuple[int, ...]:
    """Which sounds a word is made of: always the same, three or four, no sound twice in a row."""
    draw = generator(seeded(1000 + word))
    sounds = [int(draw.integers(len(_SOUNDS)))]
    while len(sounds) < 3 + word % 2:
        following = int(draw.integers(len(_SOUNDS)))
        if following != sounds[-1]:
            sounds.append(following)
    return tuple(sounds)


def speak(
    sounds: tuple[int, ...], pitch: float, tempo: float, bright: float, noise: float, draw: Generator
) -> NDArray[np.int16]:
    """One take: sounds one after the other, loud and long as it happens, under noise."""
    shift = pitch * np.exp(draw.normal(0, 0.03))
    pieces = [_sound(sound, shift, tempo * np.exp(draw.normal(0, 0.2)), bright, draw) for sound in sounds]
    edge = np.zeros(int(RATE * draw.uniform(0.01, 0.05)))
    clean = np.concatenate([edge, *pieces, edge])
    loud = np.sqrt(np.mean(np.square(clean)))
    noisy = clean + draw.normal(0, loud * 10 ** (-noise / 20), len(clean))
    level = 32767 * draw.uniform(0.15, 0.5) / np.abs(noisy).max()
    return np.rint(level * noisy).astype(np.int16)


def _voice(draw: Generator) -> _Voice:
    return _Voice(
        float(np.exp(draw.normal(0, 0.1))), float(np.exp(draw.normal(0, 0.12))), draw.uniform(0.3, 0.8)
    )


def _sound(sound: int, pitch: float, tempo: float, bright: float, draw: Generator) -> NDArray[np.float64]:
    """A tone with harmonics that moves from one pitch to another, or noise of a band."""
    kind, first, last = _SOUNDS[sound]
    count = max(int(RATE * _SECONDS / tempo), 160)
    envelope = np.minimum(1, np.minimum(np.arange(count), np.arange(count)[::-1]) / 80)
    if kind == "burst":
        spectrum = np.fft.rfft(draw.normal(size=count))
        at = np.fft.rfftfreq(count, 1 / RATE)
        spectrum[(at < first * pitch) | (at > last * pitch)] = 0
        made = np.fft.irfft(spectrum, count)
    else:
        phase = 2 * np.pi * np.cumsum(np.linspace(first, last, count) * pitch) / RATE
        orders = [order for order in range(1, 9) if order * max(first, last) * pitch < 0.45 * RATE]
        made = sum((bright ** (order - 1) * np.sin(order * phase) for order in orders), np.zeros(count))
    return envelope * made / max(float(np.sqrt(np.mean(np.square(made)))), 1e-9)


def _empty(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(
            "the place for the tones is taken", got=str(folder), wanted="a new or empty folder"
        )
    return folder


def _write(path: Path, samples: NDArray[np.int16]) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
