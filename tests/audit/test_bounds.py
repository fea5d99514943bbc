"""Every bound is valid: it exceeds the truth in at most 1 - confidence of all experiments."""

import math
import os

import numpy as np
import pytest
from scipy.special import bdtrc, gammaln, ndtr

from discreet.accounting.gaussian import gaussian_epsilon
from discreet.audit.bounds import (
    epsilon_from_counts,
    epsilon_lower,
    gaussian_epsilon_lower,
    mu_lower,
    one_run,
    proportion_above,
    proportion_below,
)
from discreet.errors import ParameterError

REPEATS = 4000 if os.environ.get("DISCREET_LONG") else 400


def _too_often(failures, repeats, error):
    """Whether so many failures would surprise (1 in a million) a bound that fails with chance ``error``."""
    return bdtrc(failures - 1, repeats, error) < 1e-6 if failures else False


@pytest.fixture
def generator():
    return np.random.default_rng(12345)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.9, 0.5])
def test_epsilon_lower_is_valid_for_laplace_noise(generator, confidence):
    draws = generator.laplace(size=(REPEATS, 2, 400))
    draws[:, 1] += 1  # epsilon is exactly 1
    bounds = [epsilon_lower(*pair, 0.0, confidence) for pair in draws]
    assert not _too_often(sum(bound > 1 for bound in bounds), REPEATS, 1 - confidence)
    assert np.median(bounds) > 0.5


@pytest.mark.slow
def test_epsilon_lower_is_valid_where_nothing_leaks(generator):
    draws = generator.normal(size=(REPEATS, 2, 400))
    assert not _too_often(sum(epsilon_lower(*pair, 0.0, 0.9) > 0 for pair in draws), REPEATS, 0.1)


@pytest.mark.slow
def test_epsilon_lower_is_valid_with_a_delta(generator):
    # with probability 0.2 the world is printed: (0, 0.2)-private, and at delta 0 not private at all
    coin = generator.random(size=(REPEATS, 2, 400)) < 0.2
    scores = np.where(coin, np.array([-1.0, 1.0])[None, :, None], 0.0)
    assert not _too_often(sum(epsilon_lower(*pair, 0.2, 0.9) > 0 for pair in scores), REPEATS, 0.1)
    assert min(epsilon_lower(*pair, 0.0, 0.9) for pair in scores) > 1


def test_epsilon_lower_finds_the_event_wherever_it_lies(generator):
    low, high = generator.laplace(size=3000), generator.laplace(size=3000) + 1
    for first, second in ((low, high), (high, low), (-low, -high), (-high, -low)):
        assert 0.7 < epsilon_lower(first, second, 0.0) < 1.05


def test_epsilon_lower_of_perfect_separation_grows_with_the_runs():
    bounds = [epsilon_lower(np.zeros(runs), np.ones(runs), 0.0) for runs in (30, 300, 3000)]
    assert bounds[0] < bounds[1] < bounds[2]
    expected = math.log(0.025 ** (1 / 2000) / (1 - 0.025 ** (1 / 2000)))  # 2000 of 3000 runs test the event
    assert math.isclose(bounds[2], expected, rel_tol=1e-9)


def test_choosing_the_threshold_on_the_runs_that_test_it_would_not_be_valid(generator):
    # why the runs are split: the best of many thresholds without a split is wrong far too often
    def careless(low, high):
        levels = np.unique(np.concatenate([low, high]))
        over0 = np.sum(low[None] >= levels[:, None], axis=1)
        over1 = np.sum(high[None] >= levels[:, None], axis=1)
        rates = proportion_below(over1, high.size, 0.25), proportion_above(over0, low.size, 0.25)
        return np.max(np.log(np.maximum(rates[0], 1e-9)) - np.log(rates[1]))

    draws = generator.normal(size=(200, 2, 400))
    assert _too_often(sum(careless(*pair) > 0 for pair in draws), 200, 0.5)
    assert not _too_often(sum(epsilon_lower(*pair, 0.0, 0.5) > 0 for pair in draws), 200, 0.5)


@pytest.mark.slow
def test_epsilon_from_counts_is_valid(generator):
    truth = 0.7
    base = 0.3
    hits0 = generator.binomial(500, base, REPEATS)
    hits1 = generator.binomial(500, base * math.exp(truth), REPEATS)
    bounds = [epsilon_from_counts(a, 500, b, 500, 0.0, 0.9) for a, b in zip(hits0, hits1, strict=True)]
    # the opposite event is worth log(0.7 / 0.396) = 0.57, so 0.7 is the whole truth
    assert not _too_often(sum(bound > truth for bound in bounds), REPEATS, 0.1)
    assert np.median(bounds) > 0.4


def test_epsilon_from_counts_uses_both_worlds_and_the_opposite_event():
    expected = epsilon_from_counts(10, 100, 90, 100, 0.0)
    assert expected > 1
    for counts in ((90, 100, 10, 100), (10, 100, 90, 100)):
        assert epsilon_from_counts(*counts, 0.0) == expected
    assert epsilon_from_counts(50, 100, 50, 100, 0.0) == 0


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
def test_mu_lower_is_valid_for_gaussian_noise(generator, shift):
    draws = generator.normal(size=(REPEATS, 2, 300))
    draws[:, 1] += shift
    bounds = [mu_lower(*pair, 0.8) for pair in draws]
    assert not _too_often(sum(bound > shift for bound in bounds), REPEATS, 0.2)
    assert min(bounds) >= 0
    assert np.median(bounds) >= max(0.0, shift - 0.5)
    if shift:  # the scores may point either way
        assert mu_lower(draws[0, 1], draws[0, 0], 0.8) > 0


def test_gaussian_bounds_are_tighter_than_counting_and_agree_with_the_accountant(generator):
    low, high = generator.normal(size=6000), generator.normal(size=6000) + 0.5
    tight = gaussian_epsilon_lower(low, high, 1e-5)
    assert tight == gaussian_epsilon(mu_lower(low, high), 1e-5)
    assert epsilon_lower(low, high, 1e-5) < tight < gaussian_epsilon(0.5, 1e-5)
    assert gaussian_epsilon_lower(low, low, 1e-5) == 0


@pytest.mark.slow
@pytest.mark.parametrize("truth", [0.0, 1.0, 3.0])
def test_one_run_is_valid_for_randomised_response(generator, truth):
    rate = 1 / (1 + math.exp(-truth))
    correct = generator.binomial(500, rate, REPEATS)
    bounds = {count: one_run(int(count), 500, 500, 0.0, 0.9) for count in np.unique(correct)}
    assert not _too_often(sum(bounds[count] > truth for count in correct), REPEATS, 0.1)
    assert max(bounds.values()) > truth  # it is tight: the truth is passed now and then


def test_one_run_agrees_with_the_published_formula():
    def chance(canaries, guesses, correct, epsilon, delta):
        rate = 1 / (1 + math.exp(-epsilon))
        counts = np.arange(guesses + 1)
        logs = gammaln(guesses + 1) - gammaln(counts + 1) - gammaln(guesses - counts + 1)
        law = np.exp(logs + counts * math.log(rate) + (guesses - counts) * math.log1p(-rate))
        worst, total = 0.0, 0.0
        for step in range(1, correct + 1):
            total += law[correct - step]
            worst = max(worst, total / step)
        return law[correct:].sum() + worst * delta * 2 * canaries

    for canaries, guesses, correct, delta in (
        (1000, 800, 700, 1e-5),
        (100, 100, 80, 1e-4),
        (60, 50, 50, 0.0),
    ):
        bound = one_run(correct, guesses, canaries, delta, 0.95)
        assert bound > 0
        assert math.isclose(chance(canaries, guesses, correct, bound, delta), 0.05, rel_tol=1e-6)


def test_one_run_proves_nothing_by_guessing_or_against_a_large_delta():
    assert one_run(50, 100, 100, 0.0) == 0
    assert one_run(0, 0, 100, 0.0) == 0
    assert one_run(90, 100, 100, 0.5) == 0


def test_clopper_pearson_covers_and_is_exact_at_the_ends():
    assert float(proportion_below(0, 10, 0.05)) == 0
    assert float(proportion_above(10, 10, 0.05)) == 1
    assert math.isclose(float(proportion_below(10, 10, 0.05)), 0.05**0.1)
    rates = np.linspace(0.02, 0.98, 25)
    hits = np.arange(21)
    for rate in rates:
        law = np.exp(
            gammaln(21)
            - gammaln(hits + 1)
            - gammaln(21 - hits)
            + hits * np.log(rate)
            + (20 - hits) * np.log1p(-rate)
        )
        assert law[proportion_below(hits, 20, 0.05) > rate].sum() <= 0.05 + 1e-12
        assert law[proportion_above(hits, 20, 0.05) < rate].sum() <= 0.05 + 1e-12


def test_ties_and_infinite_scores_are_fine(generator):
    scores = np.where(generator.random(3000) < ndtr(0.3), np.inf, -np.inf)
    others = np.where(generator.random(3000) < ndtr(-0.3), np.inf, -np.inf)
    assert 0 < epsilon_lower(scores, others, 0.0) < math.log(ndtr(0.3) / ndtr(-0.3)) + 0.01
    assert 0 < mu_lower(scores, others) < 0.65


@pytest.mark.parametrize(
    "call",
    [
        lambda: epsilon_lower([1.0] * 5, [1.0] * 9, 0.0),
        lambda: epsilon_lower([math.nan] * 9, [1.0] * 9, 0.0),
        lambda: epsilon_lower([1.0] * 9, [1.0] * 9, 1.0),
        lambda: epsilon_lower([1.0] * 9, [1.0] * 9, 0.0, 1.0),
        lambda: gaussian_epsilon_lower([1.0] * 9, [1.0] * 9, 0.0),
        lambda: one_run(3, 2, 10, 0.0),
        lambda: one_run(1, 20, 10, 0.0),
    ],
)
def test_impossible_requests_of_bounds_are_refused(call):
    with pytest.raises(ParameterError):
        call()
