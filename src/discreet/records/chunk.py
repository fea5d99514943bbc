"""The unit of work: at most 8,192 rows as columns of numbers, checked before anybody computes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from discreet.errors import DataError, ParameterError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["CHUNK_ROWS", "LIMIT_BYTES", "Chunk", "Missing", "Part", "Rule", "check_width", "cut"]

CHUNK_ROWS = 8192
"""No chunk has more rows: `statistic` proves its sums exact up to this number."""

LIMIT_BYTES = 4 * 2**30
"""What would need more memory than this at once is refused before any is taken."""

Missing = Literal["error", "drop"]


@dataclass(frozen=True, eq=False, slots=True)
class Chunk:
    """Some rows: ``values`` is float64 (d, n), C-contiguous and finite; ``weights`` is (n,), or None for 1.

    **Reveals** the rows themselves: only map functions see it.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64] | None

    def __repr__(self) -> str:
        return f"Chunk({len(self.values)} columns)"


class Part(Protocol):
    """A piece of the records that one worker reads alone: picklable, with all rows of its people."""

    def chunks(self) -> Iterator[Chunk]:
        """Read the rows once, from the start, in the same order every time."""
        ...


@dataclass(frozen=True)
class Rule:
    """What is declared about values: the names of the columns, and what becomes of rows with missing ones.

    ``error`` refuses missing values. ``drop`` leaves the row out; it still counts among its person's rows,
    so the weights of the others can only be smaller than needed, and the bound per person holds.
    """

    names: tuple[str, ...]
    missing: Missing = "error"

    def __post_init__(self) -> None:
        if self.missing not in ("error", "drop"):
            raise ParameterError(
                "unknown rule for missing values", got=self.missing, wanted="'error' or 'drop'"
            )

    def admit(self, values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Chunk | None:
        """Check every value and apply the rule; None when no row is left.

        An infinite number is always refused. The error names the column, never a row or how many.
        """
        with np.errstate(all="ignore"):
            if np.isfinite(values.sum()):  # a NaN or an infinity anywhere would have spread to the sum
                return Chunk(values, weights)
        bad = ~np.isfinite(values)
        if not bad.any():  # only the sum was too large
            return Chunk(values, weights)
        self._refuse(
            np.isinf(values), "holds infinite numbers", "Replace or remove them; no rule admits them."
        )
        if self.missing == "error":
            self._refuse(
                bad, "has missing values (NaN or null)", "Declare missing='drop' to leave such rows out."
            )
        keep = ~bad.any(axis=0)
        if not keep.any():
            return None
        kept = np.ascontiguousarray(np.compress(keep, values, axis=1))
        return Chunk(kept, None if weights is None else weights[keep])

    def _refuse(self, bad: NDArray[np.bool_], fault: str, remedy: str) -> None:
        lines = bad.any(axis=1)
        if lines.any():
            raise DataError(f"column {self.names[int(lines.argmax())]!r} {fault}", remedy=remedy)


def cut(
    columns: Sequence[NDArray[np.generic]],
    rule: Rule,
    weigh: Callable[[int], NDArray[np.float64]] | None = None,
) -> Iterator[Chunk]:
    """Cut columns into checked chunks; ``weigh(n)`` hands over the weights of the next n rows."""
    rows = len(columns[0])
    for start in range(0, rows, CHUNK_ROWS):
        size = min(CHUNK_ROWS, rows - start)
        values = np.empty((len(columns), size))
        for line, column in zip(values, columns, strict=True):
            line[:] = column[start : start + size]
        chunk = rule.admit(values, weigh(size) if weigh else None)
        if chunk is not None:
            yield chunk


def check_width(columns: int) -> None:
    """Refuse rows so wide that not even one chunk fits into `LIMIT_BYTES`."""
    if columns * CHUNK_ROWS * 8 > LIMIT_BYTES:
        raise TooLargeError(
            "the rows are too wide",
            got=f"{columns} columns",
            wanted=f"at most {LIMIT_BYTES // (CHUNK_ROWS * 8)}",
            remedy="Choose fewer columns.",
        )
