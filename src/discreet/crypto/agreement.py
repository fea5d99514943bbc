"""Secrets between two parties who have exchanged public keys, and short sealed notes from one to the other.

X25519 (RFC 7748) gives both the same 32 bytes; `expand` with a domain that names use, sender and receiver
turns them into keys. Notes are sealed by AES-256-GCM. The nonce is zero, so one domain may seal one note
only.

**Assumes** the gap Diffie-Hellman problem on Curve25519 and AES. Security 128 bits. **Does not protect**
against somebody in the middle: the public keys must have come from the right parties.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.errors import CipherError
from discreet.randomness import expand

if TYPE_CHECKING:
    from discreet.randomness import Bits

__all__ = ["NOTE", "Agreement", "opened", "sealed"]

NOTE = 16
"""Bytes by which a sealed note is longer than the note."""

_NONCE = bytes(12)


@dataclass(frozen=True)
class Agreement:
    """A key pair for agreeing on secrets."""

    secret: bytes = field(repr=False)

    @staticmethod
    def draw(bits: Bits) -> Agreement:
        """A fresh pair."""
        return Agreement(bits.bytes(32))

    @property
    def public(self) -> bytes:
        """32 bytes for everybody."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return X25519PrivateKey.from_private_bytes(self.secret).public_key().public_bytes_raw()

    def shared(self, public: bytes) -> bytes:
        """The secret shared with the owner of a public key. Raises `CipherError` for keys that fix it."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

        try:
            peer = X25519PublicKey.from_public_bytes(public)
            return X25519PrivateKey.from_private_bytes(self.secret).exchange(peer)
        except ValueError:
            raise CipherError("a public key is not a usable point") from None


def sealed(note: bytes, secret: bytes, domain: str) -> bytes:
    """The note, readable and unforgeable by holders of the secret only. One note for each domain."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(expand(secret, domain).bytes(32)).encrypt(_NONCE, note, None)


def opened(note: bytes, secret: bytes, domain: str) -> bytes:
    """A sealed note's content. Raises `CipherError` if it was changed or sealed otherwise."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(expand(secret, domain).bytes(32)).decrypt(_NONCE, note, None)
    except InvalidTag:
        raise CipherError("a sealed note was changed or is not for this party") from None
