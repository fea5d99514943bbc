"""What `check` announces is what a run moves; it reads no table and says who learns what."""

import json

import numpy as np
import pytest
from joint_cases import people, private, roles, settings
from test_joint_counts import random_codes, random_structure, split

from discreet.errors import ParameterError
from discreet.join import JoinPlan, check
from discreet.join.cost import ASSUMED_IDS, cost
from discreet.join.traffic import announced, node_bytes
from discreet.models.signs import paper_bytes
from discreet.protocols.step import run_parties
from discreet.randomness import secure


def moved(plan, codes, ids=None):
    given = private(plan, codes, ids)
    steps = {name: role(given[name], plan.agreed(), secure()) for name, role in roles(plan).items()}
    total = {}
    for record in run_parties(steps)[1]:
        pair = (record.sender, record.receiver)
        total[pair] = total.get(pair, 0) + record.size
    return total


@pytest.mark.parametrize(
    ("kind", "parties"), [("helper", 2), ("helper", 3), ("transfer", 2), ("lattice", 2), ("three", 5)]
)
@pytest.mark.parametrize("noisy", [False, True])
def test_announced_bytes_are_those_that_move(kind, parties, noisy):
    random = np.random.default_rng(parties)
    structure = random_structure(random, 9)
    release = {"exact": False, "epsilon": 1.0, "delta": 1e-6} if noisy else {}
    plan = split(random, structure, parties, 400, kind, **release)
    measured = moved(plan, random_codes(random, structure, 400))
    told = cost(plan)
    for pair, size in measured.items():
        assert size <= told.pairs[pair] <= 1.05 * size + 500, pair
    assert sum(measured.values()) <= told.bytes <= 1.05 * sum(measured.values()) + 500 * len(told.pairs)


def test_matched_rows_are_announced_as_if_all_were_shared():
    plan = JoinPlan.of(settings("helper", ids=True, holders=("north", "west"), to=("west",)))
    ids = [b"person %d" % number for number in range(24)]
    measured, told = moved(plan, people(1), ids), check(plan, 24)
    assert not told.assumed
    for pair, size in measured.items():
        assert size <= told.pairs[pair] <= 1.05 * size + 500
    assert check(plan).assumed
    assert check(plan).rows == ASSUMED_IDS


def test_the_bytes_of_a_node_stand_beside_those_of_the_paper():
    plan = JoinPlan.of(settings("helper"))
    found = node_bytes(plan, 1000)
    assert found["D"]["paper"] == 1000 * 2 * 2 * 3 // 8
    assert set(found) == {"C", "D", "E"} & set(found)
    assert node_bytes(plan, 1000)["C"]["paper"] == 2 * 3 * 1000 // 8
    binary = settings("helper")
    binary["structure"] = {
        "edges": binary["structure"]["edges"],
        "states": dict.fromkeys("ABCDE", ("n", "y")),
    }
    for node, sizes in node_bytes(JoinPlan.of(binary), 1000).items():
        assert sizes["paper"] == paper_bytes(1000, len(plan.network.parents[node]))
    families = sum(announced(plan, 1000)["families"].values())
    assert families <= sum(sizes["bytes"] for sizes in found.values())


def test_a_cost_is_plain_and_says_who_learns_what():
    plan = JoinPlan.of(settings("helper", noisy=True, to=("south",)))
    told = check(plan)
    plain = json.loads(json.dumps(told.to_dict()))
    assert plain["learns"] == plan.learns
    assert plain["guarantee"]["epsilon"] == 2.0
    assert plain["bytes"] == sum(size for *_, size in plain["pairs"]) == sum(plain["phases"].values())
    assert set(plain["phases"]) == {"join", "families", "noise"}
    assert (plain["route"], plain["receivers"], plain["payers"]) == ("helper", ["south"], [])
    assert plain["rounds"] >= 8
    assert plain["seconds"] > 0
    assert plain["memory"] > 1 << 20


def test_more_rows_cost_more_and_a_plan_that_counts_them_is_not_asked():
    given = settings("helper")
    small = check(given)
    given["rows"] = {"count": 24_000}
    large = check(given)
    assert large.bytes > 100 * small.bytes
    assert large.seconds > small.seconds
    assert large.memory > small.memory
    with pytest.raises(ParameterError, match="the plan says how many"):
        check(given, 5)
    with pytest.raises(ParameterError, match="at least one row"):
        check(settings("helper", ids=True), 0)
