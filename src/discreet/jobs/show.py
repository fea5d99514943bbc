"""Look at a released model: its components and its guarantee, read from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.bundle import Bundle, load_bundle, tensor_digest
from discreet.domain import region_from_dict
from discreet.errors import BundleError
from discreet.fit.mixture.card import read_description, read_mixture
from discreet.fit.mixture.estimator import KIND
from discreet.jobs.purchase import purchases, sentence_of
from discreet.report.paper import Paper

if TYPE_CHECKING:
    import os

__all__ = ["Shown", "paper_of", "show_bundle"]


@dataclass(frozen=True)
class Shown:
    """A released model, read back."""

    paper: Paper

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "model": self.paper.to_dict(),
            "words": self.paper.guarantee.words(),
            "receipt": dict(self.paper.receipt),
        }


def show_bundle(path: str | os.PathLike[str]) -> Shown:
    """Read a folder that a fit wrote; refuses one that is damaged, altered or of another kind."""
    return Shown(paper_of(load_bundle(str(path), KIND)))


def paper_of(bundle: Bundle) -> Paper:
    """What a report may show of a bundle."""
    try:
        return _paper(bundle)
    except (KeyError, TypeError, ValueError) as error:
        raise BundleError(
            "the description of the released model is damaged", got=type(error).__name__
        ) from None


def _paper(bundle: Bundle) -> Paper:
    mixture = read_mixture(bundle)
    parameters, guarantee = read_description(bundle)
    domain, method = bundle.description["domain"], parameters["method"]
    region = region_from_dict(domain["region"])
    if region.dimension != mixture.dimension:
        raise ValueError("the region has another dimension than the mixture")
    bought = purchases(guarantee, method, parameters["covariance_type"], mixture.dimension)
    return Paper(
        columns=tuple(map(str, domain["columns"])),
        mixture=mixture,
        region=region,
        guarantee=guarantee,
        receipt=bundle.receipt,
        digest=tensor_digest(bundle.tensors),
        bought=bought,
        sentence=sentence_of(guarantee, bought, method),
    )
