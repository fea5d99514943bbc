"""Who of two holders opens which vector to the other's sums, so that each family is met and little travels.

For every family one of its two vectors *leads*: its columns are transferred or encrypted, once for all its
partners, and the other's holder computes. Columns that lead cost most, so the vectors that do are the least
weighted vertex cover of the graph of families. Both holders find the same one from what is agreed.

**Reveals** nothing: everything here follows from sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.onehot import completed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from discreet.protocols.families import Families, Tables

    Sums = NDArray[np.uint64]

__all__ = ["Cover"]


class Cover:
    """Which vectors lead, and the partners of each."""

    def __init__(self, agreed: Families) -> None:
        self.agreed = agreed
        self.bits = agreed.ring_bits
        self.partners: dict[int, list[int]] = {}
        edges = sorted({chain for chain in agreed.chains if self.free(chain[0]) * self.free(chain[1])})
        cover = _cover(edges, {index: self.free(index) for edge in edges for index in edge}, self._first)
        for edge in edges:
            chooser, other = edge if edge[0] in cover else edge[::-1]
            self.partners.setdefault(chooser, []).append(other)

    def _first(self, index: int) -> bool:
        return self.agreed.vectors[index].holder == self.agreed.holders[0]

    def free(self, index: int) -> int:
        """Columns of a vector that take part."""
        return self.agreed.vectors[index].size - 1

    def chosen(self, name: str) -> list[int]:
        """A holder's vectors that choose."""
        return [index for index in sorted(self.partners) if self.agreed.vectors[index].holder == name]

    def hanging(self, index: int) -> int:
        """Words that hang on one choice of a vector."""
        return sum(self.free(other) for other in self.partners[index])

    def words(self, name: str) -> int:
        """Words that are offered to a holder for one row."""
        return sum(self.free(index) * self.hanging(index) for index in self.chosen(name))

    def choices(self, name: str) -> int:
        """Choices that a holder makes in one row."""
        return sum(self.free(index) for index in self.chosen(name))

    def tables(self, own: Mapping[int, NDArray[Any]], sums: Mapping[int, Sums]) -> Tables:
        """Shares of all tables from shares of sums: for each leading vector (words that hang on it, free)."""
        counts = {
            index: np.bincount(codes, minlength=self.free(index) + 1).astype(np.uint64)
            for index, codes in own.items()
        }
        return [self._table(chain, counts, sums) for chain in self.agreed.chains]

    def _table(
        self, chain: tuple[int, ...], counts: Mapping[int, Sums], sums: Mapping[int, Sums]
    ) -> NDArray[np.uint64]:
        first, second = chain
        left = counts.get(first, np.zeros(self.free(first) + 1, dtype=np.uint64))
        right = counts.get(second, np.zeros(self.free(second) + 1, dtype=np.uint64))[:-1]
        return completed(self._body(first, second, sums), left, right)

    def _body(self, first: int, second: int, sums: Mapping[int, Sums]) -> Sums:
        for leading, other in ((first, second), (second, first)):
            partners = self.partners.get(leading, [])
            if other in partners:
                start = sum(self.free(index) for index in partners[: partners.index(other)])
                part = sums[leading][start : start + self.free(other)]
                return part.T if leading == first else part
        return np.zeros((self.free(first), self.free(second)), dtype=np.uint64)


def _cover(
    edges: list[tuple[int, ...]], weights: Mapping[int, int], first: Callable[[int], bool]
) -> set[int]:
    """The vertices of least weight that touch all edges: a minimum cut (Koenig; Ford and Fulkerson).

    What the source reaches in the residual graph is the same for every maximum flow, so all find one cover.
    """
    capacity: dict[tuple[int, int], int] = {}
    source, sink, endless = -1, -2, sum(weights.values()) + 1
    for index, weight in weights.items():
        capacity[(source, index) if first(index) else (index, sink)] = weight
    for edge in edges:
        left, right = edge if first(edge[0]) else edge[::-1]
        capacity[left, right] = endless
    reached = _reached(capacity, source)
    while sink in reached:
        path = [sink]
        while path[-1] != source:
            path.append(reached[path[-1]])
        steps = list(zip(path[1:], path, strict=False))
        least = min(capacity[step] for step in steps)
        for start, end in steps:
            capacity[start, end] -= least
            capacity[end, start] = capacity.get((end, start), 0) + least
        reached = _reached(capacity, source)
    return {index for index in weights if (index in reached) != first(index)}


def _reached(capacity: Mapping[tuple[int, int], int], source: int) -> dict[int, int]:
    """What the source reaches over what is left of the capacities, each with the vertex before it."""
    following: dict[int, list[int]] = {}
    for (start, end), left in sorted(capacity.items()):
        if left:
            following.setdefault(start, []).append(end)
    reached, queue = {source: source}, [source]
    for vertex in queue:
        for end in following.get(vertex, []):
            if end not in reached:
                reached[end] = vertex
                queue.append(end)
    return reached
