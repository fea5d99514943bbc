"""Long integers: the few functions of GMP that ciphers need, with types.

Numbers behave as Python integers and are many times faster when they are long. **Does not protect** against
somebody who measures time: GMP's products take as long as its numbers are long, and `power` depends on the
exponent. `power_secret` does not, as far as GMP promises.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.randomness import Bits

__all__ = ["below", "exponential", "inverse", "is_prime", "long", "power", "power_secret", "unbiased"]

_gmpy2: Any = import_module("gmpy2")  # it ships no types


def long(value: int) -> int:
    """The same integer, for fast arithmetic."""
    return _gmpy2.mpz(value)


def power(number: int, exponent: int, modulus: int) -> int:
    """number ** exponent modulo modulus, for public exponents."""
    return _gmpy2.powmod(number, exponent, modulus)


def power_secret(number: int, exponent: int, modulus: int) -> int:
    """The same for secret exponents and odd moduli: time and memory do not follow the exponent."""
    return _gmpy2.powmod_sec(number, exponent, modulus)


def inverse(number: int, modulus: int) -> int:
    """1 / number modulo modulus. Raises `ZeroDivisionError` if there is none."""
    return _gmpy2.invert(number, modulus)


def is_prime(number: int) -> bool:
    """Whether a number is prime: no composite is known to pass."""
    return bool(_gmpy2.is_prime(number, 40))


def unbiased(bits: Bits, count: int) -> int:
    """A uniform integer of ``count`` bits."""
    whole = int.from_bytes(bits.bytes(-(-count // 8)), "little")
    return long(whole >> (-count % 8))


def below(bits: Bits, limit: int) -> int:
    """A uniform integer in [0, limit)."""
    while True:
        drawn = unbiased(bits, int(limit - 1).bit_length())
        if drawn < limit:
            return drawn


def exponential(exponent: Fraction, places: int) -> tuple[int, int]:
    """Integers that enclose exp(exponent) times 2**places, for exponents up to 0.

    The exponent is cut to a binary fraction below and above; MPFR then rounds the exponential correctly in
    the direction it is told. So the bounds are proven, and the same on every machine.
    """
    scale = 2 ** (places + 16)
    cut = (
        exponent.numerator * scale // exponent.denominator,
        -(-exponent.numerator * scale // exponent.denominator),
    )
    precision = places + 32 + abs(cut[0] // scale).bit_length()  # more than the cut exponents have
    down, up = (_gmpy2.context(precision=precision, round=way) for way in (_gmpy2.RoundDown, _gmpy2.RoundUp))
    low, high = (way.exp(way.div(cut[at], scale)) for at, way in enumerate((down, up)))
    (below, by), (above, under) = low.as_integer_ratio(), high.as_integer_ratio()
    return (int(below) << places) // int(by), -((-int(above) << places) // int(under))
