"""The lattice against packed Paillier, against TenSEAL packed by hand (DISCREET_TENSEAL), and against phe.

The linear layer of paper 002's keyword task, 98 x 820 by 820 x 50, 16 bits each: ours from keys to shares,
with circuit privacy; weights are transformed once for a model and told apart.
"""

from __future__ import annotations

import math
import time

import numpy as np

from benchmarks.paillier import FEATURES, FRAMES, OUTPUTS, packed, phe_job
from benchmarks.peers import ask
from benchmarks.table import Finding
from discreet.crypto.layout import Correlation, Matrix
from discreet.protocols.product import Pair
from discreet.protocols.scores import Scores, prepared, score
from discreet.protocols.scores import ask as asked
from discreet.protocols.step import run_pair
from discreet.randomness import secure

__all__ = ["run"]

_LARGEST = 2**15
_SHARE = 41


def run(full: bool) -> list[Finding]:
    """The layer, every window of a song, and the joint counts of two columns."""
    findings = _layer(full)
    findings.append(_windows(full))
    findings.append(_counts(full))
    return findings


def _layer(full: bool) -> list[Finding]:
    random = np.random.default_rng(0)
    agreed = Scores(Matrix(FRAMES, FEATURES, OUTPUTS), _LARGEST, _LARGEST, _SHARE)
    x = random.integers(-_LARGEST, _LARGEST, (FRAMES, FEATURES))
    w = random.integers(-_LARGEST, _LARGEST, (FEATURES, OUTPUTS))
    once = time.process_time()
    table = prepared(w, agreed)
    once = time.process_time() - once
    best, tenseal, paillier, phe, sent = math.inf, math.inf, math.inf, math.inf, 0
    for turn in range(3):  # turn by turn, so that all meet the same machine
        for _ in range(3):
            start = time.process_time()
            mine, theirs, transcript = run_pair(asked(x, agreed, secure()), score(table, agreed, secure()))
            best = min(best, time.process_time() - start)
            sent = transcript.size
        if told := ask("DISCREET_TENSEAL", "peer_tenseal.py"):
            tenseal = min(tenseal, told["seconds"])
        if turn == 0 or full:
            part = packed(2048, FRAMES, OUTPUTS if full else 10)
            scale = 1 if full else 5
            paillier = min(
                paillier, part["ahead"] + part["encrypt"] + scale * (part["compute"] + part["open"])
            )
        if told := ask("DISCREET_PHE", "peer_phe.py", 2048, 20):
            phe = min(phe, phe_job(told))
    shift = np.uint64(64 - _SHARE)
    assert np.array_equal(((mine + theirs) << shift).view(np.int64) >> np.int64(64 - _SHARE), x @ w)
    hidden = agreed.setting.hidden_bits
    ours = f"{best * 1e3:.0f} ms"
    notes = f"exact, hidden 2^-{hidden:.0f}, {sent / 1e6:.1f} MB, model once {once:.2f} s"
    return [
        _finding(
            f"98 x 820 by 820 x 50, lattice ({notes}): packed Paillier 2048", ours, best, paillier, 20.0
        ),
        _finding(
            "98 x 820 by 820 x 50, lattice: TenSEAL by hand, not circuit-private", ours, best, tenseal, 5.0
        ),
        _finding("98 x 820 by 820 x 50, lattice: phe 2048, from samples", ours, best, phe, None),
    ]


def _finding(what: str, said: str, ours: float, theirs: float, target: float | None) -> Finding:
    if math.isinf(theirs):
        return Finding(what, said, "absent", 0.0)
    return Finding(what, said, f"{theirs:.2f} s", theirs / ours, target)


def _windows(full: bool) -> Finding:
    """A snippet of 1024 samples against every window of a song."""
    agreed = Scores(Correlation(1024, 124_000 if full else 20_000), 127, 127, 32)
    random = np.random.default_rng(0)
    query, song = (random.integers(-127, 128, size) for size in (1024, agreed.layout.series))
    table = prepared(song, agreed)
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        mine, theirs, _ = run_pair(asked(query, agreed, secure()), score(table, agreed, secure()))
        best = min(best, time.process_time() - start)
    got = ((mine + theirs) << np.uint64(32)).view(np.int64) >> np.int64(32)
    assert np.array_equal(got, np.correlate(song, query, "valid"))
    each = best / agreed.layout.windows
    told = ask("DISCREET_PHE", "peer_phe.py", 2048, 20)
    what = "a window of 1024 samples"
    if told is None:
        return Finding(what, f"{each * 1e6:.2f} us", "phe absent (DISCREET_PHE)", 0.0)
    peer = 1024 * told["term"] + told["decrypt"]
    return Finding(f"{what}: phe, from samples", f"{each * 1e6:.2f} us", f"{peer * 1e3:.0f} ms", peer / each)


def _counts(full: bool) -> Finding:
    """Joint counts of two yes/no columns held by two parties."""
    agreed = Pair(1_000_000 if full else 100_000, 1, 1)
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 2, (agreed.rows, 1)) for _ in range(2))
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        scores = agreed.scores
        mine, theirs, _ = run_pair(asked(a.T.copy(), scores, secure()), score(b, scores, secure()))
        best = min(best, time.process_time() - start)
    assert int((mine + theirs)[0, 0]) % 2**40 == int((a * b).sum())
    told = ask("DISCREET_PHE", "peer_phe.py", 2048, 20)
    what = f"inner product of {agreed.rows:,} rows"
    if told is None:
        return Finding(what, f"{best:.2f} s", "phe absent (DISCREET_PHE)", 0.0)
    peer = agreed.rows * (told["encrypt"] + told["add"] / 2)
    return Finding(f"{what}: phe, from samples", f"{best:.2f} s", f"{peer:.0f} s", peer / best)
