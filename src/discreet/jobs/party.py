"""Who we are to other organisations, and whom we trust: what `discreet party` calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.wire.identity import Card, Home, default_home, read_card

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Party", "new_party", "parties", "read_party", "trust_party"]


class Party:
    """A card with what a front end shows of it: all public."""

    def __init__(self, card: Card, file: Path, ours: bool) -> None:
        self.card = card
        self.file = file
        self.ours = ours

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.card.name,
            "fingerprint": self.card.fingerprint,
            "until": self.card.until.date().isoformat(),
            "file": str(self.file),
            "ours": self.ours,
        }


def new_party(name: str, home: Path | None = None) -> Party:
    """Make an identity: a private key that stays here, and a card for the others."""
    identity = Home(home or default_home()).new(name)
    return Party(identity.card, identity.certificate, True)


def parties(home: Path | None = None) -> Sequence[Party]:
    """Our identities, each checked, and then those whom we trust."""
    place = Home(home or default_home())
    ours = [place.identity(name) for name in place.names()]
    mine = [Party(identity.card, identity.certificate, True) for identity in ours]
    return mine + [
        Party(card, place.folder / "trusted" / f"{card.name}.party", False) for card in place.trusted()
    ]


def read_party(file: Path) -> Party:
    """A card, to look at its fingerprint; nobody is trusted by this."""
    return Party(read_card(file), file, False)


def trust_party(file: Path, home: Path | None = None, fingerprint: str | None = None) -> Party:
    """Accept the party with this card; with a fingerprint, only if it is the one."""
    place = Home(home or default_home())
    card = place.trust(file, fingerprint=fingerprint)
    return Party(card, place.folder / "trusted" / f"{card.name}.party", False)
