"""Regions hold what they say, whatever number arrives; declarations that hold nothing are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain import Ball, Box, declare_region, region_from_dict
from discreet.errors import DomainError

ANY = st.floats(allow_nan=False, allow_infinity=False)
WIDTH = st.floats(1e-149, 1e149)
FAR = [0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, 2.0**1000, -(2.0**-1000), math.pi]


@given(st.lists(ANY, min_size=6, max_size=6), st.floats(-1e6, 1e6), WIDTH)
def test_every_number_lands_in_the_box(values: list[float], low: float, width: float) -> None:
    try:
        box = Box((low, -width), (low + max(width, abs(low) * 1e-9), width))
    except DomainError:
        return  # too far apart for 64-bit numbers
    unit = box.to_unit(np.array(values).reshape(2, 3))
    assert (np.abs(unit) <= 1).all()


@given(st.lists(ANY, min_size=6, max_size=6), st.floats(-1e6, 1e6), WIDTH)
def test_every_number_lands_in_the_ball(values: list[float], middle: float, radius: float) -> None:
    unit = Ball((middle, 0.0), radius).to_unit(np.array(values).reshape(2, 3))
    assert (np.linalg.norm(unit, axis=0) <= 1 + 2.0**-50).all()


@pytest.mark.parametrize("dimension", [1, 2, 7, 100])
def test_no_row_reaches_further_than_the_region_says(dimension: int) -> None:
    draw = np.random.default_rng(dimension)
    rows = draw.choice(FAR, size=(dimension, 2000)) * draw.uniform(-1, 1, size=(dimension, 2000))
    rows[:, 0] = 1e308
    for region in (Box((-1.0,) * dimension, (2.0,) * dimension), Ball((0.5,) * dimension, 3.0)):
        norms = np.linalg.norm(region.to_unit(rows), axis=0)
        assert norms.max() <= region.reach * (1 + 2.0**-50)
        assert norms.max() >= region.reach * 0.99  # and some get there


def test_rows_inside_are_only_moved_and_stretched() -> None:
    draw = np.random.default_rng(0)
    inside = draw.uniform(-1, 1, (3, 50))
    inside /= np.maximum(1, np.linalg.norm(inside, axis=0))
    for region in (Box((0.0, -5.0, 10.0), (2.0, 5.0, 11.0)), Ball((1.0, 2.0, 3.0), 4.0)):
        rows = region.center[:, None] + region.scale[:, None] * inside
        assert np.allclose(region.to_unit(rows), inside, rtol=0, atol=1e-12)


def test_a_row_lands_where_it_lands_whatever_stands_beside_it() -> None:
    rows = np.random.default_rng(1).normal(scale=3, size=(5, 64))
    for region in (Box((-1.0,) * 5, (1.0,) * 5), Ball((0.0,) * 5, 1.0)):
        together = region.to_unit(rows)
        for shift in (1, 7, 32):
            assert (region.to_unit(np.roll(rows, shift, axis=1)) == np.roll(together, shift, axis=1)).all()


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, 1.0), (2.0, 1.0), (-math.inf, 1.0), (0.0, math.nan), (1e20, 1e20 + 1), (-1.7e308, 1.7e308)],
)
def test_bounds_that_are_no_interval_are_refused(low: float, high: float) -> None:
    with pytest.raises(DomainError):
        declare_region(2, bounds=(low, high))


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_a_radius_that_is_no_length_is_refused(radius: float) -> None:
    with pytest.raises(DomainError):
        declare_region(2, radius=radius)


@pytest.mark.parametrize("width", [1e-310, 5e-324, 1e-200])
def test_widths_whose_inverse_is_no_number_are_refused(width: float) -> None:
    """Where 1 / width is infinite, 0 times infinity would slip through every clip."""
    with pytest.raises(DomainError):
        declare_region(2, bounds=(0.0, width))
    with pytest.raises(DomainError):
        declare_region(2, radius=width)


def test_a_region_is_declared_exactly_once() -> None:
    with pytest.raises(DomainError, match="not declared"):
        declare_region(2)
    with pytest.raises(DomainError, match="declared twice"):
        declare_region(2, bounds=(0, 1), radius=1.0)
    for region in (declare_region(2, bounds=([0, 1], [2, 3])), declare_region(2, radius=2, center=[1, 2])):
        assert region_from_dict(region.to_dict()) == region


@pytest.mark.parametrize("dimension", [1, 2, 9, 40])
def test_a_point_lands_on_the_same_bits_alone_and_among_others(dimension: int) -> None:
    """numpy adds in another order where there is only one column."""
    points = np.random.default_rng(3).normal(size=(dimension, 300)) * 3
    ball = Ball((0.0,) * dimension, 1.0)
    together = ball.to_unit(points)
    for place in range(300):
        assert (ball.to_unit(points[:, place : place + 1])[:, 0] == together[:, place]).all()
