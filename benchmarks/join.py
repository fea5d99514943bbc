"""Joint networks: ALARM as processes over TLS, bytes as announced and as moved, how near noisy models come.

The networks are read from the folder of real data (DISCREET_DATA, or ../shared/data); without it only ASIA,
in the variant of Meng, Sivakumar and Kargupta (2004), is run.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.paper_asia import paper_asia
from experiments.places import data_folder

from benchmarks.table import Finding
from discreet.join import JoinPlan, check, rehearse, roles
from discreet.mechanisms.tables import law
from discreet.models.bif import read_bif
from discreet.models.network import Network
from discreet.models.tally import tally
from discreet.protocols.step import run_parties
from discreet.randomness import secure, seeded

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["run"]

_MINUTE = 60.0
_BYTES_OFF = 0.2
_KL = {"asia": 0.03, "alarm": 0.035}


def run(full: bool) -> list[Finding]:
    """A million rows of ALARM if ``full``, a tenth of that if not."""
    found = _noisy("asia", paper_asia(), 2_000, _asia_sites(), 20 if full else 6)
    folder = data_folder()
    if folder is None:
        return found
    alarm = read_bif(Path(folder) / "tabular" / "bif" / "alarm.bif.gz")
    found += _noisy("alarm", alarm, 100_000, _halves(alarm, 0), 4 if full else 1)
    for seed in (0, 1) if full else (0,):
        found += _over_tls(alarm, 1_000_000 if full else 100_000, _halves(alarm, seed))
    return found


def _over_tls(network: Network, rows: int, sites: Mapping[str, list[str]]) -> list[Finding]:
    """One rehearsal with noise: processes, mutual TLS, all from reading the table to the finished model."""
    plan = _plan(network, rows, sites)
    codes = network.sample(rows, seeded(3))
    words = {name: np.array(network.structure.states[name]) for name in codes}
    data = {holder: {c: words[c][codes[c]] for c in plan.columns_of(holder)} for holder in plan.holders}
    told = check(plan)
    began = time.perf_counter()
    joined = rehearse(plan, data)
    seconds = time.perf_counter() - began
    moved = sum(
        phase["sent"]
        for receipt in joined.receipts.values()
        for peer in receipt["peers"].values()
        for phase in peer.values()
    )
    off = abs(told.bytes / moved - 1)
    what = f"join ALARM, {rows:,} rows, helper, noise inside"
    return [
        Finding(
            f"{what}: time",
            f"{seconds:.1f} s",
            f"{_MINUTE:.0f} s",
            _MINUTE / seconds,
            1 if rows >= 10**6 else None,
        ),
        Finding(
            f"{what}: time announced", f"{seconds:.1f} s", f"{told.seconds:.1f} s", told.seconds / seconds
        ),
        Finding(
            f"{what}: bytes announced",
            f"{moved / 1e6:.1f} MB",
            f"{told.bytes / 1e6:.1f} MB",
            _BYTES_OFF / max(off, 1e-9),
            1,
        ),
    ]


def _noisy(
    name: str, network: Network, rows: int, sites: Mapping[str, list[str]], runs: int
) -> list[Finding]:
    """The divergence of joint models with noise inside, and of plain tables with Gaussian noise beside it."""
    plan = _plan(network, rows, sites)
    joint, plain = [], []
    for number in range(runs):
        codes = network.sample(rows, seeded(100 + number))
        joint.append(network.divergence(_joined(plan, codes)))
        plain.append(network.divergence(_plain(network, codes, number)))
    return [
        Finding(
            f"join {name.upper()}, {rows:,} rows, epsilon 1: divergence in nats, mean of {runs}",
            f"{np.mean(joint):.4f}",
            f"{_KL[name]} asked for",
            _KL[name] / float(np.mean(joint)),
            1,
        ),
        Finding(
            f"join {name.upper()}, {rows:,} rows: all tables with Gaussian noise, as they are",
            f"{np.mean(joint):.4f}",
            f"{np.mean(plain):.4f}",
            float(np.mean(plain) / np.mean(joint)),
        ),
    ]


def _joined(plan: JoinPlan, codes: Mapping[str, Any]) -> Network:
    """The model of a joint run in memory: the same roles, without sockets."""
    from discreet.models.margins import parameters

    steps: dict[str, Any] = {}
    for name in plan.holders:
        own = {column: codes[column] for column in plan.columns_of(name)}
        private = {"name": name, "codes": own, "ids": None, "purse": None}
        steps[name] = roles.holder(private, plan.agreed(), secure())
    steps["dealer"] = roles.helper("dealer", plan.agreed(), secure())
    tables = run_parties(steps, record=False)[0][plan.receivers[0]]["tables"]
    sigma = law(len(plan.network.measured), 1.0, 1e-6).sigma
    return parameters(tables, plan.network, prior=1.0, sigma=sigma)


def _plain(network: Network, codes: Mapping[str, Any], seed: int) -> Network:
    """What one would do first: noise on the table of every node, negative counts cut off, a row of prior."""
    random, structure = np.random.default_rng(seed), network.structure
    sigma = law(len(structure.nodes), 1.0, 1e-6).sigma
    tables: dict[str, Any] = {}
    for node, counts in tally(codes, structure).items():
        noisy = np.maximum(counts + random.normal(0, sigma, counts.shape), 0) + 1 / counts.shape[-1]
        tables[node] = noisy / noisy.sum(axis=-1, keepdims=True)
    return Network(structure, tables)


def _plan(network: Network, rows: int, sites: Mapping[str, list[str]]) -> JoinPlan:
    structure = network.structure
    parties: dict[str, Any] = {
        name: {"role": "holder", "columns": columns} for name, columns in sites.items()
    }
    return JoinPlan.of(
        {
            "job": "network",
            "name": "benchmark",
            "parties": {**parties, "dealer": {"role": "helper"}},
            "structure": {
                "states": dict(structure.states),
                "edges": [[parent, node] for node in structure.nodes for parent in structure.parents[node]],
            },
            "rows": {"count": rows},
            "release": {"to": [min(sites)], "epsilon": 1.0, "delta": 1e-6},
        }
    )


def _asia_sites() -> dict[str, list[str]]:
    return {"north": list("ATEXD"), "south": list("SLB")}


def _halves(network: Network, seed: int) -> dict[str, list[str]]:
    order = np.random.default_rng(seed).permutation(network.structure.nodes).tolist()
    return {"north": order[: len(order) // 2], "south": order[len(order) // 2 :]}
