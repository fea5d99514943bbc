"""A signal cut into frames: 25 ms long, one every 10 ms, none that reaches past the end.

Samples are taken on the scale of 16-bit integers, as Kaldi does: int16 as they are, floats in [-1, 1] times
32768. Long signals pass in pieces of a few hundred frames, so that the memory beside the result is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = ["RATES", "check_signal", "frame_count", "frame_length", "frame_shift", "in_frames", "pieces"]

RATES = (8000, 16000)
"""Samples per second for which the recipe is defined."""

PIECE_FRAMES = 256  # about half a megabyte of samples: stays in the cache of one core
_FULL_SCALE = 32768.0


def frame_length(rate: int) -> int:
    """Samples in a frame."""
    return int(rate) * 25 // 1000


def frame_shift(rate: int) -> int:
    """Samples from the start of a frame to the start of the next."""
    return int(rate) // 100


def frame_count(samples: int, rate: int) -> int:
    """How many frames a signal with this number of samples has: `1 + (samples - length) // shift`, or 0."""
    _check_rate(rate)
    return max(0, 1 + (samples - frame_length(rate)) // frame_shift(rate))


def check_signal(samples: ArrayLike, rate: int) -> NDArray[np.generic]:
    """The samples as an array of one dimension that holds at least one frame; values are checked later."""
    signal = np.asarray(samples)
    if signal.ndim != 1:
        raise DataError(
            "the signal is not one channel",
            got=f"an array with {signal.ndim} dimensions",
            wanted="one dimension",
            remedy="Choose one channel, or average them.",
        )
    if signal.dtype != np.int16 and not np.issubdtype(signal.dtype, np.floating):
        raise DataError(
            "the samples have a type without a known scale",
            got=str(signal.dtype),
            wanted="int16, or floats in [-1, 1]",
            remedy="Divide the samples by their full scale.",
        )
    if frame_count(signal.size, rate) == 0:
        raise DataError(
            "the signal is shorter than one frame",
            got=f"{signal.size} samples",
            wanted=f"at least {frame_length(rate)} (25 ms)",
            remedy="Leave this recording out.",
        )
    return signal


def pieces(signal: NDArray[np.generic], rate: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Pieces of a signal on the scale of int16, each with the number of its first frame."""
    length, shift = frame_length(rate), frame_shift(rate)
    count = frame_count(signal.size, rate)
    for first in range(0, count, PIECE_FRAMES):
        after = first + PIECE_FRAMES
        # the last piece runs to the end: what no frame reaches is checked too
        end = (after - 1) * shift + length if after < count else signal.size
        yield first, _scaled(signal[first * shift : end])


def in_frames(piece: NDArray[np.float64], rate: int) -> NDArray[np.float64]:
    """Every frame of a piece as a row, without a copy."""
    length, shift, step = frame_length(rate), frame_shift(rate), piece.itemsize
    count = frame_count(piece.size, rate)
    # checks that the frames lie within the piece, as sliding_window_view does, in a tenth of its time
    return np.ndarray((count, length), np.float64, buffer=piece.data, strides=(shift * step, step))


def _scaled(samples: NDArray[np.generic]) -> NDArray[np.float64]:
    if samples.dtype == np.int16:
        return samples.astype(np.float64)
    scaled = np.multiply(samples, _FULL_SCALE, dtype=np.float64)
    peak = max(float(scaled.max()), -float(scaled.min()))
    if not np.isfinite(peak):
        raise DataError("the signal has samples that are not finite", remedy="Repair the recording first.")
    if peak > _FULL_SCALE:
        raise DataError(
            "the signal leaves the range of its type",
            wanted="floats in [-1, 1]",
            remedy="Divide by the full scale (32768 for 16 bits), or clip what overshoots.",
        )
    return scaled


def _check_rate(rate: int) -> None:
    if rate not in RATES:
        raise ParameterError(
            "there is no recipe for this sampling rate",
            got=rate,
            wanted=f"one of {', '.join(map(str, RATES))}",
            remedy="Resample the recording first.",
        )
