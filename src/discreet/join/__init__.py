"""Trust: nobody sees the whole. A network is fitted to columns that different parties hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.join.joined import Joined
    from discreet.join.plan import JoinPlan
    from discreet.join.rehearsal import rehearse

__all__ = ["JoinPlan", "Joined", "rehearse"]

_PLACES = {"JoinPlan": "plan", "Joined": "joined", "rehearse": "rehearsal"}


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"discreet.join.{_PLACES[name]}"), name)
