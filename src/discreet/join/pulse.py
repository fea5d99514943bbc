"""Signs of life for those who wait while others work.

A session ends if somebody is silent for too long. But who has no part in a long step hears nothing while it
lasts: an analyst while columns are counted, a helper while rows are matched. So one party of each step tells
them after every few of its messages that it goes on, and at the end that the step is over. How often follows
from sizes that all know, never from time or from what is in the rows.

    party at work -> those who wait    "join/busy"    more = 1, ..., more = 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.errors import ProtocolError
from discreet.protocols.step import Limit, Receive, Send

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.protocols.step import Steps

__all__ = ["EVERY", "busy", "wait"]

EVERY = 8
"""Messages of the party at work between two signs of life."""

Output = TypeVar("Output")


def busy(steps: Steps[Output], waiting: Sequence[str]) -> Steps[Output]:
    """The same steps, with signs of life to those who wait."""
    try:
        answer, count = None, 0
        while True:
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                yield from _tell(0, waiting)
                return end.value
            answer = yield asked
            count += 1
            if count % EVERY == 0:
                yield from _tell(1, waiting)
    finally:
        steps.close()


def wait(worker: str) -> Steps[None]:
    """Wait until a party at work says that its step is over."""
    limit = {"more": Limit.array("|u1", ())}
    while True:
        told = yield Receive("join/busy", limit, worker)
        if told["more"] > 1:
            raise ProtocolError("a sign of life is neither yes nor no")
        if not told["more"]:
            return


def _tell(more: int, waiting: Sequence[str]) -> Steps[None]:
    for other in waiting:
        yield Send("join/busy", {"more": np.array(more, dtype=np.uint8)}, other)
