"""Repaired parameters are valid whatever comes in, and nearest to what came in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.errors import ParameterError
from discreet.mechanisms.repair import to_positive, to_positive_definite, to_simplex

ANYTHING = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(hnp.arrays(np.float64, (3, 5), elements=ANYTHING))
@settings(max_examples=150, deadline=None)
def test_weights_are_weights_whatever_comes_in(values):
    weights = to_simplex(values, 0.01)
    assert np.all(weights >= 0.01 - 1e-15)
    assert np.allclose(weights.sum(axis=-1), 1, atol=1e-12, rtol=0)


@given(hnp.arrays(np.float64, 4, elements=st.floats(-3, 3)), st.floats(0, 0.2))
@settings(max_examples=100, deadline=None)
def test_weights_are_the_nearest_ones(values, floor):
    weights = to_simplex(values, floor)
    # optimality of a projection: no other valid weights lie in the direction of what came in
    corners = np.full((4, 4), floor) + (1 - 4 * floor) * np.eye(4)
    assert np.all((corners - weights) @ (values - weights) <= 1e-9)


def test_weights_that_are_fine_stay():
    weights = np.array([0.2, 0.5, 0.3])
    assert np.allclose(to_simplex(weights), weights, atol=1e-15)
    assert np.array_equal(to_simplex([5.0], 1.0), [1.0])
    assert np.array_equal(to_simplex([7.0, -1.0, 0.0, 0.0], 0.25), [0.25] * 4)


def test_huge_and_missing_weights():
    assert np.allclose(to_simplex([np.inf, 1.0, np.nan]), [1, 0, 0])
    assert np.allclose(to_simplex([1e300, 1e300, 0.0]), [0.5, 0.5, 0])
    assert np.allclose(to_simplex([np.nan, np.nan]), [0.5, 0.5])


@pytest.mark.parametrize(("values", "floor"), [([], 0.0), ([1.0, 1.0], 0.6), ([1.0], -0.1), ([1.0], np.nan)])
def test_impossible_floors_of_weights_are_refused(values, floor):
    with pytest.raises(ParameterError, match="weights"):
        to_simplex(values, floor)


@given(hnp.arrays(np.float64, (2, 3, 3), elements=ANYTHING))
@settings(max_examples=150, deadline=None)
def test_covariances_are_positive_definite_whatever_comes_in(matrices):
    repaired = to_positive_definite(matrices, 1e-3, ceiling=1e3)
    assert np.array_equal(repaired, np.swapaxes(repaired, -1, -2))
    np.linalg.cholesky(repaired)
    values = np.linalg.eigvalsh(repaired)
    assert np.all(values > 0.99e-3)
    assert np.all(values < 1.01e3)


def test_without_a_ceiling_even_absurd_matrices_have_a_cholesky_factor():
    absurd = np.diag([1e300, -1e300, 1.0, np.nan]) + 1e80
    np.linalg.cholesky(to_positive_definite(absurd, 1e-6))


def test_good_matrices_stay_and_stacks_equal_single_calls():
    good = np.array([[2.0, 0.5], [0.5, 1.0]])
    bad = np.array([[1.0, 3.0], [1.0, 1.0]])
    assert np.allclose(to_positive_definite(good, 0.1), good, atol=1e-14)
    stacked = to_positive_definite(np.stack([good, bad]), 0.1)
    assert np.allclose(stacked[1], to_positive_definite(bad, 0.1), atol=1e-14)
    # eigenvalues 3 and -1 of the symmetric part; the negative one becomes the floor
    assert np.allclose(np.linalg.eigvalsh(stacked[1]), [0.1, 3.0])


def test_impossible_requests_for_matrices_are_refused():
    for arguments in ((np.eye(2), 0.0), (np.eye(2), np.nan), (np.ones((2, 3)), 1.0), (np.eye(2), 1.0, 0.5)):
        with pytest.raises(ParameterError):
            to_positive_definite(*arguments)


@given(hnp.arrays(np.float64, 6, elements=ANYTHING))
@settings(max_examples=50, deadline=None)
def test_positive_values_are_positive_whatever_comes_in(values):
    repaired = to_positive(values, 0.5)
    assert np.all(repaired >= 0.5)
    assert np.all(np.isfinite(repaired))


def test_positive_values_stay():
    assert np.array_equal(to_positive([2.0, -1.0, np.nan], 0.5), [2.0, 0.5, 0.5])
    with pytest.raises(ParameterError, match="floor"):
        to_positive([1.0], -1.0)
