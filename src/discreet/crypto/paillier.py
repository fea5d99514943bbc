"""Paillier's cryptosystem with short exponents: sums and known multiples of encrypted integers.

**Keys** (Damgård, Jurik, Nielsen, "A generalization of Paillier's public-key system with applications to
electronic voting", 2010). n = p q with p = q = 3 (mod 4) and gcd(p - 1, q - 1) = 2; h = -x**2 mod n for a
random x, and H = h**n mod n**2. An encryption of m is
    (1 + m n) H**r mod n**2,       r uniform with half as many bits as n.
Products of encryptions encrypt sums; powers encrypt multiples. n has 2048 bits (112-bit security by
NIST SP 800-57) or more; the default is 3072 (128-bit).

**Assumes** decisional composite residuosity, and that H**r with r of |n|/2 bits is not told from H**r with r
uniform modulo the order. For Blum integers n the upper half of the exponent's bits is hidden at once if
factoring n is hard (Håstad, Schrift, Shamir 1993; Goldreich, Rosen 2003), which is what the second asks for.

**Fresh.** A product of powers is a fixed function of ciphertexts that the key owner knows, and the owner can
compute the randomness of what comes back: it could test guesses of the weights. So results of arithmetic
cannot be turned into bytes until they were multiplied by a fresh encryption of zero (`Encrypted.sealed`).

**Overflow.** Every `Encrypted` knows a bound on its plaintexts. Arithmetic raises `RangeError` before it
computes anything if the result could leave (-n/2, n/2).

**Does not protect** against a key owner who makes n or h dishonestly, against weights whose *bound* is
private, or against somebody who shares the processor and sees which table entries are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.number import below, inverse, is_prime, long, power, power_secret, unbiased
from discreet.crypto.powers import FixedBase, products_of_powers
from discreet.errors import CipherError, ParameterError, RangeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.randomness import Bits

__all__ = ["DEFAULT_BITS", "SMALLEST_BITS", "Encrypted", "PublicKey", "SecretKey", "Zeros"]

SMALLEST_BITS = 2048
"""The shortest modulus allowed: 112-bit security."""

DEFAULT_BITS = 3072
"""The modulus when nothing is said: 128-bit security."""

_FEW = 128
_WIDTH, _WIDTH_LONG = 10, 9


@dataclass(frozen=True)
class PublicKey:
    """n and H. Make them with `SecretKey.generate`, or read a peer's with `PublicKey.read`."""

    n: int
    generator: int

    @property
    def bits(self) -> int:
        """Bits of n."""
        return int(self.n).bit_length()

    @property
    def width(self) -> int:
        """Bytes of one ciphertext."""
        return -(-2 * self.bits // 8)

    @cached_property
    def square(self) -> int:
        """n**2."""
        return long(self.n) ** 2

    @property
    def largest(self) -> int:
        """Plaintexts lie in -largest ... largest."""
        return int(self.n - 1) // 2

    @cached_property
    def _table(self) -> FixedBase:
        width = _WIDTH if self.bits <= SMALLEST_BITS else _WIDTH_LONG
        return FixedBase.of(self.generator, self.square, self.bits // 2, width)

    def zeros(self, count: int, bits: Bits) -> Zeros:
        """Encryptions of zero, made ahead of time; each is used once.

        **Costs** about 0.4 ms each at 2048 bits, after a table (30 MB, 0.2 s) that is made for more than a
        few.
        """
        if count <= _FEW and "_table" not in self.__dict__:
            exponents = [unbiased(bits, self.bits // 2) for _ in range(count)]
            return Zeros(self, [power_secret(self.generator, e, self.square) for e in exponents])
        return Zeros(self, [self._table.power(digits) for digits in self._table.draw(count, bits)])

    def encrypt(self, values: Sequence[int], bits: Bits | Zeros, largest: int | None = None) -> Encrypted:
        """Encryptions of integers up to ``largest`` in size (the bound that results carry on).

        Raises `RangeError` before anything is drawn if a value is larger.
        """
        numbers = [long(value) for value in values]
        bound = self.largest if largest is None else largest
        self.check(bound)
        if any(abs(number) > bound for number in numbers):
            raise RangeError("a value is larger than the bound that was given", wanted=f"|value| <= {bound}")
        zeros = self.stock(len(numbers), bits)
        n, square = self.n, self.square
        made = [(1 + number * n) * zero % square for number, zero in zip(numbers, zeros, strict=True)]
        return Encrypted(self, made, bound, fresh=True)

    def stock(self, count: int, bits: Bits | Zeros) -> list[int]:
        """So many encryptions of zero: out of a stock for this key, or made now."""
        if not isinstance(bits, Zeros):
            return self.zeros(count, bits).take()
        self.same(bits.key)
        return bits.take(count)

    def same(self, other: PublicKey) -> None:
        """Raise `ParameterError` unless the other key is this one."""
        if (self.n, self.generator) != (other.n, other.generator):
            raise ParameterError("these belong to different keys", wanted="one key for all")

    def check(self, bound: int) -> None:
        """Raise `RangeError` if plaintexts of this size could wrap around."""
        if bound > self.largest:
            raise RangeError(
                "a plaintext could wrap around",
                got=f"a bound of {int(bound).bit_length()} bits",
                wanted=f"at most {self.largest.bit_length()} bits",
                remedy="Take fewer bits or a longer key.",
            )

    def received(self, sent: bytes, count: int, largest: int) -> Encrypted:
        """Ciphertexts from bytes of a peer, who is trusted that plaintexts are at most ``largest``.

        Raises `CipherError` if they are not units modulo n**2.
        """
        width = self.width
        if len(sent) != count * width:
            wanted = f"{count * width} bytes"
            raise CipherError("ciphertexts have another length", got=len(sent), wanted=wanted)
        self.check(largest)
        starts = range(0, len(sent), width)
        numbers = [long(int.from_bytes(sent[start : start + width], "little")) for start in starts]
        product = long(1)
        for number in numbers:
            product = product * number % self.n
        if any(not 0 < number < self.square for number in numbers) or math.gcd(product, self.n) != 1:
            raise CipherError("a ciphertext is not a unit modulo n**2")
        return Encrypted(self, numbers, largest, fresh=False)

    def to_bytes(self) -> bytes:
        """n and H."""
        size = -(-self.bits // 8)
        return int(self.n).to_bytes(size, "little") + int(self.generator).to_bytes(self.width, "little")

    @staticmethod
    def read(sent: bytes) -> PublicKey:
        """A peer's key. Raises `CipherError` if it is malformed or shorter than 2048 bits."""
        size = len(sent) // 3
        n, generator = (long(int.from_bytes(part, "little")) for part in (sent[:size], sent[size:]))
        key = PublicKey(n, generator)
        if len(sent) != 3 * size or key.bits != 8 * size or key.bits < SMALLEST_BITS or n % 2 == 0:
            raise CipherError("a public key is malformed or too short", wanted=f">= {SMALLEST_BITS} bits")
        if not 1 < generator < key.square or math.gcd(generator, n) != 1:
            raise CipherError("a public key's generator is not a unit")
        return key


@dataclass
class Zeros:
    """Encryptions of zero in stock. Each is handed out once."""

    key: PublicKey
    numbers: list[int] = field(repr=False)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, count: int | None = None) -> list[int]:
        """So many, or all, which are then gone. Raises `ParameterError` if there are fewer."""
        count = len(self.numbers) if count is None else count
        if count > len(self.numbers):
            raise ParameterError(
                "too few encryptions of zero in stock", got=count, wanted=f"<= {len(self.numbers)}"
            )
        taken = self.numbers[len(self.numbers) - count :]
        del self.numbers[len(self.numbers) - count :]
        return taken


@dataclass(frozen=True)
class Encrypted:
    """Ciphertexts under one key, with a bound on every plaintext. ``fresh``: nobody can tell how they were
    made."""

    key: PublicKey
    numbers: list[int] = field(repr=False)
    largest: int
    fresh: bool

    def __len__(self) -> int:
        return len(self.numbers)

    def __add__(self, other: Encrypted) -> Encrypted:
        """Encryptions of the sums."""
        self.key.same(other.key)
        bound = self.largest + other.largest
        self.key.check(bound)
        pairs = zip(self.numbers, other.numbers, strict=True)
        return Encrypted(self.key, [a * b % self.key.square for a, b in pairs], bound, fresh=False)

    def plus(self, values: Sequence[int], largest: int) -> Encrypted:
        """Encryptions of the sums with known integers up to ``largest`` in size."""
        bound = self.largest + largest
        self.key.check(bound)
        if any(abs(value) > largest for value in values):
            raise RangeError("a value is larger than the bound that was given")
        n, square = self.key.n, self.key.square
        pairs = zip(self.numbers, values, strict=True)
        return Encrypted(self.key, [a * (1 + value * n) % square for a, value in pairs], bound, fresh=False)

    def weighted(self, weights: NDArray[np.int64], largest: int) -> Encrypted:
        """Encryptions of sum_i weights[i, j] x_i for every column j.

        ``largest`` bounds every column's sum of |weights|. **Costs** about a product for every weight and
        eight bits of it.
        """
        bound = self.largest * largest
        self.key.check(bound)
        if any(sum(abs(weight) for weight in column) > largest for column in weights.T.tolist()):
            raise RangeError("weights sum to more than the bound that was given")
        return Encrypted(
            self.key, products_of_powers(self.numbers, weights, self.key.square), bound, fresh=False
        )

    def sealed(self, bits: Bits | Zeros) -> Encrypted:
        """The same plaintexts in ciphertexts that look freshly made: times fresh encryptions of zero."""
        pairs = zip(self.numbers, self.key.stock(len(self.numbers), bits), strict=True)
        made = [number * zero % self.key.square for number, zero in pairs]
        return Encrypted(self.key, made, self.largest, fresh=True)

    def to_bytes(self) -> bytes:
        """For sending. Raises `ParameterError` if the ciphertexts are results that were not sealed."""
        if not self.fresh:
            raise ParameterError(
                "results of arithmetic show how they were made", wanted="sealed ciphertexts",
                remedy="Call sealed(...) before sending.",
            )  # fmt: skip
        return b"".join(int(number).to_bytes(self.key.width, "little") for number in self.numbers)


@dataclass(frozen=True, repr=False)
class SecretKey:
    """The owner's primes. Decrypts, and encrypts faster than the public key: modulo p**2 and q**2 apart."""

    p: int
    q: int
    public: PublicKey

    def __repr__(self) -> str:
        return f"SecretKey({self.public.bits} bits)"

    @staticmethod
    def generate(bits: Bits, size: int = DEFAULT_BITS) -> SecretKey:
        """A new key with n of exactly ``size`` bits. Raises `ParameterError` below 2048.

        **Costs** about a second at 3072 bits.
        """
        if size < SMALLEST_BITS or size % 16:
            raise ParameterError(
                "keys have at least 2048 bits", got=size, wanted=f"a multiple of 16 from {SMALLEST_BITS}"
            )
        return _generated(bits, size)

    @cached_property
    def _halves(self) -> tuple[_Half, _Half]:
        return _Half.of(self.p, self.public), _Half.of(self.q, self.public)

    def zeros(self, count: int, bits: Bits) -> Zeros:
        """Encryptions of zero, as `PublicKey.zeros` makes them, and with the same distribution."""
        p, q = (half.table for half in self._halves)
        drawn = p.draw(count, bits)
        made = [self._joined(p.power(digits), q.power(digits)) for digits in drawn]
        return Zeros(self.public, made)

    def _joined(self, left: int, right: int) -> int:
        """The number modulo n**2 that is left modulo p**2 and right modulo q**2."""
        p, q = self._halves
        return right + q.square * ((left - right) * self._lift % p.square)

    @cached_property
    def _lift(self) -> int:
        p, q = self._halves
        return inverse(q.square, p.square)

    @cached_property
    def _small_lift(self) -> int:
        return inverse(self.q, self.p)

    def encrypt(self, values: Sequence[int], bits: Bits | Zeros, largest: int | None = None) -> Encrypted:
        """As `PublicKey.encrypt`, faster."""
        self.public.check(self.public.largest if largest is None else largest)
        zeros = bits if isinstance(bits, Zeros) else _Owner(self, bits)
        return self.public.encrypt(values, zeros, largest)

    def decrypt(self, encrypted: Encrypted) -> list[int]:
        """The plaintexts, in (-n/2, n/2)."""
        self.public.same(encrypted.key)
        return [self._decrypted(number) for number in encrypted.numbers]

    def _decrypted(self, number: int) -> int:
        """The plaintext modulo p and modulo q, joined."""
        p, q = (half.plaintext(number) for half in self._halves)
        whole = q + self.q * ((p - q) * self._small_lift % self.p)
        return int(whole - self.public.n) if whole > self.public.largest else int(whole)


class _Owner(Zeros):
    """A stock that the owner fills when asked, so that nothing is drawn before values were checked."""

    def __init__(self, secret: SecretKey, bits: Bits) -> None:
        super().__init__(secret.public, [])
        self._secret, self._bits = secret, bits

    def take(self, count: int | None = None) -> list[int]:
        return self._secret.zeros(count or 0, self._bits).take()


@dataclass(frozen=True)
class _Half:
    """What the owner precomputes for one prime."""

    prime: int
    square: int
    scale: int
    generator: int
    bits: int

    @staticmethod
    def of(prime: int, key: PublicKey) -> _Half:
        square = prime * prime
        scale = inverse((power(1 + key.n, prime - 1, square) - 1) // prime, prime)
        return _Half(prime, square, scale, key.generator % square, key.bits)

    @cached_property
    def table(self) -> FixedBase:
        width = _WIDTH if self.bits <= SMALLEST_BITS else _WIDTH_LONG
        return FixedBase.of(self.generator, self.square, self.bits // 2, width)

    def plaintext(self, number: int) -> int:
        """m = L(c**(p-1) mod p**2) / L((1+n)**(p-1) mod p**2) modulo p, where L(x) = (x - 1) / p."""
        raised = power_secret(number % self.square, self.prime - 1, self.square)
        return (raised - 1) // self.prime * self.scale % self.prime


def _generated(bits: Bits, size: int) -> SecretKey:
    """A key of any size; `SecretKey.generate` refuses those that are too short to protect anything."""
    while True:
        p, q = _blum(bits, size // 2), _blum(bits, size // 2)
        if p != q and math.gcd(p - 1, q - 1) == 2:
            break
    n = p * q
    while True:
        x = below(bits, n)
        if x > 1 and math.gcd(x, n) == 1:
            break
    return SecretKey(p, q, PublicKey(n, power(-x * x % n, n, n * n)))


def _blum(bits: Bits, size: int) -> int:
    """A prime of exactly this size, 3 modulo 4, with its two highest bits set; all of them equally likely."""
    while True:
        candidate = unbiased(bits, size) | (3 << (size - 2)) | 3
        if is_prime(candidate):
            return candidate
