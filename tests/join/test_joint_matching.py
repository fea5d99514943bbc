"""Rows matched by id: the people whom all hold, by the declared rules for repeated and missing ids."""

import numpy as np
import pytest
from joint_cases import STATES, people, private, roles, settings

from discreet.errors import DataError, PartyError
from discreet.join import JoinPlan, rehearse
from discreet.join.holding import read_holding
from discreet.models.tally import tally
from discreet.protocols.step import run_parties
from discreet.randomness import seeded


def plan_of(**rules):
    given = settings("helper", ids=True, to=("west",))
    given["rows"] |= rules
    return JoinPlan.of(given)


def table(plan, name, codes, ids):
    words = {c: np.array(STATES[c])[codes[c]] for c in plan.columns_of(name)}
    return {**words, "person": ids}


def world(plan, seed=0):
    """Forty people, of whom every holder has another part in another order; and those whom all hold."""
    random, codes = np.random.default_rng(seed), people(seed, 40)
    held = {name: random.permutation(40)[: 30 + number] for number, name in enumerate(plan.holders)}
    shared = sorted(set.intersection(*(set(rows.tolist()) for rows in held.values())))
    data = {
        name: table(plan, name, {c: v[rows] for c, v in codes.items()}, [f"p{row}" for row in rows])
        for name, rows in held.items()
    }
    return data, {c: v[shared] for c, v in codes.items()}, shared


def test_only_the_people_whom_all_hold_are_counted(tmp_path):
    plan = plan_of()
    data, codes, shared = world(plan)
    lines = [",".join(data["north"]), *(",".join(row) for row in zip(*data["north"].values(), strict=True))]
    (tmp_path / "north.csv").write_text("\n".join(lines) + "\n")
    joined = rehearse(plan, {**data, "north": tmp_path / "north.csv"})
    assert joined.rows == len(shared) < 30
    for node, wanted in tally(codes, plan.network, plan.network.measured).items():
        assert np.array_equal(joined.tables[node], wanted)
    for peer in joined.receipts["north"]["traffic"]["peers"].values():
        for way in ("sent", "received"):
            assert abs(peer[way] - peer[f"{way}_announced"]) <= 0.05 * peer[way] + 500
    assert "which of its own these are" in plan.learns["north"]
    assert "how many ids" in plan.learns["dealer"]


def test_repeated_and_missing_ids_follow_the_declared_rule():
    plan = plan_of()
    codes = people(3, 4)
    odd = table(plan, "north", codes, ["ann", "bob", "ann", None])
    with pytest.raises(DataError):
        read_holding(plan, "north", odd)
    first = read_holding(plan_of(duplicates="first", missing="drop"), "north", odd)
    assert first.ids == [b"ann", b"bob"]
    assert first.codes["A"].tolist() == codes["A"][:2].tolist()
    dropped = read_holding(plan_of(duplicates="drop", missing="drop"), "north", odd)
    assert dropped.ids == [b"bob"]
    with pytest.raises(DataError) as caught:
        read_holding(plan_of(missing="drop"), "north", odd)
    assert "ann" not in str(caught.value)


def test_a_run_in_which_nobody_is_shared_ends_for_all():
    plan, codes = plan_of(), people(1)
    given = private(plan, codes)
    for name in plan.holders:
        given[name]["ids"] = [f"{name} {row}".encode() for row in range(24)]
    steps = {name: role(given[name], plan.agreed(), seeded(1)) for name, role in roles(plan).items()}
    with pytest.raises(PartyError, match="no id is held by all"):
        run_parties(steps)
