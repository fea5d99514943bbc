"""Bayesian networks against pgmpy (DISCREET_PGMPY names a Python that has it): counting, and reading BIF.

Both sides fit ALARM to the same rows, turn by turn, and their tables must be the same before times are told.
Where the real network is absent, an invented one of the same size takes its place.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.clock import race
from benchmarks.peers import ask
from benchmarks.table import Finding
from discreet.fit import BayesianNetwork
from discreet.models.bif import bif_text, parse_bif, read_bif, write_bif
from discreet.models.margins import parameters
from discreet.models.network import Network
from discreet.models.structure import Structure
from discreet.models.tally import tally
from discreet.randomness import seeded

__all__ = ["run"]

_COUNTING, _READING = 9.0, 100.0


def run(full: bool) -> list[Finding]:
    """A million rows, or a tenth of that."""
    network, name = _network()
    rows, rounds = (1_000_000, 5) if full else (100_000, 3)
    codes = network.sample(rows, seeded(1))
    structure, text = network.structure, bif_text(network)
    contenders = {
        "count": lambda: parameters(tally(codes, structure), structure, prior=0),
        "read": lambda: parse_bif(text),
    }
    ours = dict.fromkeys(contenders, math.inf)
    theirs: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_bif(network, folder / "network.bif")
        np.savez(folder / "codes.npz", **codes)
        for _ in range(2):  # turn by turn, so that both meet the same machine
            ours |= {key: min(ours[key], value) for key, value in race(contenders, 3 * rounds).items()}
            for key, value in (ask("DISCREET_PGMPY", "peer_pgmpy.py", folder, rounds) or {}).items():
                theirs[key] = min(theirs.get(key, math.inf), value)
        if theirs:
            _compare(contenders["count"](), folder / "peer.npz")
    what = f"{name}, {rows:,} rows"
    return [
        _finding(
            f"{what}: maximum likelihood from codes", ours["count"], theirs.get("categories"), _COUNTING
        ),
        _finding(f"{what}: the same, pgmpy from text", ours["count"], theirs.get("text"), None),
        _finding(f"{name}: reading BIF", ours["read"], theirs.get("read"), _READING),
        _private(network, codes, name),
    ]


def _network() -> tuple[Network, str]:
    data = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
    path = data / "tabular" / "bif" / "alarm.bif.gz"
    if path.exists():
        return read_bif(path), "ALARM"
    draw = np.random.default_rng(0)
    names = [f"n{index}" for index in range(37)]
    parents = {name: tuple(names[max(0, at - at % 4) : at][:2]) for at, name in enumerate(names)}
    structure = Structure(dict.fromkeys(names, ("low", "normal", "high")), parents)
    tables = {name: draw.dirichlet(np.ones(3), structure.shape(name)[:-1]) for name in names}
    return Network(structure, tables), "an invented network"


def _compare(ours: Network, path: Path) -> None:
    """Both sides must have fitted the same tables."""
    with np.load(path) as theirs:
        for node, table in ours.tables.items():
            if theirs[node].shape != table.shape or np.abs(theirs[node] - table).max() > 1e-12:
                raise AssertionError(f"the tables of {node} differ")


def _finding(what: str, ours: float, theirs: float | None, target: float | None) -> Finding:
    if theirs is None:
        return Finding(what, f"{1000 * ours:.1f} ms", "no peer (DISCREET_PGMPY)", 0.0)
    return Finding(f"{what}: pgmpy", f"{1000 * ours:.1f} ms", f"{theirs:.2f} s", theirs / ours, target)


def _private(network: Network, codes: dict[str, np.ndarray], name: str) -> Finding:
    """What the whole private fit costs beside the plain one, from a mapping of text."""
    rows = {
        node: np.array(network.structure.states[node], dtype=object)[code] for node, code in codes.items()
    }
    took = race(
        {
            "private": lambda: BayesianNetwork(network, epsilon=1.0, delta=1e-6).fit(rows),
            "plain": lambda: BayesianNetwork(network, epsilon=math.inf).fit(rows),
        },
        2,
    )
    what = f"{name}, {len(rows[network.structure.nodes[0]]):,} rows of text: private fit beside plain"
    return Finding(
        what, f"{took['private']:.2f} s", f"{took['plain']:.2f} s", took["plain"] / took["private"]
    )
