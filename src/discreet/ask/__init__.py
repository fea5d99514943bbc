"""Ask a model about private data. Trust: two parties, one has the model, the other the data.

`rehearse` plays both parties in two processes on this machine; the roles themselves are in
`discreet.ask.keyword`, what they agree to in `discreet.ask.offer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.ask.model import Model
    from discreet.ask.offer import Offer, Question
    from discreet.ask.rehearsal import Answer, rehearse

__all__ = ["Answer", "Model", "Offer", "Question", "rehearse"]

_PLACES = {
    "Answer": "rehearsal",
    "Model": "model",
    "Offer": "offer",
    "Question": "offer",
    "rehearse": "rehearsal",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"discreet.ask.{_PLACES[name]}"), name)
