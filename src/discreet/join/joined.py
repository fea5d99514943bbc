"""What is there after a joint run: the result for those who receive, and a receipt for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.join.layout import Layout
from discreet.join.promise import guarantee
from discreet.join.traffic import compared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.join.plan import JoinPlan
    from discreet.models.network import Network
    from discreet.session.meeting import Outcome

__all__ = ["Joined"]


@dataclass(frozen=True, repr=False)
class Joined:
    """A joint network with its papers.

    ``model`` and ``tables`` are None for a party that receives nothing; ``tables`` holds the counts of
    `Structure.measured` as they were opened, exact or with noise. ``receipts`` has a receipt by party, as
    plain data, and ``outcomes`` what the session returned: in a rehearsal of all parties, in a run of one.
    """

    plan: JoinPlan
    model: Network | None
    tables: Mapping[str, NDArray[Any]] | None
    rows: int
    guarantee: Guarantee
    receipts: Mapping[str, dict[str, Any]]
    session: str
    outcomes: Mapping[str, Outcome]

    def __repr__(self) -> str:
        """Without counts: exact ones tell of people."""
        who = ", ".join(self.receipts)
        return f"{type(self).__name__}({self.plan.name!r}, {self.model!r}, receipts of {who})"

    @staticmethod
    def of(plan: JoinPlan, outcomes: Mapping[str, Outcome], *, seeded: bool) -> Joined:
        """Put together what the roles returned."""
        promise = guarantee(plan, seeded=seeded)
        told = next((outcomes[name].output for name in plan.receivers if name in outcomes), None)
        tables = None if told is None else told["tables"]
        rows = next(iter(outcomes.values())).output["rows"]
        session = next(iter(outcomes.values())).receipt.session
        return Joined(
            plan=plan,
            model=None if tables is None else _model(plan, tables),
            tables=tables,
            rows=rows,
            guarantee=promise,
            receipts={name: _receipt(plan, name, one, promise) for name, one in outcomes.items()},
            session=session,
            outcomes=outcomes,
        )


def _model(plan: JoinPlan, tables: Mapping[str, NDArray[Any]]) -> Network:
    """The network that opened tables stand for: the same step as for a single holder."""
    from discreet.models.margins import parameters

    law = Layout(plan).law
    return parameters(
        tables, plan.network, prior=plan.release.prior, sigma=None if law is None else law.sigma
    )


def _receipt(plan: JoinPlan, name: str, outcome: Outcome, promise: Guarantee) -> dict[str, Any]:
    """What the session wrote down, and what this job adds: who learned what, the price, bytes by node."""
    rows = outcome.output["rows"]
    return {
        **outcome.receipt.to_dict(),
        "job": "joint network",
        "name": plan.name,
        "rows": rows,
        "who_learned_what": dict(plan.learns),
        "guarantee": promise.to_dict(),
        "private": promise.private,
        "account": outcome.output.get("account"),
        "traffic": compared(plan, name, outcome.receipt, rows, outcome.output.get("sizes")),
    }
