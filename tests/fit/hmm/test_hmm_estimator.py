"""`CategoricalHMM` and `GaussianHMM` as users meet them: hmmlearn's interface, and every bad request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hmmlearn import hmm as peers
from sklearn.base import clone

from discreet.errors import (
    BundleError,
    DataError,
    DomainError,
    NotFittedError,
    ParameterError,
    RequestError,
    TooLargeError,
)
from discreet.fit import CategoricalHMM, GaussianHMM

INF = float("inf")
DICE: dict[str, Any] = {
    "startprob": [0.6, 0.4],
    "transmat": [[0.95, 0.05], [0.1, 0.9]],
    "emissionprob": [[1 / 6] * 6, [0.1] * 5 + [0.5]],
}


def dice(**changes: Any) -> CategoricalHMM:
    return CategoricalHMM(2, 6, **{"epsilon": INF, "skeleton": DICE, "random_state": 0, **changes})


def throws(people: int = 400, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Throws, lengths and states of as many sequences of 1 to 40 throws."""
    lengths = np.random.default_rng(seed).integers(1, 41, people)
    rows, states = CategoricalHMM.from_json(json.dumps({"kind": "categorical-hmm", **DICE})).sample(
        lengths, random_state=seed
    )
    return rows, lengths, states


def walks(people: int = 60, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Points around three places, visited one after the other."""
    draw = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 5.0]])
    paths = [np.repeat(np.arange(3), draw.integers(3, 12, 3)) for _ in range(people)]
    return [places[path] + draw.normal(scale=0.5, size=(len(path), 2)) for path in paths], paths


def test_a_categorical_fit_takes_the_same_rounds_as_hmmlearn() -> None:
    rows, lengths, _ = throws()
    ours = dice(max_iter=7, tol=0).fit(rows, lengths)
    peer: Any = peers.CategoricalHMM(2, n_iter=7, tol=-1, init_params="", n_features=6)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = (np.array(DICE[name]) for name in DICE)
    peer.fit(rows, lengths)
    for name in ("startprob_", "transmat_", "emissionprob_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(peer, name), rtol=1e-9)
    assert ours.n_iter_ == 7


@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
def test_a_gaussian_fit_takes_the_same_rounds_as_hmmlearn_without_its_priors(kind: str) -> None:
    parts, _ = walks()
    start = GaussianHMM(3, epsilon=INF, covariance_type=kind, topology="left-right", max_iter=1).fit(parts)
    peer: Any = peers.GaussianHMM(3, covariance_type=kind, n_iter=4, tol=-1, init_params="", covars_prior=0)
    peer.startprob_, peer.transmat_, peer.means_ = start.startprob_, start.transmat_, start.means_
    peer.n_features, peer.covars_ = 2, start.covars_
    ours = GaussianHMM(3, epsilon=INF, covariance_type=kind, min_covar=1e-9, max_iter=4, tol=0)
    ours.set_params(
        skeleton={
            "startprob": start.startprob_,
            "transmat": start.transmat_,
            "means": start.means_,
            "covars": start.covars_,
        }
    )
    rows, lengths = np.concatenate(parts), [len(part) for part in parts]
    ours.fit(parts)
    peer.fit(rows, lengths)
    np.testing.assert_allclose(ours.means_, peer.means_, rtol=1e-6)
    fitted = GaussianHMM.from_hmmlearn(peer)
    np.testing.assert_allclose(ours.covars_, fitted.covars_, rtol=1e-6)
    np.testing.assert_allclose(ours.transmat_, peer.transmat_, rtol=1e-6)


@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
@pytest.mark.parametrize("size", [1, 2])
def test_gaussian_fits_have_hmmlearns_shapes_and_scores(kind: str, size: int) -> None:
    parts, paths = walks()
    model = GaussianHMM(
        3, epsilon=INF, covariance_type=kind, n_mix=size, topology="left-right", random_state=0, max_iter=20
    ).fit(parts)
    peer = model.to_hmmlearn()
    rows, lengths = np.concatenate(parts), [len(part) for part in parts]
    assert peer.score(rows, lengths) == pytest.approx(model.score(parts), rel=1e-9)
    assert (peer.predict(rows, lengths) == model.predict(rows, lengths)).all()
    np.testing.assert_allclose(peer.predict_proba(rows, lengths), model.predict_proba(parts), atol=1e-9)
    assert (model.predict(parts) == np.concatenate(paths)).mean() > 0.98
    again = GaussianHMM.from_hmmlearn(peer)
    assert again.score(parts) == pytest.approx(model.score(parts), rel=1e-12)
    assert (again.covariance_type, again.n_mix) == (kind, size)
    assert not np.tril(model.transmat_, -1).any() and model.startprob_[0] == 1


@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
@pytest.mark.parametrize("size", [1, 2])
def test_no_round_lowers_the_likelihood(kind: str, size: int) -> None:
    parts, _ = walks(20)
    scores = [
        GaussianHMM(3, epsilon=INF, covariance_type=kind, n_mix=size, max_iter=rounds, tol=0, random_state=5)
        .fit(parts)
        .score(parts)
        for rounds in range(1, 8)
    ]
    assert (np.diff(scores) > -1e-7 * abs(scores[0])).all()


def test_an_array_with_lengths_and_a_list_of_arrays_are_the_same() -> None:
    rows, lengths, _ = throws(50)
    parts = np.split(rows, np.cumsum(lengths)[:-1])
    one, other = dice(max_iter=3).fit(rows, lengths), dice(max_iter=3).fit([part.ravel() for part in parts])
    assert (one.transmat_ == other.transmat_).all()
    assert one.score(rows, lengths) == pytest.approx(other.scores(parts).sum(), rel=1e-12)
    np.testing.assert_allclose(one.scores(rows, lengths), [one.score(part) for part in parts], rtol=1e-12)


def test_labelled_paths_are_counted() -> None:
    rows, lengths, states = throws()
    model = dice(skeleton=None).fit(rows, lengths, states=states)
    firsts = np.cumsum(lengths) - lengths
    inner = np.setdiff1d(np.arange(1, len(rows)), firsts)
    steps = np.zeros((2, 2))
    np.add.at(steps, (states[inner - 1], states[inner]), 1)
    symbols = np.zeros((2, 6))
    np.add.at(symbols, (states, rows[:, 0]), 1)
    np.testing.assert_allclose(model.transmat_, steps / steps.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(model.emissionprob_, symbols / symbols.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(model.startprob_, np.bincount(states[firsts]) / len(lengths), rtol=1e-12)


def test_partly_labelled_paths_help() -> None:
    rows, lengths, states = throws()
    some = np.where(np.random.default_rng(0).random(len(states)) < 0.5, states, -1)
    model = dice(skeleton=None).fit(rows, lengths, states=some)
    assert np.abs(model.emissionprob_ - DICE["emissionprob"]).max() < 0.03
    agreeing = dice(skeleton=None).fit(rows, lengths, states=np.full(len(states), -1))
    unlabelled = dice(skeleton=None).fit(rows, lengths)
    np.testing.assert_allclose(agreeing.transmat_, unlabelled.transmat_, rtol=1e-9)


def test_a_weight_of_two_is_the_sequence_twice() -> None:
    rows, lengths, _ = throws(30)
    parts = np.split(rows, np.cumsum(lengths)[:-1])
    weights = np.ones(30)
    weights[3], weights[7] = 2, 0
    weighted = dice(max_iter=4, tol=0).fit(parts, sample_weight=weights)
    repeated = dice(max_iter=4, tol=0).fit([*parts[:7], *parts[8:], parts[3]])
    np.testing.assert_allclose(weighted.transmat_, repeated.transmat_, rtol=1e-10)
    np.testing.assert_allclose(weighted.emissionprob_, repeated.emissionprob_, rtol=1e-10)


def test_fixed_entries_and_zeros_keep_their_values() -> None:
    rows, lengths, _ = throws()
    skeleton = {
        "startprob": [0.5, 0.5, 0.0],
        "transmat": [[0.8, 0.1, 0.1], [0.3, 0.7, 0.0], [0.2, 0.2, 0.6]],
        "emissionprob": np.full((3, 6), 1 / 6)
        + 0.05 * np.array([[1, -1, 0, 0, 0, 0], [0, 0, 0, 0, -1, 1], [0] * 6]),
    }
    fixed = {"transmat": np.array([[False, True, False], [False] * 3, [False] * 3]), "startprob": True}
    model = CategoricalHMM(3, 6, epsilon=INF, skeleton=skeleton, fixed=fixed, max_iter=20).fit(rows, lengths)
    assert model.transmat_[0, 1] == 0.1 and model.transmat_[1, 2] == 0
    assert model.transmat_[0, 0] != 0.8 and model.transmat_[1, 0] != 0.3
    assert (model.startprob_ == skeleton["startprob"]).all()
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1, rtol=1e-12)
    parts, _ = walks()
    held = GaussianHMM(
        3,
        epsilon=INF,
        topology="left-right",
        skeleton={"means": [[0, 0], [4, 0], [4, 4]], "covars": np.ones((3, 2))},
        fixed={"means": np.array([False, False, True])},
    ).fit(parts)
    assert (held.means_[2] == [4, 4]).all() and not (held.means_[1] == [4, 0]).all()


def test_what_lies_beyond_the_declared_length_is_left_out() -> None:
    rows, lengths, _ = throws()
    parts = [part[:10] for part in np.split(rows, np.cumsum(lengths)[:-1])]
    cut, short = dice(max_length=10, max_iter=3).fit(rows, lengths), dice(max_iter=3).fit(parts)
    np.testing.assert_allclose(cut.transmat_, short.transmat_, rtol=1e-12)


def test_points_outside_the_declared_region_are_moved_to_its_border() -> None:
    parts, _ = walks(20)
    wild = [np.concatenate([part, [[1e6, -1e6]]]) for part in parts]
    tame = [np.concatenate([part, [[10.0, -10.0]]]) for part in parts]
    region = {"bounds": ([-10.0, -10.0], [10.0, 10.0])}
    settings: dict[str, Any] = {"epsilon": INF, "topology": "left-right", "max_iter": 3, "tol": 0}
    clipped, inside = GaussianHMM(3, **settings, **region).fit(wild), GaussianHMM(3, **settings).fit(tame)
    np.testing.assert_allclose(clipped.means_, inside.means_, rtol=1e-9)
    ball = GaussianHMM(3, **settings, radius=20.0).fit(wild)
    assert np.abs(ball.means_).max() < 20
    with pytest.raises(DomainError):
        GaussianHMM(3, **settings, radius=1.0, **region).fit(parts)


def test_a_sequence_that_cannot_be_counts_for_nothing_and_scores_minus_infinity() -> None:
    skeleton = {**DICE, "emissionprob": [[0.2] * 5 + [0], [0.25] * 4 + [0, 0]]}
    good = [np.array([0, 1, 2, 4]), np.array([3, 3])]
    bad = np.array([0, 5, 1])
    both = dice(skeleton=skeleton, max_iter=3, tol=0).fit([*good, bad])
    alone = dice(skeleton=skeleton, max_iter=3, tol=0).fit(good)
    np.testing.assert_allclose(both.transmat_, alone.transmat_, rtol=1e-12)
    scores = both.scores([*good, bad])
    assert np.isfinite(scores[:2]).all() and scores[2] == -np.inf
    assert both.score([*good, bad]) == -np.inf
    assert (both.predict_proba([bad]) == 0).all()
    with pytest.raises(DataError, match="can emit none"):
        dice(skeleton=skeleton).fit([bad])


def test_next_to_impossible_rows_are_exact() -> None:
    """The only path goes where every other state is 10^1000 times likelier."""
    model: Any = GaussianHMM(3, epsilon=INF, covariance_type="spherical")
    model.startprob_, model.transmat_ = (
        np.array([1.0, 0, 0]),
        np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1.0]]),
    )
    model.means_, model.covars_ = np.array([[0.0], [100.0], [200.0]]), np.ones(3)
    rows = np.array([[200.0], [0.0], [200.0], [0.0], [100.0]])
    peer = model.to_hmmlearn()
    assert model.score(rows) == pytest.approx(peer.score(rows), rel=1e-9)
    np.testing.assert_allclose(model.predict_proba(rows), peer.predict_proba(rows), atol=1e-9)
    assert (model.predict(rows) == peer.predict(rows)).all()
    held = {
        "startprob": model.startprob_,
        "transmat": model.transmat_,
        "means": model.means_,
        "covars": model.covars_,
    }
    fitted = GaussianHMM(3, epsilon=INF, covariance_type="spherical", skeleton=held, max_iter=1).fit(rows)
    stats, _ = peer._do_estep(rows, [5])
    expected = stats["trans"] / np.maximum(stats["trans"].sum(axis=1, keepdims=True), 1e-300)
    some = stats["trans"].sum(axis=1) > 0
    np.testing.assert_allclose(fitted.transmat_[some], expected[some], atol=1e-9)


def test_data_far_from_the_origin_lose_no_digits() -> None:
    parts, _ = walks()
    near = GaussianHMM(3, epsilon=INF, covariance_type="diag", topology="left-right").fit(parts)
    far = GaussianHMM(3, epsilon=INF, covariance_type="diag", topology="left-right").fit(
        [part + 1e7 for part in parts]
    )
    np.testing.assert_allclose(far.means_ - 1e7, near.means_, atol=1e-5)
    assert far.score([part + 1e7 for part in parts]) == pytest.approx(near.score(parts), rel=1e-5)


def test_clusters_that_are_tiny_beside_their_distance_are_scored_exactly() -> None:
    model: Any = GaussianHMM(2, epsilon=INF, covariance_type="diag")
    model.startprob_, model.transmat_ = np.array([0.5, 0.5]), np.full((2, 2), 0.5)
    model.means_, model.covars_ = np.array([[0.0], [1.0]]), np.full((2, 1), 1e-14)
    rows = np.array([[1e-7], [1.0], [1 - 2e-7]])
    assert model.score(rows) == pytest.approx(model.to_hmmlearn().score(rows), rel=1e-6)


def test_a_saved_model_comes_back_bit_for_bit(tmp_path: Path) -> None:
    rows, lengths, _ = throws(50)
    model = dice().fit(rows, lengths)
    model.save(tmp_path / "dice")
    again = CategoricalHMM.load(tmp_path / "dice")
    for name in ("startprob_", "transmat_", "emissionprob_"):
        assert (getattr(again, name) == getattr(model, name)).all()
    assert again.guarantee_ == model.guarantee_ and not again.guarantee_.private
    assert again.receipt_ == model.receipt_
    assert "hidden Markov model" in (tmp_path / "dice" / "MODEL_CARD.md").read_text()
    with pytest.raises(BundleError):
        GaussianHMM.load(tmp_path / "dice")
    model.transmat_ = model.transmat_[::-1]
    with pytest.raises(BundleError, match="not those that were released"):
        model.save(tmp_path / "other")


def test_json_is_exact_and_serves_as_a_skeleton(tmp_path: Path) -> None:
    rows, lengths, _ = throws(50)
    model = dice(max_iter=2).fit(rows, lengths)
    (tmp_path / "skeleton.json").write_text(model.to_json())
    again = CategoricalHMM.from_json(model.to_json())
    assert (again.transmat_ == model.transmat_).all()
    more = dice(skeleton=tmp_path / "skeleton.json", max_iter=1, tol=0).fit(rows, lengths)
    text = dice(skeleton=model.to_json(), max_iter=1, tol=0).fit(rows, lengths)
    assert (text.transmat_ == more.transmat_).all()
    whole = dice(max_iter=3, tol=0).fit(rows, lengths)
    np.testing.assert_allclose(more.transmat_, whole.transmat_, rtol=1e-12)
    parts, _ = walks(20)
    points = GaussianHMM(3, epsilon=INF, covariance_type="full", topology="left-right").fit(parts)
    assert (GaussianHMM.from_json(points.to_json()).covars_ == points.covars_).all()
    with pytest.raises(BundleError):
        GaussianHMM.from_json(model.to_json())


def test_samples_follow_the_model() -> None:
    rows, lengths, states = throws(3000)
    one = [np.mean(rows[states == state, 0] == 5) for state in (0, 1)]
    assert abs(one[0] - 1 / 6) < 0.02 and abs(one[1] - 0.5) < 0.03
    single, path = dice(max_iter=1).fit(rows, lengths).sample(25, random_state=3)
    assert single.shape == (25, 1) and path.shape == (25,)


def test_the_best_state_of_each_row_is_hmmlearns_map() -> None:
    rows, lengths, _ = throws(40)
    model = dice(max_iter=1).fit(rows, lengths)
    ours, theirs = (
        model.decode(rows, lengths, algorithm="map"),
        model.to_hmmlearn().decode(rows, lengths, algorithm="map"),
    )
    assert ours[0] == pytest.approx(theirs[0]) and (ours[1] == theirs[1]).all()


def test_a_seeded_start_can_be_repeated() -> None:
    rows, lengths, _ = throws(50)
    first, second = (dice(skeleton=None, max_iter=3).fit(rows, lengths) for _ in range(2))
    assert (first.emissionprob_ == second.emissionprob_).all()
    other = dice(skeleton=None, max_iter=3, random_state=None).fit(rows, lengths)
    assert (other.emissionprob_ != first.emissionprob_).any()


def test_estimators_can_be_cloned_and_say_when_they_are_not_fitted() -> None:
    for model in (dice(), GaussianHMM(3, epsilon=INF)):
        assert clone(model).get_params() == model.get_params()
        with pytest.raises(NotFittedError):
            model.score(np.zeros((3, 1), dtype=int))


def test_a_failed_fit_leaves_no_older_result_behind() -> None:
    rows, lengths, _ = throws(20)
    model = dice().fit(rows, lengths)
    with pytest.raises(DataError):
        model.fit(rows + 6, lengths)
    with pytest.raises(NotFittedError):
        model.score(rows, lengths)


GOOD = np.array([0, 1, 2, 3])
POINTS = np.arange(12.0).reshape(6, 2)
BAD_SYMBOLS: dict[str, tuple[dict[str, Any], Any, Any, type[Exception]]] = {
    "HMM lengths that do not add up": ({}, GOOD, [3], DataError),
    "HMM length of 0": ({}, GOOD, [4, 0], DataError),
    "HMM negative length": ({}, GOOD, [5, -1], DataError),
    "HMM float lengths": ({}, GOOD, [2.0, 2.0], DataError),
    "HMM lengths twice": ({}, [GOOD, GOOD], [4, 4], ParameterError),
    "HMM symbol too large": ({}, np.array([0, 6]), None, DataError),
    "HMM negative symbol": ({}, np.array([0, -1]), None, DataError),
    "HMM float symbols": ({}, GOOD.astype(float), None, DataError),
    "HMM no sequences": ({}, [], None, DataError),
    "HMM empty sequence": ({}, [GOOD, np.array([], dtype=int)], None, DataError),
    "HMM symbols in two columns": ({}, np.zeros((3, 2), dtype=int), None, DataError),
    "HMM no states": ({"n_states": 0}, GOOD, None, ParameterError),
    "HMM half a state": ({"n_states": 1.5}, GOOD, None, ParameterError),
    "HMM no symbols": ({"n_symbols": 0}, GOOD, None, ParameterError),
    "HMM too large": ({"n_states": 10_000, "skeleton": None}, GOOD, None, TooLargeError),
    "HMM no rounds": ({"max_iter": 0}, GOOD, None, ParameterError),
    "HMM negative tolerance": ({"tol": -1}, GOOD, None, ParameterError),
    "HMM epsilon 0": ({"epsilon": 0}, GOOD, None, ParameterError),
    "HMM unknown method": ({"method": "magic"}, GOOD, None, ParameterError),
    "HMM unknown topology": ({"topology": "ring"}, GOOD, None, ParameterError),
    "HMM dataset without a ledger": ({"dataset": "dice"}, GOOD, None, ParameterError),
    "skeleton rows not summing to one": (
        {"skeleton": {**DICE, "transmat": [[0.9, 0.2], [0.1, 0.9]]}},
        GOOD,
        None,
        ParameterError,
    ),
    "skeleton with negative entries": (
        {"skeleton": {**DICE, "startprob": [1.5, -0.5]}},
        GOOD,
        None,
        ParameterError,
    ),
    "skeleton with NaN": ({"skeleton": {**DICE, "startprob": [float("nan"), 1]}}, GOOD, None, ParameterError),
    "skeleton of another shape": (
        {"skeleton": {**DICE, "startprob": [0.2, 0.3, 0.5]}},
        GOOD,
        None,
        ParameterError,
    ),
    "skeleton of text": ({"skeleton": {**DICE, "startprob": ["a", "b"]}}, GOOD, None, ParameterError),
    "skeleton with unknown parts": ({"skeleton": {"means": [[0.0]]}}, GOOD, None, ParameterError),
    "skeleton file that is not there": ({"skeleton": "nowhere.json"}, GOOD, None, ParameterError),
    "skeleton against the topology": ({"topology": "left-right"}, GOOD, None, ParameterError),
    "fixed entries without a skeleton": (
        {"skeleton": None, "fixed": {"transmat": True}},
        GOOD,
        None,
        ParameterError,
    ),
    "fixed entries of another shape": ({"fixed": {"transmat": [True, False]}}, GOOD, None, ParameterError),
    "fixed entries that are numbers": ({"fixed": {"transmat": [[1, 0], [0, 1]]}}, GOOD, None, ParameterError),
    "fixed parts that are not there": ({"fixed": {"means": True}}, GOOD, None, ParameterError),
}


@pytest.mark.parametrize("case", BAD_SYMBOLS)
def test_bad_requests_for_symbols_are_refused(case: str) -> None:
    changes, X, lengths, error = BAD_SYMBOLS[case]
    arguments = {"n_states": 2, "n_symbols": 6, "epsilon": INF, "skeleton": DICE, **changes}
    with pytest.raises(error) as caught:
        CategoricalHMM(**arguments).fit(X, lengths)
    assert isinstance(caught.value, RequestError)
    assert str(caught.value).endswith(".")


BAD_POINTS: dict[str, tuple[dict[str, Any], Any, type[Exception]]] = {
    "HMM NaN": ({}, np.where(POINTS == 3, np.nan, POINTS), DataError),
    "HMM infinite": ({}, np.where(POINTS == 3, np.inf, POINTS), DataError),
    "HMM next to infinite": ({}, POINTS * 1e200, DataError),
    "HMM text": ({}, np.array([["a", "b"]]), DataError),
    "HMM one dimension": ({}, POINTS.ravel(), DataError),
    "HMM no columns": ({}, np.zeros((3, 0)), DataError),
    "HMM sequences of other widths": ({}, [POINTS, POINTS[:, :1]], DataError),
    "HMM more states than rows": ({"n_states": 7}, POINTS, ParameterError),
    "HMM unknown covariance type": ({"covariance_type": "round"}, POINTS, ParameterError),
    "HMM no components": ({"n_mix": 0}, POINTS, ParameterError),
    "HMM floor of 0": ({"min_covar": 0}, POINTS, ParameterError),
    "skeleton with a negative variance": (
        {"skeleton": {"means": np.zeros((2, 2)), "covars": -np.ones((2, 2))}},
        POINTS,
        ParameterError,
    ),
    "skeleton with means of another width": (
        {"skeleton": {"means": np.zeros((2, 3))}},
        POINTS,
        ParameterError,
    ),
}


@pytest.mark.parametrize("case", BAD_POINTS)
def test_bad_requests_for_points_are_refused(case: str) -> None:
    changes, X, error = BAD_POINTS[case]
    with pytest.raises(error) as caught:
        GaussianHMM(**{"n_states": 2, "epsilon": INF, **changes}).fit(X)
    assert isinstance(caught.value, RequestError)


@pytest.mark.parametrize(
    "states", [[0, 1, 0], [0, 1, 0, 2], [0, 1, 0, -2], [0.0, 1, 0, 1], [[0, 1, 0, 1], [0]]]
)
def test_paths_that_do_not_fit_are_refused(states: Any) -> None:
    with pytest.raises(DataError):
        dice().fit(GOOD, states=states)


@pytest.mark.parametrize("weights", [[1.0], [1, -1], [1, float("nan")], [0, 0]])
def test_weights_that_do_not_fit_are_refused(weights: Any) -> None:
    with pytest.raises(DataError):
        dice().fit([GOOD, GOOD], sample_weight=weights)


def test_what_is_not_ours_is_not_read() -> None:
    with pytest.raises(ParameterError, match="another kind"):
        CategoricalHMM.from_hmmlearn(peers.GaussianHMM(2))
    with pytest.raises(ParameterError, match="not fitted"):
        CategoricalHMM.from_hmmlearn(peers.CategoricalHMM(2))
    with pytest.raises(BundleError):
        CategoricalHMM.from_json("{}")
    with pytest.raises(ParameterError):
        dice().fit(GOOD).decode(GOOD, algorithm="guess")
    with pytest.raises(ParameterError):
        dice().fit(GOOD).sample(0)
