"""How vectors are cut into three parts: who holds, expands and sends which (`discreet.protocols.working`).

All of it follows from what is agreed, so every party knows it of all others; nothing here has seen a code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.narrow import packed_length
from discreet.protocols.step import Limit

if TYPE_CHECKING:
    from discreet.protocols.families import Families

__all__ = ["KEY", "PARTS", "Cut"]

KEY = 32
"""Bytes of a key that parts are expanded from."""

PARTS = (0, 1, 2)
"""A vector is the sum of three parts; worker i holds parts i and i + 1."""


class Cut:
    """Who holds, expands and sends which part: the same for all, from what is agreed."""

    def __init__(self, agreed: Families) -> None:
        self.agreed = agreed
        self.bits = agreed.ring_bits
        self.workers = agreed.workers
        self.depth = max((len(chain) for chain in agreed.chains), default=0)
        self.used = sorted({index for chain in agreed.chains for index in chain if self.free(index)})

    def free(self, index: int) -> int:
        """Columns of a vector that are shared."""
        return self.agreed.vectors[index].size - 1

    def width(self, chain: tuple[int, ...], place: int) -> int:
        """Free columns of the product of the vectors before ``place``."""
        return int(np.prod(self.agreed.shape(chain[:place]))) - 1

    def cells(self, chain: tuple[int, ...], place: int) -> int:
        """Products that are taken at a place of a chain."""
        return self.width(chain, place) * self.free(chain[place])

    def parts(self, worker: str) -> tuple[int, int]:
        """The parts that a worker holds: its own and the following one."""
        position = self.workers.index(worker)
        return position, (position + 1) % 3

    def sent(self, index: int) -> int:
        """The part of a vector that its holder sends; the others are expanded, or zero."""
        holder = self.agreed.vectors[index].holder
        return (self.workers.index(holder) + 1) % 3 if holder in self.workers else index % 3

    def empty(self, index: int) -> int | None:
        """The part of a vector that is zero, if there is one."""
        holder = self.agreed.vectors[index].holder
        return (self.workers.index(holder) + 2) % 3 if holder in self.workers else None

    def keyed(self, holder: str, worker: str) -> list[int]:
        """The parts for which a holder gives a worker keys."""
        if holder == worker:
            return []
        parts = self.parts(worker)
        if holder in self.workers:
            own = self.workers.index(holder)
            return [own] if own in parts else []
        return sorted(parts)

    def sends(self, holder: str, worker: str) -> list[int]:
        """The vectors of which a holder sends a worker a part."""
        if holder == worker:
            return []
        parts = self.parts(worker)
        return [
            index
            for index in self.used
            if self.agreed.vectors[index].holder == holder and self.sent(index) in parts
        ]

    def shared_again(self, place: int) -> list[int]:
        """The families whose product is shared again at a place."""
        chains = enumerate(self.agreed.chains)
        return [n for n, chain in chains if place < len(chain) - 1 and self.cells(chain, place)]

    def limit(self, words: int) -> dict[str, Limit]:
        """A message of so many words, packed."""
        return {"words": Limit.array("<u8", (packed_length(words, self.bits),))}
