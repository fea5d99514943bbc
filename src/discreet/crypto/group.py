"""Many points of ristretto255 at once: texts to points, and points times a secret scalar.

One multiplication takes some 35 microseconds in libsodium, which lets other threads of Python run
meanwhile; so lists are cut into pieces for as many threads as there are processors.

**Assumes** what the caller builds on: decisional or gap Diffie-Hellman in ristretto255 (126 bits), SHA-512
as a random oracle. The group has prime order, so there are no small subgroups; the identity is refused.
**Not protected.** libsodium multiplies in constant time; the number of points is not hidden.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from discreet.crypto.transfer import POINT
from discreet.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from discreet.randomness import Bits

__all__ = ["any_points", "hash_points", "inverse", "raise_points", "scalar"]

_PIECE = 256
_THREADS = min(8, os.cpu_count() or 1)


def scalar(bits: Bits) -> bytes:
    """A uniform secret scalar (zero with probability 2**-252)."""
    from rbcl import crypto_core_ristretto255_scalar_reduce as reduce

    drawn: bytes = reduce(bits.bytes(64))
    return drawn


def inverse(secret: bytes) -> bytes:
    """The scalar that undoes another one: s (1/s) P = P."""
    from rbcl import crypto_core_ristretto255_scalar_invert as invert

    undone: bytes = invert(secret)
    return undone


def hash_points(prefix: bytes, texts: Sequence[bytes]) -> list[bytes]:
    """Texts as points: SHA-512 of prefix and text, mapped to the group by Elligator (RFC 9496, 4.3.4).

    Give a prefix of a fixed length within one use, or two pairs of prefix and text might be one.
    """
    return _each(lambda text: _to_group(hashlib.sha512(prefix + text).digest()), texts)


def any_points(count: int, bits: Bits) -> list[bytes]:
    """Uniform points of which nobody knows a logarithm."""
    return [_to_group(bits.bytes(64)) for _ in range(count)]


def raise_points(secret: bytes, points: Sequence[bytes]) -> list[bytes]:
    """Every point times the scalar.

    Raises `ProtocolError` if one of them is not a point of the group, or is the identity.
    """
    return _each(lambda point: _times(secret, point), points)


def _times(secret: bytes, point: bytes) -> bytes:
    """One product. libsodium refuses encodings that are not canonical, and the identity as a result."""
    from rbcl import crypto_scalarmult_ristretto255 as times

    if len(point) == POINT:
        try:
            product: bytes = times(secret, point)
        except RuntimeError:
            pass
        else:
            return product
    raise ProtocolError(
        "what came is not a point of the group", wanted="a ristretto255 point, not the identity"
    )


def _to_group(digest: bytes) -> bytes:
    from rbcl import crypto_core_ristretto255_from_hash as to_group

    point: bytes = to_group(digest)
    return point


def _each(work: Callable[[bytes], bytes], items: Sequence[bytes]) -> list[bytes]:
    """The work done on each item, in order, by several threads if there are many items."""
    if len(items) < 2 * _PIECE or _THREADS < 2:
        return [work(item) for item in items]
    pieces = [items[at : at + _PIECE] for at in range(0, len(items), _PIECE)]

    def run(piece: Iterable[bytes]) -> list[bytes]:
        return [work(item) for item in piece]

    with ThreadPoolExecutor(_THREADS) as pool:
        return [result for part in pool.map(run, pieces) for result in part]
