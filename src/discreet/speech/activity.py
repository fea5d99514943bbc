"""Which frames of a recording carry speech, by their energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.speech.frames import check_signal, frame_count, in_frames, pieces

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["voiced"]


def voiced(samples: ArrayLike, rate: int, *, depth: float = 30.0) -> NDArray[np.bool_]:
    """Mark the frames whose energy is less than ``depth`` decibels below that of the loudest frame.

    The frames are those of `cepstra`, their energy is the variance of their samples. Digital silence is
    nowhere voiced; otherwise at least one frame is. A loud click hides speech that is much softer.
    """
    if not 0 < depth < np.inf:
        raise ParameterError(
            "the depth of the activity mask is no loudness", got=depth, wanted="decibels > 0"
        )
    signal = check_signal(samples, rate)
    energies = np.empty(frame_count(signal.size, rate))
    for first, piece in pieces(signal, rate):
        found = in_frames(piece, rate).var(axis=1)
        energies[first : first + len(found)] = found
    return energies > energies.max() * 10 ** (-depth / 10)
