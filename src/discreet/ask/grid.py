"""Recordings and shares on the grid: quadratic features, the jobs of a batch, and where its scores lie.

Frames of all recordings of a batch lie one after the other, and are scored in blocks of one size. So the
weights are transformed once for a length of block, whatever the number of recordings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.ask.model import trellis_of
from discreet.crypto.layout import Matrix
from discreet.protocols.opening import reduce_words
from discreet.protocols.scores import Scores
from discreet.protocols.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.ask.offer import Batch, Offer

__all__ = ["block_of", "dropped", "features_of", "fixed", "frames_of", "jobs", "laid", "verdict_of"]

_BLOCK = 128
"""Frames of one job of scores at most."""


def features_of(points: NDArray[np.float64], offer: Offer) -> NDArray[np.int64]:
    """Quadratic features on the grid, (frames, terms); points beyond the declared range go on its edge."""
    inside = np.clip(points, -1.0, 1.0)
    if offer.kind == "diag":
        squares = inside**2
    else:
        rows, columns = np.triu_indices(offer.dimension)
        squares = inside[:, rows] * inside[:, columns]
    return fixed(np.concatenate([inside, squares], axis=1), offer.precision.feature_bits)


def jobs(offer: Offer, batch: Batch) -> Iterator[Scores]:
    """The jobs of scores of a batch: blocks of frames, all of one size."""
    wide, ranges = offer.precision, offer.ranges
    size, columns = block_of(batch), offer.count * offer.states * offer.mixtures
    job = Scores(
        Matrix(size, wide.terms, columns),
        largest=2**wide.feature_bits,
        heaviest=_power(ranges.heaviest + wide.weight_bits),
        share_bits=wide.share_bits,
        constant=_power(ranges.constant + wide.feature_bits + wide.weight_bits),
        total=_power(ranges.total + wide.weight_bits) + wide.terms,
        exact=False,
    )
    for _ in range(0, batch.rows, size):
        yield job


def verdict_of(offer: Offer, batch: Batch) -> Verdict:
    """The plan of the garbled part of a batch."""
    trellis = trellis_of(offer, batch.frames)
    width = offer.precision.score_width
    return Verdict(trellis, width, batch.recordings, offer.mixtures, batch.least, 8 * offer.label_bytes)


def frames_of(recordings: Sequence[NDArray[Any]], batch: Batch) -> NDArray[Any]:
    """The frames of all recordings, each filled up with zeros to the agreed length.

    What is filled up is scored, and its steps are not taken.
    """
    rows = np.zeros((batch.recordings, batch.frames, *recordings[0].shape[1:]), dtype=recordings[0].dtype)
    for place, recording in zip(rows, recordings, strict=True):
        place[: len(recording)] = recording
    return rows.reshape(batch.rows, *rows.shape[2:])


def block_of(batch: Batch) -> int:
    """Frames of one job: as few jobs as can be, all alike."""
    return -(-batch.rows // -(-batch.rows // _BLOCK))


def dropped(shares: NDArray[np.uint64], offer: Offer) -> NDArray[np.uint64]:
    """Shares on the grid of the recursion."""
    return reduce_words(shares >> np.uint64(offer.precision.drop), offer.precision.score_width)


def laid(words: NDArray[np.uint64], offer: Offer, batch: Batch) -> NDArray[np.uint64]:
    """Words (frames of all recordings and perhaps more, columns) in the order of `Verdict.shape`."""
    apart = words[: batch.rows].reshape(batch.recordings, batch.frames, offer.count, -1)
    return np.ascontiguousarray(apart.transpose(1, 0, 2, 3)).reshape(batch.frames, -1, apart.shape[3])


def fixed(values: NDArray[np.float64], bits: int) -> NDArray[np.int64]:
    """Numbers as integers with so many bits after the point."""
    return np.round(values * 2.0**bits).astype(np.int64)


def _power(exponent: int) -> int:
    """2**exponent, at least 1."""
    return 2 ** max(0, exponent)
