"""Slow, obvious integers: what the fast rings, ciphers and shares are held against."""

from __future__ import annotations


def product(left: list[int], right: list[int], degree: int) -> list[int]:
    """Two polynomials modulo z^degree + 1, by one product of two very long integers."""
    biggest = max(map(abs, left), default=0) * max(map(abs, right), default=0)
    width = (biggest * degree).bit_length() + 2
    long = evaluate(left, width) * evaluate(right, width)
    digits = spread(long, width, 2 * degree)
    return [digits[i] - digits[i + degree] for i in range(degree)]


def evaluate(polynomial: list[int], width: int) -> int:
    """The polynomial at 2**width."""
    if len(polynomial) == 1:
        return polynomial[0]
    half = len(polynomial) // 2
    return evaluate(polynomial[:half], width) + (evaluate(polynomial[half:], width) << (half * width))


def spread(whole: int, width: int, count: int) -> list[int]:
    """Signed digits to base 2**width."""
    if count == 1:
        return [whole]
    half = count // 2
    low = whole & ((1 << (half * width)) - 1)
    if low >> (half * width - 1):
        low -= 1 << (half * width)
    high = (whole - low) >> (half * width)
    return spread(low, width, half) + spread(high, width, count - half)


def join(residues: list[int], moduli: tuple[int, ...]) -> int:
    """The centred integer with these residues."""
    modulus = 1
    for prime in moduli:
        modulus *= prime
    total = sum(r * (modulus // p) * pow(modulus // p, -1, p) for r, p in zip(residues, moduli, strict=True))
    return centred(total, modulus)


def centred(value: int, modulus: int) -> int:
    value %= modulus
    return value - modulus if value > modulus // 2 else value


def nearest(numerator: int, denominator: int) -> int:
    """numerator / denominator rounded to nearest."""
    return (2 * numerator + denominator) // (2 * denominator)
