"""Noise drawn in doubles is broken by its low bits; exact noise on a grid is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.event import Event
from discreet.audit.bits import low_bits, lowest_bit, off_the_grid
from discreet.audit.bounds import epsilon_from_counts
from discreet.mechanisms.noise import release
from discreet.randomness import secure, seeded
from discreet.statistic import Statistic

DRAWS = 100_000


class Free:
    guarantee = None

    def draw(self, event):
        pass


def _released(mechanism, answer, grid, noise_over_bound, size, bits):
    units = round(1 / grid)
    statistic = Statistic(
        np.array([answer * units] * size, dtype=object), grid, float(units), float(units), "an answer"
    )
    return release(statistic, Event(mechanism, noise_over_bound), Free(), bits)


@pytest.mark.parametrize("law", ["laplace", "normal"])
def test_noise_drawn_in_doubles_is_caught(law):
    generator = np.random.default_rng(1)
    zero, one = (answer + getattr(generator, law)(0.0, 1.0, DRAWS) for answer in (0.0, 1.0))
    finding = low_bits(zero, one, 1.0)
    assert finding.caught
    assert finding.epsilon_lower > 8
    # the event of the literature, fixed beforehand
    hits = [int(off_the_grid(draws).sum()) for draws in (zero, one)]
    assert hits[0] > 0.2 * DRAWS
    assert hits[1] == 0
    assert epsilon_from_counts(hits[0], DRAWS, hits[1], DRAWS, 0.0) > 8


def test_noise_drawn_in_doubles_is_caught_for_other_answers_and_scales():
    generator = np.random.default_rng(2)
    zero, other = 0.0 + generator.laplace(0, 300.0, 30_000), 100.0 + generator.laplace(0, 300.0, 30_000)
    assert low_bits(zero, other, 1 / 3).caught


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("grid", [1.0, 0.1, 2.0**-30])
def test_exact_noise_from_a_seed_passes(mechanism, grid):
    zero, one = (_released(mechanism, answer, grid, 1.0, 20_000, seeded(answer)) for answer in (0, 1))
    finding = low_bits(zero, one, 1.0 if mechanism == "laplace" else 2.0, confidence=1 - 1e-6)
    assert not finding.caught


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_released_noise_passes(mechanism):
    zero, one = (_released(mechanism, answer, 2.0**-30, 1.0, 20_000, secure()) for answer in (0, 1))
    finding = low_bits(zero, one, 1.0 if mechanism == "laplace" else 2.0, confidence=1 - 1e-6)
    assert not finding.caught


def test_the_attack_is_right_about_its_confidence():
    # equal worlds: nothing can be proven, except by bad luck
    generator = np.random.default_rng(3)
    found = [
        low_bits(*generator.laplace(size=(2, 600)), 1.0, confidence=0.9).epsilon_lower for _ in range(200)
    ]
    assert sum(epsilon > 0 for epsilon in found) <= 42  # 20 expected at most; chance below 1e-5


@given(integer=st.integers(-(2**52), 2**52), power=st.integers(-300, 300))
def test_the_lowest_bit_is_the_finest_grid_that_holds_the_value(integer, power):
    if integer == 0:
        assert lowest_bit(0.0) > 1100
        return
    odd = (integer & -integer).bit_length() - 1
    assert int(lowest_bit(np.ldexp(float(integer), power))) == odd + power


def test_what_is_not_finite_has_no_low_bits():
    assert not off_the_grid([np.inf, np.nan, -np.inf, 0.0]).any()
    assert off_the_grid([2.0**-54, 2.0**-53, 0.5]).tolist() == [True, False, False]
