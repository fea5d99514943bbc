"""Hidden Markov models against hmmlearn, one thread each, and our own threads against one of them.

Features are those of the digit 7 in FSDD (300 recordings, 13,255 frames of 39 cepstra); where the data are
absent, simulated ones of the same shape take their place, and the table says so. Both sides get the same
parameters, and must agree before they are timed: an ergodic chain of five states, Gaussians of five equal
parts of every recording.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.digits import read_digits
from hmmlearn import hmm as peers

from benchmarks.clock import race
from benchmarks.table import Finding
from discreet.fit import GaussianHMM
from discreet.fit.hmm.data import Sequences
from discreet.fit.hmm.plain import count_all, make_views
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.hmm import HMM
from discreet.models.parameters import model_of
from discreet.models.sequences import pack_sequences

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run"]

_STATES, _DIMENSION = 5, 39
_IN_A_ROW = 10  # E-steps follow each other, as they do in a fit
_TARGETS = {"E-step": {"diag": (10, 5), "full": (7, 5)}, "Viterbi": (5, 5), "scores": (7, 7)}


def run(full: bool) -> list[Finding]:
    """E-step, best paths and scores on speech; a round of EM on dice; two threads."""
    rows, lengths, where = _speech()
    rounds = 15 if full else 5
    found = [
        line
        for kind in ("diag", "full")
        for implementation in ("log", "scaling")
        for line in _compare(rows, lengths, where, kind, implementation, rounds)
    ]
    return [*found, _dice(10 * rounds), *(_threads(rows, lengths, kind, rounds) for kind in ("diag", "full"))]


def _speech() -> tuple[np.ndarray, np.ndarray, str]:
    try:
        digits = read_digits()
    except FileNotFoundError:
        draw = np.random.default_rng(0)
        lengths = np.clip(np.rint(draw.lognormal(np.log(40), 0.35, 300)), 10, 220).astype(int)
        steps = draw.normal(size=(int(lengths.sum()), _DIMENSION)) * np.linspace(9, 1, _DIMENSION)
        return steps + np.sin(np.arange(len(steps)) / 9)[:, None] * 20, lengths, "simulated"
    spoken = [one for one, digit in zip(digits.features, digits.digits, strict=True) if digit == 7]
    return np.concatenate(spoken), np.array([len(one) for one in spoken]), "FSDD 7"


def _model(rows: np.ndarray, lengths: np.ndarray, kind: str) -> HMM:
    """An ergodic chain, and the Gaussians a left-right fit would start from."""
    start = GaussianHMM(
        _STATES, epsilon=float("inf"), covariance_type=kind, topology="left-right", max_iter=1, tol=0
    ).fit(rows, lengths)
    tensors = {"startprob": start.startprob_, "means": start.means_, "covars": start.covars_}
    tensors["transmat"] = np.full((_STATES, _STATES), 0.05) + 0.75 * np.eye(_STATES)
    return model_of(tensors, kind)


def _peer(model: HMM, kind: str, implementation: str) -> Any:
    emission: Any = model.emission
    peer = peers.GaussianHMM(_STATES, covariance_type=kind, init_params="", implementation=implementation)
    peer.n_features, peer.startprob_, peer.transmat_ = _DIMENSION, model.chain.start, model.chain.transition
    peer.means_, peer.covars_ = emission.means, emission.covariances
    return peer


def _compare(
    rows: np.ndarray, lengths: np.ndarray, where: str, kind: str, implementation: str, rounds: int
) -> list[Finding]:
    model = _model(rows, lengths, kind)
    peer = _peer(model, kind, implementation)
    [pack] = pack_sequences(lengths)
    view = model.view(rows, pack)
    estimator = _estimator(model, kind)
    each = np.split(rows, np.cumsum(lengths)[:-1])
    _check(model, peer, rows, lengths)
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "E-step": (partial(_often, model.count, view), partial(_often, peer._do_estep, rows, lengths)),
        "Viterbi": (partial(estimator.decode, rows, lengths), partial(peer.decode, rows, lengths)),
        "scores": (partial(estimator.scores, rows, lengths), lambda: [peer.score(one) for one in each]),
    }
    findings = []
    for what, (ours, theirs) in pairs.items():
        times = race({"ours": ours, "peer": theirs}, rounds)
        targets: Any = _TARGETS[what]
        target = (targets[kind] if isinstance(targets, dict) else targets)[implementation == "scaling"]
        frames = len(rows) * (_IN_A_ROW if what == "E-step" else 1)
        findings.append(
            Finding(
                f"HMM {what}, {where}, {kind}: hmmlearn {implementation}",
                f"{frames / times['ours'] / 1e3:.0f} k frames/s",
                f"{frames / times['peer'] / 1e3:.0f} k frames/s",
                times["peer"] / times["ours"],
                target,
            )
        )
    return findings


def _often(work: Callable[..., object], *arguments: object) -> None:
    for _ in range(_IN_A_ROW):
        work(*arguments)


def _estimator(model: HMM, kind: str) -> GaussianHMM:
    emission: Any = model.emission
    estimator: Any = GaussianHMM(_STATES, epsilon=float("inf"), covariance_type=kind)
    estimator.startprob_, estimator.transmat_ = model.chain.start, model.chain.transition
    estimator.means_, estimator.covars_ = emission.means, emission.covariances
    return estimator


def _check(model: HMM, peer: Any, rows: np.ndarray, lengths: np.ndarray) -> None:
    """Both must find the same counts, likelihood and paths."""
    [pack] = pack_sequences(lengths)
    view = model.view(rows, pack)
    ours, (_, path) = model.count(view), model.decode(view)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, likelihood = peer._do_estep(rows, lengths)
    np.testing.assert_allclose(ours.log_likelihood, likelihood, rtol=1e-9)
    np.testing.assert_allclose(ours.transitions, theirs["trans"], rtol=1e-6, atol=1e-9)
    assert (path == peer.decode(rows, lengths)[1]).all()


def _dice(rounds: int) -> Finding:
    """One round of EM over 300 sequences of 30 throws: three dice of six faces."""
    draw = np.random.default_rng(0)
    throws, lengths = draw.integers(0, 6, (9000, 1)), np.full(300, 30)
    chain = Chain(np.full(3, 1 / 3), np.full((3, 3), 0.1) + 0.7 * np.eye(3))
    model = HMM(chain, Categorical(draw.dirichlet(np.ones(6), 3)))
    peer: Any = peers.CategoricalHMM(3, init_params="", n_features=6)
    peer.startprob_, peer.transmat_ = chain.start, chain.transition
    emission: Any = model.emission
    peer.emissionprob_ = emission.probabilities
    [pack] = pack_sequences(lengths)
    view = model.view(throws, pack)
    moved = model.maximise(model.count(view))

    def their_round() -> None:
        peer.startprob_, peer.transmat_ = chain.start, chain.transition
        peer.emissionprob_ = emission.probabilities
        peer._do_mstep(peer._do_estep(throws, lengths)[0])

    their_round()
    np.testing.assert_allclose(moved.chain.transition, peer.transmat_, rtol=1e-6)
    times = race({"ours": lambda: model.maximise(model.count(view)), "peer": their_round}, rounds)
    return Finding(
        "HMM round of EM, 300 x 30 throws, 3 dice: hmmlearn log",
        f"{times['ours'] * 1e3:.2f} ms",
        f"{times['peer'] * 1e3:.2f} ms",
        times["peer"] / times["ours"],
        25,
    )


def _threads(rows: np.ndarray, lengths: np.ndarray, kind: str, rounds: int) -> Finding:
    """E-step over the speech ten times over, by one thread and by two: wall time."""
    model = _model(rows, lengths, kind)
    data = Sequences(np.tile(rows, (10, 1)), np.tile(lengths, 10))
    views = list(make_views(model, data))
    times = race(
        {str(n): partial(count_all, model, views, data, workers=n) for n in (1, 2)}, rounds, wall=True
    )
    return Finding(
        f"HMM E-step, {data.frames} frames, {kind}: two threads against one",
        f"{data.frames / times['2'] / 1e3:.0f} k frames/s",
        f"{data.frames / times['1'] / 1e3:.0f} k frames/s",
        times["1"] / times["2"],
        1.6,
    )
