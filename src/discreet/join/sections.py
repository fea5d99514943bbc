"""The sections of a plan for a joint network, each checked by itself; `discreet.join.plan` has the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationInfo, model_validator

from discreet.errors import ParameterError

__all__ = ["Kind", "Party", "Release", "Route", "Rows", "Section", "Shape", "Time"]

Kind = Literal["helper", "transfer", "lattice", "three"]
Whole = Annotated[int, Strict()]

_TOO_LONG = 2**1000


def _number(value: Any) -> Any:
    """A number as written; TOML has integers where people mean floats."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    return float(value) if abs(value) < _TOO_LONG else math.inf


Number = Annotated[float, BeforeValidator(_number), Strict()]

_SMALLEST_PRIOR, _LARGEST_PRIOR = 1e-3, 1e6
_LONGEST = 30 * 86400.0


class Section(BaseModel):
    """A part of a plan: nothing unknown, nothing changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Party(Section):
    """Who takes part, and as what. A holder has columns, a helper deals masks, an analyst gets the result."""

    role: Literal["holder", "helper", "analyst"] = Field(description="holder, helper or analyst")
    columns: tuple[str, ...] = Field((), description="of a holder: the nodes whose values it has")
    place: str | None = Field(None, description="host:port, for a run; not part of what is compared")


class Shape(Section):
    """The declared structure: edges from parent to child, and the states of every node.

    A ``file`` is read when the plan is checked; only its nodes, states and parents are kept.
    """

    edges: tuple[tuple[str, str], ...] = Field((), description="pairs of names, parent first")
    states: dict[str, tuple[str, ...]] = Field(description="a list of names for every node")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, Mapping) or "file" not in given:
            return given
        if set(given) != {"file"} or not isinstance(given["file"], str):
            raise ParameterError(
                "a structure is a file, or edges and states, but not both", got=sorted(map(str, given))
            )
        from discreet.models.bif import read_bif

        folder = Path((info.context or {}).get("folder", "."))
        found = read_bif(folder / Path(given["file"]).expanduser()).structure
        edges = [(parent, node) for node in found.nodes for parent in found.parents[node]]
        return {"edges": edges, "states": dict(found.states)}


class Rows(Section):
    """Which rows belong together: the same number in the same order everywhere, or rows matched by id."""

    count: Whole | None = Field(None, ge=1, description="rows already aligned: how many")
    id: str | None = Field(None, min_length=1, description="the column that rows are matched by")
    duplicates: Literal["refuse", "drop", "first"] = Field(
        "refuse", description="what becomes of ids that come twice: refuse, drop or first"
    )
    missing: Literal["refuse", "drop"] = Field(
        "refuse", description="what becomes of rows without an id: refuse or drop"
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.count is None) == (self.id is None):
            raise ParameterError("rows are aligned, or matched by id", wanted="either count or id")
        if self.count is not None and (self.duplicates, self.missing) != ("refuse", "refuse"):
            raise ParameterError("rules for ids, but rows are not matched by id", wanted="id")
        return self


class Route(Section):
    """How families whose columns lie with several holders are counted."""

    kind: Kind | None = Field(None, description="helper, transfer, lattice or three")


class Release(Section):
    """What is opened, to whom, at what price. There is no default: exact, or epsilon and delta."""

    to: tuple[str, ...] = Field(description="the holders or analysts who get the result")
    exact: bool = Field(False, description="true opens the exact counts")
    epsilon: Number | None = Field(None, description="the privacy budget")
    delta: Number | None = Field(None, description="well below one over the number of people")
    prior: Number = Field(1.0, ge=0, description="what is added to every cell before probabilities are taken")
    pays: tuple[str, ...] = Field((), description="the holders whose ledgers are charged")

    @model_validator(mode="after")
    def _priced(self) -> Self:
        asked = (self.epsilon, self.delta)
        if self.exact and asked != (None, None):
            raise ParameterError(
                "exact counts have no budget", got=asked, wanted="exact, or epsilon and delta"
            )
        if not self.exact and None in asked:
            raise ParameterError(
                "what is released is not chosen",
                got=f"epsilon {self.epsilon}, delta {self.delta}",
                wanted="epsilon and delta, or exact = true",
                remedy="There is no default: it is yours to choose.",
            )
        if self.exact and self.pays:
            raise ParameterError("exact counts are not charged to a ledger", got=self.pays, wanted="no pays")
        low = 0.0 if self.exact else _SMALLEST_PRIOR
        if not low <= self.prior <= _LARGEST_PRIOR:  # found later, it would cost a result that is paid for
            raise ParameterError(
                "the prior is out of range",
                got=self.prior,
                wanted=f"{low:g} to {_LARGEST_PRIOR:g} rows",
                remedy="Usually 1; 0 (maximum likelihood) is for exact counts.",
            )
        return self


class Time(Section):
    """Seconds: how long a party may be silent, and how long everything may take."""

    silence: Number = Field(60.0, gt=0, le=_LONGEST, description="the longest silence")
    whole: Number = Field(3600.0, gt=0, le=_LONGEST, description="the longest run")
