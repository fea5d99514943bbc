"""Accounts of parts: what units that touch few parts cost, and that no part releases more than its plan."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.accounting.account import Account
from discreet.accounting.accountant import calibrate, epsilon_of
from discreet.accounting.event import Event, Mechanism
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.ledger import Ledger
from discreet.accounting.parts import open_parts, plan_parts
from discreet.errors import UnplannedError

SHAPE = (Event("gaussian", 3.0, label="census"), Event("gaussian", 1.0, label="round 1"))


def promise(events: tuple[Event, ...], epsilon: float = 1.0) -> Guarantee:
    return Guarantee(epsilon, 1e-6, "person", events, "a test", (), ())


@pytest.mark.parametrize("touched", [1, 2, 10, 20])
def test_gaussian_noise_of_a_part_grows_with_the_root_of_what_a_unit_touches(touched: int) -> None:
    alone = [event.scaled(calibrate(SHAPE, 1.0, 1e-6)) for event in SHAPE]
    part, whole = plan_parts(SHAPE, 1.0, 1e-6, touched)
    for one, each, all in zip(alone, part, whole, strict=True):
        assert each.noise == pytest.approx(math.sqrt(touched) * one.noise, rel=1e-6)
        assert all == replace(each, count=touched)
    assert epsilon_of(whole, 1e-6) == pytest.approx(1.0, rel=1e-6) and epsilon_of(whole, 1e-6) <= 1.0


def test_laplace_noise_of_a_part_grows_with_what_a_unit_touches() -> None:
    laplace: Mechanism = "laplace"
    shape = (Event(laplace, 4.0), Event(laplace, 2.0))
    part, whole = plan_parts(shape, 1.0, 0.0, 5)
    assert part[1].noise == pytest.approx(5 * (1 / 4 + 1 / 2) * 2)
    assert epsilon_of(whole, 0.0) == pytest.approx(1.0)


def test_every_part_draws_its_own_plan_once_and_the_whole_is_drawn_before(tmp_path: Path) -> None:
    part, whole = plan_parts(SHAPE, 1.0, 1e-6, 2)
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.budget("people", "person", 1.0, 1e-6)
    account = Account(promise(whole), ledger, "people", "parts")
    parts = open_parts(account, part, 7)
    assert len(parts) == 7 and len(ledger.entries()) == 1, "the whole is charged, once"
    assert all(event["drawn"] == event["count"] for event in account.receipt()["plan"])
    with pytest.raises(UnplannedError):
        account.draw(part[1])
    for one in parts:
        for event in part:
            one.draw(event)
        with pytest.raises(UnplannedError):
            one.draw(part[0])
        with pytest.raises(UnplannedError):
            one.draw(part[1].scaled(0.5))


def test_parts_of_an_account_that_was_drawn_before_are_refused() -> None:
    part, whole = plan_parts(SHAPE, 1.0, 1e-6, 2)
    account = Account(promise(whole))
    open_parts(account, part, 3)
    with pytest.raises(UnplannedError):
        open_parts(account, part, 3)
