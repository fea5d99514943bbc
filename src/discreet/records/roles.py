"""What the columns of a table of sequences are for: declared by name, checked against what the table has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import DataError, DomainError, ParameterError
from discreet.records.person import plain_ids
from discreet.records.sequence_column import (
    Symbols,
    check_symbols,
    is_list,
    point_column,
    state_column,
    symbol_column,
    time_column,
)
from discreet.records.table import check_columns, is_number, require_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Roles"]


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for, by their names; ``columns`` hold the symbols or the numbers.

    All of it is declared, and public.
    """

    columns: tuple[str, ...] | None = None
    sequence: str | None = None
    order: str | None = None
    person: str | None = None
    states: str | None = None
    symbols: Symbols = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", check_symbols(self.symbols))
        others = self.others
        for role, name in others.items():
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ParameterError(f"{role} is not a column name", got=type(name).__name__, wanted="a name")
        named = [*others.values()]
        if self.columns is not None:
            object.__setattr__(self, "columns", check_columns(self.columns, None))
            named += list(self.columns)
        twice = next((name for name in named if named.count(name) > 1), None)
        if twice is not None:
            raise DomainError(
                f"column {twice!r} is named twice",
                wanted="one role for each column",
                remedy="If each person has one sequence, leave sequence= out.",
            )

    @property
    def others(self) -> dict[str, str]:
        """The columns that hold neither symbols nor numbers to learn from, by their roles."""
        roles = {"sequence": self.sequence, "order": self.order, "person": self.person, "states": self.states}
        return {role: name for role, name in roles.items() if name is not None}

    def choose(self, fields: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
        """The columns to learn from: those named, or all that can be and have no other role.

        ``fields`` are Arrow types, None where a type is not known (CSV files declare none).
        """
        chosen = self.columns
        if chosen is None:
            taken = set(self.others.values())
            chosen = tuple(name for name in names if name not in taken and self._fits(fields[name]))
        require_columns(names, (*chosen, *self.others.values()), None)
        if not chosen:
            raise DataError("no column can be learnt from", got=list(names)[:40], wanted="columns=")
        for name in (*chosen, *self.others.values()):
            if fields[name] is not None:
                self._check(name, fields[name])
        if self.symbols is not None and len(chosen) > 1:
            raise DomainError("symbols lie in one column", got=list(chosen)[:40], wanted="one, as columns=")
        return chosen

    def _check(self, name: str, kind: Any) -> None:
        """Refuse a type that the role of a column cannot have; no row is looked at."""
        nothing = pa.array([], kind)
        if name in (self.sequence, self.person):
            plain_ids(nothing, name, "person" if name == self.person else "sequence")
        elif name == self.order:
            time_column(nothing, name)
        else:
            inner = pa.array([], kind.value_type) if is_list(kind) else nothing
            if name == self.states:
                state_column(inner, name)
            elif self.symbols is None:
                point_column(inner, name)
            else:
                symbol_column(inner, name, self.symbols)

    def _fits(self, kind: Any) -> bool:
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)
        return is_number(kind) or is_list(kind) or (text and not isinstance(self.symbols, int | None))
