"""Who a party is: a key pair, a self-signed certificate, and the certificates of those it trusts.

    HOME/me/NAME.key       the private key, readable by its owner only
    HOME/me/NAME.party     the certificate: give this file to the other parties
    HOME/trusted/NAME.party   the certificates of others, put there by hand after a look at the fingerprint

There is no authority and no chain: two parties exchange their files, read the fingerprints to each other over
a way that nobody else controls (a telephone, paper), and from then on only these certificates are accepted.
A fingerprint is SHA-256 of the certificate. Keys are Ed25519.

**Trusts** the file system and whoever can read the key file. A stolen key lets a thief be you until the other
parties remove your file.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import IdentityError, ParameterError
from discreet.randomness import secure

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from discreet.randomness import Bits

__all__ = ["Card", "Home", "Identity", "default_home", "group", "read_card"]

_YEARS = 10
_LONGEST = 64
_LARGEST_FILE = 1 << 16


@dataclass(frozen=True)
class Card:
    """A party as others know it: a name, a certificate, and its fingerprint. All public."""

    name: str
    pem: bytes
    fingerprint: str
    until: datetime

    def words(self) -> str:
        """The fingerprint in groups, to be read aloud."""
        return group(self.fingerprint)


@dataclass(frozen=True)
class Identity:
    """A party that is us: its card, and where its private key lies."""

    card: Card
    key: Path
    certificate: Path

    @property
    def name(self) -> str:
        """The name on the card."""
        return self.card.name

    @property
    def fingerprint(self) -> str:
        """Of our certificate."""
        return self.card.fingerprint


class Home:
    """The folder with our identities and the cards of those we trust."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def new(self, name: str, *, bits: Bits | None = None, now: datetime | None = None) -> Identity:
        """Make a key pair and a self-signed certificate.

        **Reveals** name, public key and dates in the card.
        """
        _check_name(name)
        key, certificate = self._paths(name)
        if key.exists() or certificate.exists():
            raise IdentityError(
                "there is already a party of this name",
                got=name,
                remedy="Choose another, or delete its files.",
            )
        key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret, card = _make(name, bits or secure(), now or datetime.now(UTC))
        _write(key, secret, 0o600)
        _write(certificate, card, 0o644)
        return self.identity(name)

    def identity(self, name: str) -> Identity:
        """The identity of this name, its files checked."""
        _check_name(name)
        key, certificate = self._paths(name)
        if not key.is_file() or not certificate.is_file():
            raise IdentityError(
                "there is no such party here",
                got=name,
                wanted=f"one of {self.names()}",
                remedy=f"`discreet party new {name}` makes it.",
            )
        _check_private(key)
        card = read_card(certificate)
        _check_pair(key, card)
        return Identity(card, key, certificate)

    def names(self) -> list[str]:
        """The identities in this folder."""
        return sorted(path.stem for path in (self.folder / "me").glob("*.key"))

    def trust(self, file: Path | str, *, fingerprint: str | None = None) -> Card:
        """Accept a card from now on. With a fingerprint, only if it is the one."""
        card = read_card(Path(file))
        if fingerprint is not None and _plain(fingerprint) != card.fingerprint:
            raise IdentityError(
                "the card is not the one with this fingerprint",
                got=card.words(),
                wanted=group(_plain(fingerprint)),
                remedy="Ask the other party for its card again, over another way.",
            )
        place = self.folder / "trusted" / f"{card.name}.party"
        if place.is_file() and read_card(place).fingerprint != card.fingerprint:
            raise IdentityError(
                "another card of this name is trusted already",
                got=card.name,
                remedy=f"If the party has a new key, remove {place.name} from the trusted cards first.",
            )
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not place.is_file():
            _write(place, card.pem, 0o644)
        return card

    def trusted(self) -> list[Card]:
        """The cards of all whom we trust."""
        return [read_card(path) for path in sorted((self.folder / "trusted").glob("*.party"))]

    def card(self, name: str) -> Card:
        """The card of somebody whom we trust."""
        _check_name(name)
        place = self.folder / "trusted" / f"{name}.party"
        if not place.is_file():
            raise IdentityError(
                "this party is not trusted",
                got=name,
                wanted=f"one of {[card.name for card in self.trusted()]}",
                remedy="`discreet party trust FILE` accepts the file that it gave you.",
            )
        return read_card(place)

    def _paths(self, name: str) -> tuple[Path, Path]:
        return self.folder / "me" / f"{name}.key", self.folder / "me" / f"{name}.party"


def default_home() -> Path:
    """``DISCREET_HOME``, or a hidden folder in the home of the user."""
    return Path(os.environ.get("DISCREET_HOME") or Path.home() / ".discreet")


def group(fingerprint: str) -> str:
    """A fingerprint in groups of four letters."""
    return " ".join(fingerprint[at : at + 4] for at in range(0, len(fingerprint), 4))


def read_card(file: Path) -> Card:
    """A card from its file, checked: one certificate, signed by its own key."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature

    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST_FILE)
        certificate = x509.load_pem_x509_certificate(text)
        certificate.verify_directly_issued_by(certificate)
        return _card(certificate)
    except OSError as error:
        raise IdentityError(
            "a card cannot be read", got=file.name, wanted="a file of `discreet party new`"
        ) from error
    except (ValueError, TypeError, InvalidSignature, IndexError) as error:
        raise IdentityError(
            "a file is not a party's card", got=file.name, wanted="a file of `discreet party new`"
        ) from error


def _card(certificate: Certificate) -> Card:
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import NameOID

    name = str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
    _check_name(name)
    der = certificate.public_bytes(Encoding.DER)
    until = certificate.not_valid_after_utc
    return Card(name, certificate.public_bytes(Encoding.PEM), hashlib.sha256(der).hexdigest(), until)


def _make(name: str, bits: Bits, now: datetime) -> tuple[bytes, bytes]:
    """A new key and its certificate, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    key = Ed25519PrivateKey.from_private_bytes(bits.bytes(32))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(int.from_bytes(bits.bytes(16), "big") >> 1 | 1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365 * _YEARS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, None)
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return secret, certificate.public_bytes(Encoding.PEM)


def _write(path: Path, content: bytes, mode: int) -> None:
    """A new file with this mode from its first moment, on disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _check_private(key: Path) -> None:
    if os.name == "posix" and key.stat().st_mode & 0o077:
        raise IdentityError(
            "others can read a private key",
            got=f"{key.name} has mode {key.stat().st_mode & 0o777:o}",
            wanted="600",
            remedy="Make a new identity if somebody may have copied it; otherwise `chmod 600` the file.",
        )


def _check_pair(key: Path, card: Card) -> None:
    """Refuse a certificate that belongs to another key."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    try:
        secret = load_pem_private_key(key.read_bytes(), None)
    except (ValueError, TypeError) as error:
        raise IdentityError("a key file is damaged", got=key.name) from error
    if load_pem_x509_certificate(card.pem).public_key() != secret.public_key():
        raise IdentityError("a certificate belongs to another key", got=key.name)


def _check_name(name: str) -> None:
    if not (0 < len(name) <= _LONGEST and all(letter.isalnum() or letter in "-_" for letter in name)):
        raise ParameterError(
            "not a name for a party", got=name[:_LONGEST], wanted=f"1 to {_LONGEST} letters, digits, - or _"
        )


def _plain(fingerprint: str) -> str:
    return "".join(fingerprint.replace(":", " ").split()).lower()
