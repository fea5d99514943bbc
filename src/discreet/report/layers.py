"""Where the nodes of a network go in a picture: layers below their parents, long arrows led past boxes.

A node lies one below its lowest parent; an arrow that passes layers takes a narrow place in each. Within a
layer the order follows the middle of neighbours, down and up in turn (Sugiyama, Tagawa and Toda 1981); then
every layer moves as near to the middle of its neighbours as its order and the widths of boxes allow.

**Reveals** the structure, which is public, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.models.structure import Structure

    Near = dict["Slot", list["Slot"]]

__all__ = ["Layers", "Slot", "arrange", "slots_of"]

_SWEEPS = 8
_NARROW = 0.36  # how wide the place of an arrow is, in boxes
_STIFF = 4.0  # how much less arrows give way than boxes: they look better straight


class Slot(NamedTuple):
    """The place of a node (then both names are the same), or where the arrow between two passes a layer."""

    parent: str
    node: str
    depth: int

    @property
    def width(self) -> float:
        """How much room it takes, in boxes."""
        return 1.0 if self.parent == self.node else _NARROW


@dataclass(frozen=True)
class Layers:
    """Slots from the top layer down, each from left to right, and how far from the middle each lies."""

    rows: Sequence[Sequence[Slot]]
    across: Mapping[Slot, float]

    @property
    def width(self) -> float:
        """How wide the widest layer is, in boxes."""
        return max(map(_breadth, self.rows))

    @property
    def nodes(self) -> dict[str, tuple[float, int]]:
        """For every node its place across, in boxes, and its layer, from 0 at the top."""
        return {slot.node: (x, slot.depth) for slot, x in self.across.items() if slot.parent == slot.node}

    @property
    def ways(self) -> dict[tuple[str, str], list[tuple[float, int]]]:
        """For every arrow, by (parent, node), the places that it passes in between, from the top down."""
        found: dict[tuple[str, str], list[tuple[float, int]]] = {}
        for slot, x in self.across.items():  # layer by layer
            if slot.parent != slot.node:
                found.setdefault((slot.parent, slot.node), []).append((x, slot.depth))
        return found


def arrange(structure: Structure) -> Layers:
    """A layout of a structure that depends on nothing else."""
    depth = _depths(structure)
    rows: list[list[Slot]] = [[] for _ in range(max(depth.values()) + 1)]
    above: Near = {}
    below: Near = {}
    for node in structure.nodes:
        rows[depth[node]].append(Slot(node, node, depth[node]))
    for node, parents in structure.parents.items():
        for parent in parents:
            between = [Slot(parent, node, down) for down in range(depth[parent] + 1, depth[node])]
            for slot in between:
                rows[slot.depth].append(slot)
            chain = [Slot(parent, parent, depth[parent]), *between, Slot(node, node, depth[node])]
            for one, other in pairwise(chain):
                below.setdefault(one, []).append(other)
                above.setdefault(other, []).append(one)
    _untangle(rows, above, below)
    return Layers(rows, _settled(rows, above, below))


def slots_of(structure: Structure) -> int:
    """How many places a picture of the structure has: nodes, and layers that arrows pass."""
    depth = _depths(structure)
    passed = [depth[node] - depth[parent] - 1 for node in depth for parent in structure.parents[node]]
    return len(depth) + sum(passed)


def _depths(structure: Structure) -> dict[str, int]:
    """The longest way from a root; roots move down to just above their first child."""
    depth: dict[str, int] = {}
    for node in structure.order:
        depth[node] = 1 + max((depth[parent] for parent in structure.parents[node]), default=-1)
    first: dict[str, int] = {}
    for node, parents in structure.parents.items():
        for parent in parents:
            first[parent] = min(first.get(parent, depth[node]), depth[node])
    return {node: down if structure.parents[node] else first.get(node, 1) - 1 for node, down in depth.items()}


def _untangle(rows: list[list[Slot]], above: Near, below: Near) -> None:
    """Order every layer by the middle of its neighbours, down and up in turn."""
    across = {slot: x for row in rows for slot, x in zip(row, _spread(row), strict=True)}
    for sweep in range(2 * _SWEEPS):
        near, turn = (below, rows[-2::-1]) if sweep % 2 else (above, rows[1:])
        for row in turn:
            row.sort(key=lambda slot: _middle(near.get(slot, []), across, across[slot]))
            across.update(zip(row, _spread(row), strict=True))


def _settled(rows: list[list[Slot]], above: Near, below: Near) -> dict[Slot, float]:
    """Places across: the least squares from the middle of all neighbours, with nothing on top of another."""
    from scipy.optimize import isotonic_regression

    across = {slot: float(x) for row in rows for slot, x in zip(row, _spread(row), strict=True)}
    widest = max(map(_breadth, rows))
    for sweep in range(2 * _SWEEPS):
        for row in rows[::-1] if sweep % 2 else rows:
            near = [[*above.get(slot, []), *below.get(slot, [])] for slot in row]
            wished = [_middle(them, across, across[slot]) for slot, them in zip(row, near, strict=True)]
            spread, room = _spread(row), (widest - _breadth(row)) / 2
            weights = [1.0 if slot.parent == slot.node else _STIFF for slot in row]
            moved = isotonic_regression(np.array(wished) - spread, weights=weights).x
            across.update(zip(row, (np.clip(moved, -room, room) + spread).tolist(), strict=True))
    return across


def _breadth(row: Sequence[Slot]) -> float:
    return sum(slot.width for slot in row)


def _spread(row: Sequence[Slot]) -> np.ndarray:
    """Slots side by side, in the middle."""
    widths = np.array([slot.width for slot in row])
    return widths.cumsum() - widths / 2 - widths.sum() / 2


def _middle(near: list[Slot], across: Mapping[Slot, float], otherwise: float) -> float:
    return sum(across[slot] for slot in near) / len(near) if near else otherwise
