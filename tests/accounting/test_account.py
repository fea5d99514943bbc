"""Accounts: everything announced and charged before the first draw, nothing drawn that was not planned."""

from __future__ import annotations

import json
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.accounting.account import Account
from discreet.accounting.event import Event
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.ledger import Ledger
from discreet.errors import BudgetError, OverspentError, ParameterError, UnplannedError

PLAN = (Event("gaussian", 60.0, 3, "moments"), Event("gaussian", 80.0, 2), Event("laplace", 100.0, 2))
GUARANTEE = Guarantee(1.0, 1e-5, "row", PLAN, "one curator", ("means",), ("bounds",))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger.create(tmp_path / "a.ledger")
    ledger.budget("city", "row", 1.0, 1e-5)
    return ledger


def test_only_planned_releases_can_be_drawn() -> None:
    account = Account(GUARANTEE)
    for _ in range(3):
        account.draw(Event("gaussian", 60.0))
    with pytest.raises(UnplannedError, match="not covered"):
        account.draw(Event("gaussian", 60.0))
    with pytest.raises(UnplannedError):
        account.draw(Event("gaussian", 59.9))
    with pytest.raises(UnplannedError):
        account.draw(Event("laplace", 99.0))
    account.draw(Event("laplace", 100.0, 2))
    with pytest.raises(UnplannedError):
        account.draw(Event("laplace", 100.0))


def test_more_noise_than_planned_is_covered_and_takes_the_noisiest_first() -> None:
    account = Account(GUARANTEE)
    account.draw(Event("gaussian", 90.0, 2))
    account.draw(Event("gaussian", 60.0, 3))
    with pytest.raises(UnplannedError):
        account.draw(Event("gaussian", 1e9))


def test_a_refused_draw_takes_nothing() -> None:
    account = Account(GUARANTEE)
    with pytest.raises(UnplannedError, match="5 left"):
        account.draw(Event("gaussian", 80.0, 6))
    account.draw(Event("gaussian", 80.0, 5))


def test_a_plan_is_not_overdrawn_by_threads() -> None:
    account = Account(replace(GUARANTEE, events=(Event("laplace", 1000.0, 200),)))

    def attempt(_: int) -> bool:
        try:
            account.draw(Event("laplace", 1000.0))
        except UnplannedError:
            return False
        return True

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(400))) == 200
    finally:
        sys.setswitchinterval(before)


def test_the_whole_plan_is_charged_before_the_first_draw(ledger: Ledger) -> None:
    account = Account(GUARANTEE, ledger, "city", "a fit")
    (entry,) = Ledger.open(ledger.path).entries()
    assert account.entry == entry
    assert entry.guarantee == GUARANTEE
    assert "outcome unknown" in entry.outcome
    account.close("sha256:abc")
    assert Ledger.open(ledger.path).entries()[0].digest == "sha256:abc"


def test_an_account_that_cannot_be_paid_is_never_opened(ledger: Ledger) -> None:
    Account(GUARANTEE, ledger, "city", "first")
    with pytest.raises(OverspentError):
        Account(replace(GUARANTEE, epsilon=2.0, events=(Event("gaussian", 3.0),)), ledger, "city", "second")
    assert len(ledger.entries()) == 1


def test_plain_and_seeded_runs_are_not_charged_to_a_ledger(ledger: Ledger) -> None:
    for guarantee in (
        replace(GUARANTEE, epsilon=math.inf, events=()),
        replace(GUARANTEE, seeded=True),
    ):
        with pytest.raises(ParameterError, match="not private"):
            Account(guarantee, ledger, "city", "x")
        Account(guarantee)
    assert ledger.entries() == ()


def test_a_plain_run_has_nothing_to_draw() -> None:
    account = Account(replace(GUARANTEE, epsilon=math.inf, events=()))
    with pytest.raises(UnplannedError):
        account.draw(Event("gaussian", 1e6))


def test_an_account_does_not_promise_less_than_its_plan_costs() -> None:
    with pytest.raises(BudgetError, match="cost more"):
        Account(replace(GUARANTEE, epsilon=0.01))


def test_a_closed_account_stays_closed(ledger: Ledger) -> None:
    account = Account(GUARANTEE, ledger, "city", "a fit")
    account.close("sha256:abc")
    with pytest.raises(UnplannedError, match="closed"):
        account.draw(Event("gaussian", 60.0))
    with pytest.raises(BudgetError, match="closed already"):
        account.close("sha256:def")


def test_a_ledger_needs_the_name_of_the_data_set(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="which data set"):
        Account(GUARANTEE, ledger)


def test_the_receipt_names_the_row_that_paid_and_what_was_drawn(ledger: Ledger) -> None:
    account = Account(GUARANTEE, ledger, "city", "a fit")
    account.draw(Event("gaussian", 60.0, 2))
    account.close("sha256:abc")
    receipt = json.loads(json.dumps(account.receipt(), allow_nan=False))
    assert Guarantee.from_dict(receipt["guarantee"]) == GUARANTEE
    assert receipt["digest"] == "sha256:abc"
    assert [event["drawn"] for event in receipt["plan"]] == [2, 0, 0]
    assert ledger.contains(receipt["ledger"]["seq"], receipt["ledger"]["hash"])
    assert receipt["versions"].keys() == {"discreet", "dp-accounting"}
    assert Account(GUARANTEE).receipt()["ledger"] is None
