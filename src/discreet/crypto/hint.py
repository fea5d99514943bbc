"""A table of hints: it gives each key of its maker the value of that key, and any other key a random one.

The maker has n keys with a uniform value each. Every key stands for a band of 128 random bits at a random
place of a table of m > n cells of 128 bits, and its value is the sum (xor) of the cells under the ones of
its band:

    value(key) = XOR over j < 128 with band_j(key) = 1 of cells[start(key) + j]

Those n equations are solved cell by cell (Dillinger, Huebschle-Schneider, Sanders and Walzer, "Fast succinct
retrieval and approximate membership using ribbon", SEA 2022); cells that no equation fixes are uniform. As an
*oblivious key-value store* this is the random band matrix of Bienstock, Patel, Seo and Yeo (USENIX Security
2023).

**Reveals** n's upper bound, by its size, and nothing of the keys: values are uniform, so the table is uniform
whatever the keys are (the solution and the free cells are a bijection of values and free cells). **Costs** 20
bytes a key, some 7 microseconds a key to write and 2 to read. **Assumes** BLAKE2b as a random function.

The equations may have no solution; then a new nonce is drawn, which tells who sees the nonce that it is not
one of those. With m = 1.25 n + 64 and n = 1,000 the share of such nonces was measured as 1 in 190 for bands
of 24 bits and 1 in 2,000 for 32 (none of 6,000 for 40): tenfold less for every 8 bits, and in proportion to
n. 128 bits then put it near 2**-50 for a thousand keys and 2**-40 for a million. The work does not take
constant time.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.randomness import Bits

__all__ = ["NONCE", "Hint"]

NONCE = 16
"""Bytes of the public nonce that turns keys into bands."""

_TRIES = 8
_READ = 1 << 14


@dataclass(frozen=True)
class Hint:
    """The form of a table for at most ``count`` keys. ``width`` is less than 128 in tests only."""

    count: int
    width: int = 128

    def __post_init__(self) -> None:
        if self.count < 1 or not 8 <= self.width <= 128 or self.width % 8:
            raise ParameterError(
                "not a table of hints", got=(self.count, self.width), wanted="at least a key"
            )

    @property
    def cells(self) -> int:
        """Cells of the table: a quarter more than keys, and half a band."""
        return max(self.width, self.count + -(-self.count // 4) + 64)

    def write(self, keys: Sequence[bytes], values: Blocks, bits: Bits) -> tuple[bytes, Blocks]:
        """The nonce and the cells that give each key, all different, its value; values must be uniform.

        Raises `ParameterError` if keys repeat or are more than agreed.
        """
        if len(set(keys)) != len(keys) or len(keys) > self.count or values.shape != (len(keys), 2):
            raise ParameterError(
                "keys of hints repeat, or are too many", wanted=f"at most {self.count}, each once"
            )
        for _ in range(_TRIES):
            nonce = bits.bytes(NONCE)
            solved = self._solve(keys, values, nonce)
            if solved is not None:
                return nonce, self._filled(*solved, bits)
        raise ParameterError("hints cannot be written", remedy="Are the bits random?")

    def read(self, keys: Sequence[bytes], nonce: bytes, cells: Blocks) -> Blocks:
        """What the table says of each key: (keys, 2) words."""
        starts, bands = self._bands(keys, nonce)
        parts = [
            self._read(starts[at : at + _READ], bands[at : at + _READ], cells)
            for at in range(0, len(keys), _READ)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, 2), dtype=np.uint64)

    def _read(self, starts: NDArray[np.int64], bands: NDArray[np.uint8], cells: Blocks) -> Blocks:
        total = np.zeros((len(starts), 2), dtype=np.uint64)
        ones = np.unpackbits(bands, axis=1, bitorder="little").astype(np.uint64)
        for j in range(self.width):
            total ^= cells[starts + j] & (np.uint64(0) - ones[:, j, None])
        return total

    def _bands(self, keys: Sequence[bytes], nonce: bytes) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Where each key's band starts, and its bits; the first is a one."""
        digests = b"".join(
            hashlib.blake2b(key, key=nonce, digest_size=24, person=b"discreet/1/hint").digest()
            for key in keys
        )
        words = np.frombuffer(digests, dtype=np.uint8).reshape(-1, 24)
        places = words[:, :8].copy().view("<u8").ravel() % np.uint64(self.cells - self.width + 1)
        bands = words[:, 8 : 8 + self.width // 8].copy()
        bands[:, 0] |= 1
        return places.astype(np.int64), bands

    def _solve(
        self, keys: Sequence[bytes], values: Blocks, nonce: bytes
    ) -> tuple[list[int], list[int]] | None:
        """Echelon form: for every cell the band and the value of the equation that fixes it, or zeros."""
        starts, bands = self._bands(keys, nonce)
        order = np.argsort(starts, kind="stable")
        bits = [int.from_bytes(band.tobytes(), "little") for band in bands[order]]
        told = [int.from_bytes(value.tobytes(), "little") for value in values[order].astype("<u8")]
        rows, right = [0] * self.cells, [0] * self.cells
        for place, band, value in zip(starts[order].tolist(), bits, told, strict=True):
            while rows[place]:
                band, value = band ^ rows[place], value ^ right[place]
                if not band:
                    return None
                zeros = (band & -band).bit_length() - 1
                band, place = band >> zeros, place + zeros
            rows[place], right[place] = band, value
        return rows, right

    def _filled(self, rows: list[int], right: list[int], bits: Bits) -> Blocks:
        """Cells from last to first: random where they are free, else what their equation leaves."""
        cells = np.frombuffer(bits.bytes(16 * self.cells), "<u8").astype(np.uint64).reshape(-1, 2)
        told = np.frombuffer(b"".join(value.to_bytes(16, "little") for value in right), "<u8").reshape(-1, 2)
        raw = b"".join(row.to_bytes(16, "little") for row in rows)
        bands = np.frombuffer(raw, dtype=np.uint8).reshape(-1, 16)
        for place in range(self.cells - 1, -1, -1):
            if rows[place]:
                ones = np.unpackbits(bands[place], bitorder="little").nonzero()[0][1:]
                cells[place] = told[place] ^ np.bitwise_xor.reduce(cells[place + ones], axis=0)
        return cells
