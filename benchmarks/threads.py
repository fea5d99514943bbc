"""Two threads against one, what a BLAS that starts threads of its own would do to them, and other engines.

Times are by the wall: on a machine with other work, or with fewer than two free processors, two threads
cannot do better than one.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from benchmarks.clock import race
from benchmarks.crowd import Crowd, make_task
from benchmarks.rounds import exact_sums, private_round
from benchmarks.table import Finding
from discreet.fit.plain import plain_round
from discreet.records import LocalEngine, engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.fit.task import Task

__all__ = ["run"]

_ROUNDS: dict[str, Callable[..., Any]] = {"plain": plain_round, "private": private_round}


def run(full: bool) -> list[Finding]:
    """Two and ten columns."""
    findings: list[Finding] = []
    for crowd, rows in ((Crowd(8, 2), 10_000_000), (Crowd(10, 10), 1_000_000)):
        points = crowd.draw(rows if full else rows // 5)
        one, two = (make_task(points, crowd, LocalEngine(workers)) for workers in (1, 2))
        assert (exact_sums(one, crowd.frame) == exact_sums(two, crowd.frame)).all()
        findings += _scaling(one, two, crowd, len(points))
    crowd = Crowd(10, 10)
    points = crowd.draw(500_000 if full else 2**18 + 2**17)
    return findings + _crowding(make_task(points, crowd, LocalEngine(2)), crowd, len(points))


def _scaling(one: Task, two: Task, crowd: Crowd, rows: int) -> list[Finding]:
    findings: list[Finding] = []
    where = f"{rows / 1e6:g} M x {crowd.dimension}, K={crowd.components}"
    for kind, step in _ROUNDS.items():
        contenders = {
            "one": lambda step=step: step(one, crowd.frame),
            "two": lambda step=step: step(two, crowd.frame),
        }
        times = race(contenders, 5, wall=True)
        findings.append(
            Finding(
                f"{where}, {kind}, two threads: one thread",
                f"{rows / times['two'] / 1e6:.2f} M rows/s",
                f"{rows / times['one'] / 1e6:.2f} M rows/s",
                times["one"] / times["two"],
                1.4 if _free_processors() >= 2 else None,
            )
        )
    return findings


def _crowding(task: Task, crowd: Crowd, rows: int) -> list[Finding]:
    """The engine as it is, and without its limit for BLAS."""
    contenders = {
        "limited": lambda: plain_round(task, crowd.frame),
        "unlimited": lambda: _unlimited(task, crowd),
    }
    times = race(contenders, 2, wall=True)
    where = f"{rows / 1e6:.2g} M x {crowd.dimension}, K={crowd.components}"
    title = f"{where}, plain, two threads, BLAS limited: as it comes"
    rates = {name: f"{rows / seconds / 1e6:.2f} M rows/s" for name, seconds in times.items()}
    return [Finding(title, rates["limited"], rates["unlimited"], times["unlimited"] / times["limited"], 1.0)]


def _unlimited(task: Task, crowd: Crowd) -> None:
    kept = engine.single_blas
    engine.single_blas = nullcontext
    try:
        plain_round(task, crowd.frame)
    finally:
        engine.single_blas = kept


def _free_processors() -> float:
    """Processors less the work that others have on this machine just now; benchmarks are one of them."""
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return (os.cpu_count() or 1) + 1.0 - busy
