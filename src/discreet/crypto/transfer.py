"""Oblivious transfer from public keys: one party gets one of two keys, the other never learns which.

A few hundred of these start an extension (`discreet.crypto.extension`), which makes millions.

**Protocol** (Masny and Rindal, "Endemic oblivious transfer", CCS 2019, over ristretto255), for choice c:

    sender      S = y G                                        one point for all transfers
    receiver    R_(1-c) uniform,  R_c = x G - H_c(R_(1-c))     two points a transfer
    keys        k_j = KDF(j, y (R_j + H_j(R_(1-j)))),  and the receiver knows  k_c = KDF(c, x S)

Both points are uniform whatever c is, so the sender learns nothing about the choice, even with unlimited
computing power. For the other key the receiver would need y times a point that the hash H fixes after R: the
gap Diffie-Hellman problem. H_j hashes session, number of the transfer and j to the group; KDF is SHA-256 of
all of these, S and both R.

**Assumes** gap Diffie-Hellman in ristretto255 (126 bits) and random oracles. Secure against malicious
parties. *Endemic*: a party that cheats may choose the key it ends up with, which extensions allow for.
**Not protected.** libsodium multiplies points in constant time, but Python chooses between two points by an
index, and lengths of integers are not hidden from somebody who shares the processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.crypto.block import derive
from discreet.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.randomness import Bits

__all__ = ["POINT", "Chooser", "Offer", "check_point"]

POINT = 32
"""Bytes of a point."""

_IDENTITY = bytes(POINT)


@dataclass(frozen=True)
class Offer:
    """The sender's end: a secret scalar and the point that is sent."""

    secret: bytes
    point: bytes

    @staticmethod
    def make(bits: Bits) -> Offer:
        """A fresh offer. Use it for one session."""
        secret = _scalar(bits)
        return Offer(secret, _times_generator(secret))

    def __repr__(self) -> str:
        return "Offer(...)"

    def keys(self, points: bytes, session: bytes) -> list[tuple[bytes, bytes]]:
        """Both keys of every transfer, 32 bytes each.

        Raises `ProtocolError` if what came is not a list of valid points.
        """
        if not points or len(points) % (2 * POINT):
            raise ProtocolError(
                "points of a transfer have the wrong length", got=len(points), wanted="64 bytes each"
            )
        pairs = [points[at : at + 2 * POINT] for at in range(0, len(points), 2 * POINT)]
        return [self._pair(index, pair, session) for index, pair in enumerate(pairs)]

    def _pair(self, index: int, pair: bytes, session: bytes) -> tuple[bytes, bytes]:
        offered = check_point(pair[:POINT]), check_point(pair[POINT:])
        first, second = (
            _key(
                session,
                index,
                side,
                self.point,
                pair,
                _times(self.secret, _unblind(session, index, side, offered)),
            )
            for side in (0, 1)
        )
        return first, second


class Chooser:
    """The receiver's end: choices, the points that are sent, and the chosen keys."""

    def __init__(self, choices: Sequence[int], offered: bytes, session: bytes, bits: Bits) -> None:
        """Answer the sender's point.

        Raises `ProtocolError` if it is not a valid point.
        """
        point = check_point(offered)
        made = [_choose(session, index, int(choice), bits) for index, choice in enumerate(choices)]
        self.points = b"".join(pair for _, pair in made)
        self.keys = [
            _key(session, index, int(choice), point, pair, _times(scalar, point))
            for index, (choice, (scalar, pair)) in enumerate(zip(choices, made, strict=True))
        ]

    def __repr__(self) -> str:
        return f"Chooser({len(self.keys)} transfers)"


def check_point(point: bytes) -> bytes:
    """The point itself, if it is one of the group and not the identity; a `ProtocolError` otherwise."""
    from rbcl import crypto_core_ristretto255_is_valid_point as valid

    if len(point) != POINT or point == _IDENTITY or not valid(point):
        raise ProtocolError(
            "what came is not a point of the group", wanted="a ristretto255 point, not the identity"
        )
    return point


def _choose(session: bytes, index: int, choice: int, bits: Bits) -> tuple[bytes, bytes]:
    """A scalar x, and the two points that say nothing about the choice."""
    from rbcl import crypto_core_ristretto255_from_hash as to_group
    from rbcl import crypto_core_ristretto255_sub as minus

    scalar = _scalar(bits)
    other: bytes = to_group(bits.bytes(64))
    mine: bytes = minus(_times_generator(scalar), _blind(session, index, choice, other))
    return scalar, (mine + other, other + mine)[choice]


def _unblind(session: bytes, index: int, side: int, offered: tuple[bytes, bytes]) -> bytes:
    from rbcl import crypto_core_ristretto255_add as plus

    total: bytes = plus(offered[side], _blind(session, index, side, offered[1 - side]))
    return check_point(total)


def _blind(session: bytes, index: int, side: int, other: bytes) -> bytes:
    """H_side: session, number and the other point hashed to the group."""
    from rbcl import crypto_core_ristretto255_from_hash as to_group

    told = (session, index.to_bytes(8, "little"), bytes([side]), other)
    wide = derive(b"discreet/1/transfer/group/a", *told) + derive(b"discreet/1/transfer/group/b", *told)
    point: bytes = to_group(wide)
    return point


def _key(session: bytes, index: int, side: int, offered: bytes, pair: bytes, shared: bytes) -> bytes:
    number = index.to_bytes(8, "little")
    return derive(b"discreet/1/transfer/key", session, number, bytes([side]), offered, pair, shared)


def _scalar(bits: Bits) -> bytes:
    from rbcl import crypto_core_ristretto255_scalar_reduce as reduce

    scalar: bytes = reduce(bits.bytes(64))
    return scalar


def _times_generator(scalar: bytes) -> bytes:
    from rbcl import crypto_scalarmult_ristretto255_base as times

    point: bytes = times(scalar)
    return point


def _times(scalar: bytes, point: bytes) -> bytes:
    from rbcl import crypto_scalarmult_ristretto255 as times

    product: bytes = times(scalar, point)
    return product
