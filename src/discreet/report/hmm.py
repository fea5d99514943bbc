"""What a report of a hidden Markov model is made of: the released model, and what was declared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.domain import Box
from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.models.gaussian import Gaussian, unpack_covariances
from discreet.models.mixture import Mixture
from discreet.report.mixture import MixturePaper
from discreet.report.paper import Paper, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.domain import Region
    from discreet.models.hmm import HMM

__all__ = ["HMMPaper"]

_STEPS = 1_000
_WIDE = 6.0
"""How far a region that nobody declared is drawn, in standard deviations."""


@dataclass(frozen=True, kw_only=True)
class HMMPaper(Paper):
    """Everything a report of a hidden Markov model may show.

    ``tensors`` are the parameters by hmmlearn's names; ``symbols`` what the symbols are called, if they have
    names; ``columns`` the names of what was read, or of the coordinates.
    """

    model: HMM
    tensors: Mapping[str, NDArray[np.float64]]
    emissions: str
    columns: tuple[str, ...]
    symbols: tuple[str, ...] | None
    region: Region | None

    @property
    def states(self) -> int:
        """How many states there are."""
        return self.model.chain.states

    @property
    def start(self) -> NDArray[np.float64]:
        """Start probabilities (N,)."""
        return self.model.chain.start

    @property
    def transition(self) -> NDArray[np.float64]:
        """Transition probabilities (N, N), from row to column."""
        return self.model.chain.transition

    @property
    def probabilities(self) -> NDArray[np.float64] | None:
        """What each state emits, (N, M), if it emits symbols."""
        emission = self.model.emission
        return emission.probabilities if isinstance(emission, Categorical) else None

    @property
    def forward(self) -> bool:
        """Whether no state is ever left for an earlier one."""
        return self.states > 1 and not np.tril(self.transition, -1).any()

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of steps that the model spends in each state, over the declared length (N,)."""
        steps = min(_STEPS, int(self.receipt.get("max_length") or _STEPS))
        at, total = self.start, np.zeros(self.states)
        for _ in range(steps):
            total = total + at
            at = at @ self.transition
        return total / total.sum()

    @cached_property
    def places(self) -> MixturePaper | None:
        """The points that all steps emit together, as a mixture: a state weighs its share of them."""
        mixture = self._mixture()
        if mixture is None:
            return None
        return MixturePaper(
            guarantee=self.guarantee,
            receipt=self.receipt,
            digest=self.digest,
            bought=self.bought,
            sentence=self.sentence,
            columns=self.columns,
            mixture=mixture,
            region=self.region or _around(mixture),
        )

    def name(self, symbol: int) -> str:
        """What a symbol is called."""
        return str(symbol) if self.symbols is None else self.symbols[symbol]

    def next(self, state: int) -> str:
        """The likeliest other states after this one, in words."""
        steps = self.transition[state].copy()
        steps[state] = 0
        best = [int(other) for other in np.argsort(-steps, kind="stable")[:2] if steps[other] >= 0.001]
        return ", ".join(f"{other} ({steps[other]:.1%})" for other in best)

    def emitted(self, state: int, most: int) -> str:
        """The likeliest symbols of a state, in words."""
        assert self.probabilities is not None
        row = self.probabilities[state]
        best = [int(symbol) for symbol in np.argsort(-row, kind="stable")[:most] if row[symbol] >= 0.001]
        return ", ".join(f"{short(self.name(symbol))} ({row[symbol]:.1%})" for symbol in best)

    def to_dict(self) -> dict[str, Any]:
        """The model and its guarantee as plain data, by hmmlearn's names."""
        return {
            "states": self.states,
            "emissions": self.emissions,
            "columns": list(self.columns),
            "symbols": None if self.symbols is None else list(self.symbols),
            "region": None if self.region is None else self.region.to_dict(),
            "shares": self.shares.tolist(),
            **{name: tensor.tolist() for name, tensor in self.tensors.items()},
            **super().to_dict(),
        }

    def _mixture(self) -> Mixture | None:
        emission = self.model.emission
        if isinstance(emission, Gaussian):
            full = unpack_covariances(emission.covariances, emission.means, emission.kind)
            return Mixture(self.shares, emission.means, full)
        if isinstance(emission, Blend):
            inner = emission.components
            full = unpack_covariances(inner.covariances, inner.means, inner.kind)
            return Mixture((self.shares[:, None] * emission.weights).ravel(), inner.means, full)
        return None


def _around(mixture: Mixture) -> Region:
    """A region for a picture, where none was declared: around what the model itself says."""
    reach = _WIDE * np.sqrt(np.einsum("kii->ki", mixture.covariances))
    low, high = (mixture.means - reach).min(axis=0), (mixture.means + reach).max(axis=0)
    return Box(tuple(low.tolist()), tuple(high.tolist()))
