"""Release: the right scale, rounded up; OpenDP against the exact law; what discreteness costs."""

import math
import multiprocessing
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc, kolmogorov, ndtr

from discreet.accounting.account import Account
from discreet.accounting.event import Event
from discreet.accounting.guarantee import Guarantee
from discreet.errors import BudgetError, ParameterError
from discreet.mechanisms import noise
from discreet.mechanisms.noise import plan_noise, release
from discreet.randomness import secure, seeded
from discreet.statistic import Statistic

UNLIKELY = 1e-7


class Free:
    guarantee = None

    def draw(self, event):
        pass


def _statistic(totals, *, grid=1.0, l1=1.0, l2=1.0):
    return Statistic(np.array([int(value) for value in totals], dtype=object), grid, l1, l2, "a test")


EVENTS = st.builds(Event, st.sampled_from(["gaussian", "laplace"]), st.floats(1e-6, 1e9))


@given(
    event=EVENTS,
    size=st.integers(1, 300),
    power=st.integers(-40, 5),
    bound=st.floats(1e-3, 2.0**50),
)
@settings(max_examples=200, deadline=None)
def test_the_scale_is_never_below_the_claim_and_hardly_above(event, size, power, bound):
    statistic = _statistic([0] * size, grid=2.0**power, l1=bound, l2=bound)
    plan = plan_noise(statistic, event)
    scale = Fraction(plan.scale) * Fraction(plan.grid)
    claim = Fraction(event.noise) * Fraction(bound) * Fraction(2.0**power)
    slack = math.sqrt(size) if event.mechanism == "gaussian" else size
    assert scale > claim
    # the released unit is that of the discreteness argument: one more a number
    assert Fraction(plan.bound) >= Fraction(bound) * Fraction(2.0**power) / Fraction(plan.grid) + Fraction(
        slack
    )
    if event.noise * slack <= 2.0**28 and event.noise > 2.0**-10:
        assert scale < claim * (1 + Fraction(1, 2**17))
    assert Fraction(2) ** plan.coarser * Fraction(2.0**power) == Fraction(plan.grid)


@given(event=EVENTS, size=st.integers(1, 50), bound=st.floats(1.0, 2.0**45))
@settings(max_examples=60, deadline=None)
def test_opendp_agrees_that_the_noise_costs_no_more_than_the_event(event, size, bound):
    noise._agree(plan_noise(_statistic([0] * size, l1=bound, l2=bound), event), event)


def test_noise_that_is_too_small_for_its_event_is_noticed():
    event = Event("gaussian", 2.0)
    plan = plan_noise(_statistic([0]), event)
    short = noise.NoisePlan(plan.mechanism, plan.coarser, plan.grid, plan.bound, plan.scale * (1 - 1e-6))
    with pytest.raises(BudgetError, match="OpenDP charges more"):
        noise._agree(short, event)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_noise_without_a_scale_is_refused(mechanism, value):
    with pytest.raises(ParameterError):
        release(_statistic([1]), Event(mechanism, value), Free(), secure())


def test_a_seed_cannot_keep_a_promise_of_privacy():
    event = Event("gaussian", 2.0)
    promise = Guarantee(3.0, 1e-6, "row", (event,), "the analyst", (), ())
    account = Account(promise)
    with pytest.raises(ParameterError, match="promise"):
        release(_statistic([1]), event, account, seeded(1))
    release(_statistic([1]), event, account, secure())  # nothing had been drawn
    release(_statistic([1]), event, Account(replace(promise, seeded=True)), seeded(1))


def test_a_release_is_one_draw_of_something():
    with pytest.raises(ParameterError, match="once"):
        release(_statistic([1]), Event("gaussian", 1.0, count=2), Free(), secure())
    with pytest.raises(ParameterError, match="nothing"):
        release(_statistic([]), Event("gaussian", 1.0), Free(), secure())


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_opendp_follows_the_exact_law_at_a_small_scale(mechanism):
    drawn = np.array(noise._measurement(mechanism, 3.0)(np.zeros(20_000, dtype=np.int64)))
    values = np.arange(-11, 12)
    power = np.abs(np.arange(-300, 301)) / 3.0
    weights = np.exp(-power if mechanism == "laplace" else -(power**2) / 2)
    law = (weights / weights.sum())[300 - 11 : 300 + 12]
    counts = np.array([np.sum(drawn == value) for value in values] + [np.sum(np.abs(drawn) > 11)])
    expected = np.append(law, 1 - law.sum()) * drawn.size
    keep = expected >= 5
    pooled = np.append(counts[keep], counts[~keep].sum()), np.append(expected[keep], expected[~keep].sum())
    statistic = np.sum((pooled[0] - pooled[1]) ** 2 / np.maximum(pooled[1], 1))
    assert chdtrc(keep.sum(), float(statistic)) > UNLIKELY


@pytest.mark.slow
@pytest.mark.parametrize("bits", [secure(), seeded(21)], ids=["opendp", "seeded"])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("grid", [1.0, 2.0**-30])
def test_released_sums_have_the_claimed_law(mechanism, grid, bits):
    units = round(1 / grid)
    statistic = _statistic([7 * units] * 10_000, grid=grid, l1=2.0 * units, l2=2.0 * units)
    ordered = np.sort(release(statistic, Event(mechanism, 1.5), Free(), bits) - 7.0) / 3.0
    tail = np.exp(-np.abs(ordered)) / 2
    law = ndtr(ordered) if mechanism == "gaussian" else np.where(ordered < 0, tail, 1 - tail)
    ranks = np.arange(ordered.size)
    distance = max(np.max(law - ranks / ordered.size), np.max((ranks + 1) / ordered.size - law))
    assert kolmogorov(distance * math.sqrt(ordered.size)) > UNLIKELY


def test_coarsening_adds_the_sums_up_to_half_a_released_unit():
    totals = [10**15 + 7, -(10**14) - 3, 5]
    statistic = _statistic(totals, grid=2.0**-60, l1=2.0**60, l2=2.0**60)
    event = Event("gaussian", 1.0)
    plan = plan_noise(statistic, event)
    assert plan.coarser == 30
    placed = noise._place(statistic, plan.coarser)
    assert np.all(
        np.abs(placed.total.astype(float) * plan.grid - np.array(totals) * 2.0**-60) <= plan.grid / 2
    )


def test_a_finer_grid_keeps_the_sums_exactly():
    statistic = _statistic([10**30 + 1, -7], l1=3.0, l2=2.0)
    plan = plan_noise(statistic, Event("laplace", 1.0))
    placed = noise._place(statistic, plan.coarser)
    assert plan.coarser < 0
    assert placed.total.tolist() == [(10**30 + 1) * 2**-plan.coarser, -7 * 2**-plan.coarser]
    assert placed.l1 * placed.grid == 3.0


def _discrete_law(mechanism, scale, reach):
    values = np.arange(-reach, reach + 1)
    power = np.abs(values) / scale
    weights = np.exp(-power if mechanism == "laplace" else -(power**2) / 2)
    return weights / weights.sum()


def _discrete_delta(mechanism, scale, shift, epsilon, reach):
    law = _discrete_law(mechanism, scale, reach)
    return float(np.maximum(law[shift:] - math.exp(epsilon) * law[:-shift], 0).sum() + law[:shift].sum())


def _continuous_delta(mechanism, scale, shift, epsilon):
    mu = shift / scale
    if mechanism == "gaussian":
        return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    return max(0.0, 1 - math.exp((epsilon - mu) / 2), 1 - math.exp(epsilon))


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("shift", [1, 2, 17])
def test_discrete_noise_costs_no_more_than_continuous_noise_with_one_unit_more(mechanism, scale, shift):
    for epsilon in np.linspace(-3, 8, 45):
        discrete = _discrete_delta(mechanism, scale, shift, epsilon, 2500)
        assert discrete <= _continuous_delta(mechanism, scale, shift + 1, epsilon) + 1e-12


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_without_the_added_unit_a_coarse_grid_would_be_undercharged(mechanism):
    # why counts are noised on a finer grid than their own
    worst = max(
        _discrete_delta(mechanism, 3.0, 1, epsilon, 400) / _continuous_delta(mechanism, 3.0, 1, epsilon)
        for epsilon in (0.1, 0.2, 0.3)
    )
    assert worst > 1.005


def test_a_measurement_is_built_once_a_scale():
    noise._measurement.cache_clear()
    for _ in range(5):
        release(_statistic([1, 2]), Event("gaussian", 1.0), Free(), secure())
    assert noise._measurement.cache_info().misses == 1


def test_forked_processes_draw_different_noise():
    release(_statistic([0]), Event("gaussian", 1.0), Free(), secure())
    with multiprocessing.get_context("fork").Pool(2) as pool:
        first, second = pool.map(_release_in_child, [0, 1], chunksize=1)
    assert first != second


def _release_in_child(_index):
    return release(_statistic([0] * 4), Event("gaussian", 1.0), Free(), secure()).tolist()


def test_no_error_and_no_repr_shows_a_total():
    secret = 987_654_321
    with pytest.raises(ParameterError) as caught:
        release(_statistic([secret]), Event("gaussian", 1.0, count=3), Free(), secure())
    assert str(secret) not in str(caught.value)
    assert str(secret) not in repr(plan_noise(_statistic([secret]), Event("gaussian", 1.0)))
