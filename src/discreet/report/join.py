"""What a report of a joint run is made of: the plan, what one party saw of the run, and what it got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.report.paper import Paper

if TYPE_CHECKING:
    from discreet.join import JoinPlan
    from discreet.models.network import Network

__all__ = ["Flow", "JoinPaper", "Node", "size_of"]

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


@dataclass(frozen=True)
class Flow:
    """What one party sent to another: as announced by the plan, and as counted if we were one of the two."""

    sender: str
    receiver: str
    announced: int
    counted: int | None

    @property
    def size(self) -> int:
        """What was counted, or else announced."""
        return self.announced if self.counted is None else self.counted


@dataclass(frozen=True)
class Node:
    """One family: its cells, where it was counted, and what that takes in bytes.

    ``paper`` is the published estimate, one bit a row and configuration; ``ours`` is what the family would
    take alone. Families share masks, so all together take less than the sum.
    """

    name: str
    parents: tuple[str, ...]
    cells: int
    where: tuple[str, ...]
    paper: int
    ours: int


@dataclass(frozen=True, kw_only=True)
class JoinPaper(Paper):
    """Everything that one party's report of a joint run may show.

    ``network`` is None for a party that receives nothing; ``nodes`` are the families that were counted,
    and ``shared`` the bytes announced for all of those that cross holders together.
    """

    plan: JoinPlan
    name: str
    rows: int
    network: Network | None
    flows: tuple[Flow, ...]
    nodes: tuple[Node, ...]
    shared: int

    @property
    def role(self) -> str:
        """What this party did."""
        return self.plan.parties[self.name].role

    @property
    def receives(self) -> bool:
        """Whether this party gets the result."""
        return self.name in self.plan.receivers

    @property
    def parties(self) -> tuple[str, ...]:
        """The helper, the holders, the analysts: the order in which they are shown."""
        helper = () if self.plan.helper is None else (self.plan.helper,)
        return (*helper, *self.plan.holders, *self.plan.analysts)

    @property
    def helped(self) -> bool:
        """Whether there is a helper."""
        return self.plan.helper is not None

    def told(self, name: str) -> str:
        """What a party holds, and whether it gets the result."""
        party = self.plan.parties[name]
        gets = "gets the network" if name in self.plan.receivers else ""
        if party.role != "holder":
            return gets or f"{party.role}, gets nothing"
        count = len(party.columns)
        return f"{count} column{'' if count == 1 else 's'}{', ' + gets if gets else ''}"

    def flow(self, sender: str, receiver: str) -> Flow:
        """What one party sent to another."""
        return next(one for one in self.flows if (one.sender, one.receiver) == (sender, receiver))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        network = self.network
        cpts = None if network is None else {node: network.cpt(node).tolist() for node in network.tables}
        return {
            **super().to_dict(),
            "name": self.plan.name,
            "party": self.name,
            "role": self.role,
            "rows": self.rows,
            "structure": self.plan.network.to_dict(),
            "cpts": cpts,
            "who_learned_what": dict(self.plan.learns),
        }


def size_of(count: float) -> str:
    """A number of bytes as people say it: 1.2 MB."""
    value, unit = float(count), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    if not unit:
        return f"{count:.0f} {'byte' if count == 1 else 'bytes'}"
    return f"{value:.{0 if value >= 99.5 else 1 if value >= 9.95 else 2}f} {_UNITS[unit]}"
