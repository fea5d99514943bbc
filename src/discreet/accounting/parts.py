"""One account for several fits of different parts of the data, each of which releases the same plan.

A unit touches few parts, and each of them with a bounded weight. If its squared weights add up to ``touched``
at most (for Gaussian noise; its weights for Laplace), the releases of one round of all parts are one release
of one long vector, whose change by a unit is at most sqrt(touched) (touched) times the bound of a part. That
costs what ``touched`` releases of a part cost one after the other, whatever the number of parts. (Parallel
composition is the case of one part a unit: touched = 1.)

The whole is charged and drawn before the first part starts; every part then draws its own copy of the plan
once, and no more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.accounting.account import Account
from discreet.accounting.accountant import calibrate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.accounting.event import Event

__all__ = ["open_parts", "plan_parts"]


def plan_parts(
    shape: Sequence[Event], epsilon: float, delta: float, touched: int
) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    """The releases of one part, and those that the whole is charged for; together they cost the budget."""
    whole = [replace(event, count=event.count * touched) for event in shape]
    factor = calibrate(whole, epsilon, delta)
    return (
        tuple(event.scaled(factor) for event in shape),
        tuple(event.scaled(factor) for event in whole),
    )


def open_parts(account: Account, part: Sequence[Event], parts: int) -> list[Account]:
    """Draw the whole plan of an open account, and hand every part an account of its own for its releases.

    **Costs** nothing more: what the parts draw has been charged. **Trusts** the caller that no unit touches
    more of the parts than the plan says.
    """
    for event in account.guarantee.events:
        account.draw(event)
    own = replace(account.guarantee, events=tuple(part))
    return [Account(own, label=f"part {number}") for number in range(parts)]
