"""The forward recursion on shares, both parties on one core, against SPU's two-party protocol CHEETAH.

SPU needs an environment of its own: set DISCREET_SPU to its Python (`pip install spu 'numpy<2'` there).
Without it the comparison is with what was measured once on two cores of an AMD EPYC, and says so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.clock import race
from benchmarks.table import Finding
from discreet.protocols.step import run_pair
from discreet.protocols.trellis import Trellis, Weights, all_arcs, hold_data, hold_model
from discreet.randomness import secure

__all__ = ["run"]

_MODELS, _STATES = 10, 5
_ASKED_TIME, _ASKED_BYTES = 20, 7


@dataclass(frozen=True)
class _Peer:
    """What SPU took for so many steps: processor seconds of both parties, bytes both ways, error in nats."""

    seconds: float
    size: float
    error: float
    where: str


_RECORDED = _Peer(23.5, 910e6, 0.204, "SPU CHEETAH, as recorded")
"""98 steps, as `benchmarks/spu_recursion.py` measured them beside ours; over loopback it took 29.5 s."""


def run(full: bool) -> list[Finding]:
    """98 steps, 10 models, 5 states, fully connected; a dozen steps unless ``full``."""
    steps = 98 if full or "DISCREET_SPU" not in os.environ else 12
    random = np.random.default_rng(0)
    scores = -random.gamma(9, 1.5, (steps, _MODELS, _STATES))
    arcs = np.log(random.dirichlet(np.ones(_STATES), (_MODELS, _STATES)))
    plan = Trellis(
        "logsum", steps, _MODELS, all_arcs(_STATES), low=-60, high=0, answer="states", opened="evaluator"
    )
    weights = Weights(np.zeros((_MODELS, _STATES)), arcs, np.zeros((_MODELS, _STATES)))
    values = plan.fixed(np.maximum(scores, -60))
    mask = np.uint64(2**plan.width - 1)
    first = np.frombuffer(secure().bytes(8 * values.size), dtype=np.uint64).reshape(values.shape) & mask
    second = (values.view(np.uint64) - first) & mask

    def once(record: bool = False):
        roles = hold_model(plan, weights, first, secure()), hold_data(plan, second, secure())
        return run_pair(*roles, record=record)

    _, found, transcript = once(record=True)
    error = float(np.abs(found / 2**plan.fraction - _exact(scores, arcs)).max())
    seconds = race({"ours": once}, 5 if full else 3)["ours"]
    peer = _spu(scores, arcs) if "DISCREET_SPU" in os.environ else _RECORDED
    what = f"log-sum recursion, {steps} steps, {_MODELS} models, {_STATES} states"
    return [
        Finding(
            f"{what}, processor time of both: {peer.where}",
            f"{seconds:.2f} s",
            f"{peer.seconds:.1f} s",
            peer.seconds / seconds,
            _ASKED_TIME,
        ),
        Finding(
            f"{what}, bytes: {peer.where}",
            f"{transcript.size / 1e6:.0f} MB",
            f"{peer.size / 1e6:.0f} MB",
            peer.size / transcript.size,
            _ASKED_BYTES,
        ),
        Finding(
            f"{what}, error: {peer.where}",
            f"{error:.3f} nats",
            f"{peer.error:.3f} nats",
            peer.error / error,
        ),
    ]


def _exact(scores: np.ndarray, arcs: np.ndarray) -> np.ndarray:
    state = scores[0]
    for step in scores[1:]:
        state = np.logaddexp.reduce(state[:, :, None] + arcs, axis=1) + step
    return state


def _spu(scores: np.ndarray, arcs: np.ndarray) -> _Peer:
    """Run the peer in its own environment on the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "scores.npy", Path(folder) / "arcs.npy"]
        for path, array in zip(paths, (scores, arcs), strict=True):
            np.save(path, array.astype(np.float32))
        script = str(Path(__file__).with_name("spu_recursion.py"))
        command = [os.environ["DISCREET_SPU"], script, *map(str, paths)]
        told = subprocess.run(command, check=True, capture_output=True, text=True)
    result = json.loads(re.findall(r"^RESULT (.*)$", told.stdout, flags=re.M)[0])
    sent, received = re.findall(r"total send bytes (\d+), recv bytes (\d+)", told.stdout + told.stderr)[0]
    return _Peer(result["seconds"], int(sent) + int(received), result["error"], "SPU CHEETAH")
