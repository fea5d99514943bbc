"""Who sends what when a helper deals (`discreet.protocols.dealing`), and the words that seeds stand for.

**Reveals** nothing: the course follows from what is agreed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.narrow import draw, packed_length
from discreet.protocols.step import Limit
from discreet.randomness import expand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.protocols.families import Families
    from discreet.randomness import Bits

    Words = NDArray[np.uint32]

__all__ = ["Course", "Masks"]


class Course:
    """Who sends what: the same for all parties, from what is agreed."""

    def __init__(self, agreed: Families) -> None:
        self.agreed = agreed
        self.bits = agreed.ring_bits
        self.depth = max((len(chain) for chain in agreed.chains), default=0)

    def holder(self, index: int) -> str:
        """Of a vector."""
        return self.agreed.vectors[index].holder

    def free(self, index: int) -> int:
        """Columns of a vector that travel."""
        return self.agreed.vectors[index].size - 1

    def width(self, chain: tuple[int, ...], place: int) -> int:
        """Columns that travel of the product of the vectors before ``place``."""
        return int(np.prod(self.agreed.shape(chain[:place]))) - 1

    def masked(self, sender: str, receiver: str) -> list[int]:
        """The vectors that a holder sends to another, masked."""
        wanted: set[int] = set()
        for chain in self.agreed.chains:
            places = {self.holder(index): place for place, index in enumerate(chain)}
            if sender in places and receiver in places:
                place, other = places[sender], places[receiver]
                later = other < place and self.width(chain, place)
                first = (place, other) == (0, 1) and self.free(chain[1])
                if later or first:
                    wanted.add(chain[place])
        return sorted(index for index in wanted if self.free(index))

    def passed(self, sender: str, receiver: str, place: int) -> list[int]:
        """The families whose product so far a holder passes on, masked, to the holder at ``place``."""
        return [
            number
            for number, chain in enumerate(self.agreed.chains)
            if place < len(chain)
            and self.holder(chain[place]) == receiver
            and sender in [self.holder(index) for index in chain[:place]]
            and self.width(chain, place)
            and self.free(chain[place])
        ]

    def dealt(self, receiver: str) -> list[tuple[int, int]]:
        """The (family, place) at which a holder gets a correction for every row."""
        return [
            (number, place)
            for number, chain in enumerate(self.agreed.chains)
            for place in range(1, len(chain) - 1)
            if self.holder(chain[place]) == receiver and self.cells(chain, place)
        ]

    def ended(self, receiver: str) -> list[int]:
        """The families whose last vector is this holder's: it gets the helper's sums."""
        return [
            number
            for number, chain in enumerate(self.agreed.chains)
            if self.holder(chain[-1]) == receiver and self.cells(chain, len(chain) - 1)
        ]

    def cells(self, chain: tuple[int, ...], place: int) -> int:
        """Products that are taken at a place of a chain."""
        return self.width(chain, place) * self.free(chain[place])

    def limit(self, words: int) -> dict[str, Limit]:
        """A message of so many words, packed."""
        return {"words": Limit.array("<u8", (packed_length(words, self.bits),))}


class Masks:
    """The uniform words that a holder's seed stands for, drawn in the order of chunks."""

    def __init__(self, agreed: Families, seed: bytes, seeded: bool) -> None:
        self._agreed, self._seed, self._seeded = agreed, seed, seeded
        self._streams: dict[tuple[object, ...], Bits] = {}

    def draw(self, shape: tuple[int, ...], *use: object) -> Words:
        """The next words for one use."""
        if use not in self._streams:
            self._streams[use] = expand(self._seed, self._agreed.label(*use), seeded=self._seeded)
        return draw(shape, self._streams[use])
