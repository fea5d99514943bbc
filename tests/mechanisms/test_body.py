"""Bodies: exact hulls of integer vectors, flat ones by rule."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from discreet.errors import ParameterError, TooLargeError
from discreet.mechanisms.body import body_of, diamond

EXAMPLE = np.array([[1, -1], [4, 1], [1, 1], [3, 0]])  # the running example's differences


def random_vectors(dimension, seed, count=6, size=40):
    return np.random.default_rng(seed).integers(-size, size + 1, (count, dimension))


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_volume_agrees_with_qhull(dimension, seed):
    vectors = random_vectors(dimension, seed, count=dimension + 3)
    both = np.concatenate([vectors, -vectors]).astype(float)
    expected = 2 * np.abs(both).max() if dimension == 1 else ConvexHull(both).volume
    assert body_of(vectors).volume == pytest.approx(expected, rel=1e-12)


@given(st.integers(1, 4), st.integers(0, 10**6), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_every_given_vector_lies_inside_and_its_multiple_outside(dimension, seed, count):
    vectors = random_vectors(dimension, seed, count)
    body = body_of(vectors)
    assert body.contains(vectors).all()
    assert body.contains(-vectors).all()
    corners = body.corners
    assert not body.contains(2 * corners).any() or not body.rank
    if body.rank:
        assert np.allclose(body.gauge(corners), 1)
        assert np.allclose(body.gauge(3 * corners), 3)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_growth_is_the_volume_that_a_vector_adds(dimension, seed):
    vectors, more = random_vectors(dimension, seed), random_vectors(dimension, seed + 100, size=90)
    body = body_of(vectors)
    grown = [body.joined(one[None]).volume for one in more]
    assert np.allclose(body.volume + body.growth(more), grown, rtol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_moment_is_the_mean_square_over_the_body(dimension):
    body = body_of(random_vectors(dimension, 3, size=60))
    reach = int(np.abs(body.corners).max())
    axes = [np.arange(-reach, reach + 1)] * dimension
    points = np.array(list(itertools.product(*axes)), dtype=np.int64)
    inside = points[body.contains(points)].astype(float)
    assert np.allclose(inside.T @ inside / len(inside), body.moment, rtol=0.06, atol=0.05 * reach)


def test_collinear_and_duplicate_vectors_make_an_interval():
    body = body_of(np.array([[2, 4], [2, 4], [-3, -6], [0, 0]]))
    assert (body.rank, body.area) == (1, 0.0)
    assert body.contains(np.array([[3, 6], [1, 2], [0, 0]])).all()
    assert not body.contains(np.array([[4, 8], [1, 1], [3, 5]])).any()
    assert body.gauge(np.array([[6, 12], [1, 0]])).tolist() == [2.0, math.inf]


def test_a_plane_in_space_is_measured_within_itself():
    square = body_of(np.array([[1, 1, 0], [0, 1, 1]]) * 10)
    assert (square.rank, square.area) == (2, 0.0)
    assert square.gauge(np.array([[10, 10, 0], [5, 10, 5], [0, 0, 1]])).tolist() == [1.0, 1.0, math.inf]


@pytest.mark.parametrize("vectors", [np.zeros((0, 2)), np.zeros((3, 2))])
def test_no_vector_makes_a_point(vectors):
    body = body_of(vectors.astype(np.int64))
    assert (body.rank, body.volume) == (0, 0.0)
    assert body.contains(np.array([[0, 0], [0, 1]])).tolist() == [True, False]


def test_the_diamond_is_the_l1_ball_of_the_sensitivity():
    ball = diamond(EXAMPLE)
    assert ball.area == 2 * 5**2
    assert ball.contains(EXAMPLE).all()


def test_many_points_are_thinned_without_losing_a_corner():
    vectors = random_vectors(2, 1, count=3000, size=5000)
    both = np.concatenate([vectors, -vectors]).astype(float)
    body = body_of(vectors)
    assert body.area == pytest.approx(ConvexHull(both).volume, rel=1e-12)


def test_what_64_bits_cannot_hold_is_refused():
    with pytest.raises(TooLargeError):
        body_of(np.array([[2**30, 1]]))
    with pytest.raises(ParameterError):
        body_of(np.ones((1, 9), dtype=np.int64))
