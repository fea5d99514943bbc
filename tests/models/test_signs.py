"""The paper's linear system: its matrix, and counts that equal counting and the joint tables."""

import numpy as np
import pytest

from discreet.errors import DataError, ParameterError
from discreet.models.signs import counts, paper_bytes, pseudo_products, sign_matrix
from discreet.protocols.families import Families, Vector, help_out, hold
from discreet.protocols.step import run_parties
from discreet.randomness import secure

# Section 3.1: lines pip(Z), pip(X), pip(Y), pip(Z,X), pip(Z,Y), pip(Z,X,Y), pip(X,Y), N; columns a to h of
# table 1, which are z, then x, then y, each -1 before 1.
PAPER = np.array(
    [
        [-1, -1, -1, -1, 1, 1, 1, 1],
        [-1, -1, 1, 1, -1, -1, 1, 1],
        [-1, 1, -1, 1, -1, 1, -1, 1],
        [1, 1, -1, -1, -1, -1, 1, 1],
        [1, -1, 1, -1, -1, 1, -1, 1],
        [-1, 1, 1, -1, 1, -1, -1, 1],
        [1, -1, -1, 1, 1, -1, -1, 1],
        [1, 1, 1, 1, 1, 1, 1, 1],
    ]
)
SUBSETS = [0b100, 0b010, 0b001, 0b110, 0b101, 0b111, 0b011, 0b000]


def counted(columns):
    table = np.zeros((2,) * len(columns), dtype=np.int64)
    for row in (columns.T + 1) // 2:
        table[tuple(row)] += 1
    return table


def test_three_columns_have_the_matrix_of_the_paper():
    assert np.array_equal(sign_matrix(3)[SUBSETS], PAPER)


@pytest.mark.parametrize("columns", range(1, 8))
def test_the_matrix_is_hadamard_and_products_are_its_lines(columns):
    matrix = sign_matrix(columns)
    assert np.array_equal(matrix @ matrix.T, 2**columns * np.eye(2**columns, dtype=np.int64))
    data = np.random.default_rng(columns).choice([-1, 1], (columns, 300))
    assert np.array_equal(matrix @ counted(data).ravel(), pseudo_products(data))


@pytest.mark.parametrize("columns", range(1, 11))
@pytest.mark.parametrize("rows", [0, 1, 500])
def test_counts_follow_for_any_number_of_parents(columns, rows):
    data = np.random.default_rng(rows).choice([-1, 1], (columns, rows), p=[0.2, 0.8])
    assert np.array_equal(counts(pseudo_products(data)), counted(data))


def test_many_rows_are_worked_through_in_pieces(monkeypatch):
    data = np.random.default_rng(2).choice([-1, 1], (4, 1001))
    whole = pseudo_products(data)
    monkeypatch.setattr("discreet.models.signs._PIECE", 16 * 100)
    assert np.array_equal(pseudo_products(data), whole)


def test_joint_tables_are_those_of_the_linear_system():
    """Two yes/no columns at one site and one at another, as in the paper's ASIA."""
    data = np.random.default_rng(1).choice([-1, 1], (3, 2000))
    codes = (data + 1) // 2
    agreed = Families(2000, ("a", "b"), (Vector("a", 4), Vector("b", 2)), ((0, 1),), "helper")
    roles = {
        "a": hold("a", [2 * codes[0] + codes[1]], agreed, secure()),
        "b": hold("b", [codes[2]], agreed, secure()),
        "helper": help_out(agreed, secure()),
    }
    out, _ = run_parties(roles)
    joint = (out["a"][0] + out["b"][0]) & np.uint64(2**agreed.ring_bits - 1)
    assert np.array_equal(joint.reshape(2, 2, 2).astype(np.int64), counts(pseudo_products(data)))


def test_what_the_paper_says_a_node_costs():
    assert paper_bytes(2000, 2) == 2000
    assert paper_bytes(1_000_000, 4) == 4_000_000
    assert paper_bytes(1, 0) == 1
    with pytest.raises(ParameterError):
        paper_bytes(-1, 2)


def test_what_is_no_such_system_is_refused_without_a_value():
    with pytest.raises(DataError) as refused:
        pseudo_products(np.array([[1, -1, 77]]))
    assert "77" not in str(refused.value)
    for products in (np.array([3]), np.arange(6)):
        with pytest.raises(ParameterError):
            counts(products)
    for products in (np.array([3, 0]), np.array([2, 4])):
        with pytest.raises(DataError):
            counts(products)
    for columns in (0, 13):
        with pytest.raises(ParameterError):
            sign_matrix(columns)
