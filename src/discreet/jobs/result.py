"""A fitted model on its way out: its folder, the papers in it, and what is left of the budget that paid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.accounting.ledger import Ledger
from discreet.bundle import save_bundle
from discreet.jobs.show import paper_of
from discreet.report.page import write_page

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.accounting.ledger import Balance

__all__ = ["Result", "deliver"]


@dataclass(frozen=True)
class Result:
    """A fitted estimator, its paper, where it was written, and what is left of the budget that paid."""

    model: Any
    paper: Any
    out: Path
    files: tuple[str, ...]
    left: Balance | None

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data: only what was released."""
        return {
            "out": str(self.out),
            "files": list(self.files),
            "model": self.paper.to_dict(),
            "words": self.paper.guarantee.words(),
            "receipt": dict(self.paper.receipt),
            "left": None if self.left is None else self.left.to_dict(),
        }


def deliver(model: Any, place: Path) -> Result:
    """Write what was released, then the report beside it, so that no failure of a picture can lose it."""
    bundle = model.to_bundle()
    save_bundle(place, bundle)
    paper = paper_of(bundle)
    save_bundle(place, replace(bundle, pages={**bundle.pages, "report.html": write_page(paper)}))
    left = None
    if isinstance(model.ledger, Ledger) and model.dataset is not None:
        left = model.ledger.left(model.dataset, model.guarantee_.unit)
    files = tuple(sorted(file.name for file in place.iterdir()))
    return Result(model, paper, place, files, left)
