"""Everybody's own portion of the noise in a joint sum: no party knows it all, and none can take it out.

Each party adds exact discrete noise of its own to its own number before numbers are masked. A party knows one
portion only. If ``colluding`` of the ``counted`` contributions subtract what they know, what the other
h = counted - colluding have added remains, and *that* is what is promised:
    Gaussian   each draws scale s / sqrt(h); the rest has scale s. Sums of discrete Gaussians are not quite
               discrete Gaussian; with own scale at least 16 the densities differ by a factor of
               exp(10 h exp(-256 pi^2)) at most (Kairouz, Liu, Steinke 2021, on their convolution), less than
               1 + 2**-3600 for any h below 2**40.
    Laplace    each draws the full scale s; one honest party's noise alone is what is promised. (Shares that
               add up to one Laplace number exist, but they have no sampler that is both exact and short.)
All others' portions make it noisier than promised: a factor sqrt(counted / h), or sqrt(counted) for Laplace.
Scales are in units of the grid on which the numbers are integers; take a finer grid to have scale 16.

**Reveals** the noisy sum. **Trusts** that ``counted - colluding`` parties add what they should. A party
that adds more noise, or another number, spoils the sum; this does not protect against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Protocol

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.randomness import Bits

__all__ = ["Portion", "Sampler"]

_SMALLEST = 16


class Sampler(Protocol):
    """Draws exact discrete noise: the samplers of `discreet.mechanisms.exact`."""

    def __call__(self, scale: Fraction | int, size: int, bits: Bits) -> NDArray[np.int64]:
        """So many integers at this scale."""
        ...


@dataclass(frozen=True)
class Portion:
    """One party's share of noise of the given ``scale``.

    At least ``counted`` contributions will be in the sum, and at most ``colluding`` of them are by parties
    who tell each other their noise.
    """

    mechanism: Literal["gaussian", "laplace"]
    scale: float
    counted: int
    colluding: int

    def __post_init__(self) -> None:
        if self.mechanism not in ("gaussian", "laplace"):
            raise ParameterError("no such noise", got=self.mechanism, wanted="gaussian or laplace")
        if not 0 <= self.colluding < self.counted:
            raise ParameterError(
                "somebody must be honest", got=(self.counted, self.colluding), wanted="colluding < counted"
            )
        if not (math.isfinite(self.scale) and self.scale > 0 and self.own >= _SMALLEST):
            raise ParameterError(
                "portions of noise are too small for their sum to have the stated law", got=self.scale,
                wanted=f"own scale at least {_SMALLEST} grid units", remedy="Count on a finer grid.",
            )  # fmt: skip

    @property
    def own(self) -> Fraction:
        """The scale that each party draws at: a fraction with a power of two below, never too small."""
        honest = 1 if self.mechanism == "laplace" else self.counted - self.colluding
        squared = Fraction(self.scale) ** 2 / honest
        fine = 2 ** max(0, 24 - math.floor(math.log2(self.scale)))
        root = math.isqrt(math.ceil(squared * fine**2))
        return Fraction(root + (root**2 < squared * fine**2), fine)

    def remaining(self, colluding: int) -> float:
        """The scale of what is left if so many take their noise out; for Laplace, that of one portion."""
        honest = self.counted - colluding
        if honest <= 0:
            return 0.0
        return float(self.own) * (1.0 if self.mechanism == "laplace" else math.sqrt(honest))

    def draw(self, sample: Sampler, size: int, bits: Bits) -> NDArray[np.int64]:
        """This party's noise, for ``size`` numbers."""
        return sample(self.own, size, bits)
