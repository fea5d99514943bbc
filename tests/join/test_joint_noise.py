"""Noise inside: the law, the price and the words of a single holder's fit, whoever draws it."""

import os
from fractions import Fraction

import numpy as np
import pytest
from joint_cases import pooled, private, roles, settings
from scipy.special import chdtrc

from discreet.accounting.account import Account
from discreet.accounting.accountant import gaussian_delta
from discreet.accounting.ledger import Ledger
from discreet.errors import ParameterError
from discreet.join import JoinPlan, check, rehearse
from discreet.join.layout import CLOSENESS, Layout
from discreet.join.promise import among_known, guarantee
from discreet.mechanisms.exact import discrete_gaussian
from discreet.mechanisms.tables import law, release_tables
from discreet.models.margins import parameters
from discreet.protocols.step import run_parties
from discreet.randomness import seeded

LONG = os.environ.get("DISCREET_LONG") == "1"
CARDS = {"A": 12, "B": 12, "C": 12, "D": 6}
EDGES = [["A", "C"], ["B", "C"], ["A", "D"]]
ROWS = 50


def wide(kind, *, epsilon=1.0):
    """C has parents at another holder, D lies with A: 1,728 cells cross, 72 do not."""
    parties = {"north": ["A", "D"], "south": ["B", "C"]}
    if kind == "three":
        parties = {"north": ["A", "D"], "south": ["B"], "west": ["C"]}
    held = {name: {"role": "holder", "columns": columns} for name, columns in parties.items()}
    if kind == "helper":
        held["dealer"] = {"role": "helper"}
    return JoinPlan.of(
        {
            "job": "network",
            "name": "wide",
            "parties": {**held, "office": {"role": "analyst"}},
            "structure": {
                "edges": EDGES,
                "states": {name: [f"s{number}" for number in range(card)] for name, card in CARDS.items()},
            },
            "rows": {"count": ROWS},
            "route": {"kind": kind},
            "release": {"to": ["office"], "epsilon": epsilon, "delta": 1e-6},
        }
    )


def played(plan, codes, seed):
    given = private(plan, codes)
    steps = {
        name: role(given[name], plan.agreed(), seeded(seed + number))
        for number, (name, role) in enumerate(roles(plan).items())
    }
    return run_parties(steps, record=False)[0]


def noise_of(kind, seed):
    """The noise of crossing and of local cells in one run."""
    plan = wide(kind)
    random = np.random.default_rng(seed)
    codes = {name: random.integers(0, card, ROWS).astype(np.int8) for name, card in CARDS.items()}
    tables = played(plan, codes, seed)["office"]["tables"]
    wanted = pooled(plan, codes)
    return {node: (tables[node] - table).ravel() for node, table in wanted.items()}


def assert_law(noise, sigma):
    """Chi-square against the exact discrete Gaussian, in cells of some weight."""
    span = np.arange(-int(12 * sigma), int(12 * sigma) + 1)
    mass = np.exp(-(span**2) / (2 * sigma**2))
    ends = np.cumsum(mass / mass.sum())
    inner = np.unique(span[np.searchsorted(ends, np.arange(1, 24) / 24)]) + 0.5
    cells = inner.size + 1
    chances = np.diff(np.concatenate([[0.0], ends[np.searchsorted(span, inner) - 1], [1.0]]))
    counts = np.bincount(np.searchsorted(inner, noise), minlength=cells)
    expected = chances * noise.size
    assert expected.min() > 20
    assert chdtrc(cells - 1, ((counts - expected) ** 2 / expected).sum()) > 1e-7
    assert abs(noise.std() / sigma - 1) < 6 / np.sqrt(2 * noise.size)


@pytest.mark.parametrize("kind", ["helper", "transfer", "three"])
def test_the_noise_has_the_law_of_a_single_holders_fit(kind):
    plan = wide(kind)
    wanted = law(len(plan.network.measured), 1.0, 1e-6)
    assert Layout(plan).law == wanted
    seeds = range(8 if LONG else 1)
    found = [noise_of(kind, 100 + seed) for seed in seeds]
    assert_law(np.concatenate([noise["C"] for noise in found]), wanted.sigma)
    alone = np.concatenate(
        [noise_of(kind, 200 + seed)["D"] for seed in range(2)] + [noise["D"] for noise in found]
    )
    assert abs(alone.std() / wanted.sigma - 1) < 6 / np.sqrt(2 * alone.size)


def test_the_same_test_refuses_noise_that_is_a_tenth_too_small():
    sigma = law(2, 1.0, 1e-6).sigma
    drawn = discrete_gaussian(Fraction(sigma) * 9 / 10, 1728 * (8 if LONG else 4), seeded(1))
    with pytest.raises(AssertionError):
        assert_law(drawn, sigma)


def test_the_guarantee_is_that_of_a_single_holder_but_for_the_distance_of_the_drawn_noise():
    for kind in ("helper", "three"):
        plan = JoinPlan.of(settings(kind, noisy=True))
        promise = guarantee(plan)
        wanted = law(len(plan.network.measured), 2.0, 1e-6)
        alone = wanted.guarantee(trusts="", reveals=(), declared=())
        assert (promise.events, promise.epsilon, promise.unit) == (alone.events, alone.epsilon, alone.unit)
        assert promise.neighbours == alone.neighbours
        assert 0 < promise.delta - alone.delta < 2.0 ** (4 - CLOSENESS)
        assert promise.private
        promise.check()
        Account(promise).draw(wanted.event)
        assert any("how many rows" in fact for fact in promise.declared)
        assert ("dealer" in promise.trusts) == (kind == "helper")
        assert check(plan).guarantee == promise


def test_who_knows_that_somebody_is_there_is_told_what_the_noise_is_worth_then():
    plan = JoinPlan.of(settings("helper", noisy=True))
    mu = np.sqrt(2 * len(plan.network.measured)) / Layout(plan).law.sigma
    known = among_known(plan)
    assert 2.0 < known < 2 * 2.0
    assert gaussian_delta(mu, known) <= 1e-6
    assert gaussian_delta(mu * 1.01, known) > 1e-6
    assert f"epsilon {known:.3g}" in guarantee(plan).words()
    assert among_known(JoinPlan.of(settings("helper"))) == np.inf


@pytest.mark.parametrize("epsilon", [1.0, 10.0, 25.0])
def test_what_it_is_worth_then_counts_the_distance_of_drawn_noise(epsilon):
    plan = wide("helper", epsilon=epsilon)
    known, law_of = among_known(plan), Layout(plan).law
    exact = gaussian_delta(np.sqrt(2) / law_of.event.noise, known)
    assert exact + Layout(plan).draw(1).delta(known) <= guarantee(plan).delta or np.isinf(known)


@pytest.mark.parametrize("epsilon", [40.0, 60.0, 5000.0])
def test_budgets_that_drawn_noise_cannot_meet_are_refused(epsilon):
    """Its distance counts e**epsilon times: at 40 delta would be 0.005, at 60 more than one."""
    with pytest.raises(ParameterError, match="not near enough"):
        guarantee(wide("helper", epsilon=epsilon))


def test_the_model_is_made_of_noisy_tables_as_a_single_holders_is():
    plan = wide("helper")
    random = np.random.default_rng(5)
    states = plan.network.states
    codes = {name: random.integers(0, card, ROWS).astype(np.int8) for name, card in CARDS.items()}
    data = {
        name: {column: np.array(states[column])[codes[column]] for column in plan.columns_of(name)}
        for name in plan.holders
    }
    joined = rehearse(plan, data, seed=7)
    sigma = law(2, 1.0, 1e-6).sigma
    expected = parameters(joined.tables, plan.network, prior=1.0, sigma=sigma)
    assert all(np.array_equal(joined.model.cpt(node), expected.cpt(node)) for node in CARDS)
    assert joined.guarantee.seeded
    assert not joined.guarantee.private
    again = rehearse(plan, data, seed=7)
    assert all(np.array_equal(joined.tables[node], again.tables[node]) for node in joined.tables)


def test_noise_as_large_as_the_data_does_not_wrap_around():
    plan = wide("helper", epsilon=0.01)
    sigma = Layout(plan).law.sigma
    assert sigma > 4 * ROWS
    codes = {name: np.zeros(ROWS, dtype=np.int8) for name in CARDS}
    table = played(plan, codes, 3)["office"]["tables"]["C"]
    assert abs(table.std() / sigma - 1) < 6 / np.sqrt(2 * table.size)


def test_who_draws_sees_no_result_where_that_is_possible():
    draw = Layout(JoinPlan.of(settings("helper", noisy=True, to=("south",)))).draw(24)
    assert (draw.garbler, draw.evaluator) == ("dealer", "north")
    draw = Layout(JoinPlan.of(settings("three", noisy=True, to=("north",)))).draw(24)
    assert {draw.garbler, draw.evaluator} == {"south", "west"}
    two = JoinPlan.of(settings("transfer", noisy=True, to=("north",), holders=("north", "west")))
    assert Layout(two).draw(24).garbler == "west"


def test_a_seed_does_not_go_with_a_ledger(tmp_path):
    plan = JoinPlan.of(settings("helper", noisy=True))
    paying = plan.agreed()
    paying["release"]["pays"] = ["north"]
    plan = JoinPlan.of_agreed(paying)
    Ledger.create(tmp_path / "a.ledger").budget("small", "row", 4.0, 1e-5)
    with pytest.raises(ParameterError, match="charges no ledger"):
        rehearse(plan, dict.fromkeys(plan.holders), ledgers={"north": tmp_path / "a.ledger"}, seed=1)


def test_release_tables_draws_what_the_parties_draw():
    """The two samplers side by side: a two-sample test of a single holder's noise and of that of parties."""
    wanted = law(2, 1.0, 1e-6)
    promise = wanted.guarantee(trusts="", reveals=(), declared=(), seeded=True)
    empty = {"C": np.zeros((12, 12, 12), dtype=np.int64), "D": np.zeros((12, 6), dtype=np.int64)}
    alone = release_tables(empty, wanted, Account(promise), seeded(11))["C"].ravel()
    joint = noise_of("helper", 300)["C"]
    both = np.sort(np.concatenate([alone, joint]))
    gap = np.abs(
        np.searchsorted(np.sort(alone), both, side="right") / alone.size
        - np.searchsorted(np.sort(joint), both, side="right") / joint.size
    ).max()
    assert gap < np.sqrt(np.log(2 / 1e-7) * (alone.size + joint.size) / (2 * alone.size * joint.size))
