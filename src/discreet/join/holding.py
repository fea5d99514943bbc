"""What a holder brings to a run, read and checked before anybody is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.join.payment import Purse
    from discreet.join.plan import JoinPlan

__all__ = ["Holding", "read_holding"]


@dataclass(frozen=True, repr=False)
class Holding:
    """A holder's codes by column, and its ids where rows are matched: as private as the table."""

    name: str
    codes: Mapping[str, NDArray[np.integer]]
    ids: list[bytes] | None

    def to_dict(self, purse: Purse | None) -> dict[str, Any]:
        """As the private input of a role."""
        paid = None if purse is None else purse.to_dict()
        return {"name": self.name, "codes": dict(self.codes), "ids": self.ids, "purse": paid}


def read_holding(plan: JoinPlan, name: str, table: Any) -> Holding:
    """A holder's own columns as codes of the declared states, from a table or a path.

    Ids follow the rules of the plan. Raises `DataError` if a column is missing or holds something that is
    not a declared state, or if the number of rows is not that of the plan; no error shows a value.
    """
    if name not in plan.holders:
        raise ParameterError("this party holds no columns", got=name, wanted=" or ".join(plan.holders))
    try:
        return _checked(plan, _read(plan, name, table))
    except DataError as error:
        raise _of_table(name, error) from None


def _of_table(name: str, error: DataError) -> DataError:
    """The same refusal, which says whose table it is about, and what can be done in a joint run."""
    from discreet.records.codes import MISSING_REMEDY

    remedy = error.remedy
    if remedy == MISSING_REMEDY:
        remedy = "Declare a state that stands for it, such as unknown, and write it there."
    what = f"in the table of {name!r}, {error.what}"
    return type(error)(what, got=error.got, wanted=error.wanted, remedy=remedy)


def _read(plan: JoinPlan, name: str, table: Any) -> Holding:
    from discreet.records.codes import read_codes, read_rows

    states = {column: plan.network.states[column] for column in plan.columns_of(name)}
    rows = plan.rows
    if rows.id is None:
        return Holding(name, read_codes(table, states), None)
    from discreet.protocols.roster import roster

    codes, ids = read_rows(table, states, rows.id, gaps=True)
    own = roster(ids, duplicates=rows.duplicates, missing=rows.missing)
    codes = {column: values[own.rows] for column, values in codes.items()}
    return Holding(name, codes, list(own.ids))


def _checked(plan: JoinPlan, holding: Holding) -> Holding:
    rows = len(next(iter(holding.codes.values())))
    if not rows:
        raise DataError("there are no rows", wanted="at least one")
    if plan.rows.count is not None and rows != plan.rows.count:
        raise DataError(
            "there are not as many rows as the plan says",
            wanted=f"{plan.rows.count:,} rows",
            remedy="Aligned tables have the same rows in the same order. Match rows by id otherwise.",
        )
    return holding
