"""What a plan may know before anything is spent: the columns of the files, and where they lie as declared.

**Reveals** nothing: of Parquet files only the footer is read. Of CSV files the first line, or the first block
where the columns are not named (it says which of them hold numbers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import DomainError
from discreet.records.csv import csv_fields, same_fields, unnamed_columns
from discreet.records.files import find_files
from discreet.records.parquet import check_schemas, read_footer
from discreet.records.person import plain_ids
from discreet.records.table import check_columns, choose_columns, require_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.jobs.plan import FitMixture, FitPlan

__all__ = ["Declared", "check_files", "declare", "locate"]


@dataclass(frozen=True)
class Declared:
    """The columns, and the region in the order of the columns, as `GaussianMixture` takes it."""

    columns: tuple[str, ...]
    bounds: tuple[list[float], list[float]] | None
    radius: float | None
    center: Any


def declare(plan: FitMixture) -> Declared:
    """Find the columns of a plan in its files, and put its bounds into their order."""
    return locate(plan, _columns(plan))


def check_files(data: Sequence[str], columns: Sequence[str], person: str | None) -> None:
    """Refuse files that lack a column, or whose person column cannot tell people apart."""
    kind, stamps = find_files(list(data))
    if kind == "csv":
        require_columns([name for name, _ in same_fields(stamps, person)], columns, person)
        return
    footers = [read_footer(stamp) for stamp in stamps]
    check_schemas(footers)
    require_columns([name for name, _ in footers[0].fields], columns, person)
    if person is not None:
        plain_ids(pa.array([], dict(footers[0].fields)[person]), person)  # refuses other types


def locate(plan: FitPlan, columns: tuple[str, ...]) -> Declared:
    """Put the bounds of a plan into the order of its columns."""
    bounds = plan.bounds
    if isinstance(bounds, dict):
        _same_names("bounds", bounds, columns)
        intervals = [bounds[name] for name in columns]
    elif bounds is None:
        intervals = None
    elif isinstance(bounds[0], float):
        intervals = [bounds] * len(columns)
    else:
        intervals = list(bounds)
        if len(intervals) != len(columns):
            raise DomainError(
                "bounds do not fit the columns",
                got=f"{len(intervals)} intervals",
                wanted=f"one for each of {', '.join(columns)}",
            )
    center: Any = plan.center
    if isinstance(center, dict):
        _same_names("center", center, columns)
        center = [center[name] for name in columns]
    return Declared(columns, _turned(intervals), plan.radius, 0.0 if center is None else center)


def _columns(plan: FitMixture) -> tuple[str, ...]:
    asked = plan.columns
    if asked is None and isinstance(plan.bounds, dict):
        asked = tuple(plan.bounds)
    kind, stamps = find_files(list(plan.data))
    if kind == "csv":
        fields = csv_fields(stamps[0], plan.person)
        if asked is None:
            raise unnamed_columns([name for name, _ in fields])
        require_columns([name for name, _ in fields], check_columns(asked, plan.person), plan.person)
        return tuple(asked)
    footers = [read_footer(stamp) for stamp in stamps]
    check_schemas(footers)
    columns = choose_columns(footers[0].fields, asked, plan.person)
    if plan.person is not None:
        plain_ids(pa.array([], dict(footers[0].fields)[plan.person]), plan.person)  # refuses other types
    return columns


def _same_names(what: str, named: dict[str, Any], columns: Sequence[str]) -> None:
    if set(named) != set(columns):
        raise DomainError(
            f"{what} and columns do not name the same",
            got=sorted(named),
            wanted=f"one entry for each of {', '.join(columns)}",
        )


def _turned(intervals: Sequence[Any] | None) -> tuple[list[float], list[float]] | None:
    """Lows and highs."""
    if intervals is None:
        return None
    return [low for low, _ in intervals], [high for _, high in intervals]
