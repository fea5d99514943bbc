"""The plan of a joint network: one TOML file that every party holds, checked before anything else happens.

    job = "network"
    name = "asia"

    [parties.north]
    role = "holder"
    columns = ["A", "T", "E", "X", "D"]
    place = "north.example:7301"          # only for a run between organisations

    [parties.south]
    role = "holder"
    columns = ["S", "L", "B"]

    [parties.dealer]
    role = "helper"

    [structure]
    file = "asia.bif"                     # or edges = [["A", "T"], ...] and [structure.states]

    [rows]
    count = 2000                          # or id = "patient"

    [release]
    to = ["north", "south"]
    epsilon = 1.0
    delta = 1e-6
    pays = ["north", "south"]

Everything that has a meaning goes into the digest that parties compare (`JoinPlan.agreed`): the content of
the structure, not where its file lies; not where parties can be reached. Parties are sorted by name and
columns by the structure, so that two files which say the same have the same digest.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from discreet.errors import DiscreetError, DomainError, ParameterError
from discreet.join.sections import Kind, Party, Release, Route, Rows, Section, Shape, Time

if TYPE_CHECKING:
    from discreet.models.network import Structure
    from discreet.session.plan import Plan

__all__ = ["PROTOCOL", "VERSION", "JoinPlan"]

PROTOCOL = "join network"
"""What the session calls this job."""

VERSION = 1

_LONGEST_NAME = 64


class JoinPlan(Section):
    """What the parties of a joint network agree to.

    **Reveals** itself to every party; nothing in it is private.
    """

    job: Literal["network"] = Field(description='"network"')
    name: str = Field(min_length=1, max_length=_LONGEST_NAME, description="what this plan is called")
    parties: dict[str, Party] = Field(description="a section for every party")
    structure: Shape = Field(description="file, or edges and states")
    rows: Rows = Field(description="count or id")
    route: Route = Field(Route(kind=None), description="kind")
    release: Release = Field(description="to, and exact or epsilon and delta")
    time: Time = Field(Time(silence=60.0, whole=3600.0), description="silence and whole")

    @staticmethod
    def read(path: str | os.PathLike[str]) -> JoinPlan:
        """The plan in a TOML file, to which paths in it are relative."""
        file = Path(path).expanduser()
        try:
            settings = tomllib.loads(file.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ParameterError(f"the plan {file.name} is not TOML: {error}") from None
        except RecursionError:
            raise ParameterError(f"the plan {file.name} is nested too deeply") from None
        except (OSError, UnicodeDecodeError):
            raise ParameterError(f"the plan {file.name} cannot be read", remedy="Check the path.") from None
        except ValueError:  # whole numbers of more than 4300 digits
            raise ParameterError(f"the plan {file.name} is not TOML: a number is too long") from None
        return JoinPlan.of(settings, folder=file.parent)

    @staticmethod
    def of(settings: Mapping[str, Any], *, folder: str | os.PathLike[str] = ".") -> JoinPlan:
        """The plan that these settings mean; unknown ones are refused."""
        try:
            return JoinPlan.model_validate(dict(settings), context={"folder": str(folder)})
        except ValidationError as error:
            raise _refusal(error) from None

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_parties(self)
        _check_columns(self, self.network.nodes)
        self.network.check_size()
        _check_route(self)
        _check_release(self)
        return self

    @cached_property
    def network(self) -> Structure:
        """The declared structure as the models know it."""
        from discreet.models.structure import Structure

        return Structure.of_edges(self.structure.edges, self.structure.states)

    @property
    def holders(self) -> tuple[str, ...]:
        """Those who have columns, sorted by name."""
        return self._all("holder")

    @property
    def analysts(self) -> tuple[str, ...]:
        """Those who only receive, sorted by name."""
        return self._all("analyst")

    @property
    def helper(self) -> str | None:
        """Who deals masks, if anybody does."""
        return next(iter(self._all("helper")), None)

    @property
    def receivers(self) -> tuple[str, ...]:
        """Who gets the result, sorted by name."""
        return tuple(sorted(self.release.to))

    @property
    def payers(self) -> tuple[str, ...]:
        """Whose ledgers are charged, sorted by name."""
        return tuple(sorted(self.release.pays))

    @property
    def kind(self) -> Kind:
        """The route that is taken: as asked, or by who is there."""
        if self.route.kind is not None:
            return self.route.kind
        if self.helper is not None:
            return "helper"
        return "three" if len(self.holders) >= 3 else "transfer"

    def columns_of(self, holder: str) -> tuple[str, ...]:
        """A holder's columns, in the order of the structure."""
        own = set(self.parties[holder].columns)
        return tuple(node for node in self.structure.states if node in own)

    def agreed(self) -> dict[str, Any]:
        """Everything that must be the same for all, as plain data."""
        return {
            "job": self.job,
            "name": self.name,
            "holders": {name: list(self.columns_of(name)) for name in self.holders},
            "helper": self.helper,
            "analysts": list(self.analysts),
            "structure": self.network.to_dict(),
            "rows": self.rows.model_dump(),
            "route": self.kind,
            "release": {
                "to": list(self.receivers),
                "exact": self.release.exact,
                "epsilon": self.release.epsilon,
                "delta": self.release.delta,
                "prior": self.release.prior,
                "pays": list(self.payers),
            },
            "time": self.time.model_dump(),
        }

    @staticmethod
    def of_agreed(plain: Mapping[str, Any]) -> JoinPlan:
        """The plan that `agreed` wrote; places are not in it."""
        parties: dict[str, Any] = {
            name: {"role": "holder", "columns": columns} for name, columns in plain["holders"].items()
        }
        parties |= {name: {"role": "analyst"} for name in plain["analysts"]}
        if plain["helper"] is not None:
            parties[plain["helper"]] = {"role": "helper"}
        nodes = plain["structure"]["nodes"]
        states = {node["name"]: node["states"] for node in nodes}
        edges = [[parent, node["name"]] for node in nodes for parent in node["parents"]]
        return JoinPlan.of(
            {
                **{key: plain[key] for key in ("job", "name", "rows", "release", "time")},
                "parties": parties,
                "structure": {"states": states, "edges": edges},
                "route": {"kind": plain["route"]},
            }
        )

    @property
    def learns(self) -> dict[str, str]:
        """For every party, in words, all that it knows afterwards."""
        from discreet.join.promise import learns

        return learns(self)

    def session_plan(self) -> Plan:
        """What the session compares before any private byte is sent."""
        from discreet.session.plan import Plan

        return Plan(PROTOCOL, VERSION, self.agreed(), self.learns)

    def _all(self, role: str) -> tuple[str, ...]:
        return tuple(sorted(name for name, party in self.parties.items() if party.role == role))


def _check_parties(plan: JoinPlan) -> None:
    if not plan.name.isprintable():  # a second line could pass for words of ours
        raise ParameterError("the name of the plan is not one line of text", wanted="printable letters")
    for name, party in plan.parties.items():
        if not (0 < len(name) <= _LONGEST_NAME and all(one.isalnum() or one in "-_" for one in name)):
            raise ParameterError("not a name for a party", got=name, wanted="letters, digits, - and _")
        if name == "peer":  # protocols of two call the other one so
            raise ParameterError("this name is taken", got=name, wanted="another name for this party")
        if party.role != "holder" and party.columns:
            raise ParameterError(f"only holders have columns, and {name!r} is the {party.role}")
        if party.role == "holder" and not party.columns:
            raise ParameterError(f"{name!r} holds no column", wanted="at least one", remedy="Leave it out.")
    if len(plan.holders) < 2:
        raise ParameterError(
            "a joint network needs two holders",
            got=list(plan.holders),
            remedy="One holder alone fits with `discreet.fit`.",
        )


def _check_columns(plan: JoinPlan, nodes: tuple[str, ...]) -> None:
    """Every node is held, and by one holder."""
    held = [(column, name) for name in plan.holders for column in plan.parties[name].columns]
    for column, name in held:
        owners = [other for one, other in held if one == column]
        if column not in nodes:
            raise DomainError(f"{name!r} holds a column that the structure does not have", got=column)
        if len(owners) > 1:
            raise DomainError(f"the column {column!r} is held twice", got=owners, wanted="one holder")
    found = {column for column, _ in held}
    missing = [node for node in nodes if node not in found]
    if missing:
        raise DomainError("nobody holds some columns of the structure", got=missing, wanted="one holder each")


def _check_route(plan: JoinPlan) -> None:
    helpers, holders = len(plan._all("helper")), len(plan.holders)  # pyright: ignore[reportPrivateUsage]
    if helpers > 1:
        raise ParameterError("one helper is enough", got=helpers, wanted="one party with role helper")
    if plan.kind == "helper" and not helpers:
        raise ParameterError("this route needs a helper", wanted="a party with role helper")
    if plan.kind != "helper" and helpers:
        raise ParameterError(
            "the helper would have nothing to do", got=f"route {plan.kind}", wanted="route helper"
        )
    if plan.kind in ("transfer", "lattice") and holders != 2:
        raise ParameterError(
            "this route is for two holders", got=holders, wanted="2", remedy="Take three, or a helper."
        )
    if plan.kind == "three" and holders < 3:
        raise ParameterError("this route needs three holders", got=holders, wanted="3 or more")


def _check_release(plan: JoinPlan) -> None:
    able = {*plan.holders, *plan.analysts}
    release = plan.release
    if not release.to or len(set(release.to)) < len(release.to) or not set(release.to) <= able:
        raise ParameterError(
            "the result goes to holders or analysts, each once", got=release.to, wanted=str(sorted(able))
        )
    idle = sorted(set(plan.analysts) - set(release.to))
    if idle:
        raise ParameterError("an analyst gets nothing", got=idle, wanted="release.to names every analyst")
    if len(set(release.pays)) < len(release.pays) or not set(release.pays) <= set(plan.holders):
        raise ParameterError("only holders pay, each once", got=release.pays, wanted=str(list(plan.holders)))
    for name, value in (("epsilon", release.epsilon), ("delta", release.delta)):
        if value is not None and not (0 < value < (math.inf if name == "epsilon" else 1)):
            raise ParameterError(f"{name} is out of range", got=value, wanted="epsilon > 0, 0 < delta < 1")


def _refusal(error: ValidationError) -> Exception:
    """What pydantic found first, in our words."""
    found = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")[0]
    cause = found.get("ctx", {}).get("error")
    if isinstance(cause, DiscreetError):
        return cause
    place = ".".join(str(part) for part in found["loc"]) or "the plan"
    if found["type"] == "extra_forbidden":
        return ParameterError(f"there is no setting {place!r}", remedy="Check its spelling and its section.")
    if found["type"] == "missing":
        return ParameterError(f"{place} is not given", wanted=_described(found["loc"]))
    return ParameterError(
        f"{place} cannot be understood", got=str(found["input"])[:100], wanted=_described(found["loc"])
    )


def _described(place: tuple[str | int, ...]) -> str:
    """What the setting at this place is for, as its field says."""
    kind: Any = JoinPlan
    words = ""
    for part in place:
        fields: Any = getattr(kind, "model_fields", None)
        if fields is None or part not in fields:
            kind = Party if kind is dict else None
            continue
        words = fields[part].description or words
        kind = dict if part == "parties" else fields[part].annotation
    return words
