"""One-level encryption over a lattice: plaintext products and sums of encrypted integers, opened as shares.

The key owner encrypts polynomials x; whoever holds weights w computes sums of products w x and sends them
back masked. Owner and computer end with additive shares modulo t = 2**l of chosen coefficients. There is no
product of two ciphertexts, hence no relinearisation, no rotation, and keys of one polynomial.

**Scheme** (Fan and Vercauteren's, with a power of two as plaintext modulus). R = Z[z] / (z^N + 1), q a
product of 23-bit primes. Key s with coefficients in {-1, 0, 1}; errors e = a - b, where a and b count the
ones among 21 fair bits each: |e| <= B = 21, standard deviation 3.24. A ciphertext of m is (c0, c1) with c1
= a uniform (sent as the seed it is expanded from) and c0 = -a s + e + [m], [m] = round(q m / t). Since q m
+ v = 0 (mod t) for v = -q m mod t centred, [m] = v / t (mod q): no division of long integers.

**Security, circuit privacy, budget.** `discreet.crypto.setting` says which q is safe at 128 bits, proves
that the flood hides the weights but for 2**-40, and that shares open exactly in the worst case.

An owner who sends a public key with large e' or ciphertexts with large e chooses what its shares are of:
any linear form of w, not of whole numbers only. Under an exact setting it also **reads bits of w** from
what it opens.

**Does not protect** against either party learning from what is done with the shares later. Sizes are
public. Running time does not depend on values, as far as numpy's does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.setting import LARGEST_ERROR, Setting
from discreet.errors import CipherError, ParameterError, RangeError
from discreet.randomness import expand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.crypto.ring import Residues, Ring
    from discreet.randomness import Bits

    Masks = NDArray[Any]

__all__ = [
    "Answer",
    "Cipher",
    "PublicKey",
    "SecretKey",
    "Table",
    "draw_masks",
    "keys",
    "multiplied",
    "narrow",
    "share_of",
]

_SEED = 32
_GROUP = 16


@dataclass(frozen=True)
class Cipher:
    """Fresh encryptions: the seed of every ``c1``, and ``c0`` in residues of 16 low and 7 high bits."""

    seed: bytes
    low: NDArray[np.uint16]
    high: NDArray[np.uint8]

    def values(self, setting: Setting) -> Residues:
        """All ``c1`` and ``c0`` as values, stacked: (L, 2, rows, inputs, N).

        Raises `CipherError` if a residue is not below its prime.
        """
        ring, (rows, inputs) = setting.ring, self.low.shape[1:3]
        seeds = _random(ring, self.seed, "cipher", rows * inputs)
        shape = (len(ring.moduli), rows, inputs, ring.degree)
        return np.stack([seeds.reshape(shape), _unpacked(ring, self.low, self.high)], axis=1)


@dataclass(frozen=True)
class Answer:
    """What goes back: all coefficients of ``c1`` and the opened ones of ``c0``, modulo 2**k."""

    mask: NDArray[np.uint8]
    body: NDArray[np.uint8]


@dataclass(frozen=True)
class Table:
    """Weights ready for use with any number of ciphertexts: shape (primes, inputs, outputs, N).

    **Costs** four bytes a prime and coefficient.
    """

    setting: Setting
    values: NDArray[np.float32]

    @staticmethod
    def of(setting: Setting, weights: NDArray[np.int64]) -> Table:
        """Weights (inputs, outputs, N). Raises `RangeError` if more of them meet than was agreed."""
        sizes = np.abs(weights.astype(np.float64)).sum(axis=(0, 2))
        slack = 1.0 if sizes.max(initial=0.0) < 2.0**53 else 1 + 2.0**-30  # above, sums are rounded
        if (sizes * slack > setting.weight).any():
            raise RangeError(
                "the weights that meet in an output are larger than agreed", wanted=f"<= {setting.weight}"
            )
        ring = setting.ring
        values = np.empty((len(ring.moduli), *weights.shape), dtype=np.float32)
        for index in range(weights.shape[0]):  # centred residues are below 2**22, exact in float32
            values[:, index] = ring.forward(ring.lift(weights[index]))
        return Table(setting, values)


@dataclass(frozen=True)
class PublicKey:
    """An encryption of zero, from which the computer makes fresh ones."""

    setting: Setting
    seed: bytes
    low: NDArray[np.uint16]
    high: NDArray[np.uint8]

    @cached_property
    def _pair(self) -> Residues:
        """c1 and c0 as values, stacked: (L, 2, N)."""
        ring = self.setting.ring
        seen = _unpacked(ring, self.low, self.high)
        return np.stack([_random(ring, self.seed, "public key", 1)[:, 0], seen], axis=1)

    def compute(
        self,
        cipher: Cipher,
        table: Table,
        positions: NDArray[np.intp],
        bits: Bits,
        masks: Masks | None = None,
    ) -> tuple[Answer, NDArray[np.uint64]]:
        """Sums of products, hidden: the answer for the key owner, and one's own shares modulo 2**l.

        Ciphertexts (rows, inputs, N) meet weights (inputs, outputs, N); ``positions`` are the coefficients to
        open. Shares have shape (rows, outputs, positions); they are minus ``masks``, if those were drawn
        before (`draw_masks`), for this one computation. **Reveals** to the owner its shares only.
        """
        if self.setting.opened < cipher.low.shape[1] * table.values.shape[2] * positions.size:
            raise ParameterError("more would be opened than agreed", wanted=f"<= {self.setting.opened}")
        pair, outputs = cipher.values(self.setting), table.values.shape[2]
        parts = [
            self._part(
                pair,
                table.values[:, :, some],
                positions,
                bits,
                None if masks is None else masks[..., some, :],
            )
            for some in (slice(at, at + _GROUP) for at in range(0, outputs, _GROUP))
        ]
        seen, bodies, shares = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return Answer(seen, bodies), shares

    def _part(
        self,
        pair: Residues,
        weights: NDArray[np.float32],
        positions: NDArray[np.intp],
        bits: Bits,
        drawn: Masks | None,
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint64]]:
        """Some of the outputs."""
        setting, ring = self.setting, self.setting.ring
        sums = self._refreshed(multiplied(ring, pair, weights), bits)
        coefficients = ring.inverse(sums)
        mask = ring.reduce(coefficients[:, 0] + _errors(coefficients.shape[2:], bits))
        opened = coefficients[:, 1][..., positions]
        if drawn is None:
            drawn = draw_masks(setting, opened.shape[1:], bits)
        opened = ring.reduce(opened + self._cover(drawn, opened.shape[1:], bits))
        return narrow(setting, mask), narrow(setting, opened), share_of(setting, drawn)

    def _refreshed(self, sums: Residues, bits: Bits) -> Residues:
        """Add u times the public key, a new u for each output."""
        ring = self.setting.ring
        u = ring.forward(ring.small(bits.integers(-1, 2, sums.shape[2:])))
        sums += u[:, None] * self._pair[:, :, None, None]
        return ring.reduce(sums)

    def _cover(self, drawn: Masks, shape: tuple[int, ...], bits: Bits) -> Residues:
        """What hides the opened coefficients: masks modulo q, or encoded masks under a flood."""
        if not self.setting.exact:
            return drawn
        return _errors(shape, bits) + self.setting.encoded(drawn) + self._flood(shape, bits)

    def _flood(self, shape: tuple[int, ...], bits: Bits) -> Residues:
        """Uniform in [-2**(F-1), 2**(F-1)), put together from words of 32 bits."""
        ring, depth = self.setting.ring, self.setting.flood_bits
        total = np.zeros((len(ring.moduli), *shape))
        for start in range(0, depth, 32):
            word = bits.integers(0, 1 << min(32, depth - start), shape)
            total += ring.lift(word, 1 << start)
        return total - ring.lift(np.ones(shape, dtype=np.int64), 1 << (depth - 1))


@dataclass(frozen=True, repr=False)
class SecretKey:
    """The owner's key, as values in the larger of the two rings."""

    setting: Setting
    values: Residues

    def __repr__(self) -> str:
        return f"SecretKey({self.setting})"

    def encrypt(self, polynomials: NDArray[np.int64], bits: Bits) -> Cipher:
        """Fresh encryptions of polynomials (rows, inputs, N) with integers modulo 2**l.

        Raises `RangeError` before anything is drawn if a value does not fit.
        """
        setting, ring = self.setting, self.setting.ring
        rows, inputs, degree = setting.checked(polynomials).shape
        seed = bits.bytes(_SEED)
        a = _random(ring, seed, "cipher", rows * inputs).reshape(-1, rows, inputs, degree)
        message = setting.encoded(polynomials)
        message += _errors(polynomials.shape, bits)  # a little over p/2, which `forward` has room for
        body = ring.forward(message)
        a *= self.values[: len(ring.moduli), None, None]
        body -= a
        return Cipher(seed, *_packed(ring, body))

    def open(self, answer: Answer, positions: NDArray[np.intp]) -> NDArray[np.uint64]:
        """The owner's shares modulo 2**l, of shape (rows, outputs, positions)."""
        setting, ring = self.setting, self.setting.opening
        drop = np.int64(64 - setting.wire_bits)
        centred = _wide(answer.mask).view(np.int64) << drop >> drop
        key = self.values[: len(ring.moduli), None, None]
        product = ring.whole(ring.inverse(ring.product(ring.forward(ring.lift(centred)), key)))
        whole = (_wide(answer.body) + product[..., positions]) << drop.view(np.uint64)
        half = np.uint64(1 << (63 - setting.share_bits))
        return (whole + half) >> np.uint64(64 - setting.share_bits)


def keys(setting: Setting, bits: Bits) -> tuple[SecretKey, PublicKey]:
    """A fresh key pair. Make one for every job: `Setting.opened` counts what one key may open."""
    ring = max(setting.ring, setting.opening, key=lambda ring: len(ring.moduli))
    secret = ring.forward(ring.small(bits.integers(-1, 2, setting.degree)))
    seed = bits.bytes(_SEED)
    home = setting.ring
    a = _random(home, seed, "public key", 1)[:, 0]
    errors = home.forward(home.small(_errors((setting.degree,), bits)))
    body = _packed(home, errors - home.product(a, secret[: len(home.moduli)]))
    return SecretKey(setting, secret), PublicKey(setting, seed, *body)


def draw_masks(setting: Setting, shape: tuple[int, ...], bits: Bits) -> Masks:
    """Uniform masks for results of this shape, each to be used once.

    Integers modulo 2**l; under a setting that is not exact residues modulo q, one row of them a prime.
    """
    if not setting.exact:
        rows = [bits.integers(-(prime // 2), prime // 2 + 1, shape) for prime in setting.ring.moduli]
        return np.stack(rows).astype(np.float64)
    return bits.integers(0, 1 << setting.share_bits, shape)


def share_of(setting: Setting, masks: Masks) -> NDArray[np.uint64]:
    """The share of whoever masked: minus the mask, in units of q / t."""
    if not setting.exact:
        return setting.ring.switched(-masks, setting.share_bits)
    return (np.uint64(0) - masks.view(np.uint64)) & np.uint64((1 << setting.share_bits) - 1)


def multiplied(ring: Ring, pair: Residues, weights: NDArray[np.float32]) -> Residues:
    """Sums over inputs: (L, 2, rows, inputs, N) and (L, inputs, outputs, N) to (L, 2, rows, outputs, N)."""
    total = np.zeros((*pair.shape[:3], *weights.shape[2:]))
    for start in range(0, weights.shape[1], ring.most):
        some = slice(start, start + ring.most)
        for prime in range(len(ring.moduli)):
            total[prime] += np.einsum("cabn,bdn->cadn", pair[prime, :, :, some], weights[prime, some])
        ring.reduce(total)
    return total


def _errors(shape: tuple[int, ...], bits: Bits) -> NDArray[np.int64]:
    """Errors of standard deviation 3.24: the ones among 21 fair bits less the ones among 21 others."""
    count = int(np.prod(shape))
    words = np.frombuffer(bits.bytes(8 * count), dtype="<u4") & np.uint32((1 << LARGEST_ERROR) - 1)
    ones = np.bitwise_count(words).astype(np.int64).reshape(2, *shape)
    return ones[0] - ones[1]


def _random(ring: Ring, seed: bytes, use: str, count: int) -> Residues:
    """The uniform polynomials (L, count, N) that a public seed stands for."""
    domain = f"discreet/lattice/1/{use}/{ring.degree}/{len(ring.moduli)}"
    return ring.uniform(count, expand(seed, domain))


def _packed(ring: Ring, residues: Residues) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Residues in [0, p), 16 low bits and 7 high bits; the residues are reduced in place."""
    words = ring.reduce(residues).astype(np.int32)
    words += (words < 0) * _column(ring, words.ndim)
    return words.astype("<u2"), (words >> 16).astype(np.uint8)


def _unpacked(ring: Ring, low: NDArray[np.uint16], high: NDArray[np.uint8]) -> Residues:
    """Centred residues. Raises `CipherError` if one is not below its prime."""
    words = high.astype(np.int32) << 16
    words |= low
    column = _column(ring, words.ndim)
    if (words >= column).any():
        raise CipherError("a ciphertext holds a residue that is not below its prime")
    words -= (words > column // 2) * column
    return words.astype(np.float64)


def _column(ring: Ring, dimensions: int) -> NDArray[np.int32]:
    return np.array(ring.moduli, dtype=np.int32).reshape(-1, *[1] * (dimensions - 1))


def narrow(setting: Setting, residues: Residues) -> NDArray[np.uint8]:
    """Switched to modulus 2**k, in as few bytes as hold k bits."""
    whole = setting.ring.switched(residues, setting.wire_bits)
    parts = whole.view(np.uint8).reshape(*whole.shape, 8)
    return np.ascontiguousarray(parts[..., : setting.wire_bytes])


def _wide(packed: NDArray[np.uint8]) -> NDArray[np.uint64]:
    words = np.zeros((*packed.shape[:-1], 8), dtype=np.uint8)
    words[..., : packed.shape[-1]] = packed
    return words.view("<u8")[..., 0]
