"""Joint tables equal those of all columns in one place: by every route, for any number of parties."""

import os

import numpy as np
import pandas as pd
import pytest
from joint_cases import pooled, private, roles

from discreet.join import JoinPlan, rehearse
from discreet.models.bif import read_bif
from discreet.models.margins import parameters
from discreet.models.structure import Structure
from discreet.models.tally import tally
from discreet.protocols.step import run_parties
from discreet.randomness import seeded

LONG = os.environ.get("DISCREET_LONG") == "1"
NAMES = ("north", "south", "east", "west", "centre")


def random_structure(random, nodes, most_states=4, most_parents=3):
    """Some nodes, each with parents among those before it."""
    names = [f"n{number}" for number in range(nodes)]
    states = {name: [f"s{k}" for k in range(int(random.integers(1, most_states + 1)))] for name in names}
    edges: list[list[str]] = []
    for number, name in enumerate(names):
        count = min(number, int(random.integers(0, most_parents + 1)))
        edges += [[parent, name] for parent in random.choice(names[:number], count, replace=False)]
    return Structure.of_edges(edges, states)


def random_codes(random, structure, rows):
    return {node: random.integers(0, structure.card(node), rows).astype(np.int16) for node in structure.nodes}


def split(random, structure, parties, rows, kind, **release):
    """A plan that deals the columns out at random."""
    order = list(random.permutation(structure.nodes))
    holders = {name: [order[number]] for number, name in enumerate(NAMES[:parties])}
    for column in order[parties:]:
        holders[NAMES[int(random.integers(parties))]].append(column)
    roles = {name: {"role": "holder", "columns": columns} for name, columns in holders.items()}
    if kind == "helper":
        roles["dealer"] = {"role": "helper"}
    edges = [[parent, node] for node in structure.nodes for parent in structure.parents[node]]
    return JoinPlan.of(
        {
            "job": "network",
            "name": "split",
            "parties": roles,
            "structure": {"states": dict(structure.states), "edges": edges},
            "rows": {"count": rows},
            "route": {"kind": kind},
            "release": {"to": [NAMES[parties - 1]], "exact": True, **release},
        }
    )


def in_memory(plan, codes, seed=0):
    """All roles at one table: what everybody got."""
    given = private(plan, codes)
    steps = {
        name: role(given[name], plan.agreed(), seeded(seed + number))
        for number, (name, role) in enumerate(roles(plan).items())
    }
    return run_parties(steps, record=False)[0]


WAYS = [
    ("helper", 2),
    ("helper", 3),
    ("helper", 5),
    ("transfer", 2),
    ("lattice", 2),
    ("three", 3),
    ("three", 5),
]


@pytest.mark.parametrize(("kind", "parties"), WAYS)
def test_joint_tables_equal_pooled_counts(kind, parties):
    for seed in range(4 if LONG else 2):
        random = np.random.default_rng([seed, parties])
        structure = random_structure(random, 8 + parties)
        rows = int(random.integers(1, 300))
        plan, codes = split(random, structure, parties, rows, kind), random_codes(random, structure, rows)
        out = in_memory(plan, codes)
        wanted = pooled(plan, codes)
        for name, got in out.items():
            assert got["rows"] == rows
            assert ("tables" in got) == (name in plan.receivers)
        for node, table in wanted.items():
            assert np.array_equal(out[plan.receivers[0]]["tables"][node], table)


def test_a_plan_in_which_nothing_crosses_needs_nobody_else():
    random = np.random.default_rng(4)
    structure = Structure.of_edges([["a", "b"], ["c", "d"]], dict.fromkeys("abcd", ("x", "y", "z")))
    codes = random_codes(random, structure, 50)
    parties = {name: {"role": "holder", "columns": held} for name, held in (("one", "ab"), ("two", "cd"))}
    given = split(random, structure, 2, 50, "transfer").agreed()
    plan = JoinPlan.of(
        {
            "job": "network",
            "name": "apart",
            "parties": {
                name: {**party, "columns": list(party["columns"])} for name, party in parties.items()
            },
            "structure": {"states": dict(structure.states), "edges": [["a", "b"], ["c", "d"]]},
            "rows": given["rows"],
            "release": {"to": ["one"], "epsilon": 1.0, "delta": 1e-6},
        }
    )
    out = in_memory(plan, codes)
    for node, table in pooled(plan, codes).items():
        assert 0 < np.abs(out["one"]["tables"][node] - table).max() < 200


def test_a_rehearsal_gives_the_network_of_the_pooled_table():
    random = np.random.default_rng(8)
    structure = random_structure(random, 7)
    plan, codes = split(random, structure, 3, 500, "helper"), random_codes(random, structure, 500)
    words = {node: np.array(structure.states[node])[column] for node, column in codes.items()}
    data = {name: pd.DataFrame({c: words[c] for c in plan.columns_of(name)}) for name in plan.holders}
    joined = rehearse(plan, data)
    alone = parameters(tally(codes, structure), structure, prior=1.0)
    for node in structure.nodes:
        assert np.array_equal(joined.model.cpt(node), alone.cpt(node))
    assert joined.rows == 500
    assert not joined.guarantee.private
    assert len({receipt["session"] for receipt in joined.receipts.values()} | {joined.session}) == 1
    assert joined.receipts["dealer"]["who_learned_what"] == plan.learns
    assert set(joined.outcomes) == set(plan.parties)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asia", "alarm", "child", "insurance", "hailfinder"])
def test_known_networks_split_at_random_equal_pooled_counts(name, real_data):
    network = read_bif(real_data / "tabular" / "bif" / f"{name}.bif.gz")
    rows = 100_000 if LONG else 3_000
    codes = network.sample(rows, seeded(1))
    for kind, parties in (("helper", 2), ("transfer", 2), ("three", 3), ("helper", 5), ("three", 5)):
        plan = split(np.random.default_rng(parties), network.structure, parties, rows, kind)
        tables = in_memory(plan, codes)[plan.receivers[0]]["tables"]
        assert all(np.array_equal(tables[node], table) for node, table in pooled(plan, codes).items())
