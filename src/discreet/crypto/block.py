"""Blocks of 128 bits in arrays: a hash of blocks by fixed-key AES, and the transposition of bits.

An array of blocks has dtype uint64 and a last axis of two: the low and the high word.

**Hash.** With pi the AES-128 permutation under a *public* key,

    H(x, i) = pi(y) ^ y,   y = pi(x) ^ i

is the hash TMMO of Guo, Katz, Wang and Yu (S&P 2020), up to the public constant i, which saves an array. If
AES is an ideal cipher it is tweakable circular correlation robust: for a secret D with 127 uniform bits, all
H(x ^ D, i) and H(x ^ D, i) ^ D look uniform, as long as no pair (x, i) repeats and every tweak i serves a few
blocks only. That is what garbling and the extension of transfers need; it costs two calls of AES and no
schedule of keys.

**Security.** With q hash calls under one key, an attacker who evaluates AES p times has an advantage of the
order of p q / 2**127. `Tweaks` takes a new key every 4,096 positions, as Guo, Katz, Wang, Weng and Yu (Crypto
2020) advise for many gates and many sessions; so q stays near 2**14, and an attacker must spend some 2**112
calls of AES, however long the circuit is and however many sessions are attacked at once.

**Not protected.** `cryptography` runs AES in hardware where there is AES-NI, in constant time; elsewhere
OpenSSL's bitsliced code. Array operations do not branch on content.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "EPOCH",
    "Blocks",
    "Permutation",
    "Tweaks",
    "block_of",
    "derive",
    "hash_blocks",
    "pack_bits",
    "repeat_bits",
    "transpose_bits",
    "unpack_bits",
]

Blocks = NDArray[np.uint64]
"""An array of 128-bit blocks: the last axis holds the low and the high word."""

EPOCH = 4096
"""Positions that share one key."""

_STEPS = ((4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333), (1, 0x5555555555555555))


def derive(*parts: bytes) -> bytes:
    """32 bytes from parts, joined with their lengths so that no two lists give the same text (SHA-256)."""
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).digest()


def block_of(raw: bytes) -> Blocks:
    """16 bytes as one block."""
    return np.frombuffer(raw[:16], dtype="<u8").astype(np.uint64)


class Permutation:
    """AES-128 under a public key, on arrays of blocks."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()

    def apply(self, blocks: memoryview, into: memoryview) -> None:
        """Permute raw blocks; ``into`` must have 15 bytes to spare."""
        self._cipher.update_into(blocks, into)


class Tweaks:
    """Which key and which tweak each position of a stream gets; the same on both sides.

    Position j has tweak j mod 4096 under key nonce + j div 4096 (mod 2**128). The nonce is public, uniform
    and used for one purpose only, so keys of different purposes and sessions do not meet.
    """

    def __init__(self, nonce: bytes) -> None:
        self._nonce = int.from_bytes(nonce[:16], "little")

    def key(self, epoch: int) -> Permutation:
        """The permutation of one epoch."""
        return Permutation(((self._nonce + epoch) % 2**128).to_bytes(16, "little"))

    def pieces(self, first: int, count: int) -> Iterator[tuple[int, int, int]]:
        """Cut positions first .. first + count at the borders of epochs: (epoch, start, stop) in order."""
        position = first
        while position < first + count:
            stop = min(first + count, (position // EPOCH + 1) * EPOCH)
            yield position // EPOCH, position, stop
            position = stop


def hash_blocks(tweaks: Tweaks, blocks: Blocks, first: int, part: int | NDArray[Any] = 0) -> Blocks:
    """H of blocks (n, 2) at positions from ``first`` on; ``part`` tells hashes of one position apart."""
    parts = np.broadcast_to(np.asarray(part, dtype=np.uint64), len(blocks))
    count = len(blocks)
    result = np.empty((count, 2), dtype=np.uint64)
    size = min(count, EPOCH)
    space = [np.empty(16 * size + 15, dtype=np.uint8) for _ in range(2)]
    tweak = np.empty((size, 2), dtype=np.uint64)
    for epoch, start, stop in tweaks.pieces(first, count):
        aes, length = tweaks.key(epoch), stop - start
        tweak[:length, 1] = parts[start - first : stop - first]
        tweak[:length, 0] = np.arange(start % EPOCH, start % EPOCH + length, dtype=np.uint64)
        source = np.ascontiguousarray(blocks[start - first : stop - first])
        aes.apply(source.data.cast("B"), space[0].data)
        once = space[0][: 16 * length].view(np.uint64).reshape(length, 2)
        once ^= tweak[:length]
        aes.apply(space[0][: 16 * length].data, space[1].data)
        twice = space[1][: 16 * length].view(np.uint64).reshape(length, 2)
        np.bitwise_xor(once, twice, out=result[start - first : stop - first])
    return result


def repeat_bits(bits: NDArray[Any]) -> Blocks:
    """Bits as blocks of all zeros or all ones: (...) to (..., 2)."""
    masks = np.empty((*bits.shape, 2), dtype=np.uint64)
    np.negative(bits.astype(np.uint64), out=masks[..., 0])
    masks[..., 1] = masks[..., 0]
    return masks


def pack_bits(bits: NDArray[Any]) -> NDArray[np.uint8]:
    """Bits (n,) as bytes, the first bit lowest."""
    return np.packbits(np.asarray(bits, dtype=np.uint8), bitorder="little")


def unpack_bits(packed: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    """The first ``count`` bits of bytes, the lowest bit first."""
    return np.unpackbits(packed, count=count, bitorder="little")


def transpose_bits(columns: NDArray[np.uint8]) -> Blocks:
    """128 columns of packed bits (128, m / 8) as m blocks (m, 2): bit i of block j is bit j of column i.

    Three butterflies turn every 8 x 8 square of bits, all squares at once; then bytes change places. m must
    be a multiple of 64.
    """
    if columns.shape[0] != 128 or columns.shape[1] % 8 or columns.dtype != np.uint8:
        raise ParameterError("not a matrix of bits", got=columns.shape, wanted="(128, a multiple of 8) bytes")
    words = np.array(columns).view(np.uint64).reshape(16, 8, -1)
    for step, mask in _STEPS:
        paired = words.reshape(16, 4 // step, 2, step, -1)
        low, high = paired[:, :, 0], paired[:, :, 1]
        swap = low >> np.uint64(step)
        swap ^= high
        swap &= np.uint64(mask)
        high ^= swap
        swap <<= np.uint64(step)
        low ^= swap
    turned = words.view(np.uint8).reshape(16, 8, -1).transpose(2, 1, 0)
    return np.ascontiguousarray(turned).reshape(-1, 16).view(np.uint64)
