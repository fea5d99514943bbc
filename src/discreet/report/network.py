"""What a report of a Bayesian network is made of: the released tables, and the layers of its picture."""

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
    from discreet.models.structure import Structure

__all__ = ["NetworkPaper", "ranks", "seats"]

_SWEEPS = 12


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


def ranks(structure: Structure) -> list[list[str]]:
    """Nodes by layers, parents above children, each layer in an order that crosses few edges.

    A node lies one below its lowest parent; within layers nodes move to the mean place of their neighbours, a
    fixed number of times (Sugiyama, Tagawa and Toda 1981).
    """
    depth: dict[str, int] = {}
    for node in structure.order:
        depth[node] = 1 + max((depth[parent] for parent in structure.parents[node]), default=-1)
    for node in reversed(structure.order):  # a source comes down to just above its highest child
        below = [depth[child] for child in structure.nodes if node in structure.parents[child]]
        if below and not structure.parents[node]:
            depth[node] = min(below) - 1
    layers: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for node in structure.order:
        layers[depth[node]].append(node)
    near: dict[str, set[str]] = {node: set(structure.parents[node]) for node in structure.nodes}
    for node, parents in structure.parents.items():
        for parent in parents:
            near[parent].add(node)
    for _ in range(_SWEEPS):
        place = seats(layers)
        for layer in layers:
            layer.sort(key=lambda node: _mean([place[other][0] for other in near[node]], place[node][0]))
    return layers


def seats(layers: list[list[str]]) -> dict[str, tuple[float, float]]:
    """Where each node goes: layers from top to bottom, nodes of a layer spread evenly over the width 1."""
    return {
        node: ((index + 0.5) / len(layer), -float(depth))
        for depth, layer in enumerate(layers)
        for index, node in enumerate(layer)
    }


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
