"""`Map`: the states of a Markov chain, what can be asked about them, and how people move between them."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BundleError, DataError, ParameterError
from discreet.release.grid import Grid
from discreet.release.query import Query, query_of
from discreet.release.store import read_json, write_json

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.ledger import Ledger
    from discreet.randomness import RandomState

__all__ = ["Map", "check_belief"]

_SCHEMA = 2
_TOLERANCE = 1e-6
_ROUNDING = 1e-12  # closer than that to one, probabilities are left as they are, so that files come back


class Map:
    """A public Markov model of a moving state.

    **Reveals** what it was made from: learn it from public traces, or privately (`Map.learn` with epsilon).
    Everybody is assumed to know it, the adversary first of all.

    ``points`` are the answers of the usual query, one row a state (metres east and north for a grid);
    ``transitions`` is a row-stochastic (N, N) matrix, dense or sparse; ``start`` is where people are when
    nothing is known; ``columns`` names more answers a state. States that nothing leaves stay where they are.
    """

    def __init__(
        self,
        points: ArrayLike,
        transitions: Any,
        *,
        start: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        grid: Grid | None = None,
        visited: ArrayLike | None = None,
        guarantee: Guarantee | None = None,
    ) -> None:
        table = np.asarray(points, dtype=np.float64)
        self.points: NDArray[np.float64] = table[:, None] if table.ndim == 1 else table
        self.transitions = _chain(transitions, len(self.points))
        self.start = check_belief(
            np.full(self.size, 1 / self.size) if start is None else start, self.size, "start"
        )
        self.grid = grid
        self.visited = None if visited is None else np.asarray(visited, dtype=np.int64)
        self.columns = {name: _column(name, values, self.size) for name, values in (columns or {}).items()}
        self.guarantee = guarantee
        self.location: Query = query_of(self.points, self.size, None if grid is None else grid.cell)

    @classmethod
    def learn(
        cls,
        traces: Any,
        *,
        cell: float,
        box: tuple[float, float, float, float],
        public: bool | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        step: float | None = None,
        user: str = "user",
        time: str = "time",
        lat: str = "lat",
        lon: str = "lon",
        moves_per_person: float = 1.0,
        reach: int | None = None,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        random_state: RandomState = None,
    ) -> Map:
        """Learn a map from a table of traces with columns user, time, lat and lon.

        With ``epsilon`` (and ``delta``) the moves of one person share a total weight of ``moves_per_person``,
        noise is added to every count, and all cells of the box are states. Without, the traces count as
        public (``public=True`` says so aloud): moves are counted as they are, only visited cells become
        states, and the map promises nothing about anybody.

        Moves farther than ``reach`` cells along an axis are left out, as jumps of a receiver (by default 2
        for private traces; public ones keep all).

        ``step`` (seconds) counts only moves between fixes that far apart, give or take half; without it every
        row and the next row of the same person are a move.

        **Reveals** the counts (public) or what (epsilon, delta) allow for one person. **Costs** the ledger
        epsilon and delta. **Trusts** whoever runs it, who sees the traces.
        """
        from discreet.release import learn

        request = learn.Request(
            Grid(cell, tuple(box)),  # type: ignore[arg-type]
            epsilon is None if public is None else public,
            epsilon,
            delta,
            step,
            (user, time, lat, lon),
            moves_per_person,
            reach,
        )
        return learn.learn_map(traces, request, ledger, dataset, random_state)

    @property
    def size(self) -> int:
        """How many states there are."""
        return len(self.points)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the answers, the transitions and the place on the earth: what a policy belongs to."""
        chain = self.transitions
        digest = hashlib.sha256()
        for array in (self.points, chain.indptr, chain.indices, chain.data, self.start):
            kind = np.float64 if array.dtype.kind == "f" else np.int64
            digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
        if self.grid is not None:
            digest.update(json.dumps(self.grid.to_dict(), sort_keys=True).encode())
        for name in sorted(self.columns):
            digest.update(name.encode() + self.columns[name].tobytes())
        return digest.hexdigest()

    def cells(self, lat: ArrayLike, lon: ArrayLike, *, outside: str = "error") -> NDArray[np.int64]:
        """The states of places. ``outside="mark"`` gives -1 where there is none, instead of an error."""
        if self.grid is None:
            raise ParameterError("this map has no grid", remedy="Number its states yourself.")
        if outside not in ("error", "mark"):
            raise ParameterError("no such choice for places outside", got=outside, wanted='"error" or "mark"')
        found = self.grid.places(lat, lon)
        known = np.full(self.grid.size + 1, -1)
        known[np.arange(self.grid.size) if self.visited is None else self.visited] = np.arange(self.size)
        states = known[found]
        if outside == "error" and bool((states < 0).any()):
            raise DataError(
                "a place lies in no cell of this map",
                wanted="latitude and longitude within the box, in a cell that the map knows",
                remedy='Use outside="mark" and leave out what is marked -1.',
            )
        return states

    def nearest(self, lat: ArrayLike, lon: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The state nearest to each place, and whether the place lies in it."""
        from scipy.spatial import KDTree

        states = self.cells(lat, lon, outside="mark")
        known = states >= 0
        if self.grid is not None and not known.all():
            east, north = self.grid.project(np.asarray(lat)[~known], np.asarray(lon)[~known])
            states[~known] = KDTree(self.points).query(np.stack([east, north], axis=1))[1]
        return states, known

    def degrees(self, points: ArrayLike) -> NDArray[np.float64]:
        """Latitude and longitude of points in metres."""
        if self.grid is None:
            raise ParameterError("this map has no grid", remedy="Its points are what you made them.")
        return self.grid.degrees(np.asarray(points, dtype=np.float64))

    def query(self, wanted: Any = None) -> Query:
        """A query by name: None is the location; names of columns; or a table of answers, one row a state."""
        if wanted is None:
            return self.location
        if isinstance(wanted, Query):
            return wanted
        names = [wanted] if isinstance(wanted, str) else wanted
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            return query_of(self._named(names), self.size)
        return query_of(wanted, self.size)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the map as JSON; whole or not at all."""
        place = Path(path).expanduser()
        chain = self.transitions
        plain = {
            "schema": _SCHEMA,
            "kind": "map",
            "digest": self.digest,
            "grid": None if self.grid is None else self.grid.to_dict(),
            "visited": None if self.visited is None else self.visited.tolist(),
            "points": self.points.tolist() if self.grid is None else None,
            "columns": {name: values.tolist() for name, values in self.columns.items()},
            "start": self.start.tolist(),
            "transitions": [chain.indptr.tolist(), chain.indices.tolist(), chain.data.tolist()],
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
        }
        write_json(place, plain)
        return place

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Map:
        """Read back what `save` wrote, number for number."""
        from scipy.sparse import csr_matrix

        from discreet.accounting.guarantee import Guarantee

        plain = read_json(path, "map", _SCHEMA)
        try:
            grid = None if plain["grid"] is None else Grid(plain["grid"]["cell"], tuple(plain["grid"]["box"]))
            visited = plain["visited"]
            points = _points(grid, visited) if grid is not None else plain["points"]
            starts, indices, values = plain["transitions"]
            chain = csr_matrix((values, indices, starts), shape=(len(points), len(points)))
            promised = plain["guarantee"]
            loaded = cls(
                points,
                chain,
                start=plain["start"],
                columns=plain["columns"],
                grid=grid,
                visited=visited,
                guarantee=None if promised is None else Guarantee.from_dict(promised),
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise BundleError("the map is damaged", got=Path(path).name) from None
        if loaded.digest != plain.get("digest"):
            raise BundleError("the map does not match its digest", remedy="The file was altered.")
        return loaded

    def __repr__(self) -> str:
        return f"Map({self.size} states, {self.transitions.nnz} transitions)"

    def _named(self, names: Sequence[str]) -> NDArray[np.float64]:
        unknown = [name for name in names if name not in self.columns]
        if unknown:
            raise ParameterError(
                "the map has no such column",
                got=unknown[0],
                wanted=f"one of {', '.join(map(repr, self.columns)) or 'none'}",
                remedy="Give columns= when making the map.",
            )
        return np.stack([self.columns[name] for name in names], axis=1)


def check_belief(values: ArrayLike, size: int, name: str) -> NDArray[np.float64]:
    """Probabilities of the states; refuses what does not sum to one, rather than scaling it."""
    try:
        belief = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} is not made of numbers", wanted="one probability a state") from None
    if belief.shape != (size,):
        raise ParameterError(f"{name} does not fit the map", got=belief.shape, wanted=f"{size} numbers")
    if not (np.isfinite(belief).all() and (belief >= 0).all() and abs(belief.sum() - 1) <= _TOLERANCE):
        raise ParameterError(
            f"{name} is not a distribution", wanted="probabilities, none negative, that sum to one"
        )
    return belief if abs(belief.sum() - 1) <= _ROUNDING else belief / belief.sum()


def _points(grid: Grid, visited: Any) -> NDArray[np.float64]:
    centers = grid.centers()
    return centers if visited is None else centers[np.asarray(visited, dtype=np.int64)]


def _chain(transitions: Any, size: int) -> Any:
    """A row-stochastic sparse matrix in canonical form; empty rows stay where they are."""
    from scipy.sparse import csr_matrix, diags_array, issparse

    try:
        chain = csr_matrix(transitions if issparse(transitions) else np.asarray(transitions, np.float64))
    except (TypeError, ValueError):
        raise ParameterError("the transitions are not a matrix of numbers") from None
    shape: Any = chain.shape
    if shape != (size, size) or not size:
        raise ParameterError(
            "the transitions do not fit the states", got=shape, wanted=f"{size} by {size}, at least one"
        )
    chain = csr_matrix(chain, dtype=np.float64, copy=True)
    chain.sum_duplicates()
    chain.eliminate_zeros()
    if not (np.isfinite(chain.data).all() and (chain.data > 0).all()):
        raise ParameterError("transitions are not probabilities", wanted="finite numbers, none negative")
    totals = np.asarray(chain.sum(axis=1)).reshape(-1)
    empty = totals == 0
    if (np.abs(totals[~empty] - 1) > _TOLERANCE).any():
        raise ParameterError("the transitions from a state do not sum to one", wanted="rows that sum to one")
    chain = csr_matrix(chain + diags_array(empty.astype(np.float64)))
    chain.sort_indices()
    return chain


def _column(name: str, values: ArrayLike, size: int) -> NDArray[np.float64]:
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (size,) or not np.isfinite(column).all():
        raise ParameterError(f"column {name!r} does not fit the map", wanted=f"{size} finite numbers")
    return column
