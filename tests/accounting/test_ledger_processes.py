"""Many processes and kills at any instant: never more than the budget, never a hidden spending."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.accounting.chain import Head
from discreet.accounting.ledger import Ledger

LONG = os.environ.get("DISCREET_LONG") == "1"

SPENDER = """
import sys
from discreet.accounting.event import Event
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.ledger import Ledger
from discreet.errors import OverspentError

path, mechanism, noise, tries = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
claim = (1 / noise, 0.0) if mechanism == "laplace" else (1.0, 1e-5)
guarantee = Guarantee(*claim, "row", (Event(mechanism, noise),), "one curator", (), ())
ledger = Ledger.open(path)
ledger.quote("city", guarantee)  # everything slow is loaded now
print("ready", flush=True)
sys.stdin.readline()
for number in range(tries):
    try:
        entry = ledger.spend("city", guarantee, f"run {number}")
    except OverspentError:
        continue
    print(entry.seq, entry.hash, flush=True)
    if number % 3 == 0:
        ledger.finish(entry, "sha256:abc")
"""


def start(path: Path, mechanism: str, noise: float, tries: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SPENDER, str(path), mechanism, repr(noise), str(tries)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()


def announced(text: str) -> list[Head]:
    """What a process said it was granted; a last line cut off by a kill does not count."""
    lines = [line.split() for line in text.splitlines()]
    return [Head(int(line[0]), line[1]) for line in lines if len(line) == 2 and len(line[1]) == 64]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "delta"), [("laplace", 0.0), ("gaussian", 1e-5)])
def test_eight_processes_never_overspend_one_ledger(tmp_path: Path, mechanism: str, delta: float) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger")
    balance = ledger.budget("city", "row", 1.0, delta)
    parts = 400 if LONG else 60
    noise = (
        float(parts) if mechanism == "laplace" else (parts * 10**18 / balance.limit[0]) ** 0.5 * (1 + 1e-14)
    )
    processes = [start(ledger.path, mechanism, noise, parts // 5) for _ in range(8)]
    for process in processes:
        go(process)
    granted = [announced(process.communicate(timeout=120)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 8
    assert sum(map(len, granted)) == parts
    assert sum(bool(grants) for grants in granted) > 1
    final = ledger.left("city")
    assert 0.999 < final.share <= 1.0
    ledger.verify()
    entries = {entry.seq: entry.hash for entry in ledger.entries()}
    assert entries == {head.seq: head.hash for grants in granted for head in grants}


def kill_after(process: subprocess.Popen[str], grants: int, delay: float) -> list[Head]:
    """Wait for so many grants and a little longer, kill, and return every grant that was announced."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(grants)]
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    said.append(process.stdout.read())
    process.wait(timeout=60)
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
    return announced("".join(said))


@pytest.mark.slow
def test_a_kill_at_any_instant_hides_no_spending(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger")
    ledger.budget("city", "row", 1e6, 0.0)
    pick = random.Random(5)
    kills, seen = 200 if LONG else 20, list[Head]()
    for kill in range(kills):
        process = start(ledger.path, "laplace", 1000.0, 10**6)
        go(process)
        seen += kill_after(process, kill % 8, pick.uniform(0.0, 0.01))
        if kill % 2:  # every other time the next process is the one to recover the file
            ledger.verify()
    entries = {entry.seq: entry.hash for entry in ledger.entries()}
    assert all(entries.get(head.seq) == head.hash for head in seen)
    assert sum(kill % 8 for kill in range(kills)) <= len(seen) <= len(entries) <= len(seen) + kills
    ledger.verify()
    assert ledger.left("city").spent[0] >= len(seen) * 10**15


@pytest.mark.slow
def test_only_one_of_many_processes_creates_a_ledger(tmp_path: Path) -> None:
    code = (
        "import sys; from discreet.accounting.ledger import Ledger; from discreet.errors import LedgerError\n"
        "sys.stdin.readline()\n"
        "try: Ledger.create(sys.argv[1]); print('made')\n"
        "except LedgerError: print('refused')"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.ledger")]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(6)
    ]
    said = [process.communicate("go\n", timeout=60)[0].strip() for process in processes]
    assert sorted(said) == ["made"] + ["refused"] * 5
    assert [path.name for path in tmp_path.iterdir()] == ["a.ledger"]
    Ledger.open(tmp_path / "a.ledger").verify()
