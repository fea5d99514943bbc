"""Words of a small ring, 2 to 32 bits each: packed tightly for the wire, multiplied exactly by BLAS.

A count of at most ``rows`` people fits in bit length(rows) bits, so shares of counts need no 64. Words are
computed in uint32, where sums and products wrap modulo 2**32, and are cut to their bits only when they are
packed or multiplied: the ring 2**bits is a quotient of the ring 2**32.

**Packing.** Of 64 n words, the i-th run of n is laid into ``bits`` runs of n 64-bit words at bit offset
i * bits: everything is a shift of a long run, so that 200 million words are packed in about a second.

**Exact products.** ``product(a, b)`` is the sum over columns of a[i, :] b[j, :]. Words are read with a sign,
so that |word| <= 2**(bits - 1), and the left ones are cut into limbs of 11 bits if they have more than 22. A
block of columns is multiplied at a time, as many as keep every partial sum within 2**53: then float64 holds
it exactly, in whatever order BLAS adds. Blocks are added modulo 2**64.

**Does not protect** anything by itself. Running time depends on sizes only, not on values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.randomness import Bits

    Words = NDArray[np.uint32]

__all__ = ["Factor", "draw", "factor", "pack", "packed_length", "product", "unpack"]

_GROUP = 64
_DOUBLE = 53
_WIDEST = 22
_LIMB = 11


def draw(shape: tuple[int, ...], bits: Bits) -> Words:
    """Uniform words, modulo 2**32."""
    count = int(np.prod(shape))
    return np.frombuffer(bits.bytes(4 * count), dtype="<u4").reshape(shape)


def packed_length(count: int, bits: int) -> int:
    """How many 64-bit words hold ``count`` words of so many bits."""
    if not 2 <= bits <= 32:
        raise ParameterError("narrow words have 2 to 32 bits", got=bits)
    return -(-count // _GROUP) * bits


def pack(words: Words, bits: int) -> NDArray[np.uint64]:
    """The low bits of words of any shape, without gaps; the last group is filled with zeros."""
    length = packed_length(words.size, bits)
    runs = _GROUP * length // bits
    flat = words.reshape(-1)
    if runs > words.size:
        flat = np.concatenate([flat, np.zeros(runs - words.size, dtype=np.uint32)])
    lines = flat.reshape(_GROUP, -1)
    out = np.zeros((bits, lines.shape[1]), dtype=np.uint64)
    mask = np.uint32(2**bits - 1)
    for index, line in enumerate(lines):
        at, shift = divmod(index * bits, _GROUP)
        wide = (line & mask).astype(np.uint64)
        out[at] |= wide << np.uint64(shift)
        if shift + bits > _GROUP:
            wide >>= np.uint64(_GROUP - shift)
            out[at + 1] |= wide
    return out.reshape(-1)


def unpack(packed: NDArray[np.uint64], shape: tuple[int, ...], bits: int) -> Words:
    """The words that were packed."""
    count = int(np.prod(shape))
    if packed.shape != (packed_length(count, bits),) or packed.dtype != np.uint64:
        raise ParameterError("packed words have another length", got=packed.shape)
    lines = packed.reshape(bits, -1)
    out = np.empty((_GROUP, lines.shape[1]), dtype=np.uint32)
    mask = np.uint64(2**bits - 1)
    for index in range(_GROUP):
        at, shift = divmod(index * bits, _GROUP)
        wide = lines[at] >> np.uint64(shift)
        if shift + bits > _GROUP:
            wide |= lines[at + 1] << np.uint64(_GROUP - shift)
        wide &= mask
        out[index] = wide
    return out.reshape(-1)[:count].reshape(shape)


@dataclass(frozen=True)
class Factor:
    """A table of words (width, columns) as doubles, ready to be multiplied: limbs, lowest first."""

    limbs: tuple[NDArray[np.float64], ...] = field(repr=False)
    size: int
    """Every number of a limb is at most 2**size in absolute value."""

    @property
    def width(self) -> int:
        """Rows of the table."""
        return self.limbs[0].shape[0]


def factor(words: Words, bits: int, *, left: bool = False) -> Factor:
    """Words read with a sign; the left factor of a product in limbs, if they are wide."""
    if left and bits > _WIDEST:
        places = range(0, bits, _LIMB)
        low = np.uint32(2**_LIMB - 1)
        limbs = [((words >> np.uint32(place)) & low).astype(np.float64) for place in places]
        return Factor(tuple(limbs), _LIMB)
    drop = 32 - bits
    signed = (words << np.uint32(drop)).view(np.int32) >> np.int32(drop)
    return Factor((signed.astype(np.float64),), bits - 1)


def product(left: Factor, right: Factor) -> NDArray[np.uint64]:
    """Sums over columns of products of rows, (left width, right width), modulo 2**64."""
    (right_words,) = right.limbs
    block = 2 ** (_DOUBLE - left.size - right.size)
    total = np.zeros((left.width, right.width), dtype=np.uint64)
    for index, limb in enumerate(left.limbs):
        part = np.zeros(total.shape, dtype=np.int64)
        for start in range(0, limb.shape[1], block):
            piece = slice(start, start + block)
            part += (limb[:, piece] @ right_words[:, piece].T).astype(np.int64)
        total += part.view(np.uint64) << np.uint64(_LIMB * index)
    return total
