"""What a joint network promises: who learns what, in words, and the guarantee for the people in the rows.

The words go into the plan that all parties hash, so they cannot differ between parties.

**Among those who know who is there.** Every holder knows whose rows they are, and all know how many. For them
the question is not whether somebody is there, but what somebody has in the columns of other holders. Another
answer moves a person from one cell to another in each of F tables, by an L2 length of sqrt(2 F), where adding
or removing the person moves sqrt(F): the same noise is worth sqrt(2) times the mu, and `among_known` says
which epsilon that is. It stands in every guarantee.

**The price of drawing together.** Noise of crossing tables is within a total variation of 2**-`CLOSENESS`
of the exact law. So the guarantee has the sigma and the event of a single holder's fit, and a delta that is
larger by (1 + e**epsilon) times that.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.accounting.accountant import MARGIN
from discreet.accounting.gaussian import gaussian_epsilon
from discreet.accounting.guarantee import Guarantee
from discreet.errors import ParameterError
from discreet.join.layout import Layout

if TYPE_CHECKING:
    from discreet.join.plan import JoinPlan

__all__ = ["among_known", "guarantee", "learns", "result_words", "trusted"]


def learns(plan: JoinPlan) -> dict[str, str]:
    """For every party, all that it knows afterwards and did not know before."""
    layout = Layout(plan)
    words = {name: _holder(plan, layout, name) for name in plan.holders}
    words |= {name: _analyst(plan) for name in plan.analysts}
    if plan.helper is not None:
        words[plan.helper] = _helper(plan)
    return words


def guarantee(plan: JoinPlan, *, seeded: bool = False) -> Guarantee:
    """What the result promises to the people in the rows, whoever receives it."""
    law = Layout(plan).law
    if law is None:
        return Guarantee(
            epsilon=math.inf,
            delta=0.0,
            unit="row",
            events=(),
            trusts=trusted(plan),
            reveals=(result_words(plan),),
            declared=_declared(plan),
        )
    alone = law.guarantee(
        trusts=trusted(plan), reveals=(result_words(plan),), declared=_declared(plan), seeded=seeded
    )
    return replace(alone, delta=_delta(plan))


def among_known(plan: JoinPlan) -> float:
    """The epsilon, at the same delta, for what one person has in columns, if it is known who is there."""
    law = Layout(plan).law
    if law is None:
        return math.inf
    mu = math.sqrt(2) / law.event.noise
    for share in (MARGIN, 0.5):  # of delta, kept for the distance of drawn noise at this larger epsilon
        found = gaussian_epsilon(mu, law.delta * (1 - share))
        if _added(plan, found) <= law.delta * share:
            return found
    return math.inf


def _delta(plan: JoinPlan) -> float:
    """That of the law, and what the distance of drawn noise adds."""
    release = plan.release
    assert release.delta is not None
    assert release.epsilon is not None
    added = _added(plan, release.epsilon)
    if added > release.delta:
        raise ParameterError(
            "noise that is drawn together is not near enough to its law for this budget",
            got=f"epsilon {release.epsilon:g}, delta {release.delta:g}",
            wanted=f"a delta of {added:.0e} or more",
            remedy="Ask for a smaller epsilon, or a larger delta.",
        )
    return release.delta + added


def _added(plan: JoinPlan, epsilon: float) -> float:
    """What the distance of drawn noise adds to a delta at this epsilon."""
    layout = Layout(plan)
    return layout.draw(1).delta(epsilon) if layout.crossing else 0.0


def _declared(plan: JoinPlan) -> tuple[str, ...]:
    facts = [
        "the structure, the states, and which holder has which columns",
        "how many rows there are: all parties learn it",
    ]
    known = "whose rows these are, to every holder"
    if not plan.release.exact:
        known += (
            "; what one of these people has in columns of other holders is protected with epsilon "
            f"{among_known(plan):.3g} at the same delta"
        )
    if plan.rows.duplicates == "first":
        facts.append(
            "which row of several with one id is the first: a row is all that stands under an id, and the "
            "promise is not for one of several"
        )
    return (*facts, known)


def trusted(plan: JoinPlan) -> str:
    """Whom the people in the rows, and the holders, must trust with what."""
    layout = Layout(plan)
    parts = ["every holder, who sees its own columns", "that all parties follow the protocol"]
    if layout.crossing and plan.kind == "helper":
        parts.append(f"that {plan.helper!r} pools what it has with no holder")
    if layout.crossing and plan.kind == "three":
        parts.append(f"that no two of {_listed(layout.workers)} pool what they have")
    if layout.crossing and layout.law is not None and plan.kind in ("transfer", "lattice"):
        parts.append(f"that {_listed(layout.keepers)} do not pool their parts of the noise")
    if layout.law is None:
        parts.append(f"{_listed(plan.receivers)}, who get exact counts")
    return "; ".join(parts)


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
        parts.append("the noise that it draws for the families that it counts alone")
    return "; ".join([*parts, "nothing else"])


def _analyst(plan: JoinPlan) -> str:
    return "; ".join([_shared_rows(plan), result_words(plan), "nothing else"])


def _helper(plan: JoinPlan) -> str:
    return "; ".join([_shared_rows(plan), "nothing else"])


def _rows(plan: JoinPlan) -> str:
    if plan.rows.id is None:
        return f"that every holder has {plan.rows.count:,} rows, as the plan says"
    return (
        f"how many different ids each holder has in column {plan.rows.id!r}, how many of them all holders "
        "have, and which of its own these are"
    )


def _shared_rows(plan: JoinPlan) -> str:
    if plan.rows.id is None:
        return f"that every holder has {plan.rows.count:,} rows, as the plan says"
    return (
        f"how many ids in column {plan.rows.id!r} all holders have; and from signs of life, to some ten "
        "thousand, how many the holder with the most has"
    )


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(map(repr, names[:-1])), repr(names[-1])]))
