"""Gaussian privacy in closed form, against high precision, `dp_accounting` and itself."""

from __future__ import annotations

import math

import dp_accounting
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu, pure_mu

EPSILONS = [1e-6, 1e-4, 0.01, 1.0, 20.0, 1e3]
DELTAS = [1e-12, 1e-5, 0.3]


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def test_reference_numbers_of_the_research_report() -> None:
    assert gaussian_epsilon(10 / 40, 1e-5) == pytest.approx(0.92634, abs=5e-6)
    assert 10 / gaussian_mu(1.0, 1e-5) == pytest.approx(37.3063163, abs=5e-8)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_mu_is_exact_from_tiny_to_huge_epsilon(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert float(exact_delta(mu, epsilon) / delta) == pytest.approx(1.0, abs=1e-11)
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu * (1 + 1e-9), epsilon) > delta


@pytest.mark.parametrize("mu", [1e-9, 1e-5, 0.009999, 0.010001, 0.3, 5.0, 60.0])
@pytest.mark.parametrize("deviations", [-3.0, 0.0, 1.0, 7.0, 25.0, 35.0])
def test_delta_is_exact_in_every_branch(mu: float, deviations: float) -> None:
    epsilon = max(0.0, mu * mu / 2 + deviations * mu)
    assert float(gaussian_delta(mu, epsilon) / exact_delta(mu, epsilon)) == pytest.approx(1.0, rel=1e-6)


@given(st.floats(1e-3, 50), st.floats(1e-12, 0.4))
@settings(max_examples=50, deadline=None)
def test_epsilon_and_mu_invert_each_other_on_the_safe_side(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    back = gaussian_epsilon(mu, delta)
    assert back == pytest.approx(epsilon, rel=1e-11, abs=1e-11)
    assert gaussian_delta(mu, back) <= delta
    assert gaussian_delta(mu, epsilon) <= delta


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0, 300.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 1e-2])
def test_epsilon_agrees_with_dp_accounting(sigma: float, delta: float) -> None:
    theirs = dp_accounting.get_epsilon_gaussian(sigma, delta)
    assert gaussian_epsilon(1 / sigma, delta) == pytest.approx(theirs, rel=1e-7, abs=1e-9)


def test_the_ends_of_the_scale() -> None:
    assert gaussian_epsilon(1.0, 0.0) == math.inf
    assert gaussian_epsilon(0.0, 0.0) == 0.0
    assert gaussian_epsilon(1e-6, 1e-5) == 0.0
    assert gaussian_mu(1.0, 0.0) == 0.0
    assert gaussian_mu(math.inf, 1e-5) == math.inf
    assert gaussian_delta(0.0, 1.0) == 0.0
    assert gaussian_delta(1e-200, 1.0) == 0.0


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 40.0])
def test_a_pure_epsilon_release_is_gaussian_private_with_pure_mu(epsilon: float) -> None:
    """The trade-off curve of pure epsilon lies on or above the Gaussian one, and touches it once."""
    mu = pure_mu(epsilon)
    with mpmath.workdps(40):
        corner = 1 / (1 + mpmath.exp(epsilon))
        inverse = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * corner)
        assert float(mpmath.ncdf(inverse - mu) / corner) == pytest.approx(1.0, rel=1e-9)
        for part in (0.001, 0.2, 0.7, 0.99, 1.01, 1.5):
            alpha = corner * part
            gaussian = mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * alpha) - mu)
            pure = max(1 - mpmath.exp(epsilon) * alpha, mpmath.exp(-epsilon) * (1 - alpha))
            assert gaussian <= pure
