"""What a plan would reveal and cost, before anything is read but the schema, and nothing is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from discreet.jobs.hmm import order_hmm
from discreet.jobs.mixture import order_mixture
from discreet.jobs.network import order_network
from discreet.jobs.order import budget_of, place_of
from discreet.jobs.plan import FitMixture, FitNetwork
from discreet.jobs.vocabulary import FitWords, order_words

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.ledger import Balance
    from discreet.jobs.order import Order
    from discreet.jobs.plan import FitHMM, JobPlan
    from discreet.report.paper import Purchase

__all__ = ["Preview", "preview"]


@dataclass(frozen=True)
class Preview:
    """What a run would promise, what its budget would buy, and what would be left."""

    columns: tuple[str, ...]
    guarantee: Guarantee
    bought: tuple[Purchase, ...]
    sentence: str
    out: Path
    before: Balance | None
    after: Balance | None

    def to_dict(self) -> dict[str, Any]:
        """The preview as plain data."""
        return {
            "columns": list(self.columns),
            "guarantee": self.guarantee.to_dict(),
            "private": self.guarantee.private,
            "words": self.guarantee.words(),
            "bought": [purchase.to_dict() for purchase in self.bought],
            "sentence": self.sentence,
            "out": str(self.out),
            "ledger": None
            if self.before is None or self.after is None
            else {"before": self.before.to_dict(), "after": self.after.to_dict()},
        }


def preview(plan: JobPlan) -> Preview:
    """Everything that can be known before the rows are read, or the error that the run would end with.

    **Reveals** nothing. **Costs** nothing.
    """
    order = _order(plan)
    guarantee, place = order.guarantee, place_of(plan)
    before = after = None
    if plan.ledger is not None:
        ledger, dataset = budget_of(plan)
        cost = ledger.quote(dataset, guarantee)
        before = ledger.left(dataset, guarantee.unit)
        spent = before.spent[0] + cost[0], before.spent[1] + cost[1]
        after = replace(before, spent=spent, runs=before.runs + 1)
    return Preview(order.columns, guarantee, order.bought, order.sentence, place, before, after)


def _order(plan: JobPlan) -> Order[Any]:
    if isinstance(plan, FitNetwork):
        return order_network(plan)
    if isinstance(plan, FitMixture):
        return order_mixture(plan)
    if isinstance(plan, FitWords):
        return order_words(plan)
    return order_hmm(cast("FitHMM", plan))
