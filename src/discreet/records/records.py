"""Private rows, opened: what they are called, how they are cut, and the one way to compute with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError
from discreet.records.engine import LocalEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.records.chunk import Chunk, Part, Rule
    from discreet.records.engine import Engine, MapFunction

__all__ = ["Records"]


class Records:
    """Rows that can be summed over but not looked at; `open_records` makes them.

    **Reveals** nothing by itself: neither its repr nor its errors hold a count or a value. Whether a pass
    succeeds does depend on the rows, so errors are for the curator, who may see them.
    """

    def __init__(
        self,
        kind: str,
        rule: Rule,
        parts: Sequence[Part],
        person: str | None = None,
        rows_per_person: float | None = None,
    ) -> None:
        self.kind = kind
        self.names = rule.names
        self.missing = rule.missing
        self.person = person
        self.rows_per_person = None if person is None else rows_per_person
        self.parts = tuple(parts)

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.names)

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:8]) + (", ..." if self.dimension > 8 else "")
        unit = "row" if self.person is None else f"{self.person}, weight at most {self.rows_per_person:g}"
        return f"Records({self.kind}: {shown}; one unit is one {unit})"

    def check(self, engine: Engine | None = None) -> None:
        """Read everything once and refuse any bad row, before anything is drawn or spent.

        Later passes check the same again, since files can change; they also refuse a changed file.
        """
        self.map_reduce(_see, None, engine)

    def map_reduce(
        self, function: MapFunction, broadcast: Any, engine: Engine | None = None
    ) -> dict[str, NDArray[Any]]:
        """Sum ``function(chunk, broadcast)`` over all rows: int64 exactly, float64 in a fixed order.

        **Reveals** the sums, which are as private as the rows until noise is added.
        """
        totals = (engine or LocalEngine()).map_reduce(self.parts, function, broadcast)
        if not totals:
            raise DataError("there are no rows", wanted="at least one row without missing values")
        return totals


def _see(chunk: Chunk, broadcast: None) -> dict[str, NDArray[np.int64]]:
    return {"seen": np.zeros(1, dtype=np.int64)}
