"""Gauge noise: exactly the law it says, on any body, without low bits."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import chdtrc, kolmogorov
from scipy.stats import gamma

from conftest import LONG
from discreet.audit.bits import low_bits
from discreet.errors import ParameterError
from discreet.mechanisms.body import body_of, diamond
from discreet.mechanisms.gauge import ContinuousNoise, LatticeNoise, expected_squared_error
from discreet.randomness import secure, seeded

UNLIKELY = 1e-7
DRAWS = 200_000 if LONG else 20_000
SCALE = 2**12

BODIES = {
    "interval": np.array([[3]]),
    "plane, the running example": np.array([[1, -1], [4, 1], [1, 1], [3, 0]]),
    "plane, thin and slanted": np.array([[40, 39], [1, 2]]),
    "space": np.array([[1, 0, 2], [3, 1, 0], [0, 2, 1], [1, 1, 1], [2, -1, 3]]),
    "collinear": np.array([[2, 4], [2, 4], [1, 2]]),
    "duplicates": np.array([[1, 0], [1, 0], [0, 1], [0, 1], [-1, 0]]),
}


def body_named(name, scale=SCALE):
    return body_of(BODIES[name] * (scale // 2 if name == "space" else scale))


def kolmogorov_distance(values, law):
    ordered = np.sort(values)
    ranks = np.arange(len(ordered) + 1) / len(ordered)
    heights = law(ordered)
    distance = max(np.max(heights - ranks[:-1]), np.max(ranks[1:] - heights))
    return kolmogorov(distance * math.sqrt(len(ordered)))


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_gauge_of_continuous_noise_is_gamma_distributed(name, epsilon):
    body = body_named(name)
    z = ContinuousNoise(body, epsilon).draw(DRAWS, seeded(1))
    coordinates = z if body.span.whole else z @ body.span.coordinates.T
    gauges = np.abs(coordinates @ body.normals.T / body.offsets).max(axis=1)
    assert kolmogorov_distance(epsilon * gauges, gamma(body.rank).cdf) > UNLIKELY


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_gauge_of_lattice_noise_is_gamma_distributed_up_to_shells(name, epsilon):
    # a shell is 1/64 of a unit or less: spread over its shell, the gauge must look continuous
    body = body_named(name)
    noise = LatticeNoise(body, epsilon)
    z = noise.draw(DRAWS, seeded(2)).astype(np.int64)
    assert np.isfinite(body.gauge(z)).all(), "noise leaves the span of a flat body"
    assert kolmogorov_distance(epsilon * body.gauge(z), gamma(body.rank).cdf) > UNLIKELY


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("law", [LatticeNoise, ContinuousNoise])
def test_the_expected_squared_error_has_its_closed_form(name, law):
    body = body_named(name)
    squares = (law(body, 1.5).draw(DRAWS, seeded(3)) ** 2).sum(axis=1)
    off = abs(squares.mean() - expected_squared_error(body, 1.5)) / (squares.std() / math.sqrt(DRAWS))
    assert off < 5.5


def test_the_published_example_has_expected_squared_error_54():
    body = body_of(np.array([[4, 1], [1, 1], [3, 0], [3, -1]]))
    assert body.area == 14
    assert expected_squared_error(body, 1.0) == pytest.approx(54.0)


def test_laplace_noise_is_the_gauge_of_an_l1_ball():
    ball = diamond(BODIES["plane, the running example"] * SCALE)
    draws = LatticeNoise(ball, 1.0).draw(20_000, seeded(4)) / (5 * SCALE)
    laplace = lambda x: np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)
    for coordinate in draws.T:
        assert kolmogorov_distance(coordinate, laplace) > UNLIKELY


@pytest.mark.slow
@pytest.mark.parametrize(
    "vectors", [[[2, 1], [0, 3]], [[1, 2]], [[1, 0, 1], [0, 1, 1], [1, -1, 0]], [[3]], [[1, 1, 0], [0, 1, 1]]]
)
@pytest.mark.parametrize("epsilon", [0.9, 3.0])
def test_lattice_noise_follows_its_law_point_for_point(vectors, epsilon):
    """On bodies of a few points, where any error of a bound or a shear would show."""
    body = body_of(np.array(vectors))
    noise = LatticeNoise(body, epsilon)
    reach = math.ceil(14 / epsilon) * int(np.abs(body.corners).max())
    reach = min(reach, 40 if body.dimension < 3 else 12)
    axes = [np.arange(-reach, reach + 1)] * body.dimension
    points = np.array(list(itertools.product(*axes)), dtype=np.int64)
    law = np.exp(-noise.exponents(body.gauge(points) * noise.shells))
    drawn = noise.draw(DRAWS, secure()).astype(np.int64)
    inside = (np.abs(drawn) <= reach).all(axis=1)
    place = np.zeros(inside.sum(), dtype=np.int64)
    for axis in range(body.dimension):
        place = place * (2 * reach + 1) + drawn[inside, axis] + reach
    counts = np.bincount(place, minlength=len(points))
    expected = law / law.sum() * inside.sum()
    often = expected >= 8
    got = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], max(expected[~often].sum(), 1e-9))
    statistic = ((got - wanted) ** 2 / np.maximum(wanted, 1)).sum()
    assert chdtrc(often.sum(), statistic) > UNLIKELY
    assert not counts[law == 0].any()


@pytest.mark.parametrize("name", BODIES)
def test_no_likelihood_ratio_of_hidden_differences_exceeds_e_to_the_epsilon(name):
    """For the outputs of a million draws (a few thousand in the short form), and all corners of the body."""
    body, epsilon = body_named(name, 64), 1.3
    noise = LatticeNoise(body, epsilon)
    z = noise.draw(1_000_000 if LONG else 5_000, secure()).astype(np.int64)
    here = noise.exponents(body.gauge(z) * noise.shells)
    for corner in body.corners:
        there = noise.exponents(body.gauge(z - corner) * noise.shells)
        assert np.abs(there - here).max() <= epsilon + 1e-12


def test_the_body_hides_no_more_than_it_must():
    body = body_named("plane, the running example")
    noise = LatticeNoise(body, 1.0)
    far = 3 * body.corners[:1]
    assert noise.exponents(body.gauge(far) * noise.shells)[0] == pytest.approx(3.0)


@pytest.mark.slow
def test_the_lattice_has_no_low_bits_and_the_doubles_do():
    """0 and 1 steps of a coarse answer, as in the low-bits attack on Laplace noise in doubles."""
    size = 100_000
    coarse = body_of(np.array([[2**20]]))
    for law, broken in ((LatticeNoise, False), (ContinuousNoise, True)):
        noise = law(coarse, 1.0)
        worlds = [(noise.draw(size, secure())[:, 0] + answer) / 2**20 for answer in (0, 2**20)]
        assert (low_bits(worlds[0], worlds[1], 1.0).epsilon_lower > 1.0) is broken


def test_python_integers_take_over_where_64_bits_are_too_few():
    body = body_of(np.array([[2**19 - 1, 2**19 - 2], [2**19 - 5, -(2**19) + 7]]))
    draws = LatticeNoise(body, 0.002).draw(2000, seeded(5))
    ratio = (draws**2).sum(axis=1).mean() / expected_squared_error(body, 0.002)
    assert 0.8 < ratio < 1.25


def test_epsilon_is_rounded_down_never_up():
    noise = LatticeNoise(body_named("interval"), 0.1 + 2.0**-30)
    assert float(noise.rate) <= 0.1 + 2.0**-30 < float(noise.rate) + 2.0**-20


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "1", 1e-9, 1e9])
def test_what_is_no_budget_is_refused(epsilon):
    with pytest.raises(ParameterError):
        LatticeNoise(body_named("interval"), epsilon)


@pytest.mark.parametrize("law", [LatticeNoise, ContinuousNoise])
def test_a_body_of_rank_zero_is_refused(law):
    with pytest.raises(ParameterError, match="nothing to hide behind"):
        law(body_of(np.zeros((1, 2), dtype=np.int64)), 1.0)


def test_seeded_noise_replays_and_secure_noise_does_not():
    noise = LatticeNoise(body_named("space"), 1.0)
    assert np.array_equal(noise.draw(20, seeded(9)), noise.draw(20, seeded(9)))
    assert not np.array_equal(noise.draw(20, secure()), noise.draw(20, secure()))
