"""Polynomials modulo z^N + 1 and a product q of small primes: exact products at the speed of matrix products.

A polynomial is held by its residues modulo L primes p < 2**23, p = 1 (mod 2N), as float64 arrays of shape
(L, ..., N) of centred integers |x| <= p/2 + 1. The transform at the odd powers of a 2N-th root of unity psi
is two products of matrices: with N = n1 n2, j = n2 j1 + j2 and k = k1 + n1 k2,

    X[k1, k2] = sum_j2 w^(n1 j2 k2) ( psi^j2 w^(j2 k1) sum_j1 psi^(n2 j1) w^(n2 j1 k1) x[j1, j2] ),   w =
    psi^2,

and the inverse runs the same steps backwards, so nothing is ever transposed.

**Exact.** Products of two residues are below 2**44.01, sums of up to n2 <= 128 of them below 2**51.02, and
float64 holds every integer up to 2**53: no rounding happens in the matrix products, in whatever order BLAS
adds. `reduce` takes x - p rint(x / p); the quotient is off by at most 2**-22, so what is left is at most
p/2 + 2, and is exact. Additions of pointwise products stay exact up to 2**8 terms (`Ring.most`).

**Does not protect** anything by itself. Running time depends on sizes only, not on values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.randomness import Bits

    Residues = NDArray[np.float64]

__all__ = ["PRIME_BITS", "Ring", "primes"]

PRIME_BITS = 23
_CHUNK = 1 << 15
_LIMB = (1 << 22) - 1
_DEGREES = (1024, 2048, 4096, 8192, 16384)


@lru_cache(maxsize=64)
def primes(degree: int, count: int) -> tuple[int, ...]:
    """The largest primes below 2**23 that leave remainder 1 modulo 2 ``degree``."""
    from discreet.crypto.number import is_prime

    step = 2 * degree
    candidates = range((2**PRIME_BITS - 2) // step * step + 1, step, -step)
    found = [candidate for candidate in candidates if is_prime(candidate)][:count]
    if len(found) < count:
        raise ParameterError(
            "there are not so many primes of 23 bits for this degree", got=count, wanted=f"<= {len(found)}"
        )
    return tuple(found)


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@lru_cache(maxsize=32)
def _ring(degree: int, moduli: tuple[int, ...]) -> Ring:
    return Ring(degree, moduli)


@dataclass(frozen=True)
class Ring:
    """Polynomials modulo z^degree + 1 and the product of ``moduli``; make them with `Ring.of`."""

    degree: int
    moduli: tuple[int, ...]

    most = 256
    """So many pointwise products may be added before they must be reduced."""

    @staticmethod
    def of(degree: int, count: int) -> Ring:
        """The ring with the ``count`` largest suitable primes; its tables are kept."""
        if degree not in _DEGREES:
            raise ParameterError("no ring has this degree", got=degree, wanted=f"one of {_DEGREES}")
        return _ring(degree, primes(degree, count))

    def __reduce__(self) -> Any:
        return Ring.of, (self.degree, len(self.moduli))

    @cached_property
    def modulus(self) -> int:
        """q, the product of all primes."""
        product = 1
        for prime in self.moduli:
            product *= prime
        return product

    @cached_property
    def _shape(self) -> tuple[int, int]:
        small = 1 << ((self.degree.bit_length() - 1) // 2)
        return small, self.degree // small

    @cached_property
    def _tables(self) -> list[_Table]:
        return [_Table.of(prime, *self._shape) for prime in self.moduli]

    def forward(self, residues: Residues) -> Residues:
        """The values at the odd powers of psi, in an order of our own."""
        return self._each(residues, _Table.forward)

    def inverse(self, residues: Residues) -> Residues:
        """The coefficients again."""
        return self._each(residues, _Table.inverse)

    def _each(self, residues: Residues, transform: Any) -> Residues:
        """Prime by prime, in chunks that stay in the cache."""
        out = np.empty(residues.shape)
        flat, flat_out = (array.reshape(len(self.moduli), -1, *self._shape) for array in (residues, out))
        step = max(1, _CHUNK // self.degree)
        with _controller().limit(limits=1, user_api="blas"):  # products this small only wait for threads
            for table, source, target in zip(self._tables, flat, flat_out, strict=True):
                for start in range(0, source.shape[0], step):
                    target[start : start + step] = transform(table, source[start : start + step])
        return out

    def reduce(self, residues: Residues) -> Residues:
        """Centre integers up to 2**52, in place, and return the same array."""
        for prime, row in zip(self.moduli, residues.reshape(len(self.moduli), -1), strict=True):
            for start in range(0, row.size, _CHUNK):
                _settle(row[start : start + _CHUNK], prime)
        return residues

    def product(self, left: Residues, right: Residues) -> Residues:
        """Values times values, point by point."""
        return self.reduce(left * right)

    def small(self, integers: NDArray[np.int64]) -> Residues:
        """Residues of integers up to 2**21: themselves, for every prime. Read-only."""
        shape = (len(self.moduli), *integers.shape)
        return np.broadcast_to(integers.astype(np.float64), shape)

    def lift(self, integers: NDArray[np.int64], factor: int = 1) -> Residues:
        """Residues of any int64, times a factor.

        Three limbs of 22 bits (the highest signed, 20) times centred constants stay below 2**46 in all.
        """
        parts = (integers & _LIMB, (integers >> 22) & _LIMB, integers >> 44)
        limbs = [part.astype(np.float64) for part in parts]
        out = np.zeros((len(self.moduli), *integers.shape))
        for index, prime in enumerate(self.moduli):
            for limb, shift in zip(limbs, (0, 22, 44), strict=True):
                out[index] += limb * _centred(factor * 2**shift % prime, prime)
        return self.reduce(out)

    def uniform(self, count: int, bits: Bits) -> Residues:
        """So many uniform polynomials, each residue without bias; the same bits give the same ones."""
        out = np.empty((len(self.moduli), count, self.degree))
        for row, prime in zip(out, self.moduli, strict=True):
            row[...] = bits.integers(-(prime // 2), prime // 2 + 1, (count, self.degree))
        return out

    def whole(self, residues: Residues) -> NDArray[np.uint64]:
        """The centred integers in (-q/2, q/2), modulo 2**64; right unless one is within q / 2**48 of q/2."""
        total = np.zeros(residues.shape[1:], dtype=np.uint64)
        fraction = np.zeros(residues.shape[1:])
        for digit, prime in zip(self._digits(residues), self.moduli, strict=True):
            total += digit.astype(np.int64).view(np.uint64) * np.uint64(self.modulus // prime % 2**64)
            fraction += digit / prime
        turns = np.rint(fraction).astype(np.int64).view(np.uint64)
        return total - turns * np.uint64(self.modulus % 2**64)

    def switched(self, residues: Residues, bits: int) -> NDArray[np.uint64]:
        """round(x 2**bits / q) modulo 2**bits, off by less than 1; ``bits`` at most 63.

        x = sum_i y_i q / p_i (mod q), so x 2**64 / q = sum_i y_i 2**64 / p_i (mod 2**64). Whole parts are
        added in 64 bits and fractions in doubles, rounded once; the last shift rounds to nearest again: in
        all off by at most 1/2 + 1/4 and a little.
        """
        total = np.full(residues.shape[1:], 2 ** (63 - bits), dtype=np.uint64)
        fractions = np.zeros(residues.shape[1:])
        for digit, prime in zip(self._digits(residues), self.moduli, strict=True):
            whole, rest = divmod(2**64, prime)
            exact = digit.astype(np.int64)
            quotient, remainder = np.divmod(exact * rest, prime)
            total += exact.view(np.uint64) * np.uint64(whole) + quotient.view(np.uint64)
            fractions += remainder / prime
        total += np.rint(fractions).astype(np.uint64)
        return total >> np.uint64(64 - bits)

    def _digits(self, residues: Residues) -> Residues:
        """y_i = x (q / p_i)^-1 mod p_i, the digits of x in the Chinese remainder theorem."""
        factors = [_centred(pow(self.modulus // prime, -1, prime), prime) for prime in self.moduli]
        return self.reduce(np.stack([row * factor for row, factor in zip(residues, factors, strict=True)]))


@dataclass(frozen=True)
class _Table:
    """The matrices of one prime: left, twiddles and right, and those of the inverse."""

    prime: int
    there: tuple[NDArray[np.float64], ...]
    back: tuple[NDArray[np.float64], ...]

    @staticmethod
    def of(prime: int, n1: int, n2: int) -> _Table:
        degree = n1 * n2
        powers = _powers(_root(prime, 2 * degree), prime, 2 * degree)
        k1, k2 = np.arange(n1), np.arange(n2)
        left = 2 * n2 * np.outer(k1, k1) + n2 * k1  # [k1, j1]
        twiddle = 2 * np.outer(k1, k2) + k2  # [k1, j2]
        right = 2 * n1 * np.outer(k2, k2)  # [j2, k2]
        there = tuple(powers[exponent % (2 * degree)] for exponent in (left, twiddle, right))
        inverse = [powers[-exponent % (2 * degree)] for exponent in (left.T, twiddle, right)]
        inverse[0] = _settle(inverse[0] * _centred(pow(degree, -1, prime), prime), prime)
        return _Table(prime, there, tuple(np.ascontiguousarray(matrix) for matrix in inverse))

    def forward(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        left, twiddle, right = self.there
        y = _settle(np.matmul(left, x), self.prime)
        y *= twiddle
        y = _settle(y, self.prime).reshape(-1, right.shape[0])
        return _settle(y @ right, self.prime).reshape(x.shape)

    def inverse(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        left, twiddle, right = self.back
        y = _settle(x.reshape(-1, right.shape[0]) @ right, self.prime).reshape(x.shape)
        y *= twiddle
        return _settle(np.matmul(left, _settle(y, self.prime)), self.prime)


def _settle(x: NDArray[np.float64], prime: int) -> NDArray[np.float64]:
    """x - p rint(x / p), in place."""
    quotient = x * (1 / prime)
    np.rint(quotient, out=quotient)
    quotient *= prime
    x -= quotient
    return x


def _centred(value: int, prime: int) -> int:
    return value - prime if value > prime // 2 else value


def _root(prime: int, order: int) -> int:
    """The first root of unity of exactly this order (a power of two)."""
    for base in range(2, prime):
        root = pow(base, (prime - 1) // order, prime)
        if pow(root, order // 2, prime) == prime - 1:
            return root
    raise ParameterError("no root of unity", got=(prime, order))


def _powers(root: int, prime: int, count: int) -> NDArray[np.float64]:
    table = np.empty(count)
    power = 1
    for index in range(count):
        table[index] = _centred(power, prime)
        power = power * root % prime
    return table
