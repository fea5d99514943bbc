"""The ledger: budgets are kept, spending is never hidden, damage is found and named."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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
    with pytest.raises(ParameterError, match="per row and one per person"):
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


# the chain


def filled(ledger: Ledger, rows: int = 10) -> list[Any]:
    ledger.budget("city", "row", 1.0, 0.0)
    return [ledger.spend("city", pure_promise(0.01), f"run {i}") for i in range(rows)]


def force(path: Path, *statements: str) -> None:
    """What somebody with an editor could do: take the triggers away, change rows, put them back."""
    connection = sqlite3.connect(path, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, definition in triggers:
        connection.execute(definition)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE seq = 3",
        "DELETE FROM entries WHERE seq = 11",
        "DELETE FROM entries",
        "INSERT INTO entries VALUES (99, '{}', 'x')",
        "INSERT OR REPLACE INTO entries VALUES (3, '{}', 'x')",
    ],
)
def test_the_file_itself_refuses_updates_deletions_and_gaps(ledger: Ledger, statement: str) -> None:
    filled(ledger)
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    with pytest.raises(sqlite3.IntegrityError, match="a ledger"):
        connection.execute(statement)
    connection.close()
    assert ledger.verify().seq == 11


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE entries SET body = replace(body, '0.01', '0.001') WHERE seq = 7", 7),
        ("UPDATE entries SET hash = replace(hash, 'a', 'b') WHERE seq = 4", 4),
        ("DELETE FROM entries WHERE seq = 5", 5),
        ("DELETE FROM entries WHERE seq = 0", 0),
        ("UPDATE entries SET seq = 12 WHERE seq = 2", 2),
    ],
)
def test_a_tampered_row_is_found_and_named(ledger: Ledger, statement: str, row: int) -> None:
    filled(ledger)
    force(ledger.path, statement)
    fresh = Ledger(ledger._chain)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(LedgerError, match=f"row {row} of the ledger"):
        fresh.verify()
    with pytest.raises(LedgerError, match=f"row {row} of the ledger"):
        fresh.spend("city", pure_promise(0.01), "x")


def test_opening_looks_at_the_last_row(ledger: Ledger) -> None:
    filled(ledger)
    force(ledger.path, "UPDATE entries SET body = replace(body, '0.01', '0.001') WHERE seq = 11")
    with pytest.raises(LedgerError, match="row 11 of the ledger"):
        Ledger.open(ledger.path)


def test_an_emptied_ledger_is_not_taken_for_a_new_one(ledger: Ledger) -> None:
    filled(ledger)
    force(ledger.path, "DELETE FROM entries")
    with pytest.raises(LedgerError, match="row 0 of the ledger is missing"):
        Ledger.open(ledger.path)
    with pytest.raises(LedgerError, match="no longer the one"):
        ledger.spend("city", pure_promise(0.01), "x")


@pytest.mark.parametrize("name", ["entries_stay", "entries_keep", "entries_follow"])
def test_opening_misses_a_trigger_that_is_gone(ledger: Ledger, name: str) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute(f"DROP TRIGGER {name}")
    connection.close()
    with pytest.raises(LedgerError, match=f"tampered.*{name}"):
        Ledger.open(ledger.path)


def rewritten(path: Path, change: Any) -> None:
    """A forger who knows the format: change a row and compute every later hash anew."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT seq, body FROM entries ORDER BY seq").fetchall()
    connection.close()
    last, statements = "0" * 64, list[str]()
    for seq, body in rows:
        text = json.dumps(change(json.loads(body)), sort_keys=True, separators=(",", ":"))
        last = hashlib.sha256((last + text).encode()).hexdigest()
        statements.append(f"UPDATE entries SET body = '{text}', hash = '{last}' WHERE seq = {seq}")
    force(path, *statements)


def test_a_receipt_proves_that_a_ledger_was_rewritten(ledger: Ledger) -> None:
    entries = filled(ledger)
    receipt = ledger.head()
    rewritten(ledger.path, lambda body: {**body, "label": "nothing to see"} if body["seq"] == 5 else body)
    forged = Ledger.open(ledger.path)
    assert forged.verify().seq == receipt.seq
    assert forged.contains(entries[1].seq, entries[1].hash)
    assert not forged.contains(entries[6].seq, entries[6].hash)
    assert not forged.contains(*receipt)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: {**body, "kind": "gift"} if body["seq"] == 4 else body,
        lambda body: {**body, "cost": ["-5", "0"]} if body["seq"] == 4 else body,
        lambda body: {**body, "cost": [str(10**19), "0"]} if body["seq"] == 4 else body,
        lambda body: {**body, "dataset": "town"} if body["seq"] == 4 else body,
        lambda body: {key: body[key] for key in body if key != "guarantee"} if body["seq"] == 4 else body,
    ],
)
def test_rows_that_no_ledger_would_have_written_are_refused(ledger: Ledger, change: Any) -> None:
    filled(ledger)
    rewritten(ledger.path, change)
    with pytest.raises(LedgerError, match="row 4 of the ledger does not make sense"):
        Ledger.open(ledger.path).verify()


def test_a_ledger_put_back_to_an_older_copy_is_noticed_while_open(ledger: Ledger, tmp_path: Path) -> None:
    filled(ledger, 3)
    shutil.copy(ledger.path, tmp_path / "old")
    last = ledger.spend("city", pure_promise(0.01), "x")
    shutil.copy(tmp_path / "old", ledger.path)
    with pytest.raises(LedgerError, match="no longer the one"):
        ledger.spend("city", pure_promise(0.01), "x")
    assert not Ledger.open(ledger.path).contains(last.seq, last.hash)


def test_a_copy_that_goes_its_own_way_cannot_show_the_receipts_of_the_other(
    ledger: Ledger, tmp_path: Path
) -> None:
    filled(ledger, 3)
    shutil.copy(ledger.path, tmp_path / "b.ledger")
    copy = Ledger.open(tmp_path / "b.ledger")
    here = ledger.spend("city", pure_promise(0.01), "here")
    there = copy.spend("city", pure_promise(0.02), "there")
    assert not copy.contains(here.seq, here.hash)
    assert not ledger.contains(there.seq, there.hash)


def test_a_lost_log_file_loses_only_what_receipts_can_prove(ledger: Ledger, tmp_path: Path) -> None:
    """While somebody else reads, the last rows lie in the -wal file; without it the chain is shorter."""
    filled(ledger, 3)
    reader = sqlite3.connect(ledger.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entries").fetchone()
    last = ledger.spend("city", pure_promise(0.01), "x")
    assert Path(f"{ledger.path}-wal").exists()
    shutil.copy(ledger.path, tmp_path / "b.ledger")
    reader.close()
    without = Ledger.open(tmp_path / "b.ledger")
    assert without.verify().seq == 4
    assert not without.contains(last.seq, last.hash)
    assert ledger.contains(last.seq, last.hash)


def test_between_operations_everything_is_in_the_one_file(ledger: Ledger) -> None:
    filled(ledger, 2)
    assert [path.name for path in ledger.path.parent.iterdir()] == ["a.ledger"]


def test_the_export_can_be_verified_by_anybody(ledger: Ledger, tmp_path: Path) -> None:
    filled(ledger)
    ledger.export(tmp_path / "rows.jsonl")
    last = "0" * 64
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    for seq, row in enumerate(rows):
        last = hashlib.sha256((last + row["body"]).encode()).hexdigest()
        assert (row["seq"], row["hash"]) == (seq, last)
        assert json.loads(row["body"])["seq"] == seq
    assert tuple(ledger.head()) == (rows[-1]["seq"], last)
    with pytest.raises(LedgerError, match="cannot be exported"):
        ledger.export(tmp_path / "missing" / "rows.jsonl")


# files that are no ledgers


def test_a_ledger_is_never_overwritten(ledger: Ledger) -> None:
    filled(ledger)
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(ledger.path)
    assert ledger.verify().seq == 11
    assert [path.name for path in ledger.path.parent.iterdir()] == ["a.ledger"]


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_text("date,amount\n" * 1000)


def _other(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entries (seq, body, hash)")
    connection.commit()
    connection.close()


def _newer(path: Path) -> None:
    Ledger.create(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def _cut(path: Path) -> None:
    filled(Ledger.create(path), 90)
    os.truncate(path, path.stat().st_size // 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "there is no ledger"),
        (Path.mkdir, "folder"),
        (_empty, "not a ledger"),
        (_text, "cannot be used"),
        (_other, "not a ledger"),
        (_newer, "newer version"),
        (_cut, "cannot be used"),
    ],
)
def test_what_is_not_a_ledger_is_a_clean_error(tmp_path: Path, make: Any, words: str) -> None:
    path = tmp_path / "x #%? .ledger"
    make(path)
    with pytest.raises(LedgerError, match=words):
        Ledger.open(path).verify()


def test_odd_file_names_are_fine(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "x #%? ü.ledger")
    filled(ledger, 2)
    assert Ledger.open(str(ledger.path)).verify().seq == 3
    with pytest.raises(LedgerError, match="cannot be created"):
        Ledger.create(tmp_path / "missing" / "x.ledger")


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everything: step down for a moment if we are root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_ledger_that_may_not_be_written_is_a_clean_error() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = Ledger.create(folder / "a.ledger")
        filled(ledger, 2)
        ledger.path.chmod(0o444)
        folder.chmod(0o555)
        try:
            with as_nobody(), pytest.raises(LedgerError, match="cannot be used"):
                ledger.spend("city", pure_promise(0.01), "x")
            with as_nobody(), pytest.raises(LedgerError, match="cannot be created"):
                Ledger.create(folder / "b.ledger")
        finally:
            folder.chmod(0o755)
        assert ledger.verify().seq == 3


def test_a_busy_ledger_is_waited_for_and_then_a_clean_error(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.accounting.chain._PATIENCE", 0.2)
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="busy for too long"):
        ledger.budget("city", "row", 1.0, 0.0)
    other.execute("ROLLBACK")
    other.close()
    ledger.budget("city", "row", 1.0, 0.0)


def test_a_spending_that_fails_midway_leaves_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(ledger, 2)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("discreet.accounting.chain._link", full)
        with pytest.raises(LedgerError, match="disk is full"):
            Ledger(ledger._chain).spend("city", pure_promise(0.01), "x")  # pyright: ignore[reportPrivateUsage]
    assert ledger.verify().seq == 3
    assert len(ledger.entries()) == 2


def test_opening_a_ledger_loads_nothing_slow(ledger: Ledger) -> None:
    code = (
        "import sys; from discreet.accounting.account import Account\n"
        "from discreet.accounting.ledger import Ledger\n"
        "Ledger.open(sys.argv[1]).entries()\n"
        "print([n for n in ('scipy', 'dp_accounting', 'opendp', 'sklearn', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ledger.path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
