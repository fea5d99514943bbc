"""What `fit` is given: arrays as they are, and tables and files turned into arrays by names of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.records.sequence_table import is_table, read_sequences

if TYPE_CHECKING:
    from discreet.fit.hmm.request import Request

__all__ = ["Given", "take"]


@dataclass(frozen=True, eq=False, repr=False)
class Given:
    """Rows and lengths, hidden states, one id a sequence, and names of columns if there are any."""

    rows: Any
    lengths: Any
    states: Any = None
    person: Any = None
    names: tuple[str, ...] | None = None


def take(wanted: Request, source: Any, lengths: Any, states: Any, person: Any) -> Given:
    """What is fitted, from arrays or from a table; names of columns are refused where there are none."""
    if lengths is None and is_table(source):
        return _from_table(wanted, source, states, person)
    named = [role for role in ("columns", "sequence", "order", "person") if getattr(wanted, role) is not None]
    if isinstance(states, str):
        named.append("states")
    if named:
        raise ParameterError(
            "arrays have no column names",
            got=", ".join(f"{role}=" for role in named),
            wanted="a data frame, an Arrow table or a path, without lengths",
            remedy="With arrays, give lengths, states and ids as arrays to fit.",
        )
    return Given(source, lengths, states, person)


def _from_table(wanted: Request, source: Any, states: Any, person: Any) -> Given:
    for role, value in (("states", states), ("person", person)):
        if value is not None and not (isinstance(value, str) and role == "states"):
            raise ParameterError(
                f"{role} is not the name of a column",
                got=type(value).__name__,
                wanted=f"{role}= as a column of the table"
                + (", set when the model is made" * (role == "person")),
            )
    table = read_sequences(source, wanted.roles(states))
    return Given(table.rows, table.lengths, table.states, table.people, table.names)
