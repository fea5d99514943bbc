"""Run a request for word models: features, one fit a word, one account for all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.account import Account
from discreet.accounting.ledger import Ledger
from discreet.accounting.parts import open_parts
from discreet.bundle import front_digest, tensor_digest
from discreet.errors import DataError, ParameterError
from discreet.fit.hmm import run as hmm
from discreet.fit.hmm.data import Sequences
from discreet.fit.hmm.plain import fit_plain
from discreet.fit.hmm.private import fit_private
from discreet.fit.hmm.request import Plan
from discreet.fit.hmm.request import check as check_hmm
from discreet.fit.hmm.start import segment, start_gaussian
from discreet.fit.hmm.task import Payment
from discreet.fit.words.budget import factors_of, plan_budget
from discreet.fit.words.ranges import find_front
from discreet.fit.words.recordings import make_features
from discreet.fit.words.request import LEAST, declared_front, hmm_request
from discreet.models.categorical import Categorical
from discreet.models.hmm import HMM
from discreet.models.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.accounting.guarantee import Guarantee
    from discreet.fit.hmm.private import Ready
    from discreet.fit.hmm.request import Request as HMMRequest
    from discreet.fit.words.budget import Budget
    from discreet.fit.words.recordings import Labels
    from discreet.fit.words.request import Request
    from discreet.speech.front import Front

    Tell = Callable[[int, int], None]

__all__ = ["Outcome", "run"]


@dataclass(frozen=True)
class Outcome:
    """A released vocabulary with its papers, and the front that makes its features."""

    vocabulary: Vocabulary
    front: Front
    guarantee: Guarantee
    receipt: dict[str, Any]


def run(wanted: Request, recordings: list[Any], labels: Labels, progress: Tell | None = None) -> Outcome:
    """Fit as requested. What can be wrong is found before the ledger is charged, and noise is drawn last."""
    if wanted.person is not None and labels.speakers is None:
        raise ParameterError(
            "whose recordings they are is not given", wanted="speakers=, one for each recording"
        )
    front = declared_front(wanted) or find_front(wanted, recordings)
    features = make_features(recordings, front)
    budget = plan_budget(wanted, len(labels.words), front.alphabet)
    request = check_hmm(hmm_request(wanted, front.alphabet))
    fit = _fit_plain if wanted.plain else _fit_private
    models, account = fit(wanted, request, budget, features, labels, progress)
    made = Vocabulary(labels.words, tuple(map(_softened, models)), front.to_dict())
    vocabulary = Vocabulary.of(
        made.tensors(), made.to_dict()
    )  # what a reader of the tensors will have, bit by bit
    account.close(tensor_digest(vocabulary.tensors()))
    receipt = _receipt(wanted, budget, vocabulary, account)
    return Outcome(vocabulary, front, budget.guarantee, receipt)


def _fit_plain(
    wanted: Request,
    request: HMMRequest,
    budget: Budget,
    features: list[Any],
    labels: Labels,
    progress: Tell | None,
) -> tuple[list[HMM], Account]:
    """One plain fit a word."""
    account = _open(wanted, budget)
    models: list[HMM] = []
    for number in range(len(labels.words)):
        data = _stacked(features, labels.of(number)).shortened(wanted.max_frames)
        start = _start(wanted, request, data)
        models.append(fit_plain(start, data, request.max_iter, request.tol).model)
        if progress is not None:
            progress(number + 1, len(labels.words))
    return models, account


def _fit_private(
    wanted: Request,
    request: HMMRequest,
    budget: Budget,
    features: list[Any],
    labels: Labels,
    progress: Tell | None,
) -> tuple[list[HMM], Account]:
    """One private fit a word; all of them are made ready before the account is opened."""
    factors = factors_of(wanted, labels)
    own = Plan(replace(budget.guarantee, events=budget.each), budget.method)
    ready: list[Ready] = []
    for number in range(len(labels.words)):
        here = labels.of(number)
        people = None
        if wanted.person is not None and labels.speakers is not None:
            people = np.array([labels.speakers[at] for at in here])
        made = hmm.prepare(
            request,
            _stacked(features, here),
            person=people,
            factors=None if factors is None else factors[here],
        )
        ready.append(replace(made, planned=own))
    account = _open(wanted, budget)
    models: list[HMM] = []
    for part, one in zip(open_parts(account, budget.each, len(ready)), ready, strict=True):
        models.append(fit_private(one, Payment(part, wanted.bits)))
        if progress is not None:
            progress(len(models), len(ready))
    return models, account


def _open(wanted: Request, budget: Budget) -> Account:
    ledger = wanted.ledger
    if ledger is not None and not isinstance(ledger, Ledger):
        ledger = Ledger.open(ledger)
    return Account(budget.guarantee, ledger, wanted.dataset, f"fit words, method {budget.method}")


def _stacked(features: list[Any], which: NDArray[np.intp]) -> Sequences:
    rows = [features[at] for at in which]
    return Sequences(np.concatenate(rows), np.array([len(one) for one in rows], dtype=np.intp))


def _start(wanted: Request, request: HMMRequest, data: Sequences) -> HMM:
    """Where a plain fit starts: recordings cut into equal parts, or k-means where any step is possible."""
    declared = hmm.declare(request, data.rows.reshape(data.frames, -1).shape[1])
    ordered = wanted.topology == "left-right"
    if request.family == "categorical":
        return HMM(declared.chain, _start_symbols(request, data, ordered))
    if data.frames < request.n_states * request.n_mix:
        raise DataError("a word has fewer frames than its model has Gaussians", remedy="Use fewer states.")
    emission = start_gaussian(
        declared.skeleton,
        data,
        (request.n_states, request.n_mix),
        request.covariance_type,
        request.min_covar,
        request.bits,
        left_right=ordered,
    )
    return HMM(declared.chain, emission)


def _start_symbols(request: HMMRequest, data: Sequences, ordered: bool) -> Categorical:
    """Counts of each part of the recordings, mixed with uniform rows; random dice where parts say nothing."""
    from discreet.randomness import generator

    states, symbols = request.n_states, request.n_symbols
    if not ordered:
        return Categorical(generator(request.bits).dirichlet(np.ones(symbols), size=states))
    places = segment(data.lengths, states) * symbols + data.rows.reshape(-1)
    counts = np.bincount(places, minlength=states * symbols).reshape(states, symbols) + 1.0
    return Categorical(counts / counts.sum(axis=1, keepdims=True))


def _softened(model: HMM) -> HMM:
    """No symbol below the least probability: what a word never had in training may still be said."""
    emission: Any = model.emission
    if not isinstance(emission, Categorical):
        return model
    least = min(LEAST, 0.5 / emission.symbols)
    return HMM(model.chain, Categorical(least + (1 - emission.symbols * least) * emission.probabilities))


def _receipt(wanted: Request, budget: Budget, vocabulary: Vocabulary, account: Account) -> dict[str, Any]:
    """What was asked, paid and used."""
    return {
        "job": "fit words",
        "method": budget.method,
        "noise": "none" if wanted.plain else wanted.noise,
        "words": len(vocabulary.words),
        "states": vocabulary.states,
        "emissions": vocabulary.emissions,
        "topology": wanted.topology,
        "max_frames": wanted.max_frames,
        "rounds": wanted.max_iter if wanted.plain else len(budget.each) - 1,
        "person": wanted.person,
        "recordings_per_person": None if wanted.person is None else wanted.recordings_per_person,
        "words_per_person": wanted.words_per_person,
        "front": front_digest(vocabulary.to_dict()),
        "account": account.receipt(),
        "versions": {name: version(name) for name in ("discreet", "numpy", "opendp", "dp-accounting")},
    }
