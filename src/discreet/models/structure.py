"""The structure of a Bayesian network: declared states, and who is a parent of whom.

Everything here is declared, nothing is seen in rows: the states of a column and the shape of every table are
public before anybody looks at the data. A table that only had the configurations that occur would tell which
ones do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MOST_CELLS", "Structure"]

MOST_CELLS = 2**26
"""How many cells all tables of a network may have together: half a gibibyte of numbers."""

_MOST_PARENTS = 30  # arrays have at most 32 axes


@dataclass(frozen=True, repr=False)
class Structure:
    """Nodes in declared order, the states of each, and the parents of each; no node is its own ancestor.

    ``states`` maps every node to the names of its states; ``parents`` maps nodes to their parents, in the
    order of the axes of their tables; nodes that are left out have none.
    """

    states: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        states = {node: _names(listed, f"the states of {node!r}") for node, listed in self.states.items()}
        strangers = [node for node in self.parents if node not in states]
        if strangers:
            raise ParameterError("parents are given for unknown nodes", got=strangers, wanted="nodes")
        parents = {
            node: _names(self.parents.get(node, ()), f"the parents of {node!r}", empty=True)
            for node in states
        }
        _names(tuple(states), "the nodes")
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "parents", parents)
        self._check()

    def __repr__(self) -> str:
        edges = sum(map(len, self.parents.values()))
        return f"{type(self).__name__}({len(self.states)} nodes, {edges} edges, {self.cells():,} cells)"

    def _check(self) -> None:
        for node, parents in self.parents.items():
            unknown = [parent for parent in parents if parent not in self.states]
            if unknown:
                raise ParameterError(
                    f"{node!r} has unknown parents", got=unknown, wanted="nodes whose states are declared"
                )
            if len(parents) > _MOST_PARENTS:
                raise ParameterError(
                    f"{node!r} has too many parents", got=len(parents), wanted=f"at most {_MOST_PARENTS}"
                )
        if len(self.order) < len(self.states):
            done = set(self.order)
            left = [node for node in self.nodes if node not in done]
            raise ParameterError(
                "the structure has a cycle", got=left[:8], wanted="no node among its own ancestors"
            )

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in declared order."""
        return tuple(self.states)

    @cached_property
    def families(self) -> dict[str, tuple[str, ...]]:
        """Of every node its parents and itself: the axes of its table."""
        return {node: (*parents, node) for node, parents in self.parents.items()}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes with parents before children, otherwise as declared."""
        waiting = {node: len(parents) for node, parents in self.parents.items()}
        children: dict[str, list[str]] = {node: [] for node in self.states}
        for node, parents in self.parents.items():
            for parent in parents:
                children[parent].append(node)
        ready = [node for node, count in waiting.items() if count == 0]
        for node in ready:  # grows while it is walked
            for child in children[node]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
        return tuple(ready)

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The nodes whose tables tell everything: a family that lies inside another is a margin of it.

        A noisy release measures these only, and so pays for fewer tables. Of equal families the first counts.
        """
        sets = {node: frozenset(family) for node, family in self.families.items()}
        around: dict[str, list[str]] = {node: [] for node in self.nodes}  # kept families that a node is in
        kept: set[str] = set()
        for node in sorted(self.nodes, key=lambda node: -len(sets[node])):  # stable: declared order in ties
            if not any(sets[node] <= sets[other] for other in around[node]):
                kept.add(node)
                for name in sets[node]:
                    around[name].append(node)
        return tuple(node for node in self.nodes if node in kept)

    def card(self, node: str) -> int:
        """How many states a node has."""
        return len(self.states[node])

    def shape(self, node: str) -> tuple[int, ...]:
        """The shape of a node's table: one axis a parent, then the node itself."""
        return tuple(len(self.states[name]) for name in self.families[node])

    def cells(self, nodes: Iterable[str] | None = None) -> int:
        """How many cells the tables of these nodes (by default: all) have together."""
        return sum(math.prod(self.shape(node)) for node in (self.nodes if nodes is None else nodes))

    def check_size(self, most: int = MOST_CELLS) -> None:
        """Raise `TooLargeError` with the number of cells, before memory is taken for them."""
        cells = self.cells()
        if cells > most:
            worst = max(self.nodes, key=lambda node: math.prod(self.shape(node)))
            raise TooLargeError(
                f"the tables would be too large: {worst!r} alone, with {len(self.parents[worst])} parents, "
                f"has {math.prod(self.shape(worst)):,} cells",
                got=f"{cells:,} cells in all",
                wanted=f"at most {most:,}",
                remedy="Give the node fewer parents, or merge states.",
            )

    def to_dict(self) -> dict[str, Any]:
        """The structure as plain data: lists, so that the order of nodes survives sorted keys."""
        return {
            "nodes": [
                {"name": node, "states": list(self.states[node]), "parents": list(self.parents[node])}
                for node in self.nodes
            ]
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Structure:
        """Read back what `to_dict` wrote; refuses anything else."""
        listed: Any = plain.get("nodes")
        if set(plain) != {"nodes"} or not isinstance(listed, list):
            raise ParameterError("this is not a structure", got=sorted(map(str, plain)), wanted="nodes")
        nodes: list[Any] = listed
        if not all(
            isinstance(node, Mapping) and set(node) == {"name", "states", "parents"} for node in nodes
        ):
            raise ParameterError("a node of the structure is damaged", wanted="name, states and parents")
        states = {node["name"]: node["states"] for node in nodes}
        if len(states) != len(nodes):
            raise ParameterError("a node is declared twice")
        return cls(states, {node["name"]: node["parents"] for node in nodes})

    @classmethod
    def of_edges(cls, edges: Iterable[Sequence[str]], states: Mapping[str, Sequence[str]]) -> Structure:
        """The structure with these (parent, child) edges; parents in the order of the edges."""
        parents: dict[str, list[str]] = {node: [] for node in states}
        for edge in edges:
            if isinstance(edge, str) or len(edge) != 2:
                raise ParameterError("an edge has two ends", got=edge, wanted="(parent, child)")
            parent, child = edge
            if child not in parents or parent not in parents:
                raise ParameterError(
                    "an edge ends at an unknown node",
                    got=(parent, child),
                    wanted="nodes with declared states",
                )
            parents[child].append(parent)
        return cls(
            {node: tuple(listed) for node, listed in states.items()},
            {node: tuple(listed) for node, listed in parents.items()},
        )


def _names(listed: object, what: str, *, empty: bool = False) -> tuple[str, ...]:
    """A tuple of distinct, non-empty texts."""
    if isinstance(listed, str) or not isinstance(listed, list | tuple):
        raise ParameterError(f"{what} are not a list of names", got=type(listed).__name__, wanted="names")
    names: tuple[Any, ...] = tuple(listed)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not all(isinstance(name, str) and name and name.isprintable() and '"' not in name for name in names):
        raise ParameterError(f"{what} are not all names", wanted="printable texts without double quotes")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(f"{what} are not distinct", got=twice, wanted="each name once")
    if not names and not empty:
        raise ParameterError(f"{what} are missing", got=(), wanted="at least one name")
    return names
