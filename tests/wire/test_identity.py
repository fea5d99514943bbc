"""Identities are files: keys for their owner only, cards that speak for themselves, pins that hold."""

import os
import shutil
import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from discreet.errors import IdentityError, ParameterError
from discreet.randomness import seeded
from discreet.wire.identity import Home, default_home, group, read_card

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def test_a_key_is_never_readable_by_others(home):
    old = os.umask(0)
    try:
        made = home.new("clinic")
    finally:
        os.umask(old)
    assert stat.S_IMODE(made.key.stat().st_mode) == 0o600
    made.key.chmod(0o640)
    with pytest.raises(IdentityError, match=r"others can read a private key; got .clinic.key has mode 640"):
        home.identity("clinic")


def test_a_card_holds_a_name_a_key_and_dates(home):
    made = home.new("clinic", now=NOW)
    card = read_card(made.certificate)
    assert card == made.card
    assert card.name == "clinic"
    assert card.until == NOW + timedelta(days=3650)
    assert card.words() == group(card.fingerprint)
    assert len(card.words().split()) == 16
    assert made.name == "clinic"


def test_the_same_bits_make_the_same_key_and_others_another(tmp_path):
    made = [
        Home(tmp_path / str(at)).new("a", bits=seeded(seed), now=NOW) for at, seed in enumerate((1, 1, 2))
    ]
    assert made[0].fingerprint == made[1].fingerprint != made[2].fingerprint
    assert Home(tmp_path / "9").new("a").fingerprint != Home(tmp_path / "8").new("a").fingerprint


def test_a_name_is_given_once(home):
    home.new("clinic")
    with pytest.raises(IdentityError, match="already"):
        home.new("clinic")


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "x" * 65, "a\n"])
def test_strange_names_are_refused(home, name):
    with pytest.raises(ParameterError, match="name for a party"):
        home.new(name)
    with pytest.raises(ParameterError, match="name for a party"):
        home.card(name)
    assert not home.folder.exists()


def test_missing_parties_are_named(home):
    home.new("clinic")
    with pytest.raises(IdentityError, match=r"no such party.*wanted one of \['clinic'\]"):
        home.identity("other")
    with pytest.raises(IdentityError, match="not trusted"):
        home.card("other")
    assert home.names() == ["clinic"]


def test_a_trusted_card_is_kept_and_not_replaced(home, tmp_path):
    first = Home(tmp_path / "1").new("hospital")
    second = Home(tmp_path / "2").new("hospital")
    assert home.trust(first.certificate).fingerprint == first.fingerprint
    assert home.trust(first.certificate).fingerprint == first.fingerprint
    with pytest.raises(IdentityError, match="another card of this name"):
        home.trust(second.certificate)
    assert home.card("hospital").fingerprint == first.fingerprint
    assert [card.name for card in home.trusted()] == ["hospital"]


def test_a_fingerprint_must_be_the_whole_one(home, tmp_path):
    made = Home(tmp_path / "1").new("hospital")
    for wrong in ("", made.fingerprint[:-1], made.fingerprint[:-4] + "0000", "zz"):
        with pytest.raises(IdentityError, match="not the one with this fingerprint"):
            home.trust(made.certificate, fingerprint=wrong)
    assert home.trust(made.certificate, fingerprint=made.card.words().replace(" ", ":")).name == "hospital"


def test_a_certificate_of_another_key_is_refused(home, tmp_path):
    mine, other = home.new("clinic"), Home(tmp_path / "1").new("clinic")
    shutil.copy(other.certificate, mine.certificate)
    with pytest.raises(IdentityError, match="another key"):
        home.identity("clinic")
    mine.key.write_text("nothing")
    with pytest.raises(IdentityError, match="damaged"):
        home.identity("clinic")


def forged(name, *, signer=None):
    """A certificate whose signature is not that of its own key."""
    key, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(5)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=9))
        .sign(other if signer else key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def test_files_that_are_no_cards_are_refused(home, tmp_path):
    file = tmp_path / "x.party"
    made = Home(tmp_path / "1").new("hospital")
    for content in (
        b"",
        b"text",
        os.urandom(100),
        made.key.read_bytes(),
        forged("a", signer=True),
        forged("../a"),
    ):
        file.write_bytes(content)
        with pytest.raises((IdentityError, ParameterError)):
            home.trust(file)
    with pytest.raises(IdentityError, match="cannot be read"):
        home.trust(tmp_path / "missing.party")
    assert not home.trusted()


def test_the_home_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "elsewhere"))
    assert default_home() == tmp_path / "elsewhere"
    monkeypatch.delenv("DISCREET_HOME")
    assert default_home().name == ".discreet"
