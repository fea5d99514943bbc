"""Fit a mixture by a plan: rows in; a folder with the model, its papers and a report out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.accounting.ledger import Ledger
from discreet.bundle import save_bundle
from discreet.jobs.forecast import estimator_of, place_of
from discreet.jobs.show import paper_of
from discreet.report.page import write_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.accounting.ledger import Balance
    from discreet.fit import GaussianMixture
    from discreet.jobs.plan import FitMixture
    from discreet.report.paper import Paper

__all__ = ["Result", "fit_mixture"]


@dataclass(frozen=True)
class Result:
    """A fitted model, where it was written, and what is left of the budget that paid for it."""

    model: GaussianMixture
    paper: Paper
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


def fit_mixture(plan: FitMixture, progress: Callable[[int, int], None] | None = None) -> Result:
    """Run a plan.

    **Reveals** the mixture, with its guarantee and receipt. **Costs** what the plan says, charged to the
    ledger before noise is drawn. **Trusts** whoever runs it.

    The place for the result is checked before anything is spent. The model is written as soon as it is
    paid for, and the report is added to it, so that no failure of a picture can lose it.
    """
    model, _ = estimator_of(plan)
    place = place_of(plan)
    model.fit(list(plan.data), progress=progress)
    bundle = model.to_bundle()
    save_bundle(place, bundle)
    paper = paper_of(bundle)
    save_bundle(place, replace(bundle, pages={"report.html": write_page(paper)}))
    left = None
    if isinstance(model.ledger, Ledger) and model.dataset is not None:
        left = model.ledger.left(model.dataset, model.guarantee_.unit)
    files = tuple(sorted(file.name for file in place.iterdir()))
    return Result(model, paper, place, files, left)
