"""Garbled gates, both ends on one core, against half-gates one by one with the same AES."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from benchmarks.clock import race
from benchmarks.table import Finding
from discreet.crypto.circuit import Builder, Circuit
from discreet.crypto.garble import Evaluator, Garbler
from discreet.crypto.logsum import log_sum, table
from discreet.crypto.words import argmax, less

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run"]

_ASKED = 8e6


def run(full: bool) -> list[Finding]:
    """AND gates a second for comparisons, log-sums and an argmax of 24-bit words, many instances."""
    batch = 40_000 if full else 12_000
    circuits = {"comparison": _comparison(), "log-sum": _log_sum(), "argmax of ten": _argmax()}
    sizes = {"comparison": 8 * batch, "log-sum": batch, "argmax of ten": batch // 4}
    works = {name: _both_ends(circuit, sizes[name]) for name, circuit in circuits.items()}
    times = race({**works, "one by one": _one_by_one}, 5 if full else 3)
    single = _GATES / times["one by one"]
    findings: list[Finding] = []
    for name, circuit in circuits.items():
        rate = circuit.ands * sizes[name] / times[name]
        ours = f"{rate / 1e6:.1f} M a second"
        findings += [
            Finding(
                f"AND gates, both ends, {name}: asked for",
                ours,
                f"{_ASKED / 1e6:.0f} M a second",
                rate / _ASKED,
                1,
            ),
            Finding(
                f"AND gates, both ends, {name}: one by one",
                ours,
                f"{single / 1e3:.0f} k a second",
                rate / single,
            ),
        ]
    return findings


def _comparison() -> Circuit:
    build = Builder()
    build.output("out", [less(build, build.input("a", 24), build.input("b", 24))])
    return build.circuit()


def _log_sum() -> Circuit:
    build = Builder()
    build.output("out", log_sum(build, build.input("a", 24), build.input("b", 24), table(8, 1 / 64)))
    return build.circuit()


def _argmax() -> Circuit:
    build = Builder()
    build.output("out", argmax(build, build.words("a", 10, 24))[0])
    return build.circuit()


def _both_ends(circuit: Circuit, batch: int) -> Callable[[], None]:
    """Garble and evaluate, block by block, in memory."""
    random = np.random.default_rng(0)
    bits = {
        name: random.integers(0, 2, (part.stop - part.start, batch)).astype(np.uint8)
        for name, part in circuit.inputs.items()
    }

    offset, session = b"\1" + os.urandom(15), os.urandom(16)
    garbler, evaluator = Garbler(offset, session), Evaluator(session)
    labels = {name: garbler.give(part) for name, part in bits.items()}
    held = {name: evaluator.take(part.shape) for name, part in bits.items()}

    def work() -> None:
        using = evaluator.run(circuit, held)
        next(using)
        try:
            for tables in garbler.run(circuit, labels):
                using.send(tables)
        except StopIteration:
            return

    return work


_GATES = 2_000


def _one_by_one() -> None:
    """The same gates the obvious way: integers, and a call of AES for each block."""
    cipher = Cipher(algorithms.AES(bytes(16)), modes.ECB()).encryptor()

    def permute(x: int) -> int:
        return int.from_bytes(cipher.update(x.to_bytes(16, "little")), "little")

    def hashed(x: int, tweak: int) -> int:
        y = permute(x) ^ tweak
        return permute(y) ^ y

    offset, a, b = (int.from_bytes(os.urandom(16), "little") for _ in range(3))
    for gate in range(_GATES):
        h, hd = hashed(a, 2 * gate), hashed(a ^ offset, 2 * gate)
        k, kd = hashed(b, 2 * gate + 1), hashed(b ^ offset, 2 * gate + 1)
        first, second = h ^ hd ^ offset * (b & 1), k ^ kd ^ a
        a, b = h ^ first * (a & 1) ^ k ^ (second ^ a) * (b & 1), a
        x, y = hashed(a, 2 * gate), hashed(b, 2 * gate + 1)
        _ = x ^ first * (a & 1) ^ y ^ (second ^ a) * (b & 1)
