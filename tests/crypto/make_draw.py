"""Write tests/vectors/draw.json by long decimals and slow loops alone: `python -m tests.crypto.make_draw`.

Weights come from Python's decimal exponential, columns from an alias fill of its own, values from a walk over
bits; from `discreet.crypto.bells` only the choice of terms is taken, which is frozen here as part of the
protocol.
"""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

from discreet.crypto.bells import bells
from discreet.randomness import seeded

PATH = Path(__file__).parents[1] / "vectors" / "draw.json"
LAWS = [(1.0, 20), (6.5, 60), (32.5, 70), (1000.25, 70)]
DIGITS = 160


def masses(variance: Fraction, count: int) -> list[Fraction]:
    """P[|y| = j] for j < count, right to some 150 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        twice = Decimal(2 * variance.numerator) / Decimal(variance.denominator)
        falling = []
        while not falling or falling[-1] > Decimal(10) ** -DIGITS or len(falling) < count:
            falling.append((-Decimal(len(falling) ** 2) / twice).exp())
        whole = 2 * sum(falling) - 1
        return [Fraction((1 + (at > 0)) * one / whole) for at, one in enumerate(falling[:count])]


def weights(variance: Fraction, depth: int, width: int) -> list[int]:
    """Masses in units of 2**-(depth + width), what is left over given to zero."""
    units = 2 ** (depth + width)
    rounded = [round(mass * units) for mass in masses(variance, 2**depth)]
    rounded[0] += units - sum(rounded)
    return rounded


def columns(weights: list[int], width: int) -> list[tuple[int, int]]:
    """Own units and the other value of every column: the last short one takes from the last long one."""
    left, filled = list(weights), {}
    short = [at for at in range(len(left)) if left[at] < 2**width]
    long = [at for at in range(len(left)) if left[at] >= 2**width]
    while short:
        at = short.pop()
        filled[at] = (left[at], long[-1])
        left[long[-1]] += left[at] - 2**width
        if left[long[-1]] < 2**width:
            short.append(long.pop())
    return [filled.get(at, (0, at)) for at in range(len(left))]


def value(terms: list[dict], shift: int, bits: list[int]) -> int:
    """The noise that uniform bits stand for."""
    total, at = 0, 0

    def number(count: int) -> int:
        nonlocal at
        at += count
        return sum(bit << place for place, bit in enumerate(bits[at - count : at]))

    for place, term in enumerate(terms):
        filled = columns(weights(Fraction(term["variance"]), term["depth"], term["width"]), term["width"])
        column = number(term["depth"])
        own, other = filled[column]
        magnitude = column if number(term["width"]) < own else other
        total += (-magnitude if number(1) else magnitude) * 2 ** (shift * place)
    return total


def law(deviation: float, closeness: int) -> dict:
    noise = bells(deviation, Fraction(1, 2**closeness))
    terms = [
        {"variance": str(bell.variance), "depth": bell.urn.depth, "width": bell.urn.width}
        for bell in noise.terms
    ]
    draw = seeded(int(deviation))
    drawn = [draw.integers(0, 2, noise.bits).tolist() for _ in range(12)]
    return {
        "deviation": deviation,
        "closeness": closeness,
        "shift": noise.shift,
        "terms": terms,
        "weights": [
            f"{one:x}" for one in weights(noise.terms[0].variance, terms[0]["depth"], terms[0]["width"])
        ],
        "draws": [
            {"bits": "".join(map(str, bits)), "noise": value(terms, noise.shift, bits)} for bits in drawn
        ],
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps([law(*one) for one in LAWS], indent=1) + "\n", encoding="utf-8")
