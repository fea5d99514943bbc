"""The file of a ledger: damage is found and named, and what is no ledger is a clean error."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting.event import Event
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.ledger import Ledger
from discreet.errors import LedgerError


def pure_promise(epsilon: float) -> Guarantee:
    return Guarantee(epsilon, 0.0, "row", (Event("laplace", 1 / epsilon),), "one curator", (), ())


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a.ledger", clock=lambda: 1_700_000_000.25)


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
