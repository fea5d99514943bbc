"""What is there after a joint run: the result for those who receive, and a receipt for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.models.margins import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.join.plan import JoinPlan
    from discreet.models.network import Network
    from discreet.session.meeting import Outcome

__all__ = ["Joined", "model_of"]


@dataclass(frozen=True)
class Joined:
    """A joint network with its papers.

    ``model`` and ``tables`` are None for a party that receives nothing; ``tables`` holds the counts of
    `Structure.measured` as they were opened, exact or with noise. ``receipts`` has a receipt by party, as
    plain data, and ``outcomes`` what the session returned: in a rehearsal of all parties, in a run of one.
    """

    plan: JoinPlan
    model: Network | None
    tables: Mapping[str, NDArray[Any]] | None
    guarantee: Guarantee
    receipts: Mapping[str, dict[str, Any]]
    outcomes: Mapping[str, Outcome] = field(repr=False)


def model_of(plan: JoinPlan, tables: Mapping[str, NDArray[Any]]) -> Network:
    """The network that opened tables stand for: the same step as for a single holder."""
    return parameters(tables, plan.network, prior=plan.release.prior, sigma=None)
