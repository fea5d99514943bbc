"""A file of rows that can only grow: SQLite, one hash chain, readable by anybody.

Every row holds a canonical JSON text and hash = SHA-256(hash of the row before + text). Changing, dropping
or inserting a row breaks all later hashes. Triggers refuse updates, deletions and gaps. What a chain alone
cannot show is that *the end* was cut off, or that all was written anew: for that, somebody must hold a
row's number and hash from before (every receipt prints one), and ask `Ledger.contains`.

**Durable.** Write-ahead log with ``synchronous=FULL``: a commit returns after the bytes are on disk. Every
operation opens and closes its own connection, so nothing is shared across threads or forks, and the last one
to close moves the log back into the file: between operations there is no ``-wal`` file to lose.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from discreet.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

__all__ = ["SCHEMA", "Chain", "Head", "Row", "canonical"]

SCHEMA = 1
_APPLICATION = 0x64737274
_FIRST = "0" * 64
_PATIENCE = 120.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_DEFINITIONS = {
    "entries": (
        "CREATE TABLE entries (seq INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL) STRICT"
    ),
    "entries_stay": (
        "CREATE TRIGGER entries_stay BEFORE DELETE ON entries "
        "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END"
    ),
    "entries_keep": (
        "CREATE TRIGGER entries_keep BEFORE UPDATE ON entries "
        "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END"
    ),
    "entries_follow": (
        "CREATE TRIGGER entries_follow BEFORE INSERT ON entries "
        "WHEN NEW.seq <> (SELECT COALESCE(MAX(seq), -1) + 1 FROM entries) "
        "BEGIN SELECT RAISE(ABORT, 'a ledger has no gaps'); END"
    ),
}


class Head(NamedTuple):
    """Number and hash of a row; whoever keeps it can later show whether the rows up to it are still there."""

    seq: int
    hash: str


class Row(NamedTuple):
    """One row: its number, its content, its hash, and the text that was hashed."""

    seq: int
    body: Mapping[str, Any]
    hash: str
    text: str


def canonical(plain: Mapping[str, Any]) -> str:
    """The one JSON text of a mapping: sorted keys, no blanks, exact floats, no infinities."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    if (
        not text.isprintable()
    ):  # escaped controls are printable; what is left are broken or invisible characters
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text


class Chain:
    """An append-only, hash-chained SQLite file."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self.path = path
        self._clock = clock

    @classmethod
    def create(cls, path: Path, clock: Callable[[], float]) -> Chain:
        """Make a new file with its first row; never overwrites; complete on disk before it has its name."""
        draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.draft")
        chain = cls(draft, clock)
        try:
            chain._found()
            os.link(draft, path)
            _sync_folder(path.parent)
        except FileExistsError:
            raise LedgerError(
                "there is a file of this name already",
                got=str(path),
                wanted="a new name",
                remedy="Open it instead, or choose another name: a ledger is never overwritten.",
            ) from None
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(
                "the ledger cannot be created here",
                got=f"{path}: {error}",
                wanted="a folder that can be written",
            ) from error
        finally:
            for suffix in ("", "-wal", "-shm"):
                draft.with_name(draft.name + suffix).unlink(missing_ok=True)
        return cls(path, clock)

    def now(self) -> float:
        """The time that a row appended now would have, in seconds."""
        return self._clock()

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A connection that sees one state of the file."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """A connection that alone may write; what was appended is on disk when the block has ended."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def rows(self, connection: sqlite3.Connection, after: Head | None = None) -> Iterator[Row]:
        """Every row after a row already verified, each verified before it is handed out."""
        last = after or Head(-1, _FIRST)
        if after is not None and _hash_at(connection, after.seq) != after.hash:
            raise _damage(after.seq, "is no longer the one that was read before")
        query = "SELECT seq, body, hash FROM entries WHERE seq > ? ORDER BY seq"
        for seq, text, stored in connection.execute(query, (last.seq,)):
            if seq != last.seq + 1:
                raise _damage(last.seq + 1, "is missing")
            if stored != _link(last.hash, text):
                raise _damage(seq, "is damaged or was changed")
            last = Head(seq, stored)
            yield Row(seq, json.loads(text), stored, text)

    def append(self, connection: sqlite3.Connection, body: Mapping[str, Any]) -> Row:
        """Add one row inside a `writing` block, with its number and the time (UTC)."""
        last = _head(connection)
        now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="microseconds")
        full = {**body, "seq": last.seq + 1, "time": now}
        text = canonical(full)
        row = Row(last.seq + 1, full, _link(last.hash, text), text)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (row.seq, row.text, row.hash))
        return row

    def check(self) -> Head:
        """Look at the schema, the triggers and the last row; a quick look, not `rows`."""
        with self.reading() as connection:
            last = _head(connection)
            if last.seq < 0:
                raise _damage(0, "is missing")
            before = Head(last.seq - 1, _hash_at(connection, last.seq - 1)) if last.seq > 0 else None
            for _ in self.rows(connection, before):
                pass
            return last

    def _found(self) -> None:
        connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id={_APPLICATION}")
            connection.execute(f"PRAGMA user_version={SCHEMA}")
            for definition in _DEFINITIONS.values():
                connection.execute(definition)
            self.append(connection, {"kind": "ledger", "schema": SCHEMA})
            connection.execute("COMMIT")
        finally:
            connection.close()
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Generator[sqlite3.Connection]:
        try:
            connection = self._begin(begin)
            try:
                _inspect(connection)
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # an open transaction is rolled back
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def _begin(self, begin: str) -> sqlite3.Connection:
        """Open and begin; wait for other processes, but not for ever."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            connection = self._connect()
            try:
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute(begin)
            except sqlite3.Error as error:
                connection.close()
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return connection

    def _connect(self) -> sqlite3.Connection:
        if not self.path.is_file():
            what = (
                "the ledger is a folder, not a file"
                if self.path.is_dir()
                else "there is no ledger of this name"
            )
            raise LedgerError(
                what,
                got=str(self.path),
                wanted="a ledger file",
                remedy="Make one with `discreet ledger new`.",
            )
        address = f"file:{quote(str(self.path.absolute()))}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=_PATIENCE / 4, isolation_level=None)

    def _trouble(self, error: sqlite3.Error) -> LedgerError:
        if _is_busy(error):
            return LedgerError(
                "other processes kept the ledger busy for too long",
                got=str(self.path),
                wanted=f"a turn within {_PATIENCE:g} seconds",
                remedy="Nothing was written. Try again, or look for a process that hangs.",
            )
        return LedgerError(
            "the ledger cannot be used",
            got=f"{self.path}: {error}",
            wanted="an undamaged ledger file in a folder where this user may write",
            remedy="Restore it from a copy and compare it with the receipts, or mend the permissions.",
        )


def _inspect(connection: sqlite3.Connection) -> None:
    """That this is a ledger, of this schema, with its triggers in place."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise LedgerError(
            "this file is not a ledger",
            wanted="a file made by `discreet ledger new`",
            remedy="Check the path.",
        )
    if schema > SCHEMA:
        raise LedgerError(
            "this ledger was made by a newer version",
            got=f"schema {schema}",
            wanted=f"schema {SCHEMA}",
            remedy="Update discreet.",
        )
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    wrong = sorted(
        name for name in found.keys() | _DEFINITIONS.keys() if found.get(name) != _DEFINITIONS.get(name)
    )
    if wrong or schema != SCHEMA:
        raise LedgerError(
            "the ledger was tampered with: its table or triggers are not the ones it was made with",
            got=", ".join(wrong) or f"schema {schema}",
            wanted="an untouched file",
            remedy="Compare it with a copy and with the receipts; do not spend from it.",
        )


def _head(connection: sqlite3.Connection) -> Head:
    row = connection.execute("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(*row) if row else Head(-1, _FIRST)


def _hash_at(connection: sqlite3.Connection, seq: int) -> str:
    row = connection.execute("SELECT hash FROM entries WHERE seq = ?", (seq,)).fetchone()
    return row[0] if row else ""


def _link(before: str, text: str) -> str:
    return hashlib.sha256((before + text).encode()).hexdigest()


def _damage(seq: int, what: str) -> LedgerError:
    return LedgerError(
        f"row {seq} of the ledger {what}",
        wanted="an unbroken chain of hashes",
        remedy="Do not spend from it. Compare it with a copy and with the receipts to see what is missing.",
    )


def _is_busy(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF) in _BUSY


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
