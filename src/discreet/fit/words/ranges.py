"""Ranges and codebooks that a plain fit finds in its recordings. **Reveals** them: they are not private."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, ParameterError
from discreet.fit.words.request import PLAIN_REACH
from discreet.speech.front import Front, Range, Sound
from discreet.speech.sound import read_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.fit.words.request import Request

__all__ = ["find_front", "find_range"]

_LEAST_SPREAD = 1e-6
_MOST_ROWS = 50_000  # rows that k-means looks at


def find_front(wanted: Request, recordings: Sequence[Any]) -> Front:
    """The front of a plain fit: declared parts as they are, the others out of the recordings."""
    sound = None
    if wanted.input == "sound":
        normalise: Any = wanted.normalise
        sound = Sound(
            wanted.rate, wanted.ceps, int(wanted.deltas or 0), normalise, bool(wanted.energy), wanted.depth
        )
    measured = [_measure(sound, recording) for recording in recordings]
    if len({rows.shape[1] for rows in measured}) > 1:
        raise DataError("the recordings have other numbers of columns", wanted="the same for all")
    rows = np.concatenate(measured)
    span = find_range(rows)
    if wanted.bounds is not None:
        from discreet.domain import declare_region

        region = declare_region(rows.shape[1], bounds=wanted.bounds)
        span = Range(tuple(region.center.tolist()), tuple(region.scale.tolist()))
    book: tuple[tuple[float, ...], ...] = ()
    if wanted.codebook is not None:
        given = np.ndim(wanted.codebook) == 2
        found = np.asarray(wanted.codebook) if given else _cluster(wanted, span.clip(rows))
        book = tuple(tuple(row) for row in found.astype(np.float64).tolist())
    return Front(sound, span, book)


def find_range(rows: NDArray[np.float64]) -> Range:
    """Four standard deviations around the mean of each column, in numbers of two digits."""
    center, spread = rows.mean(axis=0), rows.std(axis=0)
    scale = [_rounded(PLAIN_REACH * max(float(one), _LEAST_SPREAD)) for one in spread]
    middle = [round(float(at) / step) * step for at, step in zip(center, np.array(scale) / 16, strict=True)]
    return Range(tuple(middle), tuple(scale))


def _rounded(value: float) -> float:
    """Up to two digits."""
    digits = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / digits) * digits:.2g}")


def _measure(sound: Sound | None, recording: Any) -> NDArray[np.float64]:
    if sound is not None:
        return sound.measure(read_one(recording, sound.rate))
    rows = np.asarray(recording)
    if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "fiu" or not np.isfinite(rows).all():
        raise DataError("a recording is not rows of finite numbers", wanted="(frames, columns)")
    return rows.astype(np.float64)


def _cluster(wanted: Request, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """As many centres as codewords are wanted, by k-means."""
    from sklearn.cluster import KMeans

    count = int(wanted.codebook)
    if len(unit) < count:
        raise ParameterError(
            "there are fewer frames than codewords", got=count, wanted="at least one frame each"
        )
    seed = int(wanted.bits.integers(0, 2**31, 1)[0])
    learner: Any = KMeans(count, n_init=1, random_state=seed)  # pyright: ignore[reportArgumentType]
    learner.fit(unit[:: max(1, len(unit) // _MOST_ROWS)])
    return np.clip(np.asarray(learner.cluster_centers_), -1, 1)
