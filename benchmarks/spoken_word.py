"""One spoken word between two parties: against the time it takes to say it, and the published protocol.

98 frames (0.98 s) of 39 numbers, 10 words of 5 states, full covariances; two processes over mutual TLS on
this machine, everything counted after the connection. The published protocol at 2048 bits (112-bit
security, less than ours) is priced from its operations, each measured here: it would take half an hour to
run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.keyword_growth import Size, invented
from experiments.published_words import Job, price

from benchmarks.table import Finding

if TYPE_CHECKING:
    from discreet.ask import Answer

__all__ = ["run"]

_LIMITS = {False: 1.0, True: 2.0}
"""Seconds that were asked for: left to right, and fully connected."""

_AHEAD, _FACTOR = 0.5, 1000.0


def run(full: bool) -> list[Finding]:
    """Both topologies, with and without what can be done ahead."""
    repeats = 7 if full else 3
    published = sum(price(Job(), 2048, 40 if full else 10).values())
    findings: list[Finding] = []
    for connected, name in ((False, "left-right"), (True, "fully connected")):
        plain = min((_ask(connected, False) for _ in range(repeats)), key=lambda one: one.seconds)
        ahead = min((_ask(connected, True) for _ in range(repeats)), key=lambda one: one.online)
        what = f"one word of 98 frames, {name}, {plain.bytes / 1e6:.0f} MB"
        findings += [
            _limit(what, plain.seconds, _LIMITS[connected]),
            _limit(f"{what}, set up ahead", ahead.online, None if connected else _AHEAD),
        ]
        if connected:
            against = f"{what}: published protocol, 2048 bits, priced"
            ratio = published / plain.seconds
            findings.append(Finding(against, f"{plain.seconds:.2f} s", f"{published:.0f} s", ratio, _FACTOR))
    return findings


def _limit(what: str, seconds: float, limit: float | None) -> Finding:
    """Ratio above 1: faster than was asked for, or than the word was said."""
    asked = 0.98 if limit is None else limit
    beside = "0.98 s spoken" if limit is None else f"{limit:g} s asked for"
    return Finding(what, f"{seconds:.2f} s", beside, asked / seconds, None if limit is None else 1.0)


def _ask(connected: bool, ahead: bool) -> Answer:
    from discreet.ask import rehearse

    vocabulary, features = invented(Size(full=connected))
    topology: Any = "full" if connected else "left-right"
    return rehearse(vocabulary, features, topology=topology, ahead=ahead, prepared=True)
