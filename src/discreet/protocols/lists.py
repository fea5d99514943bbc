"""Members of a total make sure that a collector has told them all the same lists.

A member seals what it was told, 32 bytes, for every other member; whoever opens the notes compares. The
collector carries notes, and can neither read nor forge them. `discreet.protocols.total` says which lists.

**Reveals** nothing to the collector; members see whether they were told the same. **Trusts** that the keys,
under which notes are sealed, came from the right members. **Costs** 48 bytes a note, one for each pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.agreement import NOTE, opened, sealed
from discreet.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    Label = Callable[..., str]

__all__ = ["STORY", "TAG", "check_tags", "tags_for", "turned"]

STORY = 32
"""Bytes of the hash of what a member was told."""

TAG = STORY + NOTE
"""Bytes of a sealed hash."""


def tags_for(
    story: bytes, use: str, name: str, members: tuple[str, ...], secrets: Mapping[str, bytes], label: Label
) -> NDArray[np.uint8]:
    """What this member was told, sealed for each with whom it has a secret: (members, 48)."""
    tags = np.zeros((len(members), TAG), dtype=np.uint8)
    for other, secret in secrets.items():
        note = sealed(story, secret, label(use, name, other))
        tags[members.index(other)] = np.frombuffer(note, dtype=np.uint8)
    return tags


def check_tags(
    tags: NDArray[np.uint8],
    story: bytes,
    use: str,
    name: str,
    members: tuple[str, ...],
    secrets: Mapping[str, bytes],
    label: Label,
) -> None:
    """Refuse to go on unless all others with a secret here were told the same.

    Raises `CipherError` for a tag that was not sealed by its member, `ProtocolError` for another list.
    """
    for other, secret in secrets.items():
        note = tags[members.index(other)].tobytes()
        if opened(note, secret, label(use, other, name)) != story:
            raise ProtocolError(
                "the collector told members different lists",
                got=f"another list at {other!r}",
                remedy="Do not trust this collector: one who follows the protocol tells all the same.",
            )


def turned(tables: Mapping[str, NDArray[np.uint8]], name: str, members: Iterable[str]) -> NDArray[np.uint8]:
    """What the collector passes on to one member: the rows meant for it, by sender."""
    order = tuple(members)
    passed = np.zeros((len(order), TAG), dtype=np.uint8)
    for sender, table in tables.items():
        passed[order.index(sender)] = table[order.index(name)]
    return passed
