"""What tests of protocols on shares need: sharing in the clear, and a look at what a party saw."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc

from discreet.errors import DiscreetError


def split(values, width, seed=0):
    """Additive shares modulo 2**width: uniform words and the rest."""
    mask = np.uint64(2**width - 1)
    words = np.frombuffer(np.random.default_rng(seed).bytes(8 * values.size), dtype=np.uint64)
    first = words.reshape(values.shape) & mask
    return first, (values.astype(np.int64).view(np.uint64) - first) & mask


def joined(first, second, width, *, signed=True):
    """The values that shares stand for."""
    words = (first + second) & np.uint64(2**width - 1)
    if not signed:
        return words
    spare = 64 - width
    return (words << np.uint64(spare)).view(np.int64) >> np.int64(spare)


def is_uniform(raw, least=1e-8):
    """Whether bytes pass a chi-square test that a fair source fails with probability ``least``."""
    counts = np.bincount(np.frombuffer(raw, dtype=np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert expected > 5, "too few bytes to judge"
    return chdtrc(255, float(((counts - expected) ** 2 / expected).sum())) > least


def seen(transcript, party, skip=("point", "points")):
    """The bytes of everything a party received, but points of the group, which are not uniform as bytes."""
    return b"".join(
        value if isinstance(value, bytes) else value.tobytes()
        for record in transcript.seen_by(party)
        for key, value in record.arrays.items()
        if key not in skip
    )


def refused_at_once(role):
    """Run a role to its first message; what it raises before that."""
    try:
        next(role)
    except DiscreetError as refusal:
        return refusal
    role.close()
    return None
