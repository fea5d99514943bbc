"""Rows streamed from Parquet files against the same rows in memory, and the memory that it takes.

One worker; the files are in the cache of the operating system. Each figure comes from a process of its own,
whose memory is the peak of what was resident (VmHWM), everything imported included.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import race
from benchmarks.crowd import Crowd, make_task, write_files
from benchmarks.rounds import private_round
from benchmarks.table import Finding
from discreet.fit.mixture.plain import plain_round

__all__ = ["run"]

_CROWD = Crowd(8, 2)
_FILES = 10
_ROOM = 500.0
_COLUMNS = ["x0", "x1"]


def run(full: bool) -> list[Finding]:
    """Two sizes of plain files, and the smaller one by person."""
    small, large = (10_000_000, 40_000_000) if full else (2_000_000, 8_000_000)
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        for rows in (small, large):
            (folder / str(rows)).mkdir()
            _ask("write", folder / str(rows), rows)
        findings = _speed(_ask("speed", folder / str(small), small))
        for rows in (small, large):
            findings += _memory(_ask("memory", folder / str(rows), rows))
        prepared = _ask("prepare", folder / str(small), small)
        findings += _people(_ask("people", folder / "prepared", small), prepared)
    return findings


def _speed(found: dict[str, float]) -> list[Finding]:
    rows = found["rows"]
    return [
        Finding(
            f"{rows / 1e6:g} M x 2, K=8, {kind} round, from Parquet: in memory",
            _rate(rows, found[f"files, {kind}"]),
            _rate(rows, found[f"memory, {kind}"]),
            found[f"memory, {kind}"] / found[f"files, {kind}"],
            0.5,
        )
        for kind in ("plain", "private")
    ]


def _memory(found: dict[str, float]) -> list[Finding]:
    title = f"{found['rows'] / 1e6:g} M rows from Parquet, plain and private round: peak memory"
    shown = f"{found['peak']:.0f} MB (maxrss {found['maxrss']:.0f})"
    return [Finding(title, shown, f"{_ROOM:.0f} MB allowed", _ROOM / found["peak"], 1)]


def _people(found: dict[str, float], prepared: dict[str, float]) -> list[Finding]:
    rows = found["rows"]
    title = f"{rows / 1e6:g} M x 2, K=8, prepared by person"
    return [
        Finding(
            f"{title}, private round: per row",
            _rate(rows, found["per person"]),
            _rate(rows, found["per row"]),
            found["per row"] / found["per person"],
        ),
        Finding(
            f"{title}: peak memory",
            f"{found['peak']:.0f} MB",
            f"{_ROOM:.0f} MB allowed",
            _ROOM / found["peak"],
            1,
        ),
        Finding(
            f"{title}: preparing, a pass by person",
            _rate(rows, prepared["seconds"]) + f", {prepared['peak']:.0f} MB",
            _rate(rows, found["per person"]),
            found["per person"] / prepared["seconds"],
        ),
    ]


def _rate(rows: float, seconds: float) -> str:
    return f"{rows / seconds / 1e6:.1f} M rows/s"


def _ask(task: str, folder: Path, rows: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.streaming", task, str(folder), str(rows)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def _answer(task: str, folder: Path, rows: int) -> dict[str, float]:
    """What the process of one task measured."""
    if task == "write":
        write_files(folder, _CROWD, rows, _FILES, people=rows // 20)
        return {}
    work = {"speed": _race_memory, "memory": _pass_once, "prepare": _prepare, "people": _race_people}[task]
    return {"rows": rows, **work(folder), "peak": _peak(), "maxrss": _maxrss()}


def _race_memory(folder: Path) -> dict[str, float]:
    import pyarrow.parquet as pq

    frame = _CROWD.frame
    files = make_task(str(folder), _CROWD, columns=_COLUMNS)
    table = pq.read_table(folder, columns=_COLUMNS)
    held = make_task(np.column_stack([column.to_numpy() for column in table.columns]), _CROWD)
    first, second = plain_round(files, frame)[0], plain_round(held, frame)[0]
    np.testing.assert_allclose(first.means, second.means, atol=1e-9)
    contenders = {
        "files, plain": lambda: plain_round(files, frame),
        "memory, plain": lambda: plain_round(held, frame),
        "files, private": lambda: private_round(files, frame),
        "memory, private": lambda: private_round(held, frame),
    }
    return race(contenders, 3)


def _pass_once(folder: Path) -> dict[str, float]:
    task = make_task(str(folder), _CROWD, columns=_COLUMNS)
    plain_round(task, _CROWD.frame)
    private_round(task, _CROWD.frame)
    return {}


def _prepare(folder: Path) -> dict[str, float]:
    from discreet.records import prepare

    start = time.process_time()
    prepare(str(folder), "person", folder.parent / "prepared")
    return {"seconds": time.process_time() - start}


def _race_people(folder: Path) -> dict[str, float]:
    frame = _CROWD.frame
    people = make_task(str(folder), _CROWD, columns=_COLUMNS, person="person")
    rows = make_task(str(folder), _CROWD, columns=_COLUMNS)
    contenders: dict[str, Any] = {
        "per person": lambda: private_round(people, frame),
        "per row": lambda: private_round(rows, frame),
    }
    return race(contenders, 3)


def _peak() -> float:
    """The most that was resident, in MB; Linux tells it exactly, other systems through getrusage."""
    try:
        text = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return _maxrss()
    return next(float(line.split()[1]) / 1000 for line in text.splitlines() if line.startswith("VmHWM"))


def _maxrss() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    print(json.dumps(_answer(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
