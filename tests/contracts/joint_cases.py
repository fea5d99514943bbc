"""Joint networks with small inputs, for the tests that every protocol must pass in a session.

The first two inputs are the same people in another order, so that all counts are equal.
"""

import os

import numpy as np

from discreet.join.plan import JoinPlan
from discreet.join.roles import analyst, helper, holder
from discreet.models.tally import tally

ROWS = 24
STATES = {"A": ["a", "b"], "B": ["a", "b", "c"], "C": ["a", "b"], "D": ["a", "b", "c"], "E": ["a", "b"]}
EDGES = [["A", "B"], ["B", "C"], ["C", "D"], ["A", "D"], ["D", "E"], ["A", "E"]]
COLUMNS = {"north": ["B", "A"], "south": ["C"], "west": ["D", "E"]}


def settings(kind, *, noisy=False, to=("office",), ids=False, holders=("north", "south", "west")):
    """A plan as a file would say it; two holders share out the columns of three."""
    columns = {name: list(COLUMNS[name]) for name in holders}
    for name in set(COLUMNS) - set(holders):
        columns[holders[-1]] += COLUMNS[name]
    parties = {name: {"role": "holder", "columns": listed} for name, listed in columns.items()}
    if kind == "helper":
        parties["dealer"] = {"role": "helper"}
    if "office" in to:
        parties["office"] = {"role": "analyst"}
    price = {"epsilon": 2.0, "delta": 1e-6} if noisy else {"exact": True}
    return {
        "job": "network",
        "name": "small",
        "parties": parties,
        "structure": {"edges": EDGES, "states": STATES},
        "rows": {"id": "person"} if ids else {"count": ROWS},
        "route": {"kind": kind},
        "release": {"to": list(to), **price},
    }


def people(seed, rows=ROWS):
    """Codes of some people."""
    random = np.random.default_rng(seed)
    return {name: random.integers(0, len(states), rows).astype(np.int8) for name, states in STATES.items()}


def shuffled(codes, seed):
    """The same people in another order."""
    order = np.random.default_rng(seed).permutation(len(codes["A"]))
    return {name: column[order] for name, column in codes.items()}


def private(plan, codes, ids=None):
    """Everybody's input."""
    inputs = {}
    for name in plan.parties:
        inputs[name] = name
        if name in plan.holders:
            own = {column: codes[column] for column in plan.columns_of(name)}
            inputs[name] = {"name": name, "codes": own, "ids": ids, "purse": None}
    return inputs


def roles(plan):
    """The roles of a session, as `discreet.join.roles` has them."""
    made = dict.fromkeys(plan.holders, holder) | dict.fromkeys(plan.analysts, analyst)
    return made | ({plan.helper: helper} if plan.helper else {})


def pooled(plan, codes):
    """What the tables would be if all columns lay together."""
    return tally(codes, plan.network, plan.network.measured)


def joint_cases(case):
    """Lines for a registry: ``case`` is its class."""
    some = [people(1), shuffled(people(1), 2), people(3)]
    two = ("north", "west")
    plans = {
        "joint network, helper": settings("helper"),
        "joint network, three": settings("three", to=("north", "office")),
        "joint network, matched": settings("helper", ids=True, holders=two, to=("west",)),
    }
    if os.environ.get("DISCREET_LONG") == "1":  # each opens several sessions of transfers: seconds a fault
        plans["joint network, helper, noise"] = settings("helper", noisy=True, to=("south",))
        plans["joint network, transfers, noise"] = settings("transfer", noisy=True, holders=two)
    return {name: _case(case, JoinPlan.of(wanted), some) for name, wanted in plans.items()}


def _case(case, plan, some):
    ids = None if plan.rows.id is None else [b"person %d" % number for number in range(ROWS)]
    inputs = [private(plan, codes, ids) for codes in some]

    def check(given, out):
        codes = {}
        for name in plan.holders:
            codes |= given[name]["codes"]
        wanted = pooled(plan, codes)
        room = 0 if plan.release.exact else 60
        return all(
            np.abs(out[name]["tables"][node] - table).max() <= room
            for name in plan.receivers
            for node, table in wanted.items()
        ) and all("tables" not in out[name] for name in out if name not in plan.receivers)

    return case(plan.session_plan(), roles(plan), tuple(inputs), check)
