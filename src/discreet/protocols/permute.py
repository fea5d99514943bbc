"""Blind and permute: two parties who share a list end with fresh shares of it in an order that neither knows.

Each in turn permutes by a uniform permutation of its own. The list goes through a network of switches
(`discreet.protocols.network`); whoever holds the permutation chooses at every switch, by oblivious transfer,
one of two corrections (Mohassel and Sadeghian, Eurocrypt 2013). With masks m on wires, a switch with inputs
a, b and outputs c, d is corrected by

    straight  m_c - m_a, m_d - m_b        crossed  m_c - m_b, m_d - m_a

so the holder carries masked values to the end, and the other party keeps the negated masks of the outputs as
its share. All switches are transferred at once.

**Reveals** nothing to either party: each sees uniform words. The published protocol sends Paillier
ciphertexts that the key's owner can recognise unless each gets a fresh zero; here there is nothing to
recognise. Repeating the *opening* of permuted values of the same list still shows how values are distributed.
**Costs** for n words (n rounded up to a power of two) of d x 64 bits: n log2 n - n / 2 transfers each way, of
16 + 32 d bytes. **Trusts** both to follow the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.crypto.block import derive
from discreet.errors import ParameterError
from discreet.protocols.network import columns, pairs, route, wire
from discreet.protocols.opening import check_words, random_words
from discreet.protocols.step import Limit, Receive, Send
from discreet.protocols.transfer import open_choosing, open_sending

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Shuffle", "hold_first", "hold_second"]


@dataclass(frozen=True)
class Shuffle:
    """The plan: a list of ``count`` entries of ``words`` 64-bit words each."""

    count: int
    words: int = 1

    def __post_init__(self) -> None:
        if not 2 <= self.count <= 2**20 or self.words < 1:
            raise ParameterError(
                "not a list to permute", got=(self.count, self.words), wanted="2 to 2**20 entries"
            )

    @property
    def places(self) -> int:
        """Places of the network."""
        return 1 << (self.count - 1).bit_length()

    @property
    def context(self) -> bytes:
        """What parties must agree on."""
        return derive(b"discreet/1/permute", repr(self).encode())


def hold_first(plan: Shuffle, share: NDArray[np.uint64], bits: Bits) -> Steps[NDArray[np.uint64]]:
    """One share of the list, (count, words) modulo 2**64; permutes first. Returns a share of the new list."""
    mine = check_words(share, 64, (plan.count, plan.words))
    mine = yield from _permute(plan, mine, bits, b"first")
    return (yield from _be_permuted(plan, mine, bits, b"second"))


def hold_second(plan: Shuffle, share: NDArray[np.uint64], bits: Bits) -> Steps[NDArray[np.uint64]]:
    """The other share; permutes second. Returns the other share of the new list."""
    mine = check_words(share, 64, (plan.count, plan.words))
    mine = yield from _be_permuted(plan, mine, bits, b"first")
    return (yield from _permute(plan, mine, bits, b"second"))


def _permute(plan: Shuffle, share: NDArray[np.uint64], bits: Bits, turn: bytes) -> Steps[NDArray[np.uint64]]:
    """The turn of the party that holds the permutation."""
    switches = route(_uniform_permutation(plan, bits))
    choosing = yield from open_choosing(turn + plan.context, bits)
    told = yield Receive("permute/masked", {"words": Limit.array("<u8", (plan.places, plan.words))})
    taken = yield from choosing.take(switches.ravel(), 2, 2 * plan.words)
    values = told["words"].copy()
    values[: plan.count] += share
    for column, corrections in enumerate(taken.reshape(*switches.shape, 2, plan.words)):
        paired = pairs(values)
        crossed = (switches[column] == 1)[:, None, None]
        values = np.where(crossed, paired[:, ::-1], paired) + corrections
        values = wire(values.reshape(plan.places, plan.words), column)
    return values[: plan.count]


def _be_permuted(
    plan: Shuffle, share: NDArray[np.uint64], bits: Bits, turn: bytes
) -> Steps[NDArray[np.uint64]]:
    """The turn of the other party, who masks."""
    sending = yield from open_sending(turn + plan.context, bits)
    mask = random_words(bits, 64, (plan.places, plan.words))
    masked = mask.copy()
    masked[: plan.count] += share
    yield Send("permute/masked", {"words": masked})
    messages: list[NDArray[np.uint64]] = []
    for column in range(columns(plan.places)):
        before, after = pairs(mask), random_words(bits, 64, (plan.places // 2, 2, plan.words))
        options = np.stack([after - before, after - before[:, ::-1]], axis=1)
        messages.append(options.reshape(plan.places // 2, 2, 2 * plan.words))
        mask = wire(after.reshape(plan.places, plan.words), column)
    yield from sending.send(np.concatenate(messages))
    return (np.uint64(0) - mask)[: plan.count]


def _uniform_permutation(plan: Shuffle, bits: Bits) -> NDArray[np.int64]:
    """A uniform permutation of the list's places; those that only fill up the network stay where they are.

    The order of 128-bit random keys: two are equal with probability below 2**-88.
    """
    keys = random_words(bits, 64, (2, plan.count))
    return np.concatenate([np.lexsort(keys), np.arange(plan.count, plan.places)]).astype(np.int64)
