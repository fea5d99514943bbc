"""Ids before an alignment: one form of bytes, each id once, rules for repeated and missing ones."""

import numpy as np
import pytest

from discreet.errors import DataError, ParameterError
from discreet.protocols.roster import id_bytes, roster

COLUMN = ["bob", "ann", "bob", None, "eve", "bob", "", "ann"]


def test_numbers_and_their_texts_are_one_id():
    assert id_bytes(17) == id_bytes("17") == id_bytes(b"17") == id_bytes(np.int64(17)) == b"17"
    assert id_bytes(-3) == b"-3"
    assert id_bytes(2**80) == str(2**80).encode()


def test_two_ways_to_write_a_letter_are_one_id():
    assert id_bytes("Ame\u0301lie") == id_bytes("Am\u00e9lie")


def test_missing_ones_have_no_bytes():
    assert id_bytes(None) == id_bytes("") == id_bytes(float("nan")) == id_bytes(np.float64("nan")) == b""


@pytest.mark.parametrize("value", [1.0, True, ("a",), np.bool_(True), object()])
def test_other_types_are_refused_without_their_value(value):
    with pytest.raises(DataError, match="no agreed bytes") as refused:
        id_bytes(value)
    assert repr(value) not in str(refused.value)


def test_rules_for_repeated_and_missing_ids():
    first = roster(COLUMN, duplicates="first", missing="drop")
    assert first.ids == (b"bob", b"ann", b"eve")
    assert first.rows.tolist() == [0, 1, 4]
    dropped = roster(COLUMN, duplicates="drop", missing="drop")
    assert dropped.ids == (b"eve",)
    assert dropped.rows.tolist() == [4]


def test_by_default_both_are_refused_and_no_id_is_shown():
    with pytest.raises(DataError, match="missing") as missing:
        roster(COLUMN)
    with pytest.raises(DataError, match="several rows") as repeated:
        roster(["bob", "ann", "bob"])
    for refusal in (missing, repeated):
        assert "bob" not in str(refusal.value)
        assert refusal.value.got is None
    assert roster(["bob", "ann"]).rows.tolist() == [0, 1]
    assert "bob" not in repr(roster(["bob"]))


def test_no_ids_are_allowed_and_unknown_rules_are_not():
    assert roster([]).rows.shape == (0,)
    with pytest.raises(ParameterError, match="no such rule"):
        roster([], duplicates="last")
    with pytest.raises(ParameterError, match="no such rule"):
        roster([], missing="keep")
