"""Masked products: shares of x and y become shares of their product with the help of a triple made
beforehand.

A triple is additive shares, modulo 2**64, of uniform a and b and of c = a * b, where * is any bilinear
product:
    "pairs"  (rows, s) and (rows, t) to (rows, s, t), row by row;
    "sums"   the same summed over rows, (s, t): joint counts, inner products.
The parties open d = x - a and e = y - b, which are uniform, and each takes (Beaver 1991)
    z_i = c_i + d * b_i + a_i * e,     the first also adds d * e.

**Trusts** whoever makes triples: a dealer who also sees d and e, or colludes with somebody who does, knows
x and y. A triple is used once; using it twice opens differences of inputs (`Triple.spend` refuses).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.crypto.sharing import masks
from discreet.errors import ParameterError
from discreet.randomness import expand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint64]

__all__ = ["Form", "Triple", "correction", "expanded", "sum_of"]

Product = Literal["pairs", "sums"]


@dataclass(frozen=True)
class Form:
    """Which product, and of which sizes: (rows, left) by (rows, right)."""

    product: Product
    rows: int
    left: int
    right: int

    def __post_init__(self) -> None:
        if min(self.rows, self.left, self.right) < 1 or self.product not in ("pairs", "sums"):
            raise ParameterError(
                "not a product of columns", got=(self.product, self.rows, self.left, self.right)
            )

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of the factors and the product."""
        rows, left, right = self.rows, self.left, self.right
        whole = (left, right) if self.product == "sums" else (rows, left, right)
        return (rows, left), (rows, right), whole

    def of(self, left: Numbers, right: Numbers) -> Numbers:
        """The product modulo 2**64."""
        if self.product == "sums":
            return left.T @ right
        return left[:, :, None] * right[:, None, :]


@dataclass
class Triple:
    """One party's shares of a, b and a * b."""

    form: Form
    a: Numbers = field(repr=False)
    b: Numbers = field(repr=False)
    c: Numbers = field(repr=False)
    spent: bool = False

    def masked(self, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
        """This party's shares of d and e."""
        if self.spent:
            raise ParameterError("a triple was used before", remedy="Make one triple for every product.")
        self.spent = True
        return x - self.a, y - self.b

    def product(self, d: Numbers, e: Numbers, first: bool) -> Numbers:
        """This party's share of the product, from opened d and e."""
        share = self.c + self.form.of(d, self.b) + self.form.of(self.a, e)
        return share + self.form.of(d, e) if first else share


def expanded(form: Form, seed: bytes, number: int) -> Triple:
    """The shares that a dealer's seed stands for; ``number`` counts the dealer's triples."""
    bits = expand(seed, f"discreet/triple/1/{number}/{form.product}/{form.rows}/{form.left}/{form.right}")
    a, b, c = (masks(shape, bits) for shape in form.shapes)
    return Triple(form, a, b, c)


def correction(form: Form, seeds: list[bytes], number: int) -> Numbers:
    """What the dealer adds to the last party's c so that all shares together are a triple."""
    parts = [expanded(form, seed, number) for seed in seeds]
    a, b, c = (sum_of([getattr(part, name) for part in parts]) for name in ("a", "b", "c"))
    return form.of(a, b) - c


def sum_of(parts: list[Numbers]) -> Numbers:
    """The sum modulo 2**64."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
