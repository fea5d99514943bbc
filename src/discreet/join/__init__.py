"""Trust: nobody sees the whole. Networks are fitted to columns that different parties hold.

`check` tells what a plan reveals and costs, `rehearse` runs it with every party as a process on this machine,
and `run` takes part in it as one of the parties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.join.joined import Joined
    from discreet.join.plan import JoinPlan
    from discreet.join.rehearsal import check, rehearse, run

__all__ = ["JoinPlan", "Joined", "check", "rehearse", "run"]

_PLACES = {
    "JoinPlan": "plan",
    "Joined": "joined",
    "check": "rehearsal",
    "rehearse": "rehearsal",
    "run": "rehearsal",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"discreet.join.{_PLACES[name]}"), name)
