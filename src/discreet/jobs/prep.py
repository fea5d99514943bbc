"""Bring the rows of each person together, so that large files can be fitted per person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.records import PrepSummary, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["prepare_people"]


def prepare_people(
    data: Sequence[str],
    person: str,
    out: str,
    *,
    buckets: int | None = None,
    columns: Sequence[str] | None = None,
) -> PrepSummary:
    """Write files in which the rows of each person lie together.

    **Reveals** the rows to whoever may read ``out``: it is a copy of the data, for the curator alone.
    """
    return prepare(list(data), person, out, buckets=buckets, columns=columns)
