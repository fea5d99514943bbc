"""The hidden Markov model against two oracles: hmmlearn, and the enumeration of all paths.

Best paths must be the same, state by state. Rows of random real numbers exclude ties (with probability one).
Symbols do not: where a symbol is repeated, the same steps in another order are exactly as likely. So where
paths of symbols differ, both must be best: their probabilities, computed apart, must be equal to 1e-12.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from hmmlearn import hmm as peers

from discreet.models.blend import Blend
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.gaussian import Gaussian
from discreet.models.hmm import HMM, Counts
from discreet.models.sequences import pack_sequences

KINDS = ("categorical", "diag", "full", "tied", "spherical", "mixture diag", "mixture full", "mixture tied")


def random_chain(draw: np.random.Generator, states: int) -> Chain:
    """With zeros among starts and transitions in two out of three models."""
    start, transition = draw.dirichlet(np.ones(states)), draw.dirichlet(np.ones(states), states)
    shape = draw.integers(3)
    if shape == 1:  # left-right
        start, transition = np.eye(states)[0], np.triu(transition)
    elif shape == 2:
        transition = np.where(draw.random((states, states)) < 0.4, 0, transition) + 0.3 * np.eye(states)
    transition = transition / transition.sum(axis=1, keepdims=True)
    return Chain(start, transition)


def random_covariances(draw: np.random.Generator, kind: str, states: int, dimension: int) -> np.ndarray:
    roots = draw.normal(size=(states, dimension, dimension)) + np.eye(dimension)
    full = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(dimension)
    return {
        "full": full,
        "tied": full[0],
        "diag": np.einsum("kii->ki", full).copy(),
        "spherical": full[:, 0, 0].copy(),
    }[kind]


def random_model(kind: str, seed: int) -> tuple[HMM, Any, np.random.Generator]:
    """A model of ours, the same of hmmlearn's, and the generator to go on with."""
    draw = np.random.default_rng(seed)
    states, dimension = int(draw.integers(1, 6)), int(draw.integers(1, 4))
    chain = random_chain(draw, states)
    if kind == "categorical":
        symbols = int(draw.integers(2, 9))
        emission: Any = Categorical(draw.dirichlet(np.ones(symbols) * 0.5, states))
        peer: Any = peers.CategoricalHMM(states, init_params="", n_features=symbols)
        peer.emissionprob_ = emission.probabilities
    elif kind.startswith("mixture"):
        inner, size = kind.split()[1], 2
        weights = draw.dirichlet(np.ones(size) * 3, states)
        means = draw.normal(scale=3, size=(states, size, dimension))
        full = random_covariances(draw, "full", states * size, dimension).reshape(
            states, size, dimension, dimension
        )
        shapes = {"full": full, "diag": np.einsum("nkii->nki", full).copy(), "tied": full[:, 0]}
        each = np.repeat(full[:, :1], size, axis=1) if inner == "tied" else shapes[inner]
        gaussians = Gaussian.of(
            means.reshape(states * size, dimension),
            each.reshape(states * size, *each.shape[2:]),
            "full" if inner == "tied" else inner,  # type: ignore[arg-type]
        )
        emission = Blend(weights, gaussians, inner == "tied")
        peer = peers.GMMHMM(states, n_mix=size, covariance_type=inner, init_params="")
        peer.n_features, peer.weights_, peer.means_, peer.covars_ = dimension, weights, means, shapes[inner]
    else:
        means, covars = (
            draw.normal(scale=3, size=(states, dimension)),
            random_covariances(draw, kind, states, dimension),
        )
        emission = Gaussian.of(means, covars, kind)  # type: ignore[arg-type]
        peer = peers.GaussianHMM(states, covariance_type=kind, init_params="")
        peer.n_features, peer.means_, peer.covars_ = dimension, means, covars
    peer.startprob_, peer.transmat_ = chain.start, chain.transition
    return HMM(chain, emission), peer, draw


def random_data(model: HMM, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sequences the model can emit: some of one step, and in half of the cases some next to impossible."""
    lengths = np.concatenate([[1, 1], draw.integers(1, 30, int(draw.integers(1, 12)))])
    rows, _ = model.sample(lengths, draw)
    if rows.dtype.kind == "f" and draw.random() < 0.5:
        strange = draw.integers(0, len(rows), 3)
        rows[strange] += draw.normal(scale=50, size=(3, rows.shape[1]))
    return rows, lengths


def count(model: HMM, rows: np.ndarray, lengths: np.ndarray, frames: int = 40) -> Counts:
    """In small packs, so that sequences are also walked in groups."""
    parts = [model.count(model.view(rows, pack)) for pack in pack_sequences(lengths, frames)]
    return sum(parts[1:], parts[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", range(5))
def test_two_hundred_random_models_agree_with_hmmlearn(kind: str, batch: int) -> None:
    for seed in range(5):
        compare(*random_model(kind, 1000 * batch + seed))


def compare(model: HMM, peer: Any, draw: np.random.Generator) -> None:
    rows, lengths = random_data(model, draw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = count(model, rows, lengths)
        views = [model.view(rows, pack) for pack in pack_sequences(lengths, 40)]
        path, best, scores = np.empty(len(rows), dtype=int), np.empty(len(lengths)), np.empty(len(lengths))
        for view in views:
            best[view.pack.sequences], path[view.pack.rows] = model.decode(view)
            scores[view.pack.sequences] = model.score(model.look(rows, view.pack))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        theirs, likelihood = statistics(peer, rows, lengths)
        their_best, their_path = peer.decode(rows, lengths)
        each = [peer.score(part) for part in np.split(rows, np.cumsum(lengths)[:-1])]
    assert ours.log_likelihood == pytest.approx(likelihood, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(scores, each, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.starts, theirs["start"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.transitions, theirs["trans"], rtol=1e-6, atol=1e-9)
    assert ours.possible == len(lengths)
    assert best.sum() == pytest.approx(their_best, rel=1e-9)
    if isinstance(model.emission, Categorical):
        assert path_score(model, rows, lengths, path) == pytest.approx(
            path_score(model, rows, lengths, their_path), rel=1e-12
        )
    else:
        assert (path == their_path).all()
    check_emissions(model, ours.emissions, theirs)


def path_score(model: HMM, rows: np.ndarray, lengths: np.ndarray, path: np.ndarray) -> float:
    firsts = np.cumsum(lengths) - lengths
    inner = np.setdiff1d(np.arange(len(path)), firsts)
    logs = model.emission.log_density(model.emission.view(rows))[path, np.arange(len(path))].sum()
    steps = np.log(model.chain.transition[path[inner - 1], path[inner]]).sum()
    return float(logs + steps + np.log(model.chain.start[path[firsts]]).sum())


def statistics(peer: Any, rows: np.ndarray, lengths: np.ndarray) -> tuple[dict[str, Any], float]:
    """hmmlearn's E-step; what it lacks of its mixtures' sums is put together from its own posteriors."""
    if isinstance(peer, peers.GMMHMM):
        likelihood, shares = peer.score_samples(rows, lengths)
        peer._init = lambda *_: None
        stats, _ = _their_estep(peer, rows, lengths)
        return {**stats, "shares": shares}, likelihood
    return _their_estep(peer, rows, lengths)


def _their_estep(peer: Any, rows: np.ndarray, lengths: np.ndarray) -> tuple[dict[str, Any], float]:
    if isinstance(peer, peers.GMMHMM):
        peer._fix_priors_shape()
    return peer._do_estep(rows, lengths)


def check_emissions(model: HMM, sums: np.ndarray, theirs: dict[str, Any]) -> None:
    emission: Any = model.emission
    if isinstance(emission, Categorical):
        np.testing.assert_allclose(sums, theirs["obs"], rtol=1e-6, atol=1e-9)
        return
    if isinstance(emission, Blend):
        each = sums.reshape(*emission.weights.shape, -1)
        np.testing.assert_allclose(each[..., 0], theirs["post_mix_sum"], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            each[..., 0].sum(axis=1), theirs["shares"].sum(axis=0), rtol=1e-6, atol=1e-9
        )
        return
    counts, dimension, lens = sums[:, 0], emission.dimension, emission.lens
    np.testing.assert_allclose(counts, theirs["post"], rtol=1e-6, atol=1e-9)
    first = sums[:, 1 : 1 + dimension] * lens.scale + counts[:, None] * lens.center
    np.testing.assert_allclose(first, theirs["obs"], rtol=1e-6, atol=1e-6)


def enumerate_paths(model: HMM, rows: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, float]:
    """Likelihood, shares, steps, best path and its probability of one sequence, from all paths there are."""
    chain = model.chain
    weights = np.exp(model.emission.log_density(model.emission.view(rows)))
    total, best, best_path = 0.0, -1.0, None
    shares, steps = np.zeros((len(rows), chain.states)), np.zeros((chain.states, chain.states))
    for path in itertools.product(range(chain.states), repeat=len(rows)):
        probability = chain.start[path[0]] * weights[path[0], 0]
        for t in range(1, len(rows)):
            probability *= chain.transition[path[t - 1], path[t]] * weights[path[t], t]
        total += probability
        for t, state in enumerate(path):
            shares[t, state] += probability
        for one, other in itertools.pairwise(path):
            steps[one, other] += probability
        if probability > best:
            best, best_path = probability, path
    return total, shares / total, steps / total, np.array(best_path), best


@pytest.mark.parametrize("kind", ["categorical", "full"])
@pytest.mark.parametrize("seed", range(6))
def test_tiny_models_agree_with_the_sum_over_all_paths(kind: str, seed: int) -> None:
    model, _, draw = random_model(kind, 500 + seed)
    lengths = draw.integers(1, 6, 4)
    rows, _ = model.sample(lengths, draw)
    [pack] = pack_sequences(lengths)
    view = model.view(rows, pack)
    smoothed, (best, path) = model.smooth(view), model.decode(view)
    by_sequence = smoothed.transitions_by_sequence()
    for number, (start, length) in enumerate(zip(pack.firsts, lengths, strict=True)):
        part = slice(start, start + length)
        total, shares, steps, best_path, probability = enumerate_paths(model, rows[part])
        assert smoothed.log_likelihood[number] == pytest.approx(np.log(total), rel=1e-9)
        np.testing.assert_allclose(smoothed.shares[:, part].T, shares, atol=1e-12)
        np.testing.assert_allclose(by_sequence[number], steps, atol=1e-12)
        assert (path[part] == best_path).all()
        assert best[number] == pytest.approx(np.log(probability), rel=1e-9)
    np.testing.assert_allclose(by_sequence.sum(axis=0), smoothed.transitions(), atol=1e-12)
    np.testing.assert_allclose(smoothed.starts_by_sequence().sum(axis=0), smoothed.starts(), atol=1e-12)
    sums = model.emission.sums(view.features, smoothed.shares)
    each = model.emission.sums_by_sequence(view.features, smoothed.shares, pack)
    np.testing.assert_allclose(each.sum(axis=0), sums, atol=1e-9)
