"""From 128 oblivious transfers to millions, by array operations.

After `Receiver.extend(choices)` and `Sender.extend(message)`, for every transfer j

    t_j = q_j ^ r_j D            t_j with the receiver, q_j with the sender,

where r_j is the receiver's choice bit and D the sender's secret *offset*, the same for all. These correlated
rows are the labels of a garbled circuit as they stand; `pads` hashes them to keys for messages of any kind.

**Protocol** (Ishai, Kilian, Nissim and Petrank 2003). The receiver holds 128 pairs of seeds, the sender one
seed of each pair, chosen by the bits of D (by `discreet.crypto.transfer`). Seeds are expanded to columns t^i
and u^i; the receiver sends t^i ^ u^i ^ r, the sender computes q^i = t^i ^ D_i r; both transpose the bits.

**Check.** A receiver that uses different r in different columns would learn bits of D. The check of Keller,
Orsini and Scholl 2015 as first published rests on a lemma that is false (Roy, "SoftSpokenOT", Crypto 2022,
appendix D). This is the corrected one: a random linear hash of **columns**,

    receiver sends  L(r)  and  SHA-256(L(t^1), ..., L(t^128));    sender compares with  L(q^i) ^ D_i L(r).

L is GHASH, the polynomial hash of AES-GCM over GF(2**128), under a key that hashes the session and all
columns (Fiat-Shamir). 128 more transfers with random choices, which nobody uses, hide r in L(r). A receiver
that cheats in e columns passes only by guessing e bits of D: with probability 2**-e, plus 2**-118 for every
hash it can afford to try. After a failed check the sender must not be used again, and refuses.

**Assumes** AES as a pseudo-random generator and, for `pads`, as an ideal cipher (`discreet.crypto.block`);
SHA-256 as a random oracle. Secure against malicious parties in that model; 128-bit offset, statistical error
below 2**-100.
**Costs** 16 bytes a transfer on the wire and some 0.1 microseconds on both sides together.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.crypto.block import (
    Blocks,
    Tweaks,
    block_of,
    derive,
    hash_blocks,
    pack_bits,
    transpose_bits,
    unpack_bits,
)
from discreet.errors import ParameterError, ProtocolError
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.randomness import Bits

__all__ = ["COLUMNS", "LOT", "Proof", "Receiver", "Rows", "Sender", "columns_shape"]

COLUMNS = 128
"""Transfers that an extension starts from."""

LOT = 2**16 - 128
"""Transfers of one message at most: its columns fill one mebibyte."""


@dataclass(frozen=True)
class Rows:
    """Correlated rows (n, 2), and the number of the first in the session."""

    first: int
    blocks: Blocks

    def __len__(self) -> int:
        return len(self.blocks)

    def __repr__(self) -> str:
        return f"Rows({len(self)} from {self.first})"


@dataclass(frozen=True)
class Proof:
    """What the receiver sends beside the columns: L(r), 16 bytes, and the digest of all L(t^i), 32 bytes."""

    fold: bytes
    digest: bytes


def columns_shape(count: int) -> tuple[int, int]:
    """The shape of the columns, in bytes, for so many transfers: padded, and 128 more to hide the choices."""
    if not 0 < count <= LOT:
        raise ParameterError("a lot of transfers has the wrong size", got=count, wanted=f"1 to {LOT}")
    return COLUMNS, (-(-count // 128) + 1) * 16


class Receiver:
    """The end with the choices."""

    def __init__(self, seeds: Sequence[tuple[bytes, bytes]], session: bytes) -> None:
        _check_seeds(len(seeds))
        self._streams = [
            (expand(zero, f"extension 1 column {index}"), expand(one, f"extension 1 column {index}"))
            for index, (zero, one) in enumerate(seeds)
        ]
        self._session = session
        self._tweaks = Tweaks(derive(b"discreet/1/extension/pads", session))
        self.choices = Tweaks(derive(b"discreet/1/extension/choices", session))
        self._next = 0

    def __repr__(self) -> str:
        return "Receiver(...)"

    def extend(self, choices: NDArray[Any], bits: Bits) -> tuple[NDArray[np.uint8], Proof, Rows]:
        """Columns and proof to send, and the rows t_j; ``choices`` are 0 or 1, at most `LOT` of them."""
        count = len(choices)
        shape = columns_shape(count)
        packed = np.frombuffer(bits.bytes(shape[1]), dtype=np.uint8).copy()
        packed[: -(-count // 8)] = _overlay(packed, choices)
        zero = _columns([pair[0] for pair in self._streams], shape[1])
        sent = _columns([pair[1] for pair in self._streams], shape[1])
        sent ^= zero
        sent ^= packed
        fold = _Fold(self._session, self._next, sent)
        proof = Proof(fold.linear(packed), derive(*fold.tags(zero)))
        return sent, proof, self._rows(zero, count)

    def _rows(self, columns: NDArray[np.uint8], count: int) -> Rows:
        rows = Rows(self._next, transpose_bits(columns)[:count])
        self._next += count
        return rows

    def pads(self, rows: Rows, width: int = 1) -> Blocks:
        """The receiver's keys: ``width`` blocks for every row, (n, width, 2)."""
        return _pads(self._tweaks, rows.blocks, rows.first, width)


class Sender:
    """The end with the offset and both keys."""

    def __init__(self, offset: bytes, seeds: Sequence[bytes], session: bytes) -> None:
        _check_seeds(len(seeds))
        self.offset = block_of(offset)
        self._signs = unpack_bits(np.frombuffer(offset[:16], dtype=np.uint8), COLUMNS)
        self._streams = [expand(seed, f"extension 1 column {index}") for index, seed in enumerate(seeds)]
        self._session = session
        self._tweaks = Tweaks(derive(b"discreet/1/extension/pads", session))
        self.choices = Tweaks(derive(b"discreet/1/extension/choices", session))
        self._next = 0
        self._spoilt = False

    def __repr__(self) -> str:
        return "Sender(...)"

    def extend(self, columns: NDArray[np.uint8], proof: Proof, count: int) -> Rows:
        """The rows q_j for what the receiver sent.

        Raises `ProtocolError` if the receiver cheated; the sender is then spoilt and refuses to go on,
        because one bit of its offset may be known.
        """
        if self._spoilt:
            raise ProtocolError(
                "this extension caught a cheating receiver", remedy="Start a new session, or do not."
            )
        shape = columns_shape(count)
        if columns.shape != shape or columns.dtype != np.uint8 or len(proof.fold) != 16:
            raise ProtocolError(
                "columns of a transfer have the wrong shape", got=columns.shape, wanted=str(shape)
            )
        mine = _columns(self._streams, shape[1])
        mine ^= np.negative(self._signs)[:, None] & columns
        self._check(columns, proof, mine)
        rows = Rows(self._next, transpose_bits(mine)[:count])
        self._next += count
        return rows

    def _check(self, columns: NDArray[np.uint8], proof: Proof, mine: NDArray[np.uint8]) -> None:
        fold = _Fold(self._session, self._next, columns)
        tags = np.frombuffer(b"".join(fold.tags(mine)), dtype=np.uint8).reshape(COLUMNS, 16)
        told = np.frombuffer(proof.fold, dtype=np.uint8)
        expected = tags ^ (np.negative(self._signs)[:, None] & told)
        if not hmac.compare_digest(derive(*(row.tobytes() for row in expected)), proof.digest):
            self._spoilt = True
            raise ProtocolError(
                "the receiver of oblivious transfers did not use the same choices in all columns",
                remedy="Do not trust this party: one who follows the protocol never fails this check.",
            )

    def pads(self, rows: Rows, width: int = 1) -> Blocks:
        """Both keys of every row: (2, n, width, 2)."""
        both = (rows.blocks, rows.blocks ^ self.offset)
        return np.stack([_pads(self._tweaks, blocks, rows.first, width) for blocks in both])


class _Fold:
    """L: GHASH under a key that hashes the session, the number of the lot's first row and all columns."""

    def __init__(self, session: bytes, first: int, columns: NDArray[np.uint8]) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        told = (session, first.to_bytes(8, "little"), columns.tobytes())
        self._cipher = AESGCM(derive(b"discreet/1/extension/check", *told)[:16])

    def tags(self, columns: NDArray[np.uint8]) -> list[bytes]:
        """L of every column, each shifted by the same constant (GCM adds a length and a mask)."""
        return [self._cipher.encrypt(bytes(12), b"", memoryview(column)) for column in columns]

    def linear(self, column: NDArray[np.uint8]) -> bytes:
        """L of one column without the constant."""
        shifted, constant = self.tags(np.stack([column, np.zeros_like(column)]))
        return bytes(one ^ other for one, other in zip(shifted, constant, strict=True))


def _check_seeds(count: int) -> None:
    if count != COLUMNS:
        raise ParameterError("an extension starts from 128 transfers", got=count, wanted=str(COLUMNS))


def _columns(streams: Sequence[Bits], length: int) -> NDArray[np.uint8]:
    raw = bytearray(b"".join(stream.bytes(length) for stream in streams))
    return np.frombuffer(raw, dtype=np.uint8).reshape(COLUMNS, length)


def _overlay(packed: NDArray[np.uint8], choices: NDArray[Any]) -> NDArray[np.uint8]:
    """The choices packed; the rest of the last byte stays random."""
    length = -(-len(choices) // 8)
    filled = unpack_bits(packed[:length], 8 * length)
    filled[: len(choices)] = choices
    return pack_bits(filled)


def _pads(tweaks: Tweaks, blocks: Blocks, first: int, width: int) -> Blocks:
    return np.stack([hash_blocks(tweaks, blocks, first, part) for part in range(width)], axis=1)
