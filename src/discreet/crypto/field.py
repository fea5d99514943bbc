"""Arithmetic modulo the prime 2**61 - 1 on whole arrays, for shares that must be divided.

Elements are uint64 below p = 2**61 - 1. With a = a1 2**32 + a0 and b alike (a1, b1 < 2**29),
    a b = a1 b1 2**64 + (a1 b0 + a0 b1) 2**32 + a0 b0,     2**61 = 1, 2**64 = 8 (mod p),
where no part passes 2**63 before it is folded. Running time does not depend on values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import CipherError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.randomness import Bits

    Elements = NDArray[np.uint64]

__all__ = [
    "LIMB",
    "PRIME",
    "add",
    "bytes_of",
    "checked",
    "elements",
    "multiply",
    "uniform",
    "weights_at_zero",
]

PRIME = 2**61 - 1
"""The modulus, a Mersenne prime."""

LIMB = 7
"""Bytes of a secret that go into one element."""

_P = np.uint64(PRIME)
_LOW = np.uint64(2**32 - 1)
_MIDDLE = np.uint64(2**29 - 1)


def add(left: Elements, right: Elements) -> Elements:
    """left + right."""
    return _folded(left + right)


def multiply(left: Elements, right: Elements) -> Elements:
    """left times right, element by element."""
    a1, a0 = left >> np.uint64(32), left & _LOW
    b1, b0 = right >> np.uint64(32), right & _LOW
    middle, low = a1 * b0 + a0 * b1, a0 * b0
    total = a1 * b1 * np.uint64(8) + (middle >> np.uint64(29)) + ((middle & _MIDDLE) << np.uint64(32))
    return _folded(total + (low >> np.uint64(61)) + (low & _P))


def _folded(total: Elements) -> Elements:
    """The remainder of numbers below 2**64."""
    once = (total & _P) + (total >> np.uint64(61))
    return once - _P * (once >= _P)


def uniform(shape: tuple[int, ...], bits: Bits) -> Elements:
    """Uniform elements."""
    return bits.integers(0, PRIME, shape).view(np.uint64)


def checked(received: Elements) -> Elements:
    """The array, if it holds elements. Raises `CipherError`."""
    if (received >= _P).any():
        raise CipherError("a share is not an element of the field", wanted="below 2**61 - 1")
    return received


def weights_at_zero(points: Sequence[int]) -> Elements:
    """w_i with f(0) = sum_i w_i f(points_i) for every polynomial of lower degree than points (Lagrange)."""
    weights: list[int] = []
    for point in points:
        top = bottom = 1
        for other in points:
            if other != point:
                top = top * -other % PRIME
                bottom = bottom * (point - other) % PRIME
        weights.append(top * pow(bottom, -1, PRIME) % PRIME)
    return np.array(weights, dtype=np.uint64)


def elements(secret: bytes) -> Elements:
    """Bytes as elements, seven bytes each."""
    limbs = range(0, len(secret), LIMB)
    return np.array([int.from_bytes(secret[i : i + LIMB], "little") for i in limbs], dtype=np.uint64)


def bytes_of(values: Elements, length: int) -> bytes:
    """The bytes again. Raises `CipherError` if these elements never came from bytes."""
    if (values >> np.uint64(8 * LIMB)).any():
        raise CipherError("shares do not join to the bytes of a secret")
    joined = b"".join(int(value).to_bytes(LIMB, "little") for value in values)
    if any(joined[length:]):
        raise CipherError("shares do not join to the bytes of a secret")
    return joined[:length]
