"""Two threads against one, what a BLAS that starts threads of its own would do to them, and other engines.

Times are by the wall. On a machine with other work two threads cannot do much better than one; so what two
processes reach that share nothing is measured beside them, and the target is three quarters of that.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from benchmarks.clock import race
from benchmarks.crowd import Crowd, make_task
from benchmarks.rounds import exact_sums, private_round
from benchmarks.table import Finding
from discreet.fit.mixture.plain import plain_round
from discreet.records import LocalEngine, Records, engine, open_records
from discreet.records.chunk import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.fit.mixture.task import Task

__all__ = ["run"]

_LOAD = """
import os, time
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
values = np.linspace(-30.0, 0.0, 2**16)
room, done, until = np.empty(2**16), 0, time.monotonic() + 1
while time.monotonic() < until:
    np.exp(values, out=room)
    done += 1
print(done)
"""

_ROUNDS: dict[str, Callable[..., Any]] = {"plain": plain_round, "private": private_round}


def run(full: bool) -> list[Finding]:
    """Two and ten columns."""
    ceiling = _ceiling()
    findings: list[Finding] = []
    for crowd, rows in (
        (Crowd(8, 2), 10_000_000 if full else 2**21),
        (Crowd(10, 10), 2**20 if full else 2**19),
    ):
        points = crowd.draw(rows)
        one, two = (make_task(points, crowd, LocalEngine(workers)) for workers in (1, 2))
        assert (exact_sums(one, crowd.frame) == exact_sums(two, crowd.frame)).all()
        findings += _scaling(one, two, crowd, len(points), ceiling)
    return findings + _crowding(2**18 if full else 2**15)


def _scaling(one: Task, two: Task, crowd: Crowd, rows: int, ceiling: float) -> list[Finding]:
    findings: list[Finding] = []
    where = f"{rows / 1e6:.1f} M x {crowd.dimension}, K={crowd.components}"
    for kind, step in _ROUNDS.items():
        contenders = {
            "one": lambda step=step: step(one, crowd.frame),
            "two": lambda step=step: step(two, crowd.frame),
        }
        times = race(contenders, 3, wall=True)
        findings.append(
            Finding(
                f"{where}, {kind}, two threads (two processes: {ceiling:.2f}): one",
                f"{rows / times['two'] / 1e6:.2f} M rows/s",
                f"{rows / times['one'] / 1e6:.2f} M rows/s",
                times["one"] / times["two"],
                round(0.75 * ceiling, 2),
            )
        )
    return findings


def _crowding(rows: int) -> list[Finding]:
    """The engine as it is, and without its limit for BLAS, on two parts of so many rows."""
    crowd = Crowd(10, 10)
    halves = [open_records(crowd.draw(rows, seed)) for seed in (1, 2)]
    both = Records("array", Rule(halves[0].names), [part for half in halves for part in half.parts])
    task = make_task(both, crowd, LocalEngine(2))
    contenders = {
        "limited": lambda: plain_round(task, crowd.frame),
        "unlimited": lambda: _unlimited(task, crowd),
    }
    times = race(contenders, 2, wall=True)
    rates = {name: f"{2 * rows / seconds / 1e6:.2f} M rows/s" for name, seconds in times.items()}
    return [
        Finding(
            f"{2 * rows / 1e6:.2f} M x 10, K=10, plain, two threads, BLAS limited: as it comes",
            rates["limited"],
            rates["unlimited"],
            times["unlimited"] / times["limited"],
            1.0,
        )
    ]


def _unlimited(task: Task, crowd: Crowd) -> None:
    kept = engine.single_blas
    engine.single_blas = nullcontext
    try:
        plain_round(task, crowd.frame)
    finally:
        engine.single_blas = kept


def _ceiling() -> float:
    """How much more two processes that share nothing get done than one, on this machine just now."""
    alone = max(sum(_count(1)) for _ in range(3))
    return max(sum(_count(2)) for _ in range(3)) / alone


def _count(processes: int) -> list[int]:
    started = [
        subprocess.Popen([sys.executable, "-c", _LOAD], stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    return [int(process.communicate()[0]) for process in started]
