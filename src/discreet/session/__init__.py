"""Where steps meet channels: a plan is agreed, roles run, and every party keeps a receipt.

`take_part` runs one role over TLS with other organisations; `rehearse` runs all of them as processes on this
machine, over the same TLS; `run` is what both do once there are channels. A `Service` answers many clients as
long as it runs, and `visit` is how a client asks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.session.client import Wanted, visit
    from discreet.session.desk import Desk, Session
    from discreet.session.limits import Limits
    from discreet.session.meeting import Outcome, run, take_part
    from discreet.session.plan import Plan
    from discreet.session.receipt import Receipt
    from discreet.session.rehearsal import Part, rehearse
    from discreet.session.service import Service

__all__ = [
    "Desk",
    "Limits",
    "Outcome",
    "Part",
    "Plan",
    "Receipt",
    "Service",
    "Session",
    "Wanted",
    "rehearse",
    "run",
    "take_part",
    "visit",
]

_PLACES = {
    "Plan": "plan",
    "Receipt": "receipt",
    "Part": "rehearsal",
    "rehearse": "rehearsal",
    "Outcome": "meeting",
    "run": "meeting",
    "take_part": "meeting",
    "Desk": "desk",
    "Limits": "limits",
    "Service": "service",
    "Session": "desk",
    "Wanted": "client",
    "visit": "client",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"discreet.session.{_PLACES[name]}"), name)
