"""The exact samplers against the exact laws they claim."""

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc, erf, kolmogorov

from discreet.errors import ParameterError
from discreet.mechanisms.exact import discrete_gaussian, discrete_laplace
from discreet.randomness import secure, seeded

SAMPLERS = {"gaussian": discrete_gaussian, "laplace": discrete_laplace}
RUNS = 2_000_000 if os.environ.get("DISCREET_LONG") else 150_000
UNLIKELY = 1e-7


def _law(mechanism, scale, reach):
    values = np.arange(-reach, reach + 1)
    power = np.abs(values) / float(scale)
    weights = np.exp(-power if mechanism == "laplace" else -(power**2) / 2)
    return values, weights / weights.sum()


def _pvalue_of_counts(drawn, mechanism, scale):
    """Chi-square over single integers; the tails, expected less than 10 times, are pooled."""
    values, law = _law(mechanism, scale, math.ceil(45 * float(scale)) + 5)
    core = values[law * drawn.size >= 10]
    counts = np.array([np.sum(drawn == value) for value in core] + [np.sum(~np.isin(drawn, core))])
    expected = np.append(law[np.isin(values, core)], law[~np.isin(values, core)].sum()) * drawn.size
    if expected[-1] < 5:  # too little tail to test by itself
        counts, expected = (np.append(a[:-2], a[-2] + a[-1]) for a in (counts, expected))
    return chdtrc(len(counts) - 1, float(np.sum((counts - expected) ** 2 / expected)))


def _pvalue_of_shape(drawn, mechanism, scale):
    """Kolmogorov-Smirnov against the continuous law: the grid is invisible at large scales."""
    ordered = np.sort(drawn) / float(scale)
    if mechanism == "laplace":
        law = np.where(
            ordered < 0, np.exp(np.minimum(ordered, 0)) / 2, 1 - np.exp(-np.maximum(ordered, 0)) / 2
        )
    else:
        law = (1 + erf(ordered / math.sqrt(2))) / 2
    ranks = np.arange(ordered.size)
    distance = max(np.max(law - ranks / ordered.size), np.max((ranks + 1) / ordered.size - law))
    return kolmogorov(distance * math.sqrt(ordered.size))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", SAMPLERS)
@pytest.mark.parametrize("scale", [Fraction(2, 5), 1, Fraction(7, 4), 3, Fraction(3 * 2**40 + 1, 2**40), 20])
def test_small_scales_follow_the_exact_law(mechanism, scale):
    drawn = SAMPLERS[mechanism](scale, RUNS, seeded(1))
    assert drawn.dtype == np.int64
    assert drawn.size == RUNS
    assert _pvalue_of_counts(drawn, mechanism, scale) > UNLIKELY


def test_the_test_notices_a_scale_that_is_five_percent_off():
    drawn = discrete_laplace(Fraction(315, 100), 150_000, seeded(1))
    assert _pvalue_of_counts(drawn, "laplace", 3) < UNLIKELY


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", SAMPLERS)
@pytest.mark.parametrize("scale", [2**20, 2**24, 2**30 + 7, 2**45 + 12345, 2**50])
def test_large_scales_have_the_continuous_shape(mechanism, scale):
    drawn = SAMPLERS[mechanism](scale, RUNS, seeded(2))
    assert _pvalue_of_shape(drawn, mechanism, scale) > UNLIKELY


@pytest.mark.parametrize("mechanism", SAMPLERS)
def test_low_bits_of_large_noise_are_uniform(mechanism):
    drawn = SAMPLERS[mechanism](2**30, 64_000, seeded(3))
    counts = np.bincount(drawn & 63, minlength=64)
    assert chdtrc(63, float(np.sum((counts - 1000) ** 2 / 1000))) > UNLIKELY


@pytest.mark.parametrize("mechanism", SAMPLERS)
def test_moments_agree_with_the_law(mechanism):
    drawn = SAMPLERS[mechanism](3, 200_000, seeded(4)).astype(float)
    values, law = _law(mechanism, 3, 200)
    second, fourth = np.sum(law * values**2), np.sum(law * values.astype(float) ** 4)
    error = math.sqrt((fourth - second**2) / drawn.size)
    assert abs(np.mean(drawn**2) - second) < 5.5 * error
    assert abs(np.mean(drawn)) < 5.5 * math.sqrt(second / drawn.size)


@pytest.mark.parametrize("mechanism", SAMPLERS)
def test_values_are_independent_of_their_neighbours(mechanism):
    drawn = SAMPLERS[mechanism](1000, 100_000, seeded(5)) / 1000
    product = drawn[1:] * drawn[:-1]
    assert abs(np.mean(product)) < 5.5 * np.std(product) / math.sqrt(product.size)


@pytest.mark.parametrize("mechanism", SAMPLERS)
def test_seeds_replay_and_secure_bits_do_not(mechanism):
    sample = SAMPLERS[mechanism]
    assert np.array_equal(sample(2**20, 50, seeded(6)), sample(2**20, 50, seeded(6)))
    assert not np.array_equal(sample(2**20, 50, seeded(6)), sample(2**20, 50, seeded(7)))
    assert not np.array_equal(sample(2**20, 50, secure()), sample(2**20, 50, secure()))


@pytest.mark.parametrize("mechanism", SAMPLERS)
def test_nothing_asked_nothing_drawn(mechanism):
    assert SAMPLERS[mechanism](3, 0, seeded(1)).shape == (0,)


@pytest.mark.parametrize("mechanism", SAMPLERS)
@pytest.mark.parametrize("scale", [0, -3, 2**50 + 1, Fraction(1, 2**61)])
def test_scales_that_could_overflow_are_refused(mechanism, scale):
    with pytest.raises(ParameterError, match="scale"):
        SAMPLERS[mechanism](scale, 1, seeded(1))


@pytest.mark.parametrize("mechanism", SAMPLERS)
def test_the_slow_obvious_sampler_agrees(mechanism):
    """One value at a time, straight from the paper, with fractions and no arrays."""
    bits = seeded(8)
    slow = np.array([_slow(mechanism, Fraction(5, 2), bits) for _ in range(3000)])
    assert _pvalue_of_counts(slow, mechanism, Fraction(5, 2)) > UNLIKELY
    fast = SAMPLERS[mechanism](Fraction(5, 2), 30_000, seeded(9))
    both = np.array([[np.sum(part == value) for value in range(-4, 5)] for part in (slow, fast)], dtype=float)
    expected = both.sum(axis=1, keepdims=True) * both.sum(axis=0, keepdims=True) / both.sum()
    assert chdtrc(8, float(np.sum((both - expected) ** 2 / expected))) > UNLIKELY


def _coin(bias, bits):
    return int(bits.integers(0, bias.denominator, 1)[0]) < bias.numerator


def _exponential_coin(power, bits):
    while power > 1:
        if not _exponential_coin(Fraction(1), bits):
            return False
        power -= 1
    count = 1
    while _coin(power / count, bits):
        count += 1
    return count % 2 == 1


def _slow(mechanism, scale, bits):
    while True:
        low = int(bits.integers(0, scale.numerator, 1)[0])
        if not _exponential_coin(Fraction(low, scale.numerator), bits):
            continue
        whole = 0
        while _exponential_coin(Fraction(1), bits):
            whole += 1
        value = (low + scale.numerator * whole) // scale.denominator
        negative = _coin(Fraction(1, 2), bits)
        if negative and value == 0:
            continue
        if mechanism == "gaussian" and not _exponential_coin((value - scale) ** 2 / (2 * scale**2), bits):
            continue
        return -value if negative else value
