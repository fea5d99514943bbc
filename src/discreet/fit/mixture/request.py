"""A request for a mixture: checked, and planned, before anything is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.accounting.accountant import calibrate
from discreet.accounting.event import Event
from discreet.accounting.guarantee import Guarantee
from discreet.domain import declare_region
from discreet.errors import ParameterError, TooLargeError
from discreet.fit.mixture.published import ROUNDS, plan_published
from discreet.fit.mixture.schedule import plan_rounds
from discreet.fit.numbers import check_choice, check_delta, check_epsilon, check_number, check_whole
from discreet.models.moments import COVARIANCE_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from discreet.accounting.ledger import Ledger
    from discreet.domain import Region
    from discreet.fit.mixture.schedule import Schedule
    from discreet.randomness import Bits
    from discreet.records import Engine

__all__ = ["Plan", "Request", "check", "plan"]

METHODS = ("joint", "published", "input")
NOISES = ("gaussian", "laplace")
LARGEST = 2**25
"""The most numbers of a statistic: some 4 GiB with the integers they are kept as."""


@dataclass(frozen=True)
class Request:
    """Everything a caller can say about a fit; see `GaussianMixture`."""

    n_components: int
    epsilon: float
    delta: float | None
    bounds: tuple[ArrayLike, ArrayLike] | None
    radius: float | None
    center: ArrayLike
    covariance_type: Any
    method: str
    noise: str
    n_rounds: int | None
    columns: Sequence[str] | None
    person: str | None
    rows_per_person: float
    missing: Any
    reg_covar: float
    max_iter: int
    tol: float
    ledger: Ledger | str | Path | None
    dataset: str | None
    engine: Engine | None
    bits: Bits
    by_person: bool = False

    @property
    def plain(self) -> bool:
        """Whether no privacy is wanted."""
        return math.isinf(self.epsilon)


@dataclass(frozen=True)
class Plan:
    """What will be released, at what price, in which region."""

    guarantee: Guarantee
    region: Region | None
    schedule: Schedule | None


def check(wanted: Request) -> Request:
    """The request with numbers as numbers, or the first thing that is wrong with it."""
    check_whole("n_components", wanted.n_components, 1)
    check_whole("max_iter", wanted.max_iter, 1)
    if wanted.n_rounds is not None:
        check_whole("n_rounds", wanted.n_rounds, 1)
    check_choice("covariance_type", wanted.covariance_type, COVARIANCE_TYPES)
    check_choice("method", wanted.method, METHODS)
    check_choice("noise", wanted.noise, NOISES)
    check_number("reg_covar", wanted.reg_covar, low=1e-12)
    check_number("tol", wanted.tol, low=0)
    check_number("rows_per_person", wanted.rows_per_person, low=1e-6, high=1e9)
    if wanted.person is not None and not (isinstance(wanted.person, str) and wanted.person):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(
            "person is not the name of a column",
            got=type(wanted.person).__name__,
            wanted="a name, or nothing",
            remedy="Ids of rows go to fit(X, person=ids): parameters end up in public papers.",
        )
    if wanted.method == "input" and wanted.missing == "drop":
        raise ParameterError(
            "method='input' shows how many rows there are, so none may be left out because of its values",
            got="missing='drop'",
            wanted="missing='error'",
        )
    epsilon = check_epsilon(wanted.epsilon)
    pure = wanted.noise == "laplace" and wanted.method != "published"
    delta = check_delta(wanted.delta, epsilon, pure=pure)
    return replace(wanted, epsilon=epsilon, delta=delta, by_person=wanted.person is not None)


def plan(wanted: Request, dimension: int) -> Plan:
    """Fix the region, the rounds and the price of a checked request for this many columns."""
    region = None
    if wanted.by_person and wanted.method == "input":
        raise ParameterError(
            "method='input' protects rows, not persons",
            remedy="Leave person out, or use method='joint'.",
        )
    if not (wanted.plain and wanted.bounds is None and wanted.radius is None):
        region = declare_region(dimension, bounds=wanted.bounds, radius=wanted.radius, center=wanted.center)
    if wanted.n_components * (1 + dimension) ** 2 > LARGEST:  # full matrices are kept for every type
        raise TooLargeError(
            "a mixture this large does not fit into memory",
            got=f"{wanted.n_components} components in {dimension} columns",
            wanted=f"components * (1 + columns)^2 <= {LARGEST:,}",
            remedy="Use fewer components or columns.",
        )
    schedule, events = _price(wanted)
    guarantee = Guarantee(
        epsilon=wanted.epsilon,
        delta=wanted.delta or 0.0,
        unit="person" if wanted.by_person else "row",
        events=events,
        trusts=_trusted(wanted),
        reveals=_revealed(wanted),
        declared=_declared(wanted, region),
        seeded=wanted.bits.seeded and not wanted.plain,
        person=wanted.person if wanted.by_person else None,
        rows_per_person=wanted.rows_per_person if wanted.by_person else None,
        neighbours="change one" if wanted.method == "input" and not wanted.plain else "add or remove one",
    )
    return Plan(guarantee, region, schedule)


def _price(wanted: Request) -> tuple[Schedule | None, tuple[Event, ...]]:
    """The releases that use up exactly the budget."""
    if wanted.plain:
        return None, ()
    epsilon, delta = wanted.epsilon, wanted.delta or 0.0
    if wanted.method == "input":
        shape = [Event("laplace" if wanted.noise == "laplace" else "gaussian", 1.0, 1, "every row, once")]
        return None, (shape[0].scaled(calibrate(shape, epsilon, delta)),)
    if wanted.method == "published":
        rounds = wanted.n_rounds or ROUNDS
        return None, plan_published(wanted.n_components, epsilon, delta, noise=wanted.noise, rounds=rounds)
    schedule = plan_rounds(wanted.n_components, epsilon, delta, noise=wanted.noise, rounds=wanted.n_rounds)
    return schedule, schedule.events


def _trusted(wanted: Request) -> str:
    if wanted.plain or wanted.bits.seeded:
        knowing = "" if wanted.plain else " and may guess the seed"
        return f"whoever runs the fit, who sees the rows; and everybody who sees the result{knowing}"
    if wanted.method == "input":
        return (
            "whoever runs the fit, who sees the rows here; but nobody who sees the noisy rows: noise is "
            "added to each row by itself, as its owner could do"
        )
    return "whoever runs the fit, who sees the rows; nobody who only sees the result"


def _revealed(wanted: Request) -> tuple[str, ...]:
    if wanted.plain:
        return ("the exact mixture fitted to the rows",)
    if wanted.method == "input":
        return ("every row with its noise, and how many rows there are", "the mixture computed from these")
    return ("the weights, means and covariances of the mixture, computed from noisy sums alone",)


def _declared(wanted: Request, region: Region | None) -> tuple[str, ...]:
    facts = [f"the number of components, {wanted.n_components}", "the names of the columns"]
    if region is not None:
        plain = region.to_dict()
        shown = f"radius {plain['radius']:g}" if plain["kind"] == "ball" else "low and high of every column"
        facts.append(f"the region of the data ({shown})")
    if wanted.by_person:
        facts.append(f"the weight of one person's rows, at most {wanted.rows_per_person:g}")
    return tuple(facts)
