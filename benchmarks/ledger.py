"""Durable spendings a second, against a line appended to a file and flushed to the same disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.clock import race
from benchmarks.table import Finding
from discreet.accounting.accountant import epsilon_of
from discreet.accounting.event import Event
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.ledger import Ledger

__all__ = ["run"]


def run(full: bool) -> list[Finding]:
    """One process that spends a little again and again."""
    times = 500 if full else 100
    event = Event("gaussian", 1000.0, label="benchmark")
    epsilon = epsilon_of([event], 1e-9) * (1 + 1e-6)
    promise = Guarantee(epsilon, 1e-9, "row", (event,), "nobody", (), ())
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        ledger = Ledger.create(Path(name) / "ledger.db")
        ledger.budget("crowd", "row", 10.0, 1e-6)

        def spend() -> None:
            for _ in range(times):
                ledger.spend("crowd", promise, "benchmark")

        def append() -> None:
            with (Path(name) / "lines").open("ab") as file:
                for _ in range(times):
                    file.write(b"x" * 600)
                    file.flush()
                    os.fsync(file.fileno())

        seconds = race({"ours": spend, "peer": append}, 3, wall=True)
    return [
        Finding(
            "ledger, durable spendings: lines flushed to disk",
            f"{times / seconds['ours']:.0f} a second",
            f"{times / seconds['peer']:.0f} a second",
            seconds["peer"] / seconds["ours"],
        )
    ]
