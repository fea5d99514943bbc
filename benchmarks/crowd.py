"""Simulated rows of a known mixture, and a task that fits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.domain import Box
from discreet.fit.mixture.task import Task
from discreet.models.moments import Frame
from discreet.records import LocalEngine, Records, open_records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.records import Engine

__all__ = ["SIDE", "Crowd", "make_task", "write_files"]

SIDE = 10.0
"""Rows lie in a box from -SIDE to SIDE."""

_GROUP_ROWS = 2**20
_RIDGE = 1e-6


@dataclass(frozen=True)
class Crowd:
    """A mixture to draw rows from: round centers, each with its own shape; ``frame`` is near the truth."""

    components: int
    dimension: int

    @property
    def _shapes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        random = np.random.default_rng(self.components)
        means = random.uniform(-0.6, 0.6, (self.components, self.dimension)) * SIDE
        roots = np.tril(random.normal(0, 0.2, (self.components, self.dimension, self.dimension)), -1)
        roots += np.eye(self.dimension) * random.uniform(0.4, 1.2, (self.components, 1, 1))
        return means, roots

    def draw(self, rows: int, seed: int = 0) -> NDArray[np.float64]:
        """Rows of an (n, d) array, clipped to the box."""
        random = np.random.default_rng(seed)
        means, roots = self._shapes
        claimed = random.integers(0, self.components, rows)
        points = random.standard_normal((rows, self.dimension))
        for component in range(self.components):
            chosen = np.flatnonzero(claimed == component)
            points[chosen] = points[chosen] @ roots[component].T + means[component]
        return np.clip(points, -SIDE, SIDE, out=points)

    @property
    def frame(self) -> Frame:
        """A mixture some rounds before it has settled, in unit coordinates."""
        means, roots = self._shapes
        random = np.random.default_rng(1)
        moved = means + random.normal(0, 0.2, means.shape)
        weights = random.dirichlet(np.full(self.components, 20.0))
        return Frame.of(weights, moved / SIDE, roots @ roots.transpose(0, 2, 1) * 1.3 / SIDE**2)


def make_task(source: Any, crowd: Crowd, engine: Engine | None = None, **how: Any) -> Task:
    """Fit the crowd's mixture to rows of a source; regularised like scikit-learn's default."""
    region = Box((-SIDE,) * crowd.dimension, (SIDE,) * crowd.dimension)
    records = source if isinstance(source, Records) else open_records(source, **how)
    return Task(records, region, crowd.components, "full", _RIDGE / SIDE**2, 1.0, engine or LocalEngine(1))


def write_files(folder: Path, crowd: Crowd, rows: int, files: int, *, people: int | None = None) -> None:
    """Write rows to Parquet files (snappy), a row group at a time; with people, a column of ids too."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{index}" for index in range(crowd.dimension)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("person", pa.int64())] * bool(people))
    for file in range(files):
        share = rows * (file + 1) // files - rows * file // files
        path = folder / f"part-{file:02}.parquet"
        with pq.ParquetWriter(path, schema, compression="snappy") as writer:
            for group, size in enumerate(_sizes(share)):
                seed = 1000 * file + group
                columns = list(crowd.draw(size, seed).T.copy())
                if people:
                    columns.append(np.random.default_rng(seed).integers(0, people, size))
                writer.write_table(pa.table(columns, schema=schema))


def _sizes(rows: int) -> Iterator[int]:
    for start in range(0, rows, _GROUP_ROWS):
        yield min(_GROUP_ROWS, rows - start)
