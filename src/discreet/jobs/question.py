"""The receipt of an asked question, read back for people: what was agreed, learned, sent and waited for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.ask.offer import Question
from discreet.bundle import save_receipt
from discreet.errors import BundleError
from discreet.report.asked import AskedPaper
from discreet.report.asked_page import write_asked
from discreet.session.receipt import Receipt

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["KIND", "asked_paper", "is_asked", "keep_asked"]

KIND = "asked"
"""What `discreet.jobs.Shown` calls a question."""


def is_asked(receipt: Mapping[str, Any]) -> bool:
    """Whether a receipt, which may come from strangers, says that it is one of a question for words."""
    plan = receipt.get("plan")
    return isinstance(plan, dict) and plan.get("protocol") == "keyword"


def asked_paper(receipt: Mapping[str, Any]) -> AskedPaper:
    """What may be shown of such a receipt; refuses one that does not fit its own plan."""
    try:
        found = Receipt.of(receipt)
        question = Question.of(found.plan.agreed)
        (other,) = found.peers
        good = (
            question.plan == found.plan
            and receipt["digest"] == found.plan.digest()
            and {found.role, other} == set(found.parties) == set(found.plan.learns)
            and all(isinstance(text, str) for text in _texts(receipt))
            and all(map(_counts, found.peers[other].phases.values()))
            and _is_number(found.seconds)
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BundleError("the receipt of the question is damaged") from None
    if not good:
        raise BundleError("the receipt of the question does not fit its plan")
    return AskedPaper(found, question)


def keep_asked(receipt: Mapping[str, Any], paper: AskedPaper, place: str | os.PathLike[str]) -> Path:
    """Write a folder with the receipt and its page."""
    return save_receipt(str(place), receipt, {"report.html": write_asked(paper)})


def _texts(receipt: Mapping[str, Any]) -> list[Any]:
    return [receipt["session"], receipt["started"], *receipt["parties"].values()]


def _counts(count: Any) -> bool:
    return all(map(_is_number, vars(count).values()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
