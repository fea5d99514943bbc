"""Spans: exact coordinates for the integer points of a subspace."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.span import span_of

VECTORS = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-9, 9), min_size=d, max_size=d), min_size=1, max_size=5)
)


@given(VECTORS)
def test_coordinates_are_integers_and_come_back(vectors):
    points = np.array(vectors, dtype=np.int64)
    span = span_of(points)
    assert span.rank == np.linalg.matrix_rank(points)
    assert not (points @ span.equations.T).any()
    assert np.array_equal(span.expand(span.reduce(points)), points)
    unimodular = np.concatenate([span.coordinates, span.equations]).astype(float)
    assert abs(abs(np.linalg.det(unimodular)) - 1) < 1e-6


def test_every_integer_point_of_the_span_has_integer_coordinates():
    span = span_of(np.array([[4, 6]]))  # the point (2, 3) lies between
    assert span.rank == 1
    assert np.array_equal(np.abs(span.reduce(np.array([[2, 3], [4, 6]]))), [[1], [2]])


@pytest.mark.parametrize("outside", [[1, 0], [2, 4]])
def test_the_equations_tell_points_off_the_span(outside):
    span = span_of(np.array([[4, 6]]))
    assert (np.array([outside]) @ span.equations.T).any()
