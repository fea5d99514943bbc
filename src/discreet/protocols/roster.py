"""The ids that a party brings to an alignment, each once, and the row that each stands for.

Applied by each party alone, before anything is sent. An id is bytes, as `discreet.records.codes.read_ids`
gives them: a text in UTF-8, a whole number in its digits; none for a missing one. Two ways to write the same
letter (one character, or a letter and an accent) are made one, by the normal form NFC of Unicode.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["Roster", "roster"]


@dataclass(frozen=True)
class Roster:
    """Different ids, and for each the position of its row in the party's own table."""

    ids: tuple[bytes, ...]
    rows: NDArray[np.int64]

    def __repr__(self) -> str:
        return "Roster(...)"


def roster(
    ids: Iterable[bytes],
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
    names = [_normal(name) for name in ids]
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


def _normal(name: bytes) -> bytes:
    """The id in NFC if it is a text; other bytes stay as they are."""
    if name.isascii():
        return name
    try:
        return unicodedata.normalize("NFC", name.decode()).encode()
    except UnicodeDecodeError:
        return name
