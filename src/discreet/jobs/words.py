"""Settings as people write them on a command line: `lat,lon`, `lat=40.4:40.9,lon=-74.3:-73.7`, `inf`.

Every function lets through what is not text, for the plan to check.
"""

from __future__ import annotations

import math
from typing import Any

from discreet.errors import DomainError, ParameterError

__all__ = ["names_of", "number_of", "numbers_of", "paths_of", "ranges_of", "symbols_of"]


def paths_of(value: Any) -> Any:
    """One path, or several."""
    paths = (value,) if isinstance(value, str) else value
    if isinstance(paths, list | tuple) and not paths:
        raise ParameterError("data is not given", wanted="Parquet or CSV files: paths, a glob, or a folder")
    return paths


def names_of(value: Any) -> Any:
    """`lat,lon` as names."""
    if not isinstance(value, str):
        return value
    return [name.strip() for name in value.split(",") if name.strip()]


def number_of(value: Any) -> Any:
    """`inf` and `infinity` as numbers; other text is left to be refused."""
    if isinstance(value, str) and value.strip().lower() in ("inf", "infinity"):
        return math.inf
    return value


def numbers_of(value: Any) -> Any:
    """`0.5`, `40.6,-74` or `lat=40.6,lon=-74` as numbers."""
    if not isinstance(value, str):
        return value
    named = _named(value, "center", "one number, 40.6,-74 or lat=40.6,lon=-74")
    read = {name: _number(text, "center") for name, text in named}
    if None in read:
        numbers = [_number(text, "center") for _, text in named]
        return numbers[0] if len(numbers) == 1 else numbers
    return read


def ranges_of(value: Any) -> Any:
    """`0:1`, `40.4:40.9,-74.3:-73.7` or `lat=40.4:40.9,lon=-74.3:-73.7` as intervals."""
    if not isinstance(value, str):
        return value
    named = _named(value, "bounds", "low:high, or lat=40.4:40.9,lon=-74.3:-73.7")
    intervals = [(name, _interval(text)) for name, text in named]
    if intervals[0][0] is not None:
        return dict(intervals)
    only = [interval for _, interval in intervals]
    return only[0] if len(only) == 1 else only


def symbols_of(value: Any) -> Any:
    """`6` as a number of symbols, and `a,b,c` as their names."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return names_of(value)


def _named(value: str, what: str, wanted: str) -> list[tuple[str | None, str]]:
    """Pieces between commas, each with its name or all without."""
    found: list[tuple[str | None, str]] = []
    for piece in value.split(","):
        name, equals, text = piece.rpartition("=")
        found.append((name.strip() if equals else None, text.strip()))
    names = [name for name, _ in found]
    if len(set(names)) not in (1, len(names)) or (None in names and len(set(names)) > 1):
        raise DomainError(f"{what} cannot be understood", got=value, wanted=wanted)
    if names[0] is not None and len(set(names)) < len(names):
        raise DomainError(f"{what} names a column twice", got=value, wanted=wanted)
    return found


def _interval(text: str) -> list[float]:
    low, colon, high = text.partition(":")
    if not colon:
        raise DomainError("bounds cannot be understood", got=text, wanted="low:high, such as 40.4:40.9")
    return [_number(low, "bounds"), _number(high, "bounds")]


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DomainError(f"{what} cannot be understood", got=text, wanted="a number") from None
