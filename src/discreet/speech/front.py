"""The public recipe that turns what was recorded into the features that models of words are made for.

A front is a line of steps, each of which may be left out:

1. `Sound`: samples to cepstra, with slopes and normalisation (`discreet.speech.features`), and perhaps
   without the frames that carry no speech;
2. `Range`: every column is moved and scaled to unit coordinates and clipped to [-1, 1], so that widths of
   integers follow from what was declared, whatever is recorded;
3. a codebook: every frame becomes the number of its nearest codeword, in unit coordinates.

Without a sound it takes points or symbols as they are given. A front is part of the public model: it is
either declared, or derived from recordings by a plain fit, which hides nothing.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, ParameterError
from discreet.speech.activity import voiced
from discreet.speech.features import Normalise, cepstra
from discreet.speech.frames import RATES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Front", "Range", "Sound"]

_MOST = 4096  # codewords, columns
_SMALLEST, _LARGEST = 1e-9, 1e9  # widths and centres of columns


@dataclass(frozen=True)
class Sound:
    """How samples become cepstra; ``depth`` leaves out frames that many decibels below the loudest."""

    rate: int = 8000
    ceps: int = 13
    deltas: int = 2
    normalise: Normalise = "mean"
    energy: bool = False
    depth: float | None = None

    def __post_init__(self) -> None:
        if self.rate not in RATES:
            raise ParameterError(
                "there is no recipe for this sampling rate", got=self.rate, wanted="8000 or 16000"
            )
        if self.depth is not None and not (_is_number(self.depth) and 0 < self.depth < math.inf):
            raise ParameterError(
                "the depth of the activity mask is no loudness", got=self.depth, wanted="decibels > 0"
            )
        self.measure(np.zeros(self.rate // 20, dtype=np.int16))  # refuses what `cepstra` refuses

    @property
    def dimension(self) -> int:
        """Numbers a frame."""
        return self.ceps * (self.deltas + 1)

    def measure(self, samples: ArrayLike) -> NDArray[np.float64]:
        """The cepstra of one recording, (frames, dimension)."""
        rows = cepstra(
            samples,
            self.rate,
            ceps=self.ceps,
            deltas=self.deltas,
            normalise=self.normalise,
            energy=self.energy,
        )
        if self.depth is None:
            return rows
        loud = voiced(samples, self.rate, depth=self.depth)
        return rows[loud] if loud.any() else rows


@dataclass(frozen=True)
class Range:
    """Unit coordinates (x - center) / scale of every column, clipped to [-1, 1]."""

    center: tuple[float, ...]
    scale: tuple[float, ...]

    def __post_init__(self) -> None:
        good = (
            len(self.center) == len(self.scale)
            and 0 < len(self.scale) <= _MOST
            and all(_is_number(value) and abs(value) <= _LARGEST for value in self.center)
            and all(_is_number(value) and _SMALLEST <= value <= _LARGEST for value in self.scale)
        )
        if not good:
            raise ParameterError(
                "the range of the features is none",
                wanted=f"a center and a scale a column, scales from {_SMALLEST:g} to {_LARGEST:g}",
            )

    def clip(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows in unit coordinates."""
        unit = (rows - np.array(self.center)) / np.array(self.scale)
        return np.clip(unit, -1.0, 1.0, out=unit)


@dataclass(frozen=True)
class Front:
    """From samples, points or symbols to features; see above.

    ``symbols`` says how many symbols there are where symbols are given. ``codebook`` holds codewords in unit
    coordinates.
    """

    sound: Sound | None = None
    range: Range | None = None
    codebook: tuple[tuple[float, ...], ...] = ()
    symbols: int = 0

    def __post_init__(self) -> None:
        if (self.range is None) != (self.symbols > 0) or (self.symbols and (self.sound or self.codebook)):
            raise ParameterError(
                "a front has either points in a range or symbols", wanted="range=, or else symbols="
            )
        if self.symbols not in range(_MOST**2):
            raise ParameterError("there are too many symbols", got=self.symbols)
        if self.sound is not None and self.sound.dimension != self.columns:
            raise ParameterError(
                "the range does not fit the cepstra",
                got=self.columns,
                wanted=f"{self.sound.dimension} columns",
            )
        good = len(self.codebook) <= _MOST and all(
            len(word) == self.columns and all(_is_number(value) and abs(value) <= 1 for value in word)
            for word in self.codebook
        )
        if not good:
            raise ParameterError(
                "the codebook does not fit the range", wanted=f"rows of {self.columns} numbers in [-1, 1]"
            )

    @property
    def columns(self) -> int:
        """Numbers of a row before a codebook; 1 for symbols."""
        return 1 if self.range is None else len(self.range.scale)

    @property
    def alphabet(self) -> int:
        """How many symbols features are made of; 0 where they are points."""
        return len(self.codebook) or self.symbols

    @property
    def rate(self) -> int | None:
        """The sampling rate, where samples are taken."""
        return None if self.sound is None else self.sound.rate

    def measure(self, recorded: ArrayLike) -> NDArray[np.float64]:
        """What the range is applied to: cepstra of samples, or points as they are, (frames, columns)."""
        if self.sound is not None:
            return self.sound.measure(recorded)
        rows = np.asarray(recorded)
        if rows.ndim != 2 or rows.shape[1] != self.columns or not len(rows) or rows.dtype.kind not in "fiu":
            raise DataError(
                "a recording is not rows of so many numbers",
                wanted=f"(frames, {self.columns}), one frame at least",
            )
        if not np.isfinite(rows).all():
            raise DataError("a recording has values that are not finite")
        return rows.astype(np.float64)

    def prepare(self, recorded: ArrayLike) -> NDArray[Any]:
        """The features of a recording: (frames, columns) in [-1, 1], or symbols (frames,).

        They depend on the recording and on nothing else.
        """
        if self.range is None:
            return self._given(recorded)
        unit = self.range.clip(self.measure(recorded))
        return self.nearest(unit) if self.codebook else unit

    def nearest(self, unit: NDArray[np.float64]) -> NDArray[np.intp]:
        """The number of the codeword next to each row; the first of equally near ones."""
        words = np.array(self.codebook)
        chosen = np.empty(len(unit), dtype=np.intp)
        for start in range(0, len(unit), 1024):
            part = unit[start : start + 1024]
            chosen[start : start + 1024] = (np.square(words).sum(axis=1) - 2 * part @ words.T).argmin(axis=1)
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "sound": None if self.sound is None else asdict(self.sound),
            "range": None
            if self.range is None
            else {"center": list(self.range.center), "scale": list(self.range.scale)},
            "codebook": [list(word) for word in self.codebook],
            "symbols": self.symbols,
        }

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Front:
        """Read back what `to_dict` wrote; it may come from strangers."""
        try:
            if set(plain) != {"sound", "range", "codebook", "symbols"}:
                raise TypeError
            sound, span = plain["sound"], plain["range"]
            if sound is not None and set(sound) != {each.name for each in fields(Sound)}:
                raise TypeError
            codebook = tuple(tuple(word) for word in plain["codebook"])
            if type(plain["symbols"]) is not int:
                raise TypeError
            return Front(
                None if sound is None else Sound(**sound),
                None if span is None else Range(tuple(span["center"]), tuple(span["scale"])),
                codebook,
                plain["symbols"],
            )
        except (TypeError, KeyError, AttributeError, OverflowError):
            raise ParameterError("this is not a front", wanted="what to_dict wrote") from None

    def _given(self, recorded: ArrayLike) -> NDArray[np.intp]:
        rows = np.asarray(recorded)
        rows = rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
        good = rows.ndim == 1 and len(rows) and np.issubdtype(rows.dtype, np.integer)
        if not good or rows.min() < 0 or rows.max() >= self.symbols:
            raise DataError(
                "a recording is not made of symbols", wanted=f"whole numbers from 0 to {self.symbols - 1}"
            )
        return rows.astype(np.intp)


def _is_number(value: object) -> bool:
    if type(value) is bool:
        return False
    return isinstance(value, numbers.Real) and math.isfinite(value)
