"""Two published protocol steps that do not hide what they should, and the programs that read them.

They are here to be broken, under a name that says so: nothing in `join` or `ask` uses them. Both are from
Pathak's thesis proposal (2010), sections 3.1.2 and 4.2.1: Bob computes under Alice's key, and Alice, who can
decrypt, must not learn the numbers.

**Secure logarithm.** Bob wants Enc(log t) from Enc(t). He sends Enc(b t) for a random b; Alice decrypts b t
and sends back the encrypted logarithm. A product of integers keeps its divisors and, up to the length of b,
its size. So Alice learns
    t = gcd(b1 t, b2 t, ...)    from n blindings of one number, with probability 1 / zeta(n): 0.61 for two
                                and 0.9998 for twelve,
    whether t was her guess g   from one blinding: g divides b t always if t = g, else with chance 1 / g,
    log t up to log b           from one blinding; and exactly whether t is zero.
The same utterance asked twice, and the same product within one recursion, give several blindings of one
number.

**Order-preserving matrix.** Bob sends p R for scores p, with R random such that the order of the scores is
kept for every p. Then column j of R minus column k must be positive exactly on {p: p_j > p_k}, a half-space,
so it is a positive multiple of e_j - e_k; the three differences of any three columns add up to zero, so the
multiple is the same for all pairs: R = a I + c 1'. That is p' = a p + (a shift common to all). Alice learns
the whole order, and     p' - min p'  =  a (p - min p),    with a = gcd of the left side if the true gaps
have no common divisor: all scores exactly, up to one shift, for the price of one run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from discreet.errors import ParameterError
from discreet.protocols.step import Limit, Receive, Send

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = [
    "Cipher",
    "logarithm_alice",
    "logarithm_bob",
    "maximum_alice",
    "maximum_bob",
    "possible_guesses",
    "recover_gaps",
    "recover_number",
    "size_range",
]

_DIGITS = 10**6
"""Numbers are accurate to six decimal places, as in the thesis."""


class Cipher(Protocol):
    """An additively homomorphic cipher of integers, as wide as ``width`` bytes; Alice alone can decrypt."""

    @property
    def width(self) -> int:
        """Bytes of a ciphertext."""
        ...

    def encrypt(self, value: int) -> int:
        """A fresh ciphertext."""
        ...

    def decrypt(self, cipher: int) -> int:
        """The value."""
        ...

    def add(self, first: int, second: int) -> int:
        """Of the sum of two values."""
        ...

    def scale(self, cipher: int, factor: int) -> int:
        """Of the value times a number."""
        ...


def logarithm_bob(cipher: Cipher, encrypted: int, blind: int, bits: Bits) -> Steps[int]:
    """Bob's side: blinds with a factor of so many bits, and returns Enc(log t), in millionths."""
    factor = 1 + _below(bits, 1 << blind)
    yield Send("log/blinded", {"c": _raw(cipher, cipher.scale(encrypted, factor))})
    told = yield Receive("log/logarithm", {"c": Limit.raw(cipher.width)})
    shift = cipher.encrypt(-round(_DIGITS * math.log(factor)))
    return cipher.add(int.from_bytes(told["c"], "big"), shift)


def logarithm_alice(cipher: Cipher) -> Steps[int]:
    """Alice's side. Returns the number she saw on the way."""
    told = yield Receive("log/blinded", {"c": Limit.raw(cipher.width)})
    seen = cipher.decrypt(int.from_bytes(told["c"], "big"))
    if seen <= 0:
        raise ParameterError("there is no logarithm of nothing", wanted="a positive number")
    answer = cipher.encrypt(round(_DIGITS * math.log(seen)))
    yield Send("log/logarithm", {"c": _raw(cipher, answer)})
    return seen


def maximum_bob(cipher: Cipher, encrypted: Sequence[int], blind: int, bits: Bits) -> Steps[None]:
    """Bob's side: multiplies the encrypted scores by a random order-preserving matrix."""
    factor = 1 + _below(bits, 1 << blind)
    shift = cipher.encrypt(0)
    for score in encrypted:
        shift = cipher.add(shift, cipher.scale(score, _below(bits, 1 << blind)))
    moved = [cipher.add(cipher.scale(score, factor), shift) for score in encrypted]
    yield Send("max/moved", {"c": b"".join(_raw(cipher, score) for score in moved)})


def maximum_alice(cipher: Cipher, count: int) -> Steps[list[int]]:
    """Alice's side. Returns the moved scores that she saw, of which she should use the largest only."""
    told = yield Receive("max/moved", {"c": Limit.raw(count * cipher.width)})
    pieces = [told["c"][at : at + cipher.width] for at in range(0, count * cipher.width, cipher.width)]
    return [cipher.decrypt(int.from_bytes(piece, "big")) for piece in pieces]


def recover_number(seen: Sequence[int]) -> int:
    """The number behind several blindings of it."""
    return math.gcd(*seen)


def possible_guesses(seen: int, guesses: Sequence[int]) -> list[int]:
    """Which guesses one blinding does not rule out."""
    return [guess for guess in guesses if guess > 0 and seen % guess == 0]


def size_range(seen: int, blind: int) -> tuple[float, float]:
    """Between which logarithms (to base 2) a blinded number must lie."""
    return math.log2(seen) - blind, math.log2(seen)


def recover_gaps(seen: Sequence[int]) -> list[int]:
    """All scores, up to one shift and the largest common divisor of their gaps."""
    gaps = [score - min(seen) for score in seen]
    common = math.gcd(*gaps) or 1
    return [gap // common for gap in gaps]


def _raw(cipher: Cipher, value: int) -> bytes:
    return value.to_bytes(cipher.width, "big")


def _below(bits: Bits, limit: int) -> int:
    """A uniform integer below a power of two."""
    width = limit.bit_length() - 1
    return int.from_bytes(bits.bytes(-(-width // 8)), "big") % limit
