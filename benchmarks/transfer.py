"""Oblivious transfers by extension, both ends on one core, against public-key transfers one by one."""

from __future__ import annotations

import numpy as np

from benchmarks.clock import race
from benchmarks.table import Finding
from discreet.crypto.extension import COLUMNS, LOT
from discreet.crypto.transfer import Chooser, Offer
from discreet.protocols.step import Steps, run_pair
from discreet.protocols.transfer import Sending, open_choosing, open_sending
from discreet.randomness import secure

__all__ = ["run"]

_ASKED = 3e6


def run(full: bool) -> list[Finding]:
    """Transfers a second: correlated rows with the check, and messages of one word taken."""
    count = (8 if full else 3) * LOT
    choices = np.random.default_rng(0).integers(0, 2, count)
    messages = np.random.default_rng(1).integers(0, 2**63, (count, 2, 1)).astype(np.uint64)
    sending, choosing, _ = run_pair(
        open_sending(b"benchmark", secure()), open_choosing(b"benchmark", secure())
    )

    def extend() -> None:
        run_pair(_rows(sending, count), choosing.rows(choices), record=False)

    def take() -> None:
        run_pair(sending.send(messages), choosing.take(choices, 2, 1), record=False)

    def one_by_one() -> None:
        offer = Offer.make(secure())
        offer.keys(Chooser([0, 1] * (COLUMNS // 2), offer.point, b"benchmark", secure()).points, b"benchmark")

    times = race({"rows": extend, "words": take, "base": one_by_one}, 5 if full else 3)
    base = COLUMNS / times["base"]
    findings: list[Finding] = []
    for name, what in (("rows", "correlated rows, checked"), ("words", "words of 64 bits taken, 1 of 2")):
        rate = count / times[name]
        ours = f"{rate / 1e6:.1f} M a second"
        findings += [
            Finding(
                f"transfers by extension, {what}: asked for",
                ours,
                f"{_ASKED / 1e6:.0f} M a second",
                rate / _ASKED,
                1,
            ),
            Finding(
                f"transfers by extension, {what}: base transfers", ours, f"{base:.0f} a second", rate / base
            ),
        ]
    return findings


def _rows(sending: Sending, count: int) -> Steps[None]:
    yield from sending.rows(count)
