"""Look at a released model: its parts and its guarantee, read from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.bundle import (
    WORDS,
    Bundle,
    is_receipt,
    load_bundle,
    load_receipt,
    read_vocabulary,
    tensor_digest,
)
from discreet.domain import region_from_dict
from discreet.errors import BundleError, ParameterError
from discreet.fit.hmm import card as hmm_card
from discreet.fit.mixture.card import read_description, read_mixture
from discreet.fit.mixture.estimator import KIND
from discreet.fit.network import card as network_card
from discreet.fit.words.card import read_guarantee
from discreet.jobs import joint, question
from discreet.jobs.purchase import (
    hmm_purchases,
    hmm_sentence,
    network_purchases,
    network_sentence,
    purchases,
    sentence_of,
)
from discreet.report.hmm import HMMPaper
from discreet.report.mixture import MixturePaper
from discreet.report.network import NetworkPaper
from discreet.report.words import WordsPaper

if TYPE_CHECKING:
    import os

    from discreet.report.paper import Paper

__all__ = ["Shown", "paper_of", "show_bundle"]


@dataclass(frozen=True)
class Shown:
    """A released model, read back."""

    kind: str
    paper: Any

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data."""
        if self.kind == question.KIND:
            return self.paper.to_dict()
        return {
            "model": self.paper.to_dict(),
            "words": self.paper.guarantee.words(),
            "receipt": dict(self.paper.receipt),
        }


def show_bundle(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Shown:
    """Read a folder that a fit wrote, or a receipt; refuses what is damaged, altered or of an unknown kind.

    ``out`` is a folder for the page of a question's receipt; all others have their page beside them.
    """
    receipt = load_receipt(str(path)) if is_receipt(str(path)) else {}
    if question.is_asked(receipt):
        paper = question.asked_paper(receipt)
        if out is not None:
            question.keep_asked(receipt, paper, out)
        return Shown(question.KIND, paper)
    if out is not None:
        raise ParameterError(
            "only receipts of questions have no page yet", got=str(path), remedy="Open its report.html."
        )
    if receipt:
        return Shown(network_card.JOINT, joint.receipt_paper(receipt))
    bundle = load_bundle(str(path))
    return Shown(bundle.kind, paper_of(bundle))


def paper_of(bundle: Bundle) -> Paper:
    """What a report may show of a bundle."""
    kinds = {
        KIND: _mixture,
        network_card.KIND: _network,
        WORDS: _words,
        network_card.JOINT: joint.joint_paper,
        **dict.fromkeys(hmm_card.KINDS, _hmm),
    }
    if bundle.kind not in kinds:
        raise BundleError("the released model is of another kind", got=bundle.kind, wanted=" or ".join(kinds))
    try:
        return kinds[bundle.kind](bundle)
    except (KeyError, TypeError, ValueError) as error:
        raise BundleError(
            "the description of the released model is damaged", got=type(error).__name__
        ) from None


def _mixture(bundle: Bundle) -> Paper:
    mixture = read_mixture(bundle)
    parameters, guarantee = read_description(bundle)
    domain, method = bundle.description["domain"], parameters["method"]
    region = region_from_dict(domain["region"])
    if region.dimension != mixture.dimension:
        raise ValueError("the region has another dimension than the mixture")
    bought = purchases(guarantee, method, parameters["covariance_type"], mixture.dimension)
    return MixturePaper(
        columns=tuple(map(str, domain["columns"])),
        mixture=mixture,
        region=region,
        guarantee=guarantee,
        receipt=bundle.receipt,
        digest=tensor_digest(bundle.tensors),
        bought=bought,
        sentence=sentence_of(guarantee, bought, method),
    )


def _words(bundle: Bundle) -> Paper:
    vocabulary, guarantee = read_vocabulary(bundle), read_guarantee(bundle)
    bought = hmm_purchases(guarantee)
    return WordsPaper(
        vocabulary=vocabulary,
        guarantee=guarantee,
        receipt=bundle.receipt,
        digest=tensor_digest(bundle.tensors),
        bought=bought,
        sentence=hmm_sentence(guarantee, bought),
    )


def _hmm(bundle: Bundle) -> Paper:
    model = hmm_card.read_model(bundle)
    parameters, domain, guarantee = hmm_card.read_description(bundle)
    region = None if domain["region"] is None else region_from_dict(domain["region"])
    symbols = None if domain["symbols"] is None else tuple(map(str, domain["symbols"]))
    columns = tuple(map(str, domain["columns"] or ()))
    points = "means" in bundle.tensors
    if points:
        dimension = bundle.tensors["means"].shape[-1]
        columns = columns or tuple(f"x{index}" for index in range(dimension))
        if len(columns) != dimension or (region is not None and region.dimension != dimension):
            raise ValueError("the columns or the region have another dimension than the model")
    elif symbols is not None and len(symbols) != bundle.tensors["emissionprob"].shape[1]:
        raise ValueError("the symbols are not as many as the model emits")
    bought = hmm_purchases(guarantee)
    return HMMPaper(
        model=model,
        tensors=bundle.tensors,
        emissions=str(parameters["emissions"]),
        columns=columns,
        symbols=symbols,
        region=region,
        guarantee=guarantee,
        receipt=bundle.receipt,
        digest=tensor_digest(bundle.tensors),
        bought=bought,
        sentence=hmm_sentence(guarantee, bought),
    )


def _network(bundle: Bundle) -> Paper:
    network = network_card.read_network(bundle)
    parameters, _, guarantee = network_card.read_description(bundle)
    bought = network_purchases(guarantee)
    return NetworkPaper(
        network=network,
        parameters=parameters,
        guarantee=guarantee,
        receipt=bundle.receipt,
        digest=tensor_digest(bundle.tensors),
        bought=bought,
        sentence=network_sentence(guarantee, bought),
    )
