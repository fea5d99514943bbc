"""What a report of a Bayesian network is made of: the released tables, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import TooLargeError
from discreet.report.paper import Paper, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.models.network import Network

__all__ = ["NetworkPaper"]


@dataclass(frozen=True, kw_only=True)
class NetworkPaper(Paper):
    """Everything a report of a Bayesian network may show."""

    network: Network
    parameters: Mapping[str, Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The nodes, which are the columns that were read."""
        return self.network.structure.nodes

    @property
    def size(self) -> str:
        """How large the network is, in words."""
        structure = self.network.structure
        edges = sum(map(len, structure.parents.values()))
        return f"{len(structure.nodes)} nodes, {edges} edges, {structure.cells():,} cells"

    @cached_property
    def margins(self) -> dict[str, NDArray[np.float64]] | None:
        """How likely each state of each node is, by the network itself; None if that is too much."""
        try:
            joint = self.network.margins()
        except TooLargeError:
            return None
        return {node: table.reshape(-1, table.shape[-1]).sum(axis=0) for node, table in joint.items()}

    def shown(self, node: str, most: int) -> str:
        """The likeliest states of a node, in words."""
        states = self.network.structure.states[node]
        if self.margins is None:
            return f"{len(states)} states"
        row = self.margins[node]
        best = [int(state) for state in np.argsort(-row, kind="stable")[:most]]
        return ", ".join(f"{short(states[state])} ({row[state]:.1%})" for state in best)

    def to_dict(self) -> dict[str, Any]:
        """The network and its guarantee as plain data."""
        return {
            "structure": self.network.structure.to_dict(),
            "parameters": dict(self.parameters),
            "tables": {node: table.tolist() for node, table in self.network.tables.items()},
            **super().to_dict(),
        }
