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
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.moments import CovarianceType

__all__ = ["Scales"]


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

    def cost(self, shares: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """The norm of what rows with these responsibilities and squared lengths, (K, n) each, would add."""
        if self.norm == "l1":
            entries = 1 + (self.dimension - 1) / math.sqrt(2)
            entries = entries if self.covariance_type in ("full", "tied") else 1.0
            each = (
                self.count + self.first * np.sqrt(self.dimension * lengths) + self.second * entries * lengths
            )
            return np.asarray(np.sum(shares * each, axis=0))
        if self.covariance_type == "tied":
            apart = np.sum(shares**2 * (self.count**2 + self.first**2 * lengths), axis=0)
            together = self.second * np.sum(shares * lengths, axis=0)
            return np.sqrt(apart + together**2)
        each = lengths * self.second**2
        each += self.first**2
        each *= lengths
        each += self.count**2
        each *= shares
        each *= shares
        return np.sqrt(each.sum(axis=0))

    def clip(
        self, shares: NDArray[np.float64], total: NDArray[np.float64], lengths: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """What to multiply unnormalised responsibilities with: min(1, limit / cost) / total."""
        cost = self.cost(shares, lengths)
        np.maximum(cost / self.limit, total, out=cost)
        return np.divide(1.0, cost, out=cost)
