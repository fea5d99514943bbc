"""The roles of a joint network as a session starts them: plain private input, what is agreed, bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.join import network
from discreet.join.plan import JoinPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["analyst", "helper", "holder"]


def holder(private: Mapping[str, Any], agreed: Mapping[str, Any], bits: Bits) -> Steps[dict[str, Any]]:
    """A holder with ``name``, ``codes`` by column, ``ids`` or None, ``ledger`` or None."""
    plan = JoinPlan.of_agreed(agreed)
    return network.hold(private["name"], private["codes"], private["ids"], plan, bits)


def helper(private: None, agreed: Mapping[str, Any], bits: Bits) -> Steps[dict[str, Any]]:
    """The helper, who has nothing."""
    del private
    return network.lend_help(JoinPlan.of_agreed(agreed), bits)


def analyst(private: None, agreed: Mapping[str, Any], bits: Bits) -> Steps[dict[str, Any]]:
    """An analyst, who has nothing."""
    del private, bits
    return network.analyse(JoinPlan.of_agreed(agreed))
