"""A request for the parameters of a network: checked before any row is read."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.accounting.guarantee import Guarantee
from discreet.errors import ParameterError
from discreet.fit.numbers import check_delta, check_epsilon, check_number, check_whole
from discreet.mechanisms.tables import TableLaw, law
from discreet.models.bif import read_bif
from discreet.models.network import Network
from discreet.models.structure import Structure
from discreet.records.codes import check_missing

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.accounting.ledger import Ledger
    from discreet.randomness import Bits

__all__ = ["Plan", "Request", "check", "plan", "structure_of"]

_SMALLEST_PRIOR = 1e-3
_LARGEST_PRIOR = 1e6


@dataclass(frozen=True)
class Request:
    """Everything a caller can say about a fit; see `BayesianNetwork`."""

    structure: Structure
    epsilon: float
    delta: float | None
    prior: float
    person: str | None
    rows_per_person: int
    missing: str
    ledger: Ledger | str | Path | None
    dataset: str | None
    bits: Bits

    @property
    def plain(self) -> bool:
        """Whether no privacy is wanted."""
        return math.isinf(self.epsilon)


@dataclass(frozen=True)
class Plan:
    """What will be released, at what price; a plain fit has no law."""

    guarantee: Guarantee
    law: TableLaw | None


def structure_of(source: object) -> Structure:
    """The structure that a structure, a network or the path of a BIF file stands for: public in any case."""
    if isinstance(source, Structure):
        return source
    if isinstance(source, Network):
        return source.structure
    if isinstance(source, str | os.PathLike):
        return read_bif(source).structure  # pyright: ignore[reportUnknownArgumentType]
    raise ParameterError(
        "the structure is none",
        got=type(source).__name__,
        wanted="a Structure, a Network, or the path of a BIF file",
    )


def check(wanted: Request) -> Request:
    """The request with numbers as numbers, or the first thing that is wrong with it."""
    wanted.structure.check_size()
    epsilon = check_epsilon(wanted.epsilon)
    plain = math.isinf(epsilon)
    least, remedy = 0.0 if plain else _SMALLEST_PRIOR, "Usually 1; 0 (maximum likelihood) is for plain fits."
    check_number("prior", wanted.prior, low=least, high=_LARGEST_PRIOR, remedy=remedy)
    check_whole("rows_per_person", wanted.rows_per_person, 1)
    if not isinstance(wanted.person, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(
            "person is not a column name",
            got=type(wanted.person).__name__,
            wanted="the name of a column",
            remedy="Give ids to fit(X, person=ids): parameters are published.",
        )
    if wanted.person in wanted.structure.states:
        raise ParameterError(
            "the person is a node of the network", got=wanted.person, wanted="another column"
        )
    check_missing(wanted.structure.states, wanted.missing)
    if wanted.dataset is not None and wanted.ledger is None:
        raise ParameterError("dataset names a budget, but there is no ledger", remedy="Give ledger= as well.")
    return replace(
        wanted,
        epsilon=epsilon,
        delta=check_delta(wanted.delta, epsilon),
        prior=float(wanted.prior),
        rows_per_person=int(wanted.rows_per_person),
    )


def plan(wanted: Request, *, by_person: bool = False) -> Plan:
    """What a checked request will promise: nothing is read, drawn or spent."""
    structure, rows = wanted.structure, wanted.rows_per_person
    if rows != 1 and not by_person:
        raise ParameterError(
            "rows_per_person bounds nobody", got=rows, remedy="Say whose row it is: person=, or leave it out."
        )
    declared = (
        f"the structure, {len(structure.nodes)} nodes with their states and parents",
        f"the prior, imaginary rows for each configuration of parents: {wanted.prior:g}",
    )
    seen = "whoever runs the fit, who sees the rows"
    person = wanted.person if by_person else None
    if wanted.plain:
        guarantee = Guarantee(
            epsilon=math.inf,
            delta=0.0,
            unit="person" if by_person else "row",
            events=(),
            trusts=f"{seen}; and everybody who sees the result",
            reveals=("the exact probabilities of the rows",),
            declared=declared,
            person=person,
            rows_per_person=float(rows) if by_person else None,
        )
        return Plan(guarantee, None)
    found = law(len(structure.measured), wanted.epsilon, wanted.delta or 0.0, rows_per_person=rows)
    guarantee = found.guarantee(
        trusts=f"{seen}; "
        + (
            "nobody who only sees the result"
            if not wanted.bits.seeded
            else "and everybody who sees the result and may guess the seed"
        ),
        reveals=("a probability table for each node, computed from noisy counts alone",),
        declared=declared,
        person=person,
        by_person=by_person,
        seeded=wanted.bits.seeded,
    )
    return Plan(guarantee, found)
