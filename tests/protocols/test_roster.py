"""Ids before an alignment: each once, by rules for repeated and missing ones; one form of every letter."""

import pytest

from discreet.errors import DataError, ParameterError
from discreet.protocols.roster import roster

COLUMN = [b"bob", b"ann", b"bob", b"", b"eve", b"bob", b"", b"ann"]


def test_two_ways_to_write_a_letter_are_one_id():
    one, two = "Ame\u0301lie".encode(), "Am\u00e9lie".encode()
    assert roster([one]).ids == roster([two]).ids == (two,)
    with pytest.raises(DataError, match="several rows"):
        roster([one, two])


def test_bytes_that_are_no_text_stay_as_they_are():
    assert roster([b"\xff\x00", b"17"]).ids == (b"\xff\x00", b"17")


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
        roster([b"bob", b"ann", b"bob"])
    for refusal in (missing, repeated):
        assert "bob" not in str(refusal.value)
        assert refusal.value.got is None
    assert roster([b"bob", b"ann"]).rows.tolist() == [0, 1]
    assert "bob" not in repr(roster([b"bob"]))


def test_no_ids_are_allowed_and_unknown_rules_are_not():
    assert roster([]).rows.shape == (0,)
    with pytest.raises(ParameterError, match="no such rule"):
        roster([], duplicates="last")
    with pytest.raises(ParameterError, match="no such rule"):
        roster([], missing="keep")
