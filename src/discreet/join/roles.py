"""The roles of a joint network as a session starts them: plain private input, what is agreed, bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.join import network
from discreet.join.payment import Payment, Purse
from discreet.join.plan import JoinPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["analyst", "helper", "holder"]


def holder(private: Mapping[str, Any], agreed: Mapping[str, Any], bits: Bits) -> Steps[dict[str, Any]]:
    """A holder with ``name``, ``codes`` by column, ``ids`` or None, ``purse`` or None."""
    plan = JoinPlan.of_agreed(agreed)
    purse = None if private["purse"] is None else Purse(**private["purse"])
    payment = Payment(plan, purse, seeded=bits.seeded)
    return network.hold(private["name"], private["codes"], private["ids"], plan, payment, bits)


def helper(private: str, agreed: Mapping[str, Any], bits: Bits) -> Steps[dict[str, Any]]:
    """The helper, who has nothing but a name."""
    return network.lend_help(private, JoinPlan.of_agreed(agreed), bits)


def analyst(private: str, agreed: Mapping[str, Any], bits: Bits) -> Steps[dict[str, Any]]:
    """An analyst, who has nothing but a name."""
    return network.analyse(private, JoinPlan.of_agreed(agreed), bits)
