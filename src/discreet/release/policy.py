"""`Policy`: which states must look alike, as a graph that people can draw and read."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.event import check_number
from discreet.errors import BundleError, ParameterError
from discreet.release.store import read_json, write_json

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from discreet.release.map import Map

__all__ = ["Policy"]

_SCHEMA = 1
_MOST_EDGES = 20_000_000


class Policy:
    """An undirected graph on the states of a map: an edge joins two states that a release must not tell
    apart.

    ``pairs`` (E, 2) are single edges, i < j; each of ``cliques`` labels the states (-1: none), and states
    with the same label are all joined. ``words`` says it for people.
    """

    def __init__(
        self,
        world: Map,
        pairs: NDArray[np.int64],
        cliques: tuple[NDArray[np.int64], ...] = (),
        words: tuple[str, ...] = (),
    ) -> None:
        self.pairs = _pairs(pairs, world.size)
        self.cliques = cliques
        self.words = words
        self.world_digest = world.digest
        self.size = world.size

    @classmethod
    def complete(cls, world: Map) -> Policy:
        """Any two states are joined."""
        return cls(world, _none(), (np.zeros(world.size, dtype=np.int64),), ("any two states",))

    @classmethod
    def categories(cls, world: Map, labels: ArrayLike, radius: float | None = None) -> Policy:
        """States of the same category are joined; with ``radius``, only if they also lie that close.

        A label below 0 (or an empty text) is no category. Without a radius, a category that spans the map
        makes noise as large as the map.
        """
        given = np.asarray(labels)
        if given.shape != (world.size,):
            raise ParameterError("labels do not fit the map", got=given.shape, wanted=f"{world.size} labels")
        none = given < 0 if given.dtype.kind in "if" else given == ""
        codes = np.unique(given, return_inverse=True)[1].reshape(-1).astype(np.int64)
        codes[none] = -1
        if radius is None:
            return cls(world, _none(), (codes,), ("any two states of the same category",))
        near = cls.radius(world, radius)
        first, second = near.pairs[:, 0], near.pairs[:, 1]
        same = (codes[first] == codes[second]) & (codes[first] >= 0)
        words = f"any two states of the same category whose locations differ by at most {radius:g}"
        return cls(world, near.pairs[same], (), (words,))

    @classmethod
    def radius(cls, world: Map, radius: float, query: Any = None) -> Policy:
        """States whose answers to the query (usually their locations) differ by at most ``radius``."""
        from scipy.spatial import KDTree

        reach = check_number("radius", radius)
        if not 0 < reach < np.inf:
            raise ParameterError("radius is not a length", got=radius, wanted="a finite number above 0")
        answers = world.query(query).answers
        tree: Any = KDTree(answers)
        few = int(tree.count_neighbors(tree, reach * (1 + 1e-9)))
        if few > 2 * _MOST_EDGES:
            raise ParameterError(
                "the radius joins too many pairs", wanted=f"at most {_MOST_EDGES:,}", remedy="Use complete."
            )
        pairs = tree.query_pairs(reach * (1 + 1e-9), output_type="ndarray")
        what = "locations" if query is None else "answers"
        return cls(
            world, pairs.astype(np.int64), (), (f"any two states whose {what} differ by at most {reach:g}",)
        )

    @classmethod
    def transitions(cls, world: Map) -> Policy:
        """States that the same state can lead to in one step: even who knows the last state learns little."""
        from scipy.sparse import triu

        pattern = world.transitions.astype(bool).astype(np.int32)
        both: Any = triu(pattern.T @ pattern, k=1).tocoo()
        pairs = np.stack([both.row, both.col], axis=1).astype(np.int64)
        return cls(world, pairs, (), ("any two states that one state can lead to in one step",))

    @classmethod
    def edges(cls, world: Map, pairs: Iterable[tuple[int, int]]) -> Policy:
        """Exactly these pairs of states."""
        given = np.array(list(pairs))
        if given.size == 0:
            given = _none()
        if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
            raise ParameterError("edges are not pairs of states", wanted="such as [(0, 1), (1, 2)]")
        return cls(world, given.astype(np.int64), (), (f"{len(given)} pairs of states named one by one",))

    def __or__(self, other: Policy) -> Policy:
        """The union of two policies for the same map."""
        if self.world_digest != other.world_digest:
            raise ParameterError("policies for different maps cannot be joined")
        joint = object.__new__(Policy)
        joint.pairs = _pairs(np.concatenate([self.pairs, other.pairs]), self.size)
        joint.cliques = self.cliques + other.cliques
        joint.words = self.words + other.words
        joint.world_digest, joint.size = self.world_digest, self.size
        return joint

    def check(self, world: Map) -> None:
        """Refuse a map that the policy was not made for."""
        if world.digest != self.world_digest:
            raise ParameterError(
                "the policy was made for another map",
                got=f"a map with {world.size} states",
                wanted=f"the map with {self.size} states that it was made for",
                remedy="Make the policy again from this map.",
            )

    @cached_property
    def matrix(self) -> Any:
        """The graph as a symmetric sparse matrix of booleans, without its diagonal."""
        from scipy.sparse import coo_matrix, csr_matrix

        first, second = [self.pairs[:, 0]], [self.pairs[:, 1]]
        for labels in self.cliques:
            groups, members = np.unique(labels[labels >= 0]), np.flatnonzero(labels >= 0)
            for group in groups:
                inside = members[labels[members] == group]
                i, j = np.triu_indices(len(inside), k=1)
                first.append(inside[i])
                second.append(inside[j])
        i, j = np.concatenate(first), np.concatenate(second)
        shape = (self.size, self.size)
        half = coo_matrix((np.ones(len(i), dtype=np.int32), (i, j)), shape=shape)
        return csr_matrix(half + half.T).astype(bool)

    def degrees(self) -> NDArray[np.int64]:
        """With how many states each is joined."""
        return np.diff(self.matrix.indptr).astype(np.int64)

    def describe(self) -> str:
        """The policy in plain words, with what stands out."""
        degrees = self.degrees()
        alone = int((degrees == 0).sum())
        text = f"Joined are {'; and '.join(self.words) or 'no states'}. "
        text += (
            f"Of {self.size:,} states each is joined with {degrees.mean():.1f} others on average "
            f"({degrees.min()} to {degrees.max()})."
        )
        if alone:
            text += (
                f" {alone:,} state{'s are' if alone > 1 else ' is'} joined with nobody: what protects them, "
                "if anything does, is the noise for others, or a repair."
            )
        return text

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the graph."""
        parts = [self.pairs, *self.cliques]
        return hashlib.sha256(b"|".join(part.tobytes() for part in parts)).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy as JSON."""
        place = Path(path).expanduser()
        write_json(place, self.to_dict())
        return place

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain data."""
        return {
            "schema": _SCHEMA,
            "kind": "policy",
            "map": self.world_digest,
            "words": list(self.words),
            "pairs": self.pairs.tolist(),
            "cliques": [labels.tolist() for labels in self.cliques],
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str], world: Map) -> Policy:
        """Read back what `save` wrote, for the same map."""
        plain = read_json(path, "policy", _SCHEMA)
        if plain.get("map") != world.digest:
            raise ParameterError("the policy was made for another map", got=Path(path).name)
        try:
            pairs = _whole(plain["pairs"]).reshape(-1, 2)
            cliques = tuple(_whole(labels) for labels in plain["cliques"])
            words = tuple(map(str, plain["words"]))
        except (KeyError, TypeError, ValueError):
            raise BundleError("the policy is damaged", got=Path(path).name) from None
        if any(labels.shape != (world.size,) for labels in cliques):
            raise BundleError("the policy is damaged: its labels do not fit the map", got=Path(path).name)
        return cls(world, pairs, cliques, words)

    def __repr__(self) -> str:
        return f"Policy({'; '.join(self.words)})"


def _whole(numbers: Any) -> NDArray[np.int64]:
    """Whole numbers from a file; fractions are refused, not cut off."""
    given = np.array(numbers)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError
    return given.astype(np.int64)


def _none() -> NDArray[np.int64]:
    return np.zeros((0, 2), dtype=np.int64)


def _pairs(pairs: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Each edge once, i < j; refuses unknown states and an edge from a state to itself."""
    if not len(pairs):
        return _none()
    if pairs.min() < 0 or pairs.max() >= size:
        raise ParameterError("an edge names an unknown state", wanted=f"states from 0 to {size - 1}")
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ParameterError("an edge joins a state with itself", remedy="Leave it out.")
    ordered = np.sort(pairs, axis=1)
    codes = np.unique(ordered[:, 0] * size + ordered[:, 1])
    return np.stack(np.divmod(codes, size), axis=1)
