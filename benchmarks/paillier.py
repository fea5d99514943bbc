"""Paillier against phe (DISCREET_PHE names a Python that has it), and the table of key sizes of paper 002.

Key sizes below 2048 bits protect nothing: `discreet` refuses them, and they are made here for the table
alone.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers import ask
from benchmarks.table import Finding
from discreet.crypto import paillier
from discreet.crypto.packing import Packing
from discreet.crypto.paillier import SecretKey
from discreet.randomness import expand, secure

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FEATURES", "FRAMES", "OUTPUTS", "packed", "phe_job", "run"]

FRAMES, FEATURES, OUTPUTS = 98, 820, 50
"""The linear layer of paper 002: features encrypted, weights plain, 16 bits each with a sign."""

_LARGEST = 2**15
_MASK = 40
_PAPER = {64: 15873.02, 128: 4694.84, 256: 828.50, 512: 119.92, 1024: 15.90}


def run(full: bool) -> list[Finding]:
    """Speeds by key size, then the linear layer."""
    sizes = (64, 128, 256, 512, 1024, 2048, 3072) if full else (512, 2048)
    findings: list[Finding] = []
    for size in sizes:
        findings += _speeds(size, full)
    for size in (2048, 3072) if full else (2048,):
        findings.append(_layer(size, full))
    return findings


def _speeds(size: int, full: bool) -> list[Finding]:
    """Encryptions in a second, by the public and by the owner's key, and decryptions."""
    rounds, count = (4, 60) if full else (3, 30)
    start = time.process_time()
    secret = paillier._generated(secure(), size)
    made = time.process_time() - start
    public, bits = secret.public, expand(secure().bytes(32), "benchmark")
    values = [12345 + index for index in range(count)]
    public.zeros(200, bits), secret.zeros(1, bits)  # tables are made once for a key
    ciphers = secret.encrypt(values, bits)
    ours: dict[str, float] = {"keys": made}
    theirs: dict[str, float] = {}
    for _ in range(rounds):  # turn by turn, so that both meet the same machine
        told = ask("DISCREET_PHE", "peer_phe.py", size, count // 3) if size >= 256 else None
        for name, seconds in (told or {}).items():
            theirs[name] = min(theirs.get(name, math.inf), seconds)
        for name, work in {
            "public": lambda: public.encrypt(values, bits),
            "owner": lambda: secret.encrypt(values, bits),
            "decrypt": lambda: secret.decrypt(ciphers),
        }.items():
            ours[name] = min(ours.get(name, math.inf), _seconds(work) / count)
    targets = {"public": 15.0, "owner": 20.0} if size == 2048 else {}
    paper = f" (paper: {_PAPER[size]:.0f}/s)" if size in _PAPER else ""
    return [
        _finding(
            f"{size} bits, {name}{paper if name == 'public' else ''}",
            ours[name],
            theirs.get(peer),
            targets.get(name),
        )
        for name, peer in (
            ("keys", "keys"),
            ("public", "encrypt"),
            ("owner", "encrypt"),
            ("decrypt", "decrypt"),
        )
    ]


def _finding(what: str, ours: float, theirs: float | None, target: float | None) -> Finding:
    unit = (lambda s: f"{s:.3f} s") if what.endswith("keys") else (lambda s: f"{1 / s:.0f}/s")
    if theirs is None:
        return Finding(f"Paillier {what}", unit(ours), "no peer (DISCREET_PHE)", 0.0)
    return Finding(f"Paillier {what}: phe", unit(ours), unit(theirs), theirs / ours, target)


def _layer(size: int, full: bool) -> Finding:
    took = packed(size, FRAMES, OUTPUTS if full else 10)
    whole = took["all"] if full else took["ahead"] + took["encrypt"] + 5 * (took["compute"] + took["open"])
    told = ask("DISCREET_PHE", "peer_phe.py", size, 20)
    said = ", ".join(f"{name} {seconds:.2f}" for name, seconds in took.items() if name != "all")
    what = f"98 x 820 by 820 x 50, packed Paillier {size} ({said} s)"
    if told is None:
        return Finding(what, f"{whole:.2f} s", "phe absent (DISCREET_PHE)", 0.0)
    peer = phe_job(told)
    target = 200.0 if size == 2048 else None
    return Finding(f"{what}: phe, from samples", f"{whole:.2f} s", f"{peer:.0f} s", peer / whole, target)


def phe_job(told: dict[str, float]) -> float:
    """How long phe would take for the whole layer, from the time of its parts."""
    results = FRAMES * OUTPUTS
    return FRAMES * FEATURES * told["encrypt"] + results * (FEATURES * told["term"] + told["decrypt"])


def packed(size: int, frames: int, outputs: int) -> dict[str, float]:
    """The layer by packed Paillier, checked: processor seconds ahead of time and in each stage."""
    random = np.random.default_rng(0)
    x = random.integers(-_LARGEST, _LARGEST, (frames, FEATURES))
    w = random.integers(-_LARGEST, _LARGEST, (FEATURES, outputs))
    secret, bits = SecretKey.generate(secure(), size), expand(secure().bytes(32), "benchmark")
    reach = FEATURES * _LARGEST**2
    hiding = 1 << (reach.bit_length() + _MASK - 1)
    packing = Packing(reach + hiding, size)
    pieces = -(-frames // packing.slots)
    largest_mask = sum(hiding << (packing.width * slot) for slot in range(packing.slots))
    took: dict[str, float] = {}

    def stage(name: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        took[name] = time.process_time() - start
        return result

    def ahead() -> tuple[Any, Any]:
        return secret.zeros(FEATURES * pieces, bits), secret.public.zeros(outputs * pieces, bits)

    def encrypt() -> list[Any]:
        largest = sum(_LARGEST << (packing.width * slot) for slot in range(packing.slots))
        columns = [packing.pack(column.tolist()) for column in x.T]
        return [secret.encrypt([column[p] for column in columns], zeros, largest) for p in range(pieces)]

    def compute() -> tuple[list[Any], list[Any]]:
        answers, masks = [], []
        for cipher in ciphers:
            mask = [packing.pack(_wide(bits, hiding, packing.slots))[0] for _ in range(outputs)]
            result = cipher.weighted(w, FEATURES * _LARGEST)
            answers.append(result.plus(mask, largest_mask).sealed(others))
            masks.append(mask)
        return answers, masks

    zeros, others = stage("ahead", ahead)
    ciphers = stage("encrypt", encrypt)
    answers, masks = stage("compute", compute)
    opened = stage("open", lambda: [packing_of(secret.decrypt(answer), packing) for answer in answers])
    hidden = [packing_of(mask, packing) for mask in masks]
    result = np.concatenate([a - b for a, b in zip(opened, hidden, strict=True)], axis=1)[:, :frames].T
    assert np.array_equal(result.astype(np.int64), x @ w)
    took["all"] = sum(took.values())
    return took


def packing_of(wholes: list[int], packing: Packing) -> np.ndarray:
    """Slots as a table of integers of any length."""
    return np.array([packing.unpack([whole], packing.slots) for whole in wholes], dtype=object)


def _wide(bits: Any, half: int, count: int) -> list[int]:
    """Uniform integers in [-half, half), half a power of two."""
    width = half.bit_length()
    return [(int.from_bytes(bits.bytes(16), "little") & ((1 << width) - 1)) - half for _ in range(count)]


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
