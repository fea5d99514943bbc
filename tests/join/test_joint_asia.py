"""ASIA as Meng, Sivakumar and Kargupta had it in 2004: two sites, 2,000 samples, E and D across them."""

import os

import numpy as np
import pytest
from experiments.paper_asia import paper_asia
from joint_cases import pooled
from test_joint_counts import in_memory

from discreet.join import JoinPlan
from discreet.models.margins import parameters
from discreet.models.tally import tally
from discreet.randomness import seeded

RUNS = 200 if os.environ.get("DISCREET_LONG") == "1" else 20
ROWS = 2_000
SITES = {"one": list("ATEXD"), "two": list("SLB")}
THREE = {"one": list("ATX"), "two": list("SLB"), "three": list("ED")}


def plan_of(sites, kind):
    structure = paper_asia().structure
    parties = {name: {"role": "holder", "columns": columns} for name, columns in sites.items()}
    if kind == "helper":
        parties["dealer"] = {"role": "helper"}
    return JoinPlan.of(
        {
            "job": "network",
            "name": "asia",
            "parties": parties,
            "structure": {
                "states": dict(structure.states),
                "edges": [[parent, node] for node in structure.nodes for parent in structure.parents[node]],
            },
            "rows": {"count": ROWS},
            "route": {"kind": kind},
            "release": {"to": ["one"], "exact": True, "prior": 0.0},
        }
    )


@pytest.mark.parametrize(
    ("sites", "kind"), [(SITES, "helper"), (SITES, "transfer"), (SITES, "lattice"), (THREE, "three")]
)
def test_the_joint_tables_are_the_pooled_maximum_likelihood(sites, kind):
    plan = plan_of(sites, kind)
    codes = paper_asia().sample(ROWS, seeded(4))
    tables = in_memory(plan, codes)["one"]["tables"]
    assert all(np.array_equal(tables[node], table) for node, table in pooled(plan, codes).items())
    joint = parameters(tables, plan.network, prior=0.0)
    for node in ("E", "D"):
        counts = tally(codes, plan.network)[node]
        assert np.array_equal(joint.cpt(node), counts / counts.sum(axis=-1, keepdims=True))


def test_over_many_data_sets_e_and_d_are_within_sampling_error_of_the_truth():
    plan, network = plan_of(SITES, "helper"), paper_asia()
    margins = network.margins()
    found = {"E": [], "D": []}
    for seed in range(RUNS):
        tables = in_memory(plan, network.sample(ROWS, seeded(1000 + seed)), seed)["one"]["tables"]
        model = parameters(tables, plan.network, prior=0.0)
        for node, seen in found.items():
            seen.append(model.cpt(node)[..., 0])
    for node, seen in found.items():
        truth = network.cpt(node)[..., 0]
        parents = margins[node].sum(axis=-1) * ROWS
        error = np.sqrt(truth * (1 - truth) / parents)
        assert (np.abs(np.mean(seen, axis=0) - truth) < 5 * error / np.sqrt(RUNS)).all()
        assert (np.abs(np.array(seen) - truth) < 6 * error).all()
