"""The plan of a fit: everything that can be asked for, checked, whoever asks.

A plan comes from Python, from the command line or from one TOML file, in the same words:

    data = "checkins/*.parquet"          # paths in a file are relative to that file
    columns = ["lat", "lon"]
    components = 20
    epsilon = 1.0
    delta = 1e-6
    person = "user"
    ledger = "city.ledger"
    out = "hot-spots"

    [bounds]
    lat = [40.4, 40.9]
    lon = [-74.3, -73.7]
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError

from discreet.errors import DiscreetError, ParameterError
from discreet.jobs.words import names_of, number_of, numbers_of, paths_of, ranges_of, symbols_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["FitHMM", "FitMixture", "FitNetwork", "FitPlan", "JobPlan", "make_plan", "read_plan"]

Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Interval = tuple[Number, Number]


class JobPlan(BaseModel):
    """What all fits have in common: files, a budget, what to charge, what to write."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: ClassVar[str]

    data: Annotated[tuple[str, ...], BeforeValidator(paths_of)] = Field(
        description="Parquet or CSV files: paths, a glob, or a folder"
    )
    epsilon: Annotated[Number, BeforeValidator(number_of)] = Field(
        description='the privacy budget; "inf" fits without privacy'
    )
    delta: Number | None = Field(None, description="well below one over the number of people")
    person: str | None = Field(None, description="the column that says whose row it is")
    ledger: str | None = Field(None, description="the ledger to charge")
    dataset: str | None = Field(None, description="the budget in the ledger; needed if it has several")
    out: str | None = Field(None, description="the folder to write; by default a new one")
    random_state: Whole | None = Field(None, description="a seed: the result is then not private")

    @property
    def place(self) -> Path:
        """The folder for the result. Without ``out`` it is a new one: a paid result is never replaced."""
        if self.out is not None:
            return Path(self.out).expanduser()
        names = (self.kind, *(f"{self.kind}-{number}" for number in range(2, 1_000_000)))
        return next(Path(name) for name in names if not Path(name).exists())


class FitPlan(JobPlan):
    """What fits to numbers have in common beyond that: columns, where points can lie, noise, threads."""

    columns: Annotated[tuple[str, ...] | None, BeforeValidator(names_of)] = Field(
        None, description="the columns to learn from; by default all numbers, or those with bounds"
    )
    bounds: Annotated[
        dict[str, Interval] | tuple[Interval, ...] | Interval | None, BeforeValidator(ranges_of)
    ] = Field(None, description="low and high of every column, as publicly known")
    radius: Number | None = Field(None, description="instead of bounds: all rows lie within this radius")
    center: Annotated[dict[str, Number] | tuple[Number, ...] | Number | None, BeforeValidator(numbers_of)] = (
        Field(None, description="of the radius; by default the origin")
    )
    noise: str = Field("gaussian", description="gaussian or laplace")
    rounds: Whole | None = Field(None, description="noisy rounds; by default a rule of the request")
    workers: Whole | None = Field(None, description="threads; by default one a processor")


class FitMixture(FitPlan):
    """A mixture wanted from private rows; `discreet.fit.GaussianMixture` says what each setting means."""

    kind: ClassVar[str] = "mixture"

    components: Whole = Field(description="how many Gaussians")
    rows_per_person: Number = Field(1.0, description="the rows of one person weigh at most this much")
    method: str = Field("joint", description="joint, published or input")
    covariance_type: str = Field("full", description="full, tied, diag or spherical")
    missing: str = Field("error", description="error or drop: what becomes of rows with missing values")


class FitHMM(FitPlan):
    """A hidden Markov model wanted from private sequences.

    `discreet.fit.CategoricalHMM` and `discreet.fit.GaussianHMM` say what each setting means; points are
    wanted where ``points`` is set.
    """

    kind: ClassVar[str] = "hmm"

    states: Whole = Field(description="how many hidden states")
    symbols: Annotated[Whole | tuple[str, ...] | None, BeforeValidator(symbols_of)] = Field(
        None, description="how many symbols, or what they are called: a,b,c"
    )
    points: bool = Field(False, description="rows are points, and states emit Gaussians")
    skeleton: str | None = Field(None, description="a JSON file: where the fit starts, and its zeros")
    topology: str | None = Field(None, description="left-right, or nothing")
    max_length: Whole | None = Field(None, description="the longest length that counts, publicly known")
    sequence: str | None = Field(None, description="the column that says which sequence a row belongs to")
    order: str | None = Field(None, description="the column that rows of a sequence are sorted by")
    states_column: str | None = Field(None, description="the column of the hidden states, where known")
    sequences_per_person: Number = Field(1.0, description="one person's sequences weigh at most this much")
    method: str = Field("auto", description="auto, score, iterate, moments or labelled")
    covariance_type: str = Field("diag", description="diag, full, tied or spherical")


class FitNetwork(JobPlan):
    """The tables of a Bayesian network; `discreet.fit.BayesianNetwork` says what each setting means."""

    kind: ClassVar[str] = "network"

    structure: str = Field(description="a BIF file: nodes, their states and their parents")
    prior: Number = Field(1.0, description="imaginary rows for each configuration of parents")
    rows_per_person: Whole = Field(1, description="so many first rows of each person count")
    missing: str = Field("refuse", description="refuse, drop, or the state that a missing value stands for")


P = TypeVar("P", bound=JobPlan)


def make_plan(settings: Mapping[str, Any], kind: type[P] = FitMixture) -> P:
    """Check settings; unknown ones are refused, with the nearest known one."""
    try:
        return kind(**settings)
    except ValidationError as error:
        found = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        raise _refusal(found[0], kind) from None


def read_plan(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings of a TOML file, unchecked, with its paths made relative to where we are."""
    file = Path(path).expanduser()
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"the plan {file} is not TOML: {error}", remedy='Such as: data = "rows.csv"'
        ) from None
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"the plan {file} cannot be read", remedy="Check the path.") from None
    except (RecursionError, ValueError):  # whole numbers of more than 4300 digits
        raise ParameterError(
            f"the plan {file} is not TOML: nested too deeply, or a number is too long"
        ) from None
    for name in ("data", "ledger", "out", "skeleton", "structure"):
        if name in settings:
            settings[name] = _moved(settings[name], file.parent)
    return settings


def _moved(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_moved(item, folder) for item in value]
    return str(folder / Path(value).expanduser()) if isinstance(value, str) else value


def _refusal(error: ErrorDetails, kind: type[JobPlan]) -> DiscreetError:
    """What pydantic found, in our words."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, DiscreetError):
        return cause
    name = str(error["loc"][0]) if error["loc"] else "the plan"
    known = kind.model_fields
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name.replace("-", "_"), known, n=1, cutoff=0.4)
        return ParameterError(
            f"there is no setting {name!r}",
            wanted=", ".join(known),
            remedy=f"Did you mean {near[0]!r}?" if near else "",
        )
    if error["type"] == "missing":
        return ParameterError(
            f"{name} is not given",
            wanted=known[name].description or "",
            remedy="There is no default: it is yours to choose."
            if name in ("epsilon", "components", "states", "structure")
            else "Name the files after the command, or give data in the plan.",
        )
    wanted = known[name].description if name in known else error["msg"]
    return ParameterError(f"{name} cannot be understood", got=error["input"], wanted=wanted or "")
