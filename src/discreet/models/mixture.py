"""A mixture of Gaussians: densities, responsibilities, samples. Knows nothing of data or privacy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.models.moments import Frame, Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from discreet.randomness import Generator

__all__ = ["Mixture"]

_BUFFER_BYTES = 2**24


@dataclass(frozen=True)
class Mixture:
    """Weights (K,), means (K, d) and full covariances (K, d, d).

    Densities are computed in coordinates centred and scaled by the mixture itself, so that data far from the
    origin (map projections, time stamps) lose no digits.
    """

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]

    def __post_init__(self) -> None:
        components, dimension = self.means.shape
        if self.weights.shape != (components,) or self.covariances.shape != (
            components,
            dimension,
            dimension,
        ):
            raise ParameterError(
                "the parts of the mixture do not fit together",
                got=(self.weights.shape, self.means.shape, self.covariances.shape),
                wanted="(K,), (K, d) and (K, d, d)",
            )

    @staticmethod
    def from_unit(frame: Frame, center: NDArray[np.float64], scale: NDArray[np.float64]) -> Mixture:
        """A mixture fitted in unit coordinates u, for points x = center + scale u."""
        covariances = frame.covariances * np.outer(scale, scale)
        covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
        return Mixture(frame.weights.copy(), center + scale * frame.means, covariances)

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return self.means.shape[1]

    def log_density(self, points: ArrayLike) -> NDArray[np.float64]:
        """log p(x) of each point (n, d)."""
        return np.concatenate([_log_sum(joint) for joint in self._log_joint(points)])

    def score(self, points: ArrayLike) -> float:
        """The mean of log p(x)."""
        return float(self.log_density(points).mean())

    def responsibilities(self, points: ArrayLike) -> NDArray[np.float64]:
        """P(component | x), one row a point."""
        return np.concatenate([np.exp(joint - _log_sum(joint)).T for joint in self._log_joint(points)])

    def predict(self, points: ArrayLike) -> NDArray[np.intp]:
        """The most likely component of each point."""
        return np.concatenate([joint.argmax(axis=0) for joint in self._log_joint(points)])

    def sample(self, count: int, generator: Generator) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Draw points and their components, in random order."""
        chosen = generator.choice(len(self.weights), size=count, p=self.weights / self.weights.sum())
        roots = np.linalg.cholesky(self.covariances)
        normals = generator.standard_normal((count, self.dimension))
        points = self.means[chosen] + np.einsum("nij,nj->ni", roots[chosen], normals)
        return points, chosen

    @cached_property
    def _view(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Centre, scale, slopes and constants: natural parameters in the mixture's own coordinates."""
        center = self.weights @ self.means
        spread = np.einsum("kii->ki", self.covariances) + (self.means - center) ** 2
        scale = np.sqrt(np.maximum(self.weights @ spread, 1e-300))
        frame = Frame.of(
            self.weights, (self.means - center) / scale, self.covariances / np.outer(scale, scale)
        )
        slopes, constants = frame.natural(Pairs.of("full", self.dimension))
        return center, scale, slopes, constants - np.log(scale).sum()

    def _log_joint(self, points: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """log(w_k N(x | k)) for blocks of points, (K, n) each."""
        array = np.asarray(points, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise ParameterError(
                "the points do not fit the mixture", got=array.shape, wanted=f"(n, {self.dimension})"
            )
        center, scale, slopes, constants = self._view
        pairs = Pairs.of("full", self.dimension)
        block = max(64, min(8192, _BUFFER_BYTES // (8 * slopes.shape[1])))
        for start in range(0, max(len(array), 1), block):
            local = ((array[start : start + block] - center) / scale).T
            features = np.concatenate(
                [np.ones((1, local.shape[1])), local, local[pairs.rows] * local[pairs.columns]]
            )
            yield slopes @ features + constants[:, None]


def _log_sum(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    top = joint.max(axis=0)
    return np.asarray(top + np.log(np.exp(joint - top).sum(axis=0)))
