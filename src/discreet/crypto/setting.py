"""Sizes of a lattice job: which modulus is safe, hides the weights, and still opens exactly.

The scheme and its names are those of `discreet.crypto.lattice`.

**Security.** 128 bits: q stays below the bound of the homomorphic encryption standard (2018, table 1,
ternary secret, classical) for N: 2**27, 2**54, 2**109, 2**218, 2**438 for N = 1024 ... 16384. Seeds are
expanded by AES-CTR under a known key, so uniformity of ``a`` is claimed in the ideal-cipher model.

**Circuit privacy, exact results.** To the sums (A, B) = (sum w c1, sum w c0) the computer adds a fresh
encryption of zero,
    A + u a' + e1,    B + u b' + e0 + [r] + f,      (b' = -a' s + e', a') the public key,
u ternary, r uniform modulo t, f uniform in [-2**(F-1), 2**(F-1)), and sends only the coefficients of the
second that are opened. Their noise is n = sum w (d + e) + u e' + e0 + s e1 + d' + f with rounding |d|, |d'|
<= 1/2, and everything but f is bounded by
    G = |w|_1 (B + 1/2) + (2 N + 1) B + 1/2,     |w|_1 the largest sum of |weights| that meet in an output.
So given its share y + r, what the owner sees of all J opened coefficients differs from a simulation made
without w (fresh noise f, and c1 = an RLWE sample u a' + e1 under the unknown secret u) by at most J G /
2**F in total variation, plus the advantage of a distinguisher against RLWE. `Setting` takes F as large as
it can and refuses less than J G / 2**F <= 2**-40. The bound holds for every weight, error and key, not only
typical ones, of an owner that makes keys and ciphertexts as it should. Distances of jobs add up: weights
that answer a million of them are hidden but for 2**-20.

An owner that does **not** may add an error of q / (t 2**j) to a coefficient: then sum w d is shifted by w q
/ (t 2**j), while f spans at most an eighth of q / t, so between two shares it reads three bits of w mod
2**j from every coefficient that is opened. Take ``exact=False`` against such owners.

**Circuit privacy, not exact.** Instead of [r] + f the computer adds R, uniform modulo q, and its share is
round(-R t / q). What is opened is then uniform modulo q, *whatever* the owner sent, and c1 is A and an RLWE
sample u a' + e1 with a' from a seed: all that the owner sees can be made up without w, but for the
advantage of a distinguisher against RLWE. No statistical distance is left that jobs could add up, and no
flood that takes room: q is smaller. The price is that shares join to the result or to one more or one less.

**Budget, exact.** Let V = G + 2**(F-1). The answer is switched to modulus 2**k, k = l + log2(N) + 2, which
adds at most N + 1 (each coefficient is off by at most 1, and s is ternary). The owner rounds to a multiple
of 2**(k-l); that is right if V 2**k / q + N + 1 < 2**(k-l-1) = 2 N. `Setting` has V <= 2**F and F =
floor(log2 q) - l - 3, so the first term is at most N / 2, and N / 2 + N + 1 < 2 N. Wrap-around modulo t is
the arithmetic of the shares.

**Budget, not exact.** In units of q / t: noise is at most G t / q <= 1/8, switching 1/4 + 1 / (4 N), the
owner's rounding 1/2, the computer's (`Ring.switched`) less than 1. In all less than 2, and a whole number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.ring import PRIME_BITS, Ring, primes
from discreet.errors import ParameterError, RangeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.crypto.ring import Residues

__all__ = ["LARGEST_ERROR", "LARGEST_MODULUS", "STATISTICAL", "Setting"]

LARGEST_MODULUS = {1024: 27, 2048: 54, 4096: 109, 8192: 218, 16384: 438}
"""Bits of q for 128-bit security (homomorphic encryption standard, ternary secret), by degree."""

STATISTICAL = 40
"""Weights are hidden but for a statistical distance of 2**-40."""

LARGEST_ERROR = 21
"""B, the largest coefficient of an error: it counts ones among 21 bits, twice."""


@dataclass(frozen=True)
class Setting:
    """The public sizes of one job, and the primes that follow from them.

    ``share_bits`` is l; ``weight`` bounds the sum of |weights| that meet in one output coefficient;
    ``opened`` is the number of coefficients that will be opened under one key and one set of weights.
    Unless ``exact``, results may be off by one, and weights are hidden from an owner that does not follow the
    scheme, too.

    Raises `ParameterError` if 128-bit security leaves no room for the noise that hides the weights.
    """

    share_bits: int
    weight: int
    opened: int
    degree: int = 8192
    exact: bool = True

    def __post_init__(self) -> None:
        if self.degree not in LARGEST_MODULUS:
            wanted = f"one of {sorted(LARGEST_MODULUS)}"
            raise ParameterError("no lattice has this degree", got=self.degree, wanted=wanted)
        most = 63 - self.degree.bit_length() - 1
        if not 1 <= self.share_bits <= most:
            raise ParameterError(
                "shares have too many bits or none", got=self.share_bits, wanted=f"1 <= l <= {most}"
            )
        if self.weight < 1 or self.opened < 1:
            raise ParameterError(
                "a job has weights and outputs", got=(self.weight, self.opened), wanted=">= 1"
            )
        bits = math.prod(primes(self.degree, self._count)).bit_length()
        if bits > LARGEST_MODULUS[self.degree]:
            raise ParameterError(
                "the noise that hides the weights does not fit at 128-bit security",
                got=f"a modulus of {bits} bits",
                wanted=f"at most {LARGEST_MODULUS[self.degree]} bits for degree {self.degree}",
                remedy="Take a larger degree, fewer bits, or fewer outputs per key.",
            )

    @property
    def gathered(self) -> int:
        """G: all noise but the flood, rounded up."""
        return self.weight * (LARGEST_ERROR + 1) + (2 * self.degree + 1) * LARGEST_ERROR + 1

    @property
    def _needed(self) -> int:
        """The smallest F that hides: J G / 2**F <= 2**-40; or that only has room for noise: G <= 2**F."""
        if not self.exact:
            return (self.gathered - 1).bit_length()
        return (self.opened * self.gathered - 1).bit_length() + STATISTICAL

    @property
    def _count(self) -> int:
        """The fewest primes for which F is at least what is needed."""
        count = (self._needed + self.share_bits + 3) // PRIME_BITS + 1
        while math.prod(primes(self.degree, count)).bit_length() - 1 < self._needed + self.share_bits + 3:
            count += 1
        return count

    @cached_property
    def ring(self) -> Ring:
        """Where ciphertexts live."""
        return Ring.of(self.degree, self._count)

    @cached_property
    def opening(self) -> Ring:
        """A ring with room for the product of an answer and the key."""
        wanted = self.wire_bits + self.degree.bit_length() + 1
        return Ring.of(self.degree, -(-wanted // (PRIME_BITS - 1)))

    @property
    def flood_bits(self) -> int:
        """F: the flood is uniform over 2**F integers; if not exact, the room for noise."""
        return self.ring.modulus.bit_length() - 1 - self.share_bits - 3

    @property
    def hidden_bits(self) -> float:
        """-log2 of the statistical distance at which weights are hidden; at least 40."""
        if not self.exact:
            return math.inf
        return self.flood_bits - math.log2(self.opened * self.gathered)

    @property
    def wire_bits(self) -> int:
        """k: answers are sent modulo 2**k."""
        return self.share_bits + self.degree.bit_length() + 1

    @property
    def wire_bytes(self) -> int:
        """Bytes of one coefficient of an answer."""
        return -(-self.wire_bits // 8)

    def encoded(self, values: NDArray[np.int64]) -> Residues:
        """[m] = round(q m / t) for integers modulo t."""
        modulus = np.uint64(self.ring.modulus % 2**64)
        turned = np.uint64(0) - values.astype(np.int64).view(np.uint64) * modulus
        drop = np.uint64(64 - self.share_bits)
        centred = (turned << drop).view(np.int64) >> drop.astype(np.int64)
        return self.ring.lift(centred, pow(2**self.share_bits, -1, self.ring.modulus))

    def checked(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The values, if they fit l bits with a sign. Raises `RangeError` that says no value."""
        half = 1 << (self.share_bits - 1)
        if values.size and not (-half <= values.min() and values.max() < half):
            raise RangeError(
                "a value does not fit the shares", wanted=f"{self.share_bits} bits with a sign",
                remedy="Scale or clip the values, or take more share bits.",
            )  # fmt: skip
        return values
