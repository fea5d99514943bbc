"""A role that was written for two, said to one party among several.

Protocols of two parties call the other one "peer". Where more are at the table, `address` says who that is.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import PeerError

if TYPE_CHECKING:
    from discreet.protocols.step import Receive, Send, Steps

__all__ = ["address"]

Output = TypeVar("Output")


def address(role: Steps[Output], peer: str) -> Steps[Output]:
    """The same role; its "peer" is the party of this name. Messages to others pass as they are."""
    with closing(role):
        try:
            asked = next(role)
            while True:
                try:
                    answer = yield _addressed(asked, peer)
                except PeerError as lost:
                    asked = role.throw(lost)
                else:
                    asked = role.send(answer)
        except StopIteration as end:
            return end.value


def _addressed(asked: Send | Receive, peer: str) -> Send | Receive:
    return replace(asked, peer=peer) if asked.peer == "peer" else asked
