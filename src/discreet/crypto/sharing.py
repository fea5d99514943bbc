"""Shares: numbers split so that too few of the parts are uniform noise, and enough of them are the number.

**Additive**, modulo 2**64 or 2**l: all parts are needed. Parts but the last are uniform; any proper subset
of parts is uniform and independent of the number, whoever holds it: protection is perfect, no assumption.

**Shamir** (1979), in the field of 2**61 - 1 elements: any ``enough`` parts give the number, fewer are
uniform. Part i is f(i), i = 1, 2, ..., of a polynomial f of degree enough - 1 with f(0) the number and the
other coefficients uniform.

**Does not protect** against parties who pool enough parts, nor against a party that hands back another part
than it was given: additive shares then open to something else unseen; Shamir's are compared with each other
where more than enough are opened, and otherwise open to something else unseen, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto import field
from discreet.errors import CipherError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.randomness import Bits

__all__ = ["join", "join_shamir", "masks", "signed", "split", "split_shamir"]


def masks(shape: tuple[int, ...], bits: Bits, modulus_bits: int = 64) -> NDArray[np.uint64]:
    """Uniform integers modulo 2**modulus_bits."""
    count = int(np.prod(shape))
    drawn = np.frombuffer(bits.bytes(8 * count), dtype="<u8").reshape(shape)
    return drawn & _mask(modulus_bits)


def split(values: NDArray[np.uint64], parties: int, bits: Bits, modulus_bits: int = 64) -> NDArray[np.uint64]:
    """Additive shares (parties, ...) of integers modulo 2**modulus_bits."""
    if parties < 2:
        raise ParameterError("one party cannot share", got=parties, wanted="at least 2")
    drawn = masks((parties - 1, *values.shape), bits, modulus_bits)
    last = (values - drawn.sum(axis=0, dtype=np.uint64)) & _mask(modulus_bits)
    return np.concatenate([drawn, last[None]])


def join(shares: NDArray[np.uint64], modulus_bits: int = 64) -> NDArray[np.uint64]:
    """The integers that additive shares (parties, ...) stand for, modulo 2**modulus_bits."""
    return shares.sum(axis=0, dtype=np.uint64) & _mask(modulus_bits)


def signed(values: NDArray[np.uint64], modulus_bits: int = 64) -> NDArray[np.int64]:
    """Integers modulo 2**modulus_bits read as numbers with a sign."""
    drop = 64 - modulus_bits
    return (values << np.uint64(drop)).view(np.int64) >> np.int64(drop)


def split_shamir(secret: NDArray[np.uint64], enough: int, parties: int, bits: Bits) -> NDArray[np.uint64]:
    """Shamir shares (parties, ...) of field elements; any ``enough`` of them join."""
    if not 1 <= enough <= parties < field.PRIME:
        raise ParameterError("as many shares as are enough must exist", got=(enough, parties))
    field.checked(secret)
    coefficients = field.uniform((enough - 1, *secret.shape), bits)
    points = np.arange(1, parties + 1, dtype=np.uint64).reshape(-1, *[1] * secret.ndim)
    shares = np.zeros((parties, *secret.shape), dtype=np.uint64)
    for coefficient in coefficients[::-1]:
        shares = field.multiply(field.add(shares, coefficient), points)
    return field.add(shares, secret)


def join_shamir(shares: Mapping[int, NDArray[np.uint64]], enough: int) -> NDArray[np.uint64]:
    """The secret, from shares by point (1, 2, ...).

    Raises `CipherError` if there are too few, or if those beyond enough do not lie on the same polynomial.
    """
    points = sorted(shares)
    if len(points) < enough or (points and points[0] < 1):
        raise CipherError("there are too few shares to join", got=len(points), wanted=f"at least {enough}")
    stacked = field.checked(np.stack([shares[point] for point in points]))
    secret = _interpolated(stacked[:enough], points[:enough])
    for extra in range(enough, len(points)):
        chosen = [*range(1, enough), extra]
        if not np.array_equal(_interpolated(stacked[chosen], [points[i] for i in chosen]), secret):
            raise CipherError("shares contradict each other", remedy="A party handed out a wrong share.")
    return secret


def _interpolated(stacked: NDArray[np.uint64], points: list[int]) -> NDArray[np.uint64]:
    total = np.zeros(stacked.shape[1:], dtype=np.uint64)
    for weight, share in zip(field.weights_at_zero(points), stacked, strict=True):
        total = field.add(total, field.multiply(share, np.full(share.shape, weight, dtype=np.uint64)))
    return total


def _mask(modulus_bits: int) -> np.uint64:
    if not 1 <= modulus_bits <= 64:
        raise ParameterError("shares have 1 to 64 bits", got=modulus_bits, wanted="1 <= l <= 64")
    return np.uint64(2**modulus_bits - 1)
