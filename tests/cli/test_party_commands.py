"""Identities from the command line: made, shown, exchanged, trusted."""

import json
import stat

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.wire.identity import Home


def call(home, *words, typed=None):
    arguments = [str(word) for word in words]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "100", "DISCREET_HOME": str(home)}, input=typed)


@pytest.fixture
def two(tmp_path):
    homes = tmp_path / "one", tmp_path / "two"
    assert call(homes[0], "party", "new", "clinic").exit_code == 0
    assert call(homes[1], "party", "new", "hospital").exit_code == 0
    return homes


def test_a_new_party_has_a_key_of_its_own_and_a_card_for_others(two):
    key = two[0] / "me" / "clinic.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    shown = json.loads(call(two[0], "party", "show", "--json").stdout)["parties"]
    assert [(one["name"], one["ours"]) for one in shown] == [("clinic", True)]
    assert shown[0]["fingerprint"] == Home(two[0]).identity("clinic").fingerprint
    assert "PRIVATE" not in (two[0] / "me" / "clinic.party").read_text()


def test_a_party_is_trusted_after_a_look_at_its_fingerprint(two):
    card = two[1] / "me" / "hospital.party"
    done = call(two[0], "party", "trust", card, typed="y\n")
    assert done.exit_code == 0
    assert Home(two[1]).identity("hospital").card.words() in " ".join(done.stdout.split())
    assert "hospital (trusted)" in call(two[0], "party", "show").stdout
    assert call(two[0], "party", "trust", card, typed="y\n").exit_code == 0


def test_a_party_is_not_trusted_without_a_yes(two):
    card = two[1] / "me" / "hospital.party"
    assert call(two[0], "party", "trust", card, typed="n\n").exit_code == 1
    assert not Home(two[0]).trusted()
    assert call(two[0], "party", "trust", card, "--json").exit_code == 2


def test_a_fingerprint_is_compared(two):
    card = two[1] / "me" / "hospital.party"
    told = Home(two[1]).identity("hospital").card.words()
    wrong = call(two[0], "party", "trust", card, "--fingerprint", "00" * 32)
    assert wrong.exit_code == 2
    assert not Home(two[0]).trusted()
    done = call(two[0], "party", "trust", card, "--fingerprint", told.upper(), "--json")
    assert json.loads(done.stdout)["name"] == "hospital"


def test_what_cannot_be_done_is_refused_with_code_2(two, tmp_path):
    assert call(two[0], "party", "new", "clinic").exit_code == 2
    assert call(two[0], "party", "new", "a/b").exit_code == 2
    bad = tmp_path / "bad.party"
    bad.write_text("nothing")
    assert call(two[0], "party", "trust", bad, typed="y\n").exit_code == 2
    assert "No party yet" in call(tmp_path / "empty", "party", "show").stdout
