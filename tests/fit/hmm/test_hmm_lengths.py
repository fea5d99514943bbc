"""From one symbol to a hundred thousand, from one state to two hundred, in bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from discreet.fit import CategoricalHMM, GaussianHMM

INF = float("inf")


@pytest.mark.parametrize("length", [1, 2, 100_000])
def test_any_length_can_be_fitted_and_decoded(length: int) -> None:
    symbols = np.random.default_rng(0).integers(0, 4, length)
    model = CategoricalHMM(2, 4, epsilon=INF, max_iter=3, random_state=0).fit(symbols)
    probability, path = model.decode(symbols)
    assert len(path) == length and np.isfinite(probability) and probability <= model.score(symbols) + 1e-9
    assert np.isfinite(model.emissionprob_).all()
    shares = model.predict_proba(symbols)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-9)


def test_an_alphabet_of_ten_thousand_symbols() -> None:
    draw = np.random.default_rng(0)
    symbols = draw.integers(0, 10_000, 20_000)
    model = CategoricalHMM(4, 10_000, epsilon=INF, max_iter=2, random_state=0).fit(symbols, [50] * 400)
    np.testing.assert_allclose(model.emissionprob_.sum(axis=1), 1, rtol=1e-9)
    unseen = np.setdiff1d(np.arange(10_000), symbols)
    assert len(unseen) and not model.emissionprob_[:, unseen].any()
    assert model.score(unseen[:1]) == -INF


@pytest.mark.slow
def test_two_hundred_states_take_the_memory_of_a_stretch_not_of_the_sequence() -> None:
    symbols = np.random.default_rng(0).integers(0, 50, 30_000)
    model = CategoricalHMM(200, 50, epsilon=INF, max_iter=1, tol=0, random_state=0)
    tracemalloc.start()
    try:
        model.fit(symbols)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    all_states = 200 * 30_000 * 8
    assert peak < 3 * all_states  # held in one go it takes some ten times as much


def test_memory_does_not_grow_with_the_number_of_sequences() -> None:
    peaks = []
    for people in (400, 1600):
        rows = np.random.default_rng(0).normal(size=(people * 50, 3))
        model = GaussianHMM(5, epsilon=INF, topology="left-right", max_iter=1).fit(rows, [50] * people)
        tracemalloc.start()
        try:
            model.scores(rows, [50] * people)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] - peaks[0] < 2**23


def test_one_person_one_row_one_state() -> None:
    model = GaussianHMM(1, epsilon=INF, max_iter=2).fit(np.array([[1.0], [2.0], [4.0]]), [1, 1, 1])
    np.testing.assert_allclose(model.means_, [[7 / 3]])
    assert model.transmat_[0, 0] == 1


def test_equal_rows_keep_the_floor() -> None:
    model = GaussianHMM(2, epsilon=INF, covariance_type="full", min_covar=0.01, topology="left-right")
    model.fit(np.ones((10, 3)))
    assert (np.linalg.eigvalsh(model.covars_) >= 0.01 * (1 - 1e-6)).all()
    assert np.isfinite(model.score(np.ones((4, 3))))
