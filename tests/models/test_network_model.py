"""Networks against the whole joint, which is small enough here to be written down."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from experiments.paper_asia import paper_asia
from numpy.typing import NDArray

from discreet.errors import ParameterError, StateError, TooLargeError
from discreet.models.bif import read_bif
from discreet.models.elimination import Elimination, Factor, multiply
from discreet.models.network import Network
from discreet.models.structure import Structure
from discreet.randomness import seeded


def random_network(seed: int, nodes: int = 6, zeros: bool = False) -> Network:
    """A dense little network with states of several numbers."""
    random = np.random.default_rng(seed)
    names = [f"v{index}" for index in range(nodes)]
    states = {name: tuple(map(str, range(random.integers(1, 4)))) for name in names}
    parents = {
        name: tuple(random.permutation(names[:index])[: random.integers(0, min(index, 3) + 1)].tolist())
        for index, name in enumerate(names)
    }
    shuffled = random.permutation(names).tolist()
    structure = Structure({name: states[name] for name in shuffled}, parents)
    tables = {}
    for name in shuffled:
        table = random.dirichlet(np.ones(structure.card(name)), structure.shape(name)[:-1])
        if zeros:
            table = np.where(table == table.max(axis=-1, keepdims=True), 1.0, 0.0)
            table /= table.sum(axis=-1, keepdims=True)
        tables[name] = table
    return Network(structure, tables)


def whole(network: Network) -> NDArray[np.float64]:
    """The joint over all nodes in declared order: the slow, obvious way."""
    structure = network.structure
    joint = np.zeros([structure.card(node) for node in structure.nodes])
    for index in product(*map(range, joint.shape)):
        codes = dict(zip(structure.nodes, index, strict=True))
        joint[index] = math.prod(
            network.tables[node][tuple(codes[name] for name in family)]
            for node, family in structure.families.items()
        )
    return joint


@pytest.mark.parametrize("seed", range(12))
def test_queries_equal_those_of_the_whole_joint(seed: int) -> None:
    network = random_network(seed)
    joint, nodes = whole(network), network.structure.nodes
    random = np.random.default_rng(seed)
    for _ in range(6):
        order = random.permutation(nodes).tolist()
        asked, given = order[: random.integers(1, 4)], order[4 : 4 + random.integers(0, 3)]
        codes = {name: int(random.integers(network.structure.card(name))) for name in given}
        evidence = {name: network.structure.states[name][code] for name, code in codes.items()}
        sliced = joint[tuple(codes.get(node, slice(None)) for node in nodes)]
        left = [node for node in nodes if node not in codes]
        gone = tuple(axis for axis, node in enumerate(left) if node not in asked)
        kept = [node for node in left if node in asked]
        wanted = sliced.sum(axis=gone).transpose([kept.index(node) for node in asked])
        np.testing.assert_allclose(network.query(asked, evidence), wanted / wanted.sum(), atol=1e-13)


@pytest.mark.parametrize("seed", range(8))
def test_margins_of_families_and_divergence_equal_those_of_the_whole_joint(seed: int) -> None:
    network = random_network(seed)
    joint, nodes = whole(network), network.structure.nodes
    for node, family in network.structure.families.items():
        gone = tuple(axis for axis, name in enumerate(nodes) if name not in family)
        kept = [name for name in nodes if name in family]
        wanted = joint.sum(axis=gone).transpose([kept.index(name) for name in family])
        np.testing.assert_allclose(network.margins()[node], wanted, atol=1e-13)
    random = np.random.default_rng(seed)
    tables = {
        node: random.dirichlet(np.ones(table.shape[-1]), table.shape[:-1])
        for node, table in network.tables.items()
    }
    other = Network(network.structure, tables)
    wanted = float((joint * np.log(joint / whole(other))).sum())
    assert network.divergence(other) == pytest.approx(wanted, abs=1e-12)
    assert network.divergence(network) == 0


def test_networks_with_zeros_keep_margins_and_divergences_exact() -> None:
    network = random_network(3, zeros=True)
    joint = whole(network)
    assert joint.sum() == pytest.approx(1)
    for table in network.margins().values():
        assert table.sum() == pytest.approx(1)
    soft = {node: np.full(table.shape, 1 / table.shape[-1]) for node, table in network.tables.items()}
    spread = Network(network.structure, soft)
    assert math.isinf(spread.divergence(network)) or all((t == 1).all() for t in network.tables.values())
    assert math.isfinite(network.divergence(spread))


def test_impossible_evidence_is_refused() -> None:
    structure = Structure({"a": ("x", "y"), "b": ("x", "y")}, {"b": ("a",)})
    network = Network(structure, {"a": np.array([0.5, 0.5]), "b": np.array([[1.0, 0.0], [1.0, 0.0]])})
    with pytest.raises(StateError, match="impossible"):
        network.query(["a"], {"b": "y"})


def test_questions_about_nobody_are_refused() -> None:
    network = paper_asia()
    for asked, evidence in (
        (["Z"], {}),
        ([], {}),
        (["A", "A"], {}),
        (["A"], {"A": "1"}),
        (["A"], {"Z": "1"}),
    ):
        with pytest.raises(ParameterError):
            network.query(asked, evidence)
    with pytest.raises(StateError, match="no such state"):
        network.query(["A"], {"S": "3"})
    with pytest.raises(ParameterError, match="no such node"):
        network.cpt("Z")
    with pytest.raises(ParameterError, match="lack columns"):
        network.log_probability({"A": np.zeros(3, dtype=np.int8)})
    with pytest.raises(ParameterError, match="so many rows"):
        network.sample(-1, seeded(0))


def test_a_product_too_large_is_refused_with_its_cells_before_memory_is_taken() -> None:
    names = [f"v{index}" for index in range(12)]
    structure = Structure({**dict.fromkeys(names, ("0", "1")), "sum": ("0", "1")}, {"sum": tuple(names)})
    tables = {name: np.array([0.5, 0.5]) for name in names}
    network = Network(structure, tables | {"sum": np.full((2,) * 13, 0.5)})
    with pytest.raises(TooLargeError, match=r"13 variables at once; got '8,192 cells'; wanted at most 4,096"):
        network.query(["sum"], most=4096)
    with pytest.raises(TooLargeError):
        network.margins(most=4096)
    assert network.query(["v0"], most=4096).tolist() == [0.5, 0.5]  # what lies below is not needed


def test_samples_follow_the_network_and_repeat() -> None:
    network = random_network(5)
    first = network.sample(200_000, seeded(1))
    again = network.sample(200_000, seeded(1))
    assert all((first[node] == again[node]).all() for node in network.structure.nodes)
    for node, wanted in network.margins().items():
        family = network.structure.families[node]
        counts = np.zeros(wanted.shape)
        np.add.at(counts, tuple(first[name] for name in family), 1)
        # seven deviations of each share: a false alarm below 1e-9 over all of them
        slack = 7 * np.sqrt(wanted * (1 - wanted) / 200_000) + 1e-9
        assert (np.abs(counts / 200_000 - wanted) <= slack).all()


def test_the_log_probability_of_rows_is_that_of_the_joint() -> None:
    network = random_network(7)
    rows = network.sample(50, seeded(2))
    joint = whole(network)
    wanted = np.log(joint[tuple(rows[node] for node in network.structure.nodes)])
    np.testing.assert_allclose(network.log_probability(rows), wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([0.5, 0.4], "sum to one"),
        ([1.5, -0.5], "no probability"),
        ([math.nan, 1], "no probability"),
        ([1.0], "another shape"),
    ],
)
def test_tables_that_are_none_are_refused(table: list[float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Network(Structure({"a": ("x", "y")}, {}), {"a": np.array(table)})
    with pytest.raises(ParameterError, match="a table for each node"):
        Network(Structure({"a": ("x", "y")}, {}), {})


def test_what_a_network_hands_out_cannot_change_it() -> None:
    network = paper_asia()
    network.cpt("A")[:] = 0
    assert network.cpt("A")[0] == 0.99


def test_elimination_multiplies_and_sums_factors() -> None:
    cards = {"a": 2, "b": 3}
    factors = [Factor(("a", "b"), np.arange(6.0).reshape(2, 3)), Factor(("b",), np.array([1.0, 2.0, 3.0]))]
    assert multiply(factors, ("b", "a"), cards).tolist() == [[0, 3], [2, 8], [6, 15]]
    plan = Elimination.plan(cards, [factor.scope for factor in factors], ("a",))
    assert plan.run(factors).tolist() == [8, 26]
    assert factors[0].fixed({"b": 1}).table.tolist() == [1, 4]
    assert factors[0].margin(("b",)).tolist() == [3, 5, 7]
    every = Elimination.plan(cards, [factor.scope for factor in factors])
    beliefs = every.calibrate(factors)
    assert every.margins(beliefs, {"it": ("b",)})["it"].tolist() == [3, 10, 21]


def test_all_margins_of_alarm_agree_with_queries(real_data: Path) -> None:
    network = read_bif(real_data / "tabular" / "bif" / "alarm.bif.gz")
    margins = network.margins()
    for node in ("CATECHOL", "BP", "VENTLUNG"):
        family = network.structure.families[node]
        np.testing.assert_allclose(network.query(family), margins[node], atol=1e-12)
