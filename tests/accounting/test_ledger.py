"""The ledger: budgets are kept, units stay apart, requests may follow results."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.accounting.accountant import MARGIN, calibrate
from discreet.accounting.event import Event
from discreet.accounting.filter import UNITS, cost_of, limit_of
from discreet.accounting.gaussian import gaussian_delta, gaussian_mu, pure_mu
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.ledger import Ledger
from discreet.errors import BudgetError, LedgerError, OverspentError, ParameterError


def promise(epsilon: float, delta: float, *events: Event, unit: Any = "row", **more: Any) -> Guarantee:
    return Guarantee(epsilon, delta, unit, events, "one curator", ("means",), ("bounds",), **more)


def gaussian_promise(epsilon: float, delta: float, count: int = 10) -> Guarantee:
    factor = calibrate([Event("gaussian", 1.0, count)], epsilon, delta)
    return promise(epsilon, delta, Event("gaussian", factor, count))


def pure_promise(epsilon: float) -> Guarantee:
    return promise(epsilon, 0.0, Event("laplace", 1 / epsilon))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a.ledger", clock=lambda: 1_700_000_000.25)


# budgets


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.01, 1e-10), (20.0, 1e-6), (0.3, 1e-12)])
def test_the_whole_budget_can_be_spent_at_once_and_only_once(
    ledger: Ledger, epsilon: float, delta: float
) -> None:
    ledger.budget("city", "row", epsilon, delta)
    ledger.spend("city", gaussian_promise(epsilon, delta), "all of it")
    assert ledger.left("city").epsilon_left < 1e-4 * epsilon
    with pytest.raises(OverspentError):
        ledger.spend("city", gaussian_promise(epsilon / 1000, delta), "a little more")


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.01, 1e-10), (20.0, 1e-6)])
def test_ten_tenths_of_a_gaussian_budget_fit_and_an_eleventh_does_not(
    ledger: Ledger, epsilon: float, delta: float
) -> None:
    ledger.budget("city", "row", epsilon, delta)
    noise = math.sqrt(10) / gaussian_mu(epsilon, delta * (1 - MARGIN))
    tenth = promise(epsilon, delta, Event("gaussian", noise))
    for _ in range(10):
        ledger.spend("city", tenth, "a tenth")
    with pytest.raises(OverspentError):
        ledger.spend("city", tenth, "an eleventh")


@pytest.mark.parametrize("parts", [3, 7, 10, 11, 49])
def test_equal_parts_of_a_pure_budget_fit_and_one_more_does_not(ledger: Ledger, parts: int) -> None:
    ledger.budget("city", "row", 1.0, 0.0)
    for _ in range(parts):
        ledger.spend("city", pure_promise(1.0 / parts), "a part")
    with pytest.raises(OverspentError):
        ledger.spend("city", pure_promise(1e-9), "a crumb")


def test_costs_are_rounded_up_and_limits_never_pass_the_budget() -> None:
    for epsilon, delta in ((1.0, 1e-5), (1e-4, 1e-12), (50.0, 1e-3)):
        limit, _ = limit_of("gaussian", epsilon, delta)
        assert limit <= gaussian_mu(epsilon, delta) ** 2 * UNITS
        assert gaussian_delta(math.sqrt(limit / UNITS), epsilon) <= delta
    cost, _ = cost_of("gaussian", promise(1.0, 1e-5, Event("gaussian", 3.0, 7)))
    assert cost == -(-7 * UNITS // 9)
    assert cost_of("sum", promise(0.1, 1e-5, Event("gaussian", 100.0)))[0] >= 0.1 * UNITS


def test_laplace_releases_are_charged_one_by_one_which_is_never_dearer_than_at_once() -> None:
    for noise, count in ((100.0, 100), (1.0, 5), (0.1, 4)):
        apart, _ = cost_of("gaussian", promise(99.0, 0.0, Event("laplace", noise, count)))
        single, _ = cost_of("gaussian", promise(99.0, 0.0, Event("laplace", noise)))
        at_once, _ = cost_of("gaussian", promise(99.0, 0.0, Event("laplace", noise / count)))
        assert apart == count * single
        assert apart <= at_once
        assert single == pytest.approx(pure_mu(1 / noise) ** 2 * UNITS, rel=1e-12)


def test_the_first_run_may_take_the_whole_budget_whatever_its_noise(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    laplace = promise(1.0, 0.0, Event("laplace", 10, 10))
    ledger.spend("city", laplace, "published")
    assert ledger.left("city").share == 1.0
    with pytest.raises(OverspentError):
        ledger.spend("city", gaussian_promise(0.001, 1e-5), "more")


def test_a_later_run_may_not_take_the_whole_budget_by_that_rule(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    ledger.spend("city", gaussian_promise(0.001, 1e-5), "little")
    with pytest.raises(OverspentError, match="Laplace noise is dear"):
        ledger.spend("city", promise(1.0, 0.0, Event("laplace", 10, 10)), "published")


def test_the_error_names_an_epsilon_that_still_fits(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    ledger.spend("city", gaussian_promise(0.7, 1e-5), "first")
    with pytest.raises(OverspentError) as caught:
        ledger.spend("city", gaussian_promise(0.9, 1e-5), "second")
    room = float(caught.value.wanted.split("epsilon ")[1].split()[0])
    assert 0.4 < room < 0.9
    ledger.spend("city", gaussian_promise(room, 1e-5), "what fits")
    assert ledger.left("city").share > 0.9999


def test_sum_budgets_also_count_delta(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5, rule="sum")
    ledger.spend("city", gaussian_promise(0.1, 6e-6), "one")
    with pytest.raises(OverspentError):
        ledger.spend("city", gaussian_promise(0.1, 6e-6), "two")
    ledger.spend("city", pure_promise(0.5), "pure")
    balance = ledger.left("city")
    assert balance.epsilon_left == pytest.approx(0.4)
    assert balance.share == pytest.approx(0.6)


def test_a_promise_about_rows_never_spends_a_budget_about_persons(ledger: Ledger) -> None:
    ledger.budget("city", "person", 1.0, 1e-5)
    with pytest.raises(BudgetError, match="budget per person and none per row"):
        ledger.spend("city", gaussian_promise(0.1, 1e-5), "x")
    ledger.budget("town", "row", 1.0, 1e-5)
    with pytest.raises(BudgetError, match="budget per row and none per person"):
        ledger.spend("town", replace(gaussian_promise(0.1, 1e-5), unit="person"), "x")
    assert ledger.entries() == ()


def test_rows_and_persons_of_one_data_set_are_counted_apart(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    ledger.budget("city", "person", 1.0, 1e-5)
    ledger.spend("city", gaussian_promise(1.0, 1e-5), "rows")
    assert ledger.left("city", "row").share > 0.999
    assert ledger.left("city", "person").share == 0.0
    with pytest.raises(ParameterError, match="one per row and one per person"):
        ledger.left("city")


def test_persons_of_another_column_have_no_part_in_a_budget(ledger: Ledger) -> None:
    ledger.budget("city", "person", 1.0, 1e-5)
    user = replace(gaussian_promise(0.1, 1e-5), unit="person", person="user")
    ledger.spend("city", user, "x")
    with pytest.raises(BudgetError, match="another column"):
        ledger.spend("city", replace(user, person="phone"), "x")


def test_promises_for_other_neighbours_have_no_part_in_a_budget(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    ledger.spend("city", gaussian_promise(0.1, 1e-5), "joint")
    assert ledger.left("city").neighbours == "add or remove one"
    with pytest.raises(BudgetError, match="other neighbours"):
        ledger.spend("city", replace(gaussian_promise(0.1, 1e-5), neighbours="change one"), "input")


def test_a_budget_is_set_once(ledger: Ledger) -> None:
    first = ledger.budget("city", "row", 1.0, 1e-5)
    assert ledger.budget("city", "row", 1.0, 1e-5) == first
    for epsilon, delta, rule in ((2.0, 1e-5, None), (1.0, 1e-6, None), (1.0, 1e-5, "sum")):
        with pytest.raises(BudgetError, match="already has a budget"):
            ledger.budget("city", "row", epsilon, delta, rule)
    assert ledger.head().seq == 1


@pytest.mark.parametrize(
    "bad",
    [
        ("city", "row", math.inf, 0.1),
        ("city", "row", 0.0, 0.1),
        ("city", "row", 1.0, 1.0),
        ("city", "household", 1.0, 0.1),
        ("  ", "row", 1.0, 0.1),
        (None, "row", 1.0, 0.1),
        ("city", "row", 1.0, 0.1, "zcdp"),
        ("city", "row", 1.0, 0.0, "gaussian"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(ledger: Ledger, bad: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError):
        ledger.budget(*bad)
    assert ledger.budgets() == ()


def test_a_data_set_without_a_budget_cannot_be_charged(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    with pytest.raises(BudgetError, match=r"no budget for this data set.*city"):
        ledger.spend("town", gaussian_promise(0.1, 1e-5), "x")


def test_claims_below_the_cost_of_the_plan_are_refused(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    with pytest.raises(BudgetError, match="cost more than the guarantee claims"):
        ledger.spend("city", promise(0.1, 1e-5, Event("gaussian", 2.0)), "x")
    with pytest.raises(BudgetError, match="without a plan"):
        ledger.spend("city", promise(0.1, 1e-5), "x")


def test_a_quote_is_what_a_spending_costs_and_writes_nothing(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    guarantee = gaussian_promise(0.5, 1e-5)
    quoted = ledger.quote("city", guarantee)
    assert ledger.head().seq == 1
    assert ledger.spend("city", guarantee, "x").cost == quoted
    with pytest.raises(OverspentError):
        ledger.quote("city", gaussian_promise(1.0, 1e-5))


# the adaptive filter


def _adaptive_loss(stretch: float) -> tuple[Any, float]:
    """Privacy losses under an analyst who picks every next noise after looking at the loss so far."""
    rng = np.random.default_rng(11)
    epsilon, delta, draws = 1.0, 1e-2, 300_000
    limit = limit_of("gaussian", epsilon, delta)[0] * stretch
    options = np.array([2.0, 4.0, 9.0]) / math.sqrt(limit_of("gaussian", epsilon, delta)[0] / UNITS)
    costs = np.array([cost_of("gaussian", promise(9.0, delta, Event("gaussian", x)))[0] for x in options])
    loss, spent = np.zeros(draws), np.zeros(draws)
    for _ in range(int(90 * stretch)):
        greedy = np.where(loss > 0.5, 0, np.where(loss > 0, 1, 2))
        for choice in range(3):
            fits = (greedy == choice) & (spent + costs[choice] <= limit)
            noise = options[choice]
            loss[fits] += rng.normal(size=int(fits.sum())) / noise + 0.5 / noise**2
            spent[fits] += costs[choice]
    return np.maximum(0.0, -np.expm1(epsilon - loss)), delta


def test_requests_chosen_after_seeing_results_keep_within_the_gaussian_budget() -> None:
    seen, delta = _adaptive_loss(1.0)
    assert seen.mean() <= delta + 4.5 * seen.std() / math.sqrt(seen.size)
    broken, _ = _adaptive_loss(1.5)
    assert broken.mean() > 1.5 * delta


# outcomes


def test_an_entry_without_an_outcome_says_so(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    kept = ledger.spend("city", gaussian_promise(0.1, 1e-5), "kept")
    ledger.spend("city", gaussian_promise(0.1, 1e-5), "lost")
    ledger.finish(kept, "sha256:abc")
    first, second = ledger.entries("city")
    assert first.outcome == "finished 2023-11-14T22:13:20.250000+00:00, result sha256:abc"
    assert second.outcome.startswith("spent, outcome unknown (the run was interrupted")
    assert ledger.entries("town") == ()


def test_an_outcome_is_recorded_once_and_for_entries_of_this_ledger(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    entry = ledger.spend("city", gaussian_promise(0.1, 1e-5), "x")
    ledger.finish(entry, "sha256:abc")
    with pytest.raises(LedgerError, match="finished before"):
        ledger.finish(entry, "sha256:abc")
    with pytest.raises(LedgerError, match="not in the ledger"):
        ledger.finish(replace(entry, hash="0" * 64), "sha256:abc")


def test_entries_and_balances_are_plain_data(ledger: Ledger) -> None:
    ledger.budget("city", "row", 1.0, 1e-5)
    entry = ledger.spend("city", gaussian_promise(0.1, 1e-5), "Möwe \udc80 \n\u2028")
    again = Ledger.open(ledger.path)
    assert again.entries() == (entry,)
    plain = json.loads(json.dumps([entry.to_dict(), again.left("city").to_dict()], allow_nan=False))
    assert Guarantee.from_dict(plain[0]["guarantee"]) == entry.guarantee
    assert plain[1]["runs"] == 1
    assert again.left("city").words().startswith("city, per row: epsilon 1, delta 1e-05 (rule gaussian)")
