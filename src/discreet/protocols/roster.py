"""The ids that a party brings to an alignment, each once, and the row that each stands for.

Applied by each party alone, before anything is sent. An id is bytes: a text in UTF-8 (normalised to NFC), an
integer in decimal digits, bytes as they are. So 17 and "17" are one id, in whatever form a file keeps it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["Roster", "id_bytes", "roster"]


@dataclass(frozen=True)
class Roster:
    """Different ids, and for each the position of its row in the party's own table."""

    ids: tuple[bytes, ...]
    rows: NDArray[np.int64]

    def __repr__(self) -> str:
        return "Roster(...)"


def id_bytes(value: Any) -> bytes:
    """The bytes of an id; of a missing one (None, NaN or an empty text) none.

    Raises `DataError` for anything but texts, integers and bytes; it does not show the value.
    """
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return b"%d" % int(value)
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return b""
    raise DataError(
        "an id is of a type that has no agreed bytes", got=type(value).__name__, wanted="text or integer"
    )


def roster(
    ids: Iterable[Any],
    *,
    duplicates: Literal["refuse", "drop", "first"] = "refuse",
    missing: Literal["refuse", "drop"] = "refuse",
) -> Roster:
    """A column of ids by declared rules: ``drop`` leaves out every row of a repeated id, ``first`` keeps one.

    Raises `DataError` where a rule says refuse; it does not show an id, nor how many there are.
    """
    if duplicates not in ("refuse", "drop", "first") or missing not in ("refuse", "drop"):
        raise ParameterError(
            "no such rule for ids", got=(duplicates, missing), wanted="refuse, drop or first; refuse or drop"
        )
    names = [id_bytes(value) for value in ids]
    if missing == "refuse" and not all(names):
        raise DataError("an id is missing", remedy='Fill it in, or declare missing = "drop".')
    first, counts = _counted(names)
    if duplicates == "refuse" and any(count > 1 for count in counts.values()):
        raise DataError(
            "an id stands in several rows", remedy='Merge them, or declare duplicates = "drop" or "first".'
        )
    kept = [name for name in first if duplicates != "drop" or counts[name] == 1]
    return Roster(tuple(kept), np.array([first[name] for name in kept], dtype=np.int64))


def _counted(names: Sequence[bytes]) -> tuple[dict[bytes, int], dict[bytes, int]]:
    """Of every id that is not missing: its first row, and in how many rows it stands."""
    first: dict[bytes, int] = {}
    counts: dict[bytes, int] = {}
    for row, name in enumerate(names):
        if name:
            first.setdefault(name, row)
            counts[name] = counts.get(name, 0) + 1
    return first, counts
