"""What a joint network promises: who learns what, in words, and the guarantee for the people in the rows.

The words go into the plan that all parties hash, so they cannot differ between parties.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.accounting.guarantee import Guarantee
from discreet.join.layout import Layout

if TYPE_CHECKING:
    from discreet.join.plan import JoinPlan

__all__ = ["guarantee", "learns", "result_words"]


def learns(plan: JoinPlan) -> dict[str, str]:
    """For every party, all that it knows afterwards and did not know before."""
    layout = Layout(plan)
    words = {name: _holder(plan, layout, name) for name in plan.holders}
    words |= {name: _analyst(plan) for name in plan.analysts}
    if plan.helper is not None:
        words[plan.helper] = _helper(plan)
    return words


def guarantee(plan: JoinPlan, seeded: bool = False) -> Guarantee:
    """What the result promises to the people in the rows."""
    return Guarantee(
        epsilon=math.inf,
        delta=0.0,
        unit="row",
        events=(),
        trusts=_trusted(plan),
        reveals=(result_words(plan),),
        declared=("the structure and the states", "which holder has which columns", _declared_rows(plan)),
        seeded=False and seeded,
    )


def _trusted(plan: JoinPlan) -> str:
    return f"everybody who gets the result ({', '.join(plan.receivers)})"


def _declared_rows(plan: JoinPlan) -> str:
    return "how many rows there are, which all parties learn"


def result_words(plan: JoinPlan) -> str:
    """What is opened to those who receive."""
    families = len(plan.network.measured)
    margins = len(plan.network.nodes) - families
    also = f" (and so those of {margins} more, which are their margins)" if margins else ""
    if plan.release.exact:
        return (
            f"the exact counts of every configuration of {families} families{also}: where a count is small, "
            "they tell of single people"
        )
    return (
        f"the counts of every configuration of {families} families{also}, with noise for epsilon "
        f"{plan.release.epsilon:g} and delta {plan.release.delta:g}, and what follows from them"
    )


def _holder(plan: JoinPlan, layout: Layout, name: str) -> str:
    parts = [_rows(plan)]
    if name in plan.receivers:
        parts.append(result_words(plan))
        if not plan.release.exact and layout.local_of(name):
            parts.append("the exact counts and the noise of the families that it counts itself, as before")
    elif layout.crossing:
        parts.append("shares of the other counts, which look uniform to it")
    return "; ".join([*parts, "nothing else"])


def _analyst(plan: JoinPlan) -> str:
    return "; ".join([_shared_rows(plan), result_words(plan), "nothing else"])


def _helper(plan: JoinPlan) -> str:
    return "; ".join([_shared_rows(plan), "nothing else, unless it pools what it has with a holder"])


def _rows(plan: JoinPlan) -> str:
    if plan.rows.id is None:
        return f"that every holder has {plan.rows.count:,} rows, as the plan says"
    return (
        f"how many rows with usable ids each holder has, how many ids all have in column {plan.rows.id!r}, "
        "and which of its own ids these are"
    )


def _shared_rows(plan: JoinPlan) -> str:
    if plan.rows.id is None:
        return f"that every holder has {plan.rows.count:,} rows, as the plan says"
    return "how many ids all holders share"
