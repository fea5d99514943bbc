"""Exact discrete noise against doubles, which are fast and not private: their low bits tell."""

from __future__ import annotations

import numpy as np

from benchmarks.clock import race
from benchmarks.rounds import Unpaid
from benchmarks.table import Finding
from discreet.accounting.event import Event
from discreet.mechanisms.noise import release
from discreet.randomness import secure, seeded
from discreet.statistic import Statistic

__all__ = ["run"]


def run(full: bool) -> list[Finding]:
    """Gaussian and Laplace, from secure and from seeded bits."""
    size = 20_000 if full else 4_000
    findings: list[Finding] = []
    for mechanism in ("gaussian", "laplace"):
        event = Event(mechanism, 4.0)
        total = np.array([7**20] * size, dtype=object)
        statistic = Statistic(total, 2.0**-36, 2.0**36 * size**0.5, 2.0**36, "benchmark")
        random = np.random.default_rng(0)
        draw = random.normal if mechanism == "gaussian" else random.laplace
        doubles = total.astype(np.float64)
        contenders = {
            "secure bits": lambda s=statistic, e=event: release(s, e, Unpaid(), secure()),
            "seeded bits": lambda s=statistic, e=event: release(s, e, Unpaid(), seeded(1)),
            "doubles": lambda draw=draw, doubles=doubles: doubles + draw(0.0, 4.0, size),
        }
        times = {name: seconds / size * 1e6 for name, seconds in race(contenders, 5).items()}
        findings += [
            Finding(
                f"exact {mechanism} noise, {kind}: numpy's doubles",
                f"{times[kind]:.2f} us a number",
                f"{times['doubles']:.3f} us a number",
                times["doubles"] / times[kind],
            )
            for kind in ("secure bits", "seeded bits")
        ]
    return findings
