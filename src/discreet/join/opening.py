"""The end of a joint network: nothing is opened before everybody has everything, and then all at once.

    keepers <-> keepers     "join/done"     we have all that we will open, and 32 fresh bytes
    openers  -> receivers   "join/opened"   shares of the crossing tables, and the tables counted alone

*Keepers* have shares: holders, and the helper if it drew noise. From the bytes that two keepers tell each
other both derive words that one adds and the other subtracts. So what a receiver sees of two keepers or more
is uniform but for its sum, whatever the protocols before have left in single shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.sharing import masks
from discreet.protocols.step import Limit, Receive, Send, domain
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.join.layout import Layout
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Opening"]

_SEED = 32
_VERSION = 1

if TYPE_CHECKING:
    Share = NDArray[np.uint64] | None
    Local = NDArray[np.int64] | None


@dataclass(frozen=True)
class Opening:
    """The end of a run as one party sees it: its name, who counts what, and how many rows there are."""

    name: str
    layout: Layout
    rows: int

    @cached_property
    def openers(self) -> tuple[str, ...]:
        """Everybody who has something to open: all holders, and the helper if it has shares."""
        return tuple(sorted({*self.layout.plan.holders, *self.layout.keepers}))

    @cached_property
    def bits(self) -> int:
        """Shares are modulo 2 to this power."""
        return self.layout.sharing(self.rows).ring_bits if self.layout.crossing else 0

    def renew(self, share: Share, bits: Bits) -> Steps[Share]:
        """Wait until everybody has all that it will open; returns the own share, made fresh."""
        others = [other for other in self.openers if other != self.name]
        seeds: dict[str, bytes] = {}
        for other in others:
            if share is not None and other in self.layout.keepers:
                seeds[other] = bits.bytes(_SEED)
            yield Send("join/done", {"seed": seeds[other]} if other in seeds else {}, other)
        for other in others:
            told = yield Receive("join/done", {"seed": Limit.raw(_SEED)} if other in seeds else {}, other)
            if share is not None and other in seeds:
                share = share + self._words(seeds[other], self.name, other)
                share = share - self._words(bytes(told["seed"]), other, self.name)
        return None if share is None else share & self._ones

    def tell(self, share: Share, local: Local) -> Steps[None]:
        """Send what is ours to all who receive."""
        parts: dict[str, NDArray[Any]] = {} if local is None else {"local": local}
        if share is not None:
            parts["shares"] = share
        for receiver in self.layout.plan.receivers:
            if receiver != self.name:
                yield Send("join/opened", parts, receiver)

    def gather(self, share: Share, local: Local) -> Steps[dict[str, NDArray[np.int64]]]:
        """A receiver's part: all tables, from what the others send and from what is here."""
        layout = self.layout
        total = np.zeros(layout.cells, dtype=np.uint64) if share is None else share
        found: dict[str, NDArray[np.int64]] = {} if local is None else layout.split_local(local, self.name)
        for sender in self.openers:
            if sender != self.name:
                told = yield Receive("join/opened", self._limits(sender), sender)
                if "local" in told:
                    found |= layout.split_local(told["local"], sender)
                if "shares" in told:
                    total = total + told["shares"]
        if layout.crossing:
            found |= layout.split(self._decoded(total))
        return {node: np.ascontiguousarray(found[node]) for node in layout.structure.measured}

    def _limits(self, sender: str) -> Mapping[str, Limit]:
        limits: dict[str, Limit] = {}
        if sender in self.layout.plan.holders:
            cells = self.layout.structure.cells(self.layout.local_of(sender))
            limits["local"] = Limit.array("<i8", (cells,))
        if sender in self.layout.keepers:
            limits["shares"] = Limit.array("<u8", (self.layout.cells,))
        return limits

    def _words(self, seed: bytes, giver: str, taker: str) -> NDArray[np.uint64]:
        """The words that a seed of one keeper for another stands for."""
        return masks((self.layout.cells,), expand(seed, domain("join", _VERSION, "fresh", giver, taker)))

    @property
    def _ones(self) -> np.uint64:
        return np.uint64(2**self.bits - 1)

    def _decoded(self, total: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Words as integers around 0 to rows: half of what is left over lies on either side."""
        below = np.uint64((2**self.bits - self.rows) // 2)
        return ((total + below) & self._ones).view(np.int64) - np.int64(below)
