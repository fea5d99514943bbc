"""What the reports of all models are made of: a guarantee, a receipt, and what the budget bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.accounting.guarantee import Guarantee

__all__ = ["Paper", "Purchase", "number", "short"]


@dataclass(frozen=True)
class Purchase:
    """A planned release: what it measures, its noise, its part of the budget, and what that means.

    ``error`` is the standard error of a count in units of privacy (rows, or people of weight one), where the
    release holds counts.
    """

    label: str
    count: int
    components: int | None
    mechanism: str
    noise: float
    share: float
    error: float | None

    def to_dict(self) -> dict[str, Any]:
        """The purchase as plain data."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class Paper:
    """What every report may show. ``bought`` is in the order of the releases; ``sentence`` sums it up."""

    guarantee: Guarantee
    receipt: Mapping[str, Any]
    digest: str
    bought: tuple[Purchase, ...]
    sentence: str

    @property
    def things(self) -> str:
        """What errors of counts are measured in: people who weigh as much as one piece, or pieces."""
        whole = self.guarantee.unit == "person" and self.guarantee.rows_per_person == 1
        return "people" if whole else f"{self.guarantee.piece}s"

    def to_dict(self) -> dict[str, Any]:
        """The guarantee and what it bought as plain data; papers of each model add the model."""
        return {
            "guarantee": self.guarantee.to_dict(),
            "private": self.guarantee.private,
            "sha256": self.digest,
            "bought": [purchase.to_dict() for purchase in self.bought],
            "sentence": self.sentence,
        }


def number(value: float) -> str:
    """A number for people: three digits, and no power of ten where it can be avoided."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def short(name: str) -> str:
    """A name that fits above a column."""
    return name if len(name) <= 24 else name[:23] + "…"
