"""Counting against the obvious loop, in every width of codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments.paper_asia import paper_asia

from discreet.errors import DataError
from discreet.models.structure import Structure
from discreet.models.tally import configurations, count_rows, inner_margin, tally
from discreet.randomness import seeded


def slow(codes: dict[str, Any], structure: Structure) -> dict[str, Any]:
    tables = {node: np.zeros(structure.shape(node), dtype=int) for node in structure.nodes}
    for node, family in structure.families.items():
        for row in zip(*(codes[name].tolist() for name in family), strict=True):
            tables[node][row] += 1
    return tables


@pytest.mark.parametrize("cards", [(2, 2, 2), (2, 64, 3), (130, 3, 200), (40, 50, 33)])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_counts_equal_those_of_a_loop(cards: tuple[int, ...], kind: Any) -> None:
    if max(cards) > np.iinfo(kind).max + 1:
        pytest.skip("such codes do not fit")
    names = ("a", "b", "c")
    states = {name: tuple(map(str, range(card))) for name, card in zip(names, cards, strict=True)}
    structure = Structure(states, {"c": ("b", "a"), "b": ("a",)})
    random = np.random.default_rng(sum(cards))
    codes = {
        name: random.integers(0, card, 999).astype(kind) for name, card in zip(names, cards, strict=True)
    }
    wanted = slow(codes, structure)
    for node, table in tally(codes, structure).items():
        assert table.dtype == np.int64
        assert (table == wanted[node]).all()


def test_blocks_of_rows_are_added_up() -> None:
    network = paper_asia()
    codes = network.sample(150_001, seeded(3))
    counts = tally(codes, network.structure)
    assert all(table.sum() == 150_001 for table in counts.values())
    for node, family in network.structure.families.items():
        index = np.ravel_multi_index([codes[name] for name in family], network.structure.shape(node))
        assert (counts[node].ravel() == np.bincount(index, minlength=counts[node].size)).all()


def test_tables_have_their_full_shape_whatever_occurs() -> None:
    structure = paper_asia().structure
    nobody = {node: np.zeros(0, dtype=np.int8) for node in structure.nodes}
    assert all(
        table.shape == structure.shape(node) and not table.any()
        for node, table in tally(nobody, structure).items()
    )
    assert set(tally(nobody, structure, structure.measured)) == set(structure.measured)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.array([0, 2]), "no state"),
        (np.array([0, -1]), "no state"),
        (np.array([0.0, 1.0]), "whole numbers"),
        (np.array([[0, 1]]), "differ in length|whole numbers"),
        (np.array([0, 1, 0]), "differ in length"),
    ],
)
def test_codes_that_are_none_are_refused_without_their_value(column: Any, words: str) -> None:
    structure = Structure({"a": ("x", "y"), "b": ("x", "y")}, {"b": ("a",)})
    with pytest.raises(DataError, match=words) as refused:
        tally({"a": np.array([0, 1]), "b": column}, structure)
    assert refused.value.got is None


def test_configurations_count_in_mixed_radix() -> None:
    found = configurations([np.array([0, 1, 1], dtype=np.int8), np.array([2, 0, 2], dtype=np.int8)], (2, 3))
    assert found.tolist() == [2, 3, 5]
    assert found.dtype == np.int8


@pytest.mark.parametrize("card", [127, 128, 32767, 32768])
def test_one_column_may_have_all_configurations(card: int) -> None:
    """The number of cells itself did not fit the numbers that their places fit."""
    codes = [np.zeros(3, dtype=np.int32), np.array([0, 1, card - 1], dtype=np.int32)]
    assert configurations(codes, (1, card)).tolist() == [0, 1, card - 1]


def test_tables_of_inner_families_are_margins_of_the_smallest_around_them() -> None:
    network = paper_asia()
    structure = network.structure
    codes = network.sample(1000, seeded(4))
    every = tally(codes, structure)
    few = {node: every[node] for node in structure.measured}
    for node in structure.nodes:
        assert (inner_margin(node, few, structure) == every[node]).all()
    assert (tally(codes, structure, ["A"])["A"] == every["A"]).all()  # asked alone, it is counted
    assert count_rows(codes, structure) == 1000
