"""Whether words look uniform: a chi-square that a right protocol fails once in a thousand million runs."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc


def assert_uniform(words, top: float, cells: int = 32) -> None:
    fractions = np.asarray(words).ravel().astype(np.float64) / top
    assert fractions.size >= 5 * cells
    counts, _ = np.histogram(fractions, bins=cells, range=(0.0, 1.0))
    expected = fractions.size / cells
    assert chdtrc(cells - 1, ((counts - expected) ** 2 / expected).sum()) > 1e-9


def bits_of(value):
    """The bits of bytes or of an array, as zeros and ones."""
    raw = value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes()
    return np.unpackbits(np.frombuffer(raw, dtype=np.uint8))
