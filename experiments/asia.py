"""Tables 2 and 3 of Meng, Sivakumar and Kargupta (ICDM 2004): the ASIA network from columns of two sites.

The network is **the paper's variant** (`experiments.paper_asia`), not the ASIA of the BIF collections: there
E ("either") is a deterministic or; here it is not. The paper prints the tables of E and D; the other six are
from memory of its sibling (Chen, Sivakumar and Kargupta, KAIS 2004).

Counts are taken by the paper's rotation (`discreet.audit.rotation`, broken there), by pooling all columns,
and by our protocols: two sites with a helper, two alone, three alone. All must give the same integers, so
what remains is the error of 2,000 samples, which is compared with what the binomial law expects.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.audit import rotation
from discreet.models.margins import parameters
from discreet.models.network import Network
from discreet.models.tally import tally
from discreet.protocols import families
from discreet.protocols.step import run_parties
from discreet.randomness import expand, seeded
from experiments.paper_asia import SITES, paper_asia
from experiments.places import write_table

__all__ = [
    "ASIA",
    "CROSSING",
    "Way",
    "by_rotation",
    "by_sites",
    "mean_deviation",
    "run",
]

ROWS, SETS, QUICK_SETS = 2000, 200, 20

TABLE_3 = {"E": [0.9, 0.1, 0.1, 0.01], "D": [0.89, 0.21, 0.81, 0.84]}
"""What the paper estimated from its 2,000 samples, as printed."""

CROSSING = ("E", "D")


ASIA = paper_asia()

Codes = dict[str, np.ndarray]
Tables = dict[str, np.ndarray]


class Way(NamedTuple):
    """Who holds which columns, and how crossing families are counted."""

    name: str
    sites: dict[str, tuple[str, ...]]
    route: families.Route


THREE = {"north": ("A", "T"), "middle": ("E", "X", "D"), "south": ("S", "L", "B")}
WAYS = (
    Way("two sites and a helper", SITES, "helper"),
    Way("two sites alone, by transfers", SITES, "transfer"),
    Way("two sites alone, over a lattice", SITES, "lattice"),
    Way("three sites alone", THREE, "three"),
)


def run(folder: Path, quick: bool) -> str:
    """All three tables."""
    del folder  # the network is invented
    sets = QUICK_SETS if quick else SETS
    texts = [estimates(seed=0), errors(sets), bytes_by_node()]
    return "\n".join(texts)


def draw(seed: int) -> Codes:
    """A data set of the paper's size."""
    return dict(ASIA.sample(ROWS, seeded(seed)))


def pooled(codes: Codes) -> Tables:
    """The counts of all families, with all columns in one place."""
    return tally(codes, ASIA.structure)


def by_sites(codes: Codes, way: Way, seed: int = 0) -> tuple[Tables, dict[str, int]]:
    """The counts by one of our protocols, and the bytes of content that each crossing node cost."""
    tables: Tables = {}
    moved: dict[str, int] = {}
    for node, family in ASIA.structure.families.items():
        parts = {site: [name for name in family if name in held] for site, held in way.sites.items()}
        there = [site for site, names in parts.items() if names]
        if len(there) == 1:
            tables[node] = tally(codes, ASIA.structure, [node])[node]
        else:
            tables[node], moved[node] = _crossing(codes, way, [(site, parts[site]) for site in there], seed)
            order = [name for site in there for name in parts[site]]
            tables[node] = tables[node].transpose([order.index(name) for name in family])
    return tables, moved


def by_rotation(codes: Codes, seed: int = 0) -> tuple[Tables, dict[str, int]]:
    """The same as published, with one rotation for all families; local families are counted at home."""
    sites = list(SITES.values())
    held = [np.stack([1.0 - 2 * codes[name] for name in names], axis=1) for names in sites]
    parts = {
        node: tuple(
            tuple(names.index(name) for name in ASIA.structure.families[node] if name in names)
            for names in sites
        )
        for node in CROSSING
    }
    agreed = rotation.Handover(ROWS, tuple(parts.values()))
    out, _ = run_parties(
        {
            "first": rotation.be_first(held[0], agreed, expand(bytes(16), f"sites {seed}", seeded=True)),
            "second": rotation.be_second(held[1], agreed),
            "third": rotation.be_third(agreed),
        }
    )
    tables = tally(codes, ASIA.structure)
    for node, part in parts.items():
        counts = rotation.counts_of(agreed.pips(out["third"], part))
        order = [names[at] for names, ats in zip(sites, part, strict=True) for at in ats]
        tables[node] = counts.transpose([order.index(name) for name in ASIA.structure.families[node]])
    vectors = {node: sum(2 ** len(one) for one in part) for node, part in parts.items()}
    return tables, {node: 8 * ROWS * count for node, count in vectors.items()}


def _crossing(
    codes: Codes, way: Way, parts: list[tuple[str, list[str]]], seed: int
) -> tuple[np.ndarray, int]:
    """One family counted by sites: an axis of two for each of its columns, site by site; and bytes moved."""
    agreed = families.Families(
        ROWS,
        tuple(way.sites),
        tuple(families.Vector(site, 2 ** len(names)) for site, names in parts),
        (tuple(range(len(parts))),),
        way.route,
    )
    held = {site: [_configuration(codes, names)] for site, names in parts}
    roles = {
        site: families.hold(site, held.get(site, []), agreed, seeded(100 * seed + at))
        for at, site in enumerate(way.sites)
    }
    if way.route == "helper":
        roles["helper"] = families.help_out(agreed, seeded(100 * seed + 99))
    out, transcript = run_parties(roles)
    shares = [tables[0] for tables in out.values() if tables is not None]
    table = np.sum(shares, axis=0, dtype=np.uint64) & np.uint64(2**agreed.ring_bits - 1)
    assert transcript.size == sum(agreed.bytes().values()), "other bytes than announced"
    return table.astype(np.int64).reshape((2,) * sum(len(names) for _, names in parts)), transcript.size


def _configuration(codes: Codes, names: list[str]) -> np.ndarray:
    code = np.zeros(ROWS, dtype=np.int64)
    for name in names:
        code = 2 * code + codes[name]
    return code


def estimates(seed: int) -> str:
    """Table 3: first states of E and D for parents 00, 01, 10, 11, however they were counted."""
    codes = draw(seed)
    counts = {"pooled": pooled(codes), "the paper's rotation": by_rotation(codes, seed)[0]}
    counts |= {way.name: by_sites(codes, way, seed)[0] for way in WAYS}
    rows = [_estimate("true (table 2)", ASIA, None)]
    rows.append({"counted by": "the paper (table 3, its own samples)", **_named(TABLE_3), "as pooled": None})
    for name, tables in counts.items():
        network = parameters(tables, ASIA.structure, prior=0.0)
        rows.append(_estimate(name, network, same(tables, counts["pooled"])))
    note = (
        f"ASIA as in paper 003, {ROWS:,} samples, sites {{A,T,E,X,D}} and {{S,L,B}} (three: {{A,T}}, "
        "{E,X,D}, {S,L,B}): P[first state] for parents 00, 01, 10, 11, 0 the first (E: T, L; D: E, B). As "
        "pooled: all eight tables of counts equal the pooled ones to the unit."
    )
    return write_table("asia", rows, note)


def same(tables: Tables, others: Tables) -> bool:
    """Whether all counts are the same integers."""
    return set(tables) == set(others) and all(np.array_equal(tables[node], others[node]) for node in tables)


def errors(sets: int) -> str:
    """Mean errors over many data sets beside what the binomial law expects, for all twenty configurations."""
    found: dict[str, list[np.ndarray]] = {node: [] for node in ASIA.structure.nodes}
    expected: dict[str, list[np.ndarray]] = {node: [] for node in ASIA.structure.nodes}
    equal = {way.name: 0 for way in WAYS}
    for seed in range(sets):
        codes = draw(seed)
        tables = pooled(codes)
        for way in WAYS:
            equal[way.name] += same(by_sites(codes, way, seed)[0], tables)
        for node, table in tables.items():
            there = table.sum(axis=-1)
            true = ASIA.tables[node][..., 0]
            found[node].append((table[..., 0] / np.maximum(there, 1) - true).ravel())
            expected[node].append(np.vectorize(mean_deviation)(there, true).ravel())
    rows = [
        row
        for node in ASIA.structure.nodes
        for row in _error_rows(node, np.array(found[node]), np.array(expected[node]))
    ]
    note = (
        f"Absolute errors of P[first state], their mean over {sets} data sets of {ROWS:,} samples. Expected: "
        "the mean absolute deviation of a binomial share, exactly, for the parent counts that occurred. z of "
        "size: how many standard errors the one lies from the other; z of sign: the mean of signed errors "
        "from 0. Data sets whose eight tables equal the pooled ones to the unit: "
        + ", ".join(f"{name} {count} of {sets}" for name, count in equal.items())
        + "."
    )
    return write_table("asia_errors", rows, note)


def mean_deviation(count: int, share: float) -> float:
    """E |K / n - p| for binomial K: 2 k C(n, k) p^k (1-p)^(n-k+1) / n with k = floor(n p) + 1 (De Moivre).

    Nobody to count is an estimate of 0.
    """
    if count == 0:
        return share
    if share in (0.0, 1.0):
        return 0.0
    k = math.floor(count * share) + 1
    log = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
    log += k * math.log(share) + (count - k + 1) * math.log1p(-share)
    return 2 * k * math.exp(log) / count


def _error_rows(node: str, found: np.ndarray, expected: np.ndarray) -> list[dict[str, Any]]:
    sets = len(found)
    rows = []
    for at in range(found.shape[1]):
        size, spread = np.abs(found[:, at]), max(float(found[:, at].std(ddof=1)), 1e-12)
        width = max(1, len(ASIA.structure.parents[node]))
        rows.append(
            {
                "node": node,
                "parents": f"{at:0{width}b}" if ASIA.structure.parents[node] else "",
                "mean error, thousandths": 1000 * float(size.mean()),
                "expected, thousandths": 1000 * float(expected[:, at].mean()),
                "z of size": float(
                    (size - expected[:, at]).mean() / max(float(size.std(ddof=1)), 1e-12) * math.sqrt(sets)
                ),
                "z of sign": float(found[:, at].mean() / spread * math.sqrt(sets)),
            }
        )
    return rows


def bytes_by_node() -> str:
    """What each crossing node costs, beside the paper's formula."""
    codes = draw(0)
    rows: list[dict[str, Any]] = []
    rotated = by_rotation(codes)[1]
    moved = {way.name: by_sites(codes, way)[1] for way in WAYS}
    for node in CROSSING:
        size = len(ASIA.structure.families[node])
        rows.append(
            {
                "node": node,
                "the paper's m 2^n bits": ROWS * 2**size // 8,
                "rotated vectors, 8 bytes a number": rotated[node],
                **{name: costs[node] for name, costs in moved.items()},
            }
        )
    note = (
        f"Bytes of content for each node with a parent elsewhere, all directions together, {ROWS:,} rows. "
        "The paper's formula counts a bit a row for each of 2^n products, n one more than the parents; "
        "rotated vectors are not bits but real numbers. By transfers: of this, 8 KiB a node are to set them "
        "up. Not counted for the rotation: agreeing to R."
    )
    return write_table("asia_bytes", rows, note)


def _estimate(name: str, network: Network, equal: bool | None) -> dict[str, Any]:
    first = {node: network.tables[node][..., 0].ravel().tolist() for node in CROSSING}
    return {"counted by": name, **_named(first), "as pooled": equal}


def _named(first: dict[str, list[float]]) -> dict[str, float]:
    return {f"{node} {at:02b}": values[at] for node, values in first.items() for at in range(4)}
