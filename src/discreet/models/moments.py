"""Moments of a mixture's components, in coordinates of their own, and the step back to parameters.

A component k with mean m and covariance C = L L' sees a point x at z = L^-1 (x - m): its *local*
coordinates, in which it expects a standard normal. The moments of component k are the weighted sums of
1, z and z z' over the points, weighted by the responsibilities. Seen from there, a small and a large
component are equally easy to measure, which is why private fitting adds its noise here and not in the
coordinates of the data.

The M-step turns moments into parameters. It knows how uncertain the moments are and pulls what cannot be
trusted towards the parameters that were there before; with no uncertainty it is the usual M-step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["COVARIANCE_TYPES", "CovarianceType", "Frame", "Moments", "Pairs", "maximise"]

CovarianceType = Literal["full", "tied", "diag", "spherical"]
COVARIANCE_TYPES: tuple[CovarianceType, ...] = ("full", "tied", "diag", "spherical")


@dataclass(frozen=True)
class Pairs:
    """The products of two coordinates that a covariance type needs: (rows[p], columns[p]) for each p."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    dimension: int

    @staticmethod
    def of(covariance_type: CovarianceType, dimension: int) -> Pairs:
        """Every pair i <= j for full and tied covariances, only the squares for the others."""
        if covariance_type in ("full", "tied"):
            rows, columns = np.triu_indices(dimension)
            return Pairs(rows, columns, dimension)
        index = np.arange(dimension)
        return Pairs(index, index, dimension)

    @property
    def twice(self) -> NDArray[np.float64]:
        """2 where a pair stands for two entries of a symmetric matrix, else 1."""
        return np.where(self.rows == self.columns, 1.0, 2.0)

    def pack(self, matrices: NDArray[np.float64]) -> NDArray[np.float64]:
        """The entries of symmetric matrices at these pairs."""
        return matrices[..., self.rows, self.columns]

    def unpack(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Symmetric matrices with these entries, and zero elsewhere."""
        matrices = np.zeros((*entries.shape[:-1], self.dimension, self.dimension))
        matrices[..., self.rows, self.columns] = entries
        matrices[..., self.columns, self.rows] = entries
        return matrices


@dataclass(frozen=True)
class Frame:
    """Components with their local coordinates: z = inverse (x - mean), covariance = root root'."""

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    roots: NDArray[np.float64]
    inverses: NDArray[np.float64]

    @staticmethod
    def of(
        weights: NDArray[np.float64], means: NDArray[np.float64], covariances: NDArray[np.float64]
    ) -> Frame:
        """The frame of a mixture with full (K, d, d) covariances."""
        try:
            roots = np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise ParameterError(
                "a covariance is not positive definite", wanted="a larger reg_covar"
            ) from None
        identity = np.broadcast_to(np.eye(means.shape[1]), roots.shape)
        inverses = np.asarray(np.linalg.solve(roots, identity), dtype=np.float64)
        return Frame(weights, means, roots, inverses)

    @staticmethod
    def whole(dimension: int, reach: float) -> Frame:
        """One component that stands for the whole region: the start that looks at no data."""
        spread, identity = reach / np.sqrt(dimension), np.eye(dimension)[None]
        return Frame(np.ones(1), np.zeros((1, dimension)), identity * spread, identity / spread)

    @property
    def covariances(self) -> NDArray[np.float64]:
        """Full (K, d, d) covariances."""
        return self.roots @ self.roots.transpose(0, 2, 1)

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.weights)

    def natural(self, pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Natural parameters: log(w_k N(x | k)) = constant_k + slope_k . [1, x, pairs of x].

        -2 slope_k . [1, x, pairs] is the squared length of z, without the constant.
        """
        precisions = self.inverses.transpose(0, 2, 1) @ self.inverses
        linear = np.einsum("kij,kj->ki", precisions, self.means)
        offset = -0.5 * np.einsum("ki,ki->k", self.means, linear)
        quadratic = -0.5 * pairs.pack(precisions) * pairs.twice
        slopes = np.concatenate([offset[:, None], linear, quadratic], axis=1)
        log_root = np.log(np.einsum("kii->ki", self.roots)).sum(axis=1)
        constants = np.log(self.weights) - log_root - self.means.shape[1] / 2 * np.log(2 * np.pi)
        return slopes, constants


@dataclass(frozen=True)
class Moments:
    """Sums of 1, z and z z' for each component in its local coordinates, and how uncertain an entry is.

    ``second`` is (K, d, d); for tied covariances it is (1, d, d), for all components together.
    The ``noise_`` numbers are standard deviations of one entry; zero for plain sums.
    """

    counts: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    noise_counts: float = 0.0
    noise_first: float = 0.0
    noise_second: float = 0.0

    @staticmethod
    def from_sums(
        frame: Frame, counts: NDArray[np.float64], first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> Moments:
        """Local moments from the sums of r, r x and r x x' in the coordinates of the data."""
        means, inverses = frame.means, frame.inverses
        centred = first - means * counts[:, None]
        cross = np.einsum("ki,kj->kij", first, means)
        square = np.einsum("ki,kj->kij", means, means) * counts[:, None, None]
        spread = second - cross - cross.transpose(0, 2, 1) + square
        return Moments(
            counts,
            np.einsum("kij,kj->ki", inverses, centred),
            inverses @ spread @ inverses.transpose(0, 2, 1),
        )

    def pooled(self) -> Moments:
        """With one second moment for all components together."""
        total = self.second.sum(axis=0, keepdims=True)
        return Moments(self.counts, self.first, total, self.noise_counts, self.noise_first, self.noise_second)


MEAN_SPREAD = 1.0  # how far a mean is expected to move in one round, in local units
SHAPE_SPREAD = 0.7  # how much an entry of the local covariance is expected to differ from the identity
STEP = 2.0  # no mean moves further than this in one round, in local units
SHRINK, GROW = 0.05, 4.0  # no axis of a component changes its variance by more than this in one round


def maximise(
    frame: Frame,
    moments: Moments,
    covariance_type: CovarianceType,
    floor: float,
    *,
    ridge: float = 0.0,
    ceiling: float = np.inf,
) -> Frame:
    """The next parameters from moments: means and covariances first, then floors.

    What the noise makes unreliable is shrunk: with an entry's noise s and a component's count n, the mean's
    move is multiplied by 1 / (1 + d (s / n)^2) and the covariance is mixed with the present one by the same
    rule. ``floor`` and ``ceiling`` bound the variance in any direction, ``ridge`` is added to every variance.
    """
    dimension = frame.means.shape[1]
    noisy = moments.noise_counts > 0
    counts = np.maximum(moments.counts, max(moments.noise_counts, 1e-300))
    weights = np.maximum(moments.counts, 0.5 * moments.noise_counts if noisy else 1e-12 * counts.sum())
    moves = moments.first / counts[:, None]
    moves *= (1 / (1 + dimension * (moments.noise_first / counts / MEAN_SPREAD) ** 2))[:, None]
    if noisy:
        moves *= np.minimum(1, STEP / np.maximum(np.linalg.norm(moves, axis=1), 1e-300))[:, None]
    shapes = _shapes(moments, counts, moves, covariance_type)
    means = frame.means + np.einsum("kij,kj->ki", frame.roots, moves)
    covariances = frame.roots @ shapes @ frame.roots.transpose(0, 2, 1)
    covariances = _constrain(covariances, covariance_type, floor, ceiling, ridge)
    return Frame.of(weights / weights.sum(), means, covariances)


def _shapes(
    moments: Moments, counts: NDArray[np.float64], moves: NDArray[np.float64], covariance_type: CovarianceType
) -> NDArray[np.float64]:
    """Local covariances, (K, d, d): the second moment less the move's square, shrunk and bounded if noisy."""
    dimension = moves.shape[1]
    squares = np.einsum("ki,kj->kij", moves, moves)
    if covariance_type == "tied":
        total = counts.sum()
        drift = np.einsum("k,kij->ij", counts, squares)
        shapes, mass = (moments.second - drift) / total, np.array([total])
    else:
        shapes, mass = moments.second / counts[:, None, None] - squares, counts
    if moments.noise_second > 0:
        trust = 1 / (1 + dimension * (moments.noise_second / mass / SHAPE_SPREAD) ** 2)
        shapes = trust[:, None, None] * shapes + (1 - trust)[:, None, None] * np.eye(dimension)
        values, axes = np.linalg.eigh(shapes)
        shapes = (axes * np.clip(values, SHRINK, GROW)[:, None, :]) @ axes.transpose(0, 2, 1)
    return np.broadcast_to(shapes, squares.shape)


def _constrain(
    covariances: NDArray[np.float64],
    covariance_type: CovarianceType,
    floor: float,
    ceiling: float,
    ridge: float,
) -> NDArray[np.float64]:
    """Symmetric covariances of the declared type, no variance below the floor or above the ceiling."""
    dimension = covariances.shape[1]
    if covariance_type in ("diag", "spherical"):
        variances = np.einsum("kii->ki", covariances)
        if covariance_type == "spherical":
            variances = np.repeat(variances.mean(axis=1, keepdims=True), dimension, axis=1)
        return np.clip(variances + ridge, floor, ceiling)[:, :, None] * np.eye(dimension)
    covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
    values, axes = np.linalg.eigh(covariances)
    return (axes * np.clip(values + ridge, floor, ceiling)[:, None, :]) @ axes.transpose(0, 2, 1)
