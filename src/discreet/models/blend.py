"""Emissions that are mixtures of Gaussians, a mixture of its own for each state.

All components of all states are one `Gaussian` of N K states; a state's share of a row is divided among its
components in proportion to weight times density. Tied covariances are tied within a state, as in hmmlearn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.models.chain import check_rows, share_out
from discreet.models.emission import relative
from discreet.models.gaussian import Gaussian, lift
from discreet.models.room import FRESH, Room
from discreet.models.semiring import log_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.models.emission import Evidence
    from discreet.models.sequences import Pack
    from discreet.randomness import Generator

__all__ = ["Blend"]


@dataclass(frozen=True)
class Blend:
    """Weights (N, K), and components: Gaussians in the order (state, component).

    ``tied`` components have full covariances, equal within a state, and ``floor`` is theirs.
    """

    weights: NDArray[np.float64]
    components: Gaussian
    tied: bool = False
    fixed_weights: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.weights.size != self.components.states:
            raise ParameterError(
                "the weights do not fit the components",
                got=self.weights.shape,
                wanted=f"(N, K) with {self.components.states} numbers",
            )
        check_rows("weights", self.weights)

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.weights)

    def view(self, rows: NDArray[Any]) -> NDArray[Any]:
        """That of the components."""
        return self.components.view(rows)

    def evidence(self, view: NDArray[Any], room: Room = FRESH) -> Evidence:
        """Likelihoods over the largest of each row."""
        return relative(self.log_density(view, room))

    def log_density(self, view: NDArray[Any], room: Room = FRESH) -> NDArray[np.float64]:
        """log of the sum over components, (N, F)."""
        return log_sum(self._weigh(self.components.log_density(view, room)), axis=1)

    def log_density_of(self, rows: NDArray[Any], room: Room = FRESH) -> NDArray[np.float64]:
        """The same of rows (F, d) that are looked at only once."""
        return log_sum(self._weigh(self.components.log_density_of(rows, room)), axis=1)

    def sums(self, view: NDArray[Any], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The components' sums, those of one state in a row: (N, K C)."""
        sums = self.components.sums(view, self._divide(view, shares))
        return sums.reshape(self.states, -1)

    def sums_by_sequence(
        self, view: NDArray[Any], shares: NDArray[np.float64], pack: Pack
    ) -> NDArray[np.float64]:
        """The same for each sequence, (S, N, K C)."""
        sums = self.components.sums_by_sequence(view, self._divide(view, shares), pack)
        return sums.reshape(len(sums), self.states, -1)

    def maximise(self, sums: NDArray[np.float64]) -> Blend:
        """Weights, means and covariances of the shares."""
        each = sums.reshape(self.components.states, -1)
        counts = each[:, 0].reshape(self.weights.shape)
        components = self.components.maximise(each)
        if self.tied:
            components = self._tie(components, counts)
        return replace(
            self, weights=share_out(counts, self.weights, self.fixed_weights), components=components
        )

    def sample(self, states: NDArray[np.intp], generator: Generator) -> NDArray[Any]:
        """One row for each state, (F, d)."""
        ends = np.cumsum(self.weights, axis=1)[states]
        points = generator.random(len(states)) * ends[:, -1]
        chosen = (points[:, None] >= ends).sum(axis=1)
        return self.components.sample(states * self.weights.shape[1] + chosen, generator)

    def _weigh(self, densities: NDArray[np.float64]) -> NDArray[np.float64]:
        """log(weight times density), (N, K, F)."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)
        return densities.reshape(*self.weights.shape, -1) + weights[:, :, None]

    def _divide(self, view: NDArray[Any], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        joint = self._weigh(self.components.log_density(view))
        joint -= log_sum(joint, axis=1)[:, None]
        np.exp(joint, out=joint)
        joint *= shares[:, None]
        return joint.reshape(self.components.states, -1)

    def _tie(self, components: Gaussian, counts: NDArray[np.float64]) -> Gaussian:
        """One covariance a state: the mean of those of its components, weighted by their counts."""
        states, size = self.weights.shape
        each = components.covariances.reshape(states, size, *components.covariances.shape[1:])
        total = counts.sum(axis=1)
        safe = np.where(total > 0, total, 1.0)
        pooled = np.einsum("nk,nkij->nij", counts, each) / safe[:, None, None]
        pooled = np.where((total > 0)[:, None, None], lift(pooled, components.floor), each[:, 0])
        return replace(components, covariances=np.repeat(pooled, size, axis=0))
