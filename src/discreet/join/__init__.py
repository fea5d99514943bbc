"""Trust: nobody sees the whole. A network is fitted to columns that different parties hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.join.plan import JoinPlan

__all__ = ["JoinPlan"]

_PLACES = {"JoinPlan": "plan"}


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"discreet.join.{_PLACES[name]}"), name)
