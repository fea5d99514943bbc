"""Composition rules: known numbers, their order, and that none of them promises too much."""

from __future__ import annotations

import math

import dp_accounting
import pytest
from dp_accounting import rdp

from discreet.accounting.accountant import calibrate, epsilon_of
from discreet.accounting.composition import RULES, calibrate_by, compare, epsilon_by
from discreet.accounting.event import Event
from discreet.accounting.gaussian import gaussian_epsilon
from discreet.accounting.renyi import renyi_delta, renyi_epsilon
from discreet.errors import ParameterError

GAUSSIAN = [Event("gaussian", 40, 100)]
LAPLACE = [Event("laplace", 50, 100)]
MIXED = [Event("laplace", 40, 20), Event("gaussian", 20, 20), Event("laplace", 60, 20)]


def test_reference_numbers_of_the_research_report() -> None:
    gaussian, laplace = compare(GAUSSIAN, 1e-5), compare(LAPLACE, 1e-5)
    assert gaussian["zcdp"] == pytest.approx(1.2309, abs=1e-4)
    assert gaussian["rdp"] == pytest.approx(1.0126, abs=1e-3)
    assert gaussian["tight"] == pytest.approx(0.92634, abs=2e-5)
    assert laplace["linear"] == pytest.approx(2.0)
    assert laplace["advanced"] == pytest.approx(1.000, abs=1e-3)
    assert laplace["zcdp"] == pytest.approx(0.980, abs=1e-3)
    assert laplace["rdp"] == pytest.approx(0.779, abs=1e-3)
    assert laplace["tight"] == pytest.approx(0.71457, abs=2e-5)


@pytest.mark.parametrize("events", [GAUSSIAN, LAPLACE, MIXED])
@pytest.mark.parametrize("delta", [1e-10, 1e-5])
def test_every_rule_charges_at_least_the_tight_cost(events: list[Event], delta: float) -> None:
    costs = compare(events, delta)
    assert list(costs) == list(RULES)
    assert all(cost >= costs["tight"] for cost in costs.values())
    assert costs["linear"] >= costs["advanced"] >= costs["zcdp"] >= costs["rdp"]


@pytest.mark.parametrize("events", [GAUSSIAN, LAPLACE, MIXED])
def test_our_renyi_bound_is_not_looser_than_dp_accounting(events: list[Event]) -> None:
    theirs = rdp.RdpAccountant()
    for event in events:
        theirs.compose(event.to_dp_event())
    assert renyi_epsilon(events, 1e-6) == pytest.approx(theirs.get_epsilon(1e-6), rel=2e-2)
    assert renyi_epsilon(events, 1e-6) <= theirs.get_epsilon(1e-6) * (1 + 1e-4)
    assert renyi_delta(events, renyi_epsilon(events, 1e-6)) == pytest.approx(1e-6, rel=1e-9)


@pytest.mark.parametrize("noise", [0.02, 0.5, 1.0, 30.0])
def test_renyi_privacy_of_laplace_agrees_with_dp_accounting(noise: float) -> None:
    theirs = rdp.RdpAccountant([1.5, 2.0, 8.0, 64.0])
    theirs.compose(dp_accounting.LaplaceDpEvent(noise))
    assert renyi_epsilon([Event("laplace", noise)], 1e-4) <= theirs.get_epsilon(1e-4) * (1 + 1e-9)
    assert renyi_epsilon([Event("laplace", noise)], 1e-4) <= 1 / noise


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("shape", [[Event("gaussian", 1, 30)], [Event("laplace", 1, 30)], MIXED])
def test_calibration_by_any_rule_never_costs_more_than_asked(rule: str, shape: list[Event]) -> None:
    factor = calibrate_by(rule, shape, 0.7, 1e-6)  # type: ignore[arg-type]
    noised = [event.scaled(factor) for event in shape]
    assert epsilon_by(rule, noised, 1e-6) <= 0.7  # type: ignore[arg-type]
    assert epsilon_of(noised, 1e-6) <= 0.7
    assert epsilon_by(rule, [e.scaled(factor * 0.999) for e in shape], 1e-6) > 0.7  # type: ignore[arg-type]
    assert factor >= calibrate(shape, 0.7, 1e-6) * (1 - 1e-4)


def test_without_delta_every_rule_is_the_sum() -> None:
    assert set(compare(LAPLACE, 0.0).values()) == {2.0}
    assert set(compare(GAUSSIAN, 0.0).values()) == {math.inf}
    for rule in RULES:
        assert calibrate_by(rule, [Event("laplace", 1, 4)], 2.0, 0.0) == 2.0  # type: ignore[arg-type]


def test_linear_prices_each_gaussian_release_exactly() -> None:
    assert epsilon_by("linear", [Event("gaussian", 5.0, 4)], 1e-5) == pytest.approx(
        4 * gaussian_epsilon(1 / 5.0, 1e-5 / 4)
    )


def test_little_noise_is_dear_but_finite() -> None:
    assert all(
        math.isfinite(cost)
        for cost in compare([Event("gaussian", 1e-3), Event("laplace", 1e-3)], 1e-6).values()
    )


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ParameterError, match="no such composition rule"):
        epsilon_by("moments", GAUSSIAN, 1e-5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no such composition rule"):
        calibrate_by("moments", GAUSSIAN, 1.0, 0.0)  # type: ignore[arg-type]
