"""Tight totals and calibration, against closed forms, other accountants and simulation."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import accountant, loss
from discreet.accounting.accountant import MARGIN, calibrate, check_budget, delta_of, epsilon_of
from discreet.accounting.event import Event
from discreet.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from discreet.errors import ParameterError

LONG = os.environ.get("DISCREET_LONG") == "1"


def gaussian(noise: float, count: int = 1) -> Event:
    return Event("gaussian", noise, count)


def laplace(noise: float, count: int = 1) -> Event:
    return Event("laplace", noise, count)


MIXED = [laplace(40, 20), gaussian(20, 20), laplace(60, 20)]


def scaled(shape: list[Event], factor: float) -> list[Event]:
    return [event.scaled(factor) for event in shape]


def test_reference_numbers_of_the_research_report() -> None:
    assert epsilon_of([gaussian(40, 100)], 1e-5) == pytest.approx(0.92634, abs=2e-5)
    assert epsilon_of([laplace(50, 100)], 1e-5) == pytest.approx(0.71457, abs=2e-5)
    assert epsilon_of(MIXED, 1e-5) == pytest.approx(0.96736, abs=2e-5)
    assert calibrate([gaussian(1, 100)], 1.0, 1e-5) == pytest.approx(37.3063163, rel=1e-6)


def test_the_order_and_the_grouping_of_events_do_not_matter() -> None:
    apart = [laplace(40)] * 20 + [gaussian(20)] * 20 + [laplace(60)] * 20
    assert epsilon_of(apart, 1e-6) == pytest.approx(epsilon_of(MIXED[::-1], 1e-6), rel=1e-6)


def test_nothing_released_costs_nothing() -> None:
    assert epsilon_of([], 0.0) == 0.0
    assert delta_of([], 0.1) == 0.0


def test_pure_epsilons_are_summed_exactly_and_rounded_up() -> None:
    assert epsilon_of([laplace(10)] * 10, 0.0) == 1.0
    events = [laplace(3 + i / 7) for i in range(30)]
    exact = sum((1 / Fraction(event.noise) for event in events), Fraction(0))
    assert exact <= Fraction(epsilon_of(events, 0.0)) <= exact * (1 + Fraction(1, 2**52))
    many = [laplace(3 + i / 7) for i in range(300)]
    exact = sum((1 / Fraction(event.noise) for event in many), Fraction(0))
    assert exact <= Fraction(epsilon_of(many, 0.0)) <= exact * (1 + Fraction(1, 2**51))


def test_gaussian_noise_never_has_delta_zero() -> None:
    assert epsilon_of([gaussian(1e6)], 0.0) == math.inf
    with pytest.raises(ParameterError, match="cannot reach delta 0"):
        calibrate(MIXED, 1.0, 0.0)


@pytest.mark.parametrize("mu", [0.003, 0.3, 3.0, 30.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5])
def test_loss_distributions_agree_with_the_closed_form(mu: float, delta: float) -> None:
    """The route for mixed plans, forced onto a plan for which the answer is known."""
    exact = gaussian_epsilon(mu, delta)
    assert exact <= loss.loss_epsilon([gaussian(2 / mu, 4)], delta) <= exact * 1.001


@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_one_laplace_release_has_the_known_curve(delta: float) -> None:
    assert epsilon_of([laplace(0.5)], delta) == pytest.approx(2 + 2 * math.log1p(-delta), rel=1e-5)


@pytest.mark.parametrize(
    "events",
    [[laplace(5, 30)], [laplace(8, 10), gaussian(4, 5)], [laplace(2), laplace(9, 5), gaussian(3)]],
)
def test_a_simulation_of_the_privacy_loss_agrees(events: list[Event]) -> None:
    """delta(epsilon) is the mean of (1 - e**(epsilon - loss))+ over what is drawn."""
    draws = 4_000_000 if LONG else 400_000
    rng = np.random.default_rng(7)
    total = np.zeros(draws)
    for event in events:
        for _ in range(event.count):
            if event.mechanism == "gaussian":
                total += rng.normal(size=draws) / event.noise + 0.5 / event.noise**2
            else:
                x = rng.laplace(scale=event.noise, size=draws)
                total += (np.abs(x + 1) - np.abs(x)) / event.noise
    for epsilon in (0.5, 1.0, 2.0):
        seen = np.maximum(0.0, -np.expm1(epsilon - total))
        error = 4.5 * seen.std() / math.sqrt(draws)
        assert abs(seen.mean() - delta_of(events, epsilon)) <= error + 1e-4 * seen.mean()


@pytest.mark.parametrize("parts", [(0.5, 0.5), (0.9, 0.1), (0.25, 0.25, 0.25, 0.25)])
def test_a_vector_with_laplace_noise_costs_no_more_than_one_number(parts: tuple[float, ...]) -> None:
    """An L1 bound may be used up in one coordinate or spread out: one coordinate is the worst."""
    spread = [laplace(1 / part) for part in parts]
    for epsilon in (0.0, 0.2, 0.5, 0.8, 0.99):
        assert loss.loss_delta(spread, epsilon) <= loss.loss_delta([laplace(1.0)], epsilon) + 1e-5


@pytest.mark.parametrize("delta", [1e-10, 1e-5])
def test_delta_of_and_epsilon_of_invert_each_other(delta: float) -> None:
    for events in ([gaussian(3, 4)], [laplace(6, 20)], MIXED):
        assert delta_of(events, epsilon_of(events, delta)) == pytest.approx(delta, rel=2e-3)
    assert delta_of([laplace(2, 3)], 1.5) == 0.0


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_margin_covers_the_grid_of_the_noise(law: str) -> None:
    """One release of the discrete law, summed at 2**16 units to the noise: coarser than any of ours."""
    units, shift = 2**16, 2**14
    reach = 12 * units if law == "gaussian" else 40 * units
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    if law == "gaussian":
        log_mass, lost = -x * x / (2 * units**2), (2 * x * shift + shift**2) / (2 * units**2)
    else:
        log_mass, lost = -np.abs(x) / units, (np.abs(x + shift) - np.abs(x)) / units
    mass = np.exp(log_mass)
    mass /= mass.sum()
    noise = units / shift
    for epsilon in (0.05, 0.24, 1.0, 1.5) if law == "gaussian" else (0.05, 0.15, 0.24):
        discrete = float(np.sum(mass * np.maximum(0.0, -np.expm1(epsilon - lost))))
        if law == "gaussian":
            continuous = gaussian_delta(1 / noise, epsilon)
        else:
            continuous = -math.expm1((epsilon - 1 / noise) / 2)
        assert 0 < discrete <= continuous / (1 - MARGIN)


SHAPES: dict[str, list[Event]] = {
    "100 Gaussian": [gaussian(1, 100)],
    "100 unequal Gaussian": [gaussian(1 + i / 100) for i in range(100)],
    "100 Laplace": [laplace(1, 100)],
    "100 unequal Laplace": [laplace(1 + i / 100) for i in range(100)],
    "mixed": MIXED,
    "tiny beside huge": [laplace(1e-3), gaussian(1e3)],
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5])
def test_calibration_never_costs_more_is_tight_and_never_hangs(
    name: str, epsilon: float, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = loss._distribution  # pyright: ignore[reportPrivateUsage]

    def watched(events: Any) -> Any:
        distribution = real(events)
        sizes.append(distribution._pmf_remove.size)
        return distribution

    monkeypatch.setattr(loss, "_distribution", watched)
    shape = SHAPES[name]
    factor = calibrate(shape, epsilon, delta)
    assert len(sizes) <= 40
    assert max(sizes, default=0) <= 2**18
    assert epsilon_of(scaled(shape, factor), delta) <= epsilon
    assert epsilon_of(scaled(shape, factor * (1 - 1e-3)), delta) > epsilon


@given(
    st.lists(
        st.builds(Event, st.sampled_from(["gaussian", "laplace"]), st.floats(0.05, 20), st.integers(1, 30)),
        min_size=1,
        max_size=4,
    ),
    st.floats(0.02, 20),
    st.floats(1e-11, 1e-2),
)
@settings(max_examples=200 if LONG else 25, deadline=None)
def test_calibrate_never_costs_more_than_asked(shape: list[Event], epsilon: float, delta: float) -> None:
    factor = calibrate(shape, epsilon, delta)
    assert epsilon_of(scaled(shape, factor), delta) <= epsilon
    reference = pld.PLDAccountant(value_discretization_interval=1e-4 * max(1.0, epsilon))
    for event in scaled(shape, factor):
        reference.compose(event.to_dp_event())
    assert reference.get_epsilon(delta) <= epsilon * (1 + 2e-2) + 1e-3


def test_gaussian_plans_are_calibrated_in_closed_form() -> None:
    for epsilon, delta in ((0.01, 1e-10), (1.0, 1e-5), (20.0, 1e-6)):
        exact = math.sqrt(sum(1 / (1 + i) ** 2 for i in range(5))) / gaussian_mu(
            epsilon, delta * (1 - MARGIN)
        )
        assert calibrate([gaussian(1 + i) for i in range(5)], epsilon, delta) == pytest.approx(
            exact, rel=1e-9
        )


def test_pure_plans_are_calibrated_exactly() -> None:
    assert calibrate([laplace(1, 10)], 0.5, 0.0) == 20.0
    shape = [laplace(1 + i / 3) for i in range(7)]
    assert epsilon_of(scaled(shape, calibrate(shape, 1.0, 0.0)), 0.0) == pytest.approx(1.0, abs=1e-14)
    assert epsilon_of(scaled(shape, calibrate(shape, 1.0, 0.0)), 0.0) <= 1.0


def test_a_delta_never_makes_laplace_noise_dearer() -> None:
    assert calibrate([laplace(1, 50)], 1.0, 1e-6) < 0.7 * calibrate([laplace(1, 50)], 1.0, 0.0)
    assert calibrate([laplace(1, 3)], 1.0, 1e-12) <= calibrate([laplace(1, 3)], 1.0, 0.0) * (1 + 1e-4)


def test_little_noise_makes_no_giant_distribution() -> None:
    """The trap of the plain search: a distribution with billions of points."""
    for events in ([laplace(1e-6, 100), gaussian(1e-6)], [laplace(1e-2, 1000), gaussian(1e-2)]):
        cost = epsilon_of(events, 1e-6)
        assert math.isfinite(cost)
        assert cost >= gaussian_epsilon(accountant.total_mu(events), 1e-6)


def test_replacing_one_unit_is_never_what_is_counted() -> None:
    """The same noise would cost more if one unit were replaced: our numbers are for adding or removing."""
    replaced = pld.PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    replaced.compose(dp_accounting.GaussianDpEvent(5.0), 10)
    ours = epsilon_of([gaussian(5.0, 10)], 1e-5)
    assert ours == pytest.approx(2.594, abs=1e-3)
    assert ours < 0.5 * replaced.get_epsilon(1e-5)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        *((epsilon, 0.1) for epsilon in (0, -1, math.nan, True, "1", None)),
        *((1, delta) for delta in (1, 2, -1e-9, math.nan, "0", False, None)),
    ],
)
def test_budgets_that_promise_nothing_are_refused(epsilon: Any, delta: Any) -> None:
    with pytest.raises(ParameterError):
        check_budget(epsilon, delta)


def test_budgets_that_promise_something_are_floats() -> None:
    assert check_budget(np.float32(1.0), 0) == (1.0, 0.0)
    assert check_budget(math.inf, 0.0) == (math.inf, 0.0)


def test_there_must_be_something_to_calibrate() -> None:
    with pytest.raises(ParameterError, match="nothing to calibrate"):
        calibrate([], 1.0, 1e-5)
    with pytest.raises(ParameterError, match="needs no noise"):
        calibrate([gaussian(1)], math.inf, 1e-5)
