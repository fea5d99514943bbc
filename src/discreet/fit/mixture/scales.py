"""How much one row may weigh in a release of local moments, and how the noise is shared between them.

A row that component k claims with responsibility r_k adds r_k to its count, r_k z_k to its first and
r_k z_k z_k' to its second moment. Before noise these blocks are multiplied by ``count``, ``first`` and
``second`` (and entries off the diagonal by sqrt 2, so that the vector's norm is the matrix's), so that one
noise level suits all of them. With t = |z|^2 the norm of what a row adds is
    L2:   sqrt(sum_k r_k^2 (count^2 + first^2 t_k + second^2 t_k^2))
    L1:   sum_k r_k (count + first sqrt(d t_k) + second e t_k),   e = 1 + (d - 1) / sqrt 2
(for L1: |z|_1 <= sqrt(d t), and the packed entries of z z' sum to at most t + (|z|_1^2 - t) / sqrt 2), with
e = 1 where only the squares are kept. Tied covariances add all second blocks into one: its L2 norm is at most
second * sum_k r_k t_k. Both norms are homogeneous in r and increasing in t.

Rows that would weigh more than ``limit`` are scaled down to it: those far outside the component that claims
them. A standard normal point has t around d, with standard deviation sqrt(2 d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.moments import CovarianceType

__all__ = ["Scales", "add_rows"]


@dataclass(frozen=True)
class Scales:
    """Multipliers of the blocks, the norm that bounds a row, and its limit."""

    dimension: int
    covariance_type: CovarianceType
    norm: Literal["l1", "l2"]
    count: float
    first: float
    second: float
    limit: float

    @staticmethod
    def choose(
        dimension: int, covariance_type: CovarianceType, norm: Literal["l1", "l2"], *, whole: bool = False
    ) -> Scales:
        """Blocks that weigh the same for a typical row; the limit lets through all but far rows.

        ``whole`` is for the frame of the whole region, where no row can have t above d.
        """
        longest = dimension if whole else dimension + 2.5 * math.sqrt(2 * dimension) + 3
        entries = 1 + (dimension - 1) / math.sqrt(2) if covariance_type in ("full", "tied") else 1.0
        if norm == "l2":
            first, second = 1 / math.sqrt(dimension), 1 / dimension
            limit = math.sqrt(1 + first**2 * longest + second**2 * longest**2)
        else:
            first, second = 1 / dimension, 1 / (dimension * entries)
            limit = 1 + first * math.sqrt(dimension * longest) + second * entries * longest
        down = 2.0**-30
        first, second = math.floor(first / down) * down, math.floor(second / down) * down
        return Scales(dimension, covariance_type, norm, 1.0, first, second, limit)

    @cached_property
    def near(self) -> float:
        """A row whose mean squared length sum_k r_k t_k is at most this is surely within the limit.

        By the triangle inequality the row's norm is at most the mean, weighted by r_k, of the norms at r = 1.
        L2: these are at most count + b t with b = max(second, first^2 / (2 count)). L1: they are concave in
        t, so their mean is at most the value at the mean. A share 2**-20 of the limit is left for rounding.
        """
        room = self.limit * (1 - 2.0**-20) - self.count
        if room <= 0 or self.count <= 0:
            return 0.0
        if self.norm == "l2":
            return room / max(self.second, self.first**2 / (2 * self.count))
        root, line = self.first * math.sqrt(self.dimension), self.second * self._entries
        return (2 * room / (root + math.sqrt(root**2 + 4 * line * room))) ** 2

    @property
    def _entries(self) -> float:
        """The number e above."""
        full = self.covariance_type in ("full", "tied")
        return 1 + (self.dimension - 1) / math.sqrt(2) if full else 1.0

    def cost(self, shares: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """The norm of what rows with these responsibilities and squared lengths, (K, n) each, would add."""
        if self.norm == "l1":
            root = self.first * np.sqrt(self.dimension * lengths)
            each = self.count + root + self.second * self._entries * lengths
            return add_rows(shares * each)
        if self.covariance_type == "tied":
            apart = add_rows(shares**2 * (self.count**2 + self.first**2 * lengths))
            together = self.second * add_rows(shares * lengths)
            return np.sqrt(apart + together**2)
        each = lengths * self.second**2
        each += self.first**2
        each *= lengths
        each += self.count**2
        each *= shares
        each *= shares
        return np.sqrt(add_rows(each))

    def clip(
        self, shares: NDArray[np.float64], total: NDArray[np.float64], lengths: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """What to multiply unnormalised responsibilities with: min(1, limit / cost) / total."""
        cost = self.cost(shares, lengths)
        np.maximum(cost / self.limit, total, out=cost)
        return np.divide(1.0, cost, out=cost)


def add_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum over the first axis, always in its order: numpy's own order depends on the other axis."""
    total = values[0].copy()
    for row in values[1:]:
        total += row
    return total
