"""What a holder brings to a run, read and checked before anybody is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from discreet.accounting.ledger import Ledger
    from discreet.join.plan import JoinPlan

__all__ = ["Holding", "Purse", "read_holding"]


@dataclass(frozen=True)
class Purse:
    """The ledger that a holder charges, and the name of the budget in it."""

    path: str
    dataset: str

    @staticmethod
    def of(given: Purse | Ledger | str | os.PathLike[str] | tuple[Any, str], plan: JoinPlan) -> Purse:
        """A path, a `Ledger`, or either with the name of a data set; by default the name of the plan."""
        if isinstance(given, Purse):
            return given
        ledger, dataset = given if isinstance(given, tuple) else (given, plan.name)
        return Purse(str(getattr(ledger, "path", ledger)), dataset)


@dataclass(frozen=True, repr=False)
class Holding:
    """A holder's codes by column, and its ids where rows are matched. As private as the table they are from."""

    name: str
    codes: Mapping[str, NDArray[np.integer]]
    ids: list[bytes] | None

    def to_dict(self, purse: Purse | None) -> dict[str, Any]:
        """As the private input of a role."""
        ledger = None if purse is None else {"path": purse.path, "dataset": purse.dataset}
        return {"name": self.name, "codes": dict(self.codes), "ids": self.ids, "ledger": ledger}


def read_holding(plan: JoinPlan, name: str, table: Any) -> Holding:
    """A holder's own columns as codes of the declared states, from a table or a path.

    Raises `DataError` if a column is missing or holds something that is not a declared state, or if the
    number of rows is not that of the plan; no error shows a value.
    """
    if name not in plan.holders:
        raise ParameterError("this party holds no columns", got=name, wanted=" or ".join(plan.holders))
    from discreet.records.codes import read_codes

    states = {column: plan.network.states[column] for column in plan.columns_of(name)}
    codes = read_codes(table, states)
    ids = None
    if plan.rows.id is not None:
        from discreet.records.codes import read_ids

        ids = read_ids(table, plan.rows.id)
    return _checked(plan, Holding(name, codes, ids))


def _checked(plan: JoinPlan, holding: Holding) -> Holding:
    rows = len(next(iter(holding.codes.values())))
    if plan.rows.count is not None and rows != plan.rows.count:
        raise DataError(
            f"the table of {holding.name!r} does not have as many rows as the plan says",
            wanted=f"{plan.rows.count:,} rows",
            remedy="Aligned tables have the same rows in the same order. Match rows by id otherwise.",
        )
    return holding
