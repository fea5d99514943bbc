"""Transfers between two parties as steps: open a session, then rows or chosen messages, any number.

    sender      sending = yield from open_sending(context, bits)
                yield from sending.send(messages)               messages (n, options, words) of uint64
    receiver    choosing = yield from open_choosing(context, bits)
                words = yield from choosing.take(choices, options, words)

**Reveals** to the sender nothing; to the receiver the chosen messages. **Trusts** nobody: both ends are
secure against malicious parties as far as `discreet.crypto.extension` says. **Costs** 8 KiB and 50 ms once;
then 16 bytes for every row up and the masked messages down, two messages in all.

``context`` names what the session is for (protocol, version, plan); parties with different contexts get
unrelated keys, and the consistency check fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.block import derive, unpack_bits
from discreet.crypto.choice import choice_bits, mask, rows_needed, unmask
from discreet.crypto.extension import COLUMNS, LOT, Proof, Receiver, Rows, Sender, columns_shape
from discreet.crypto.transfer import POINT, Chooser, Offer
from discreet.errors import ParameterError
from discreet.protocols.step import Limit, Receive, Send

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Choosing", "Sending", "open_choosing", "open_sending"]

_NONCE = 16
_MESSAGE = 2**20


def open_sending(context: bytes, bits: Bits) -> Steps[Sending]:
    """Start a session as the party with the messages."""
    told = yield Receive("transfer/offer", {"point": Limit.raw(POINT), "nonce": Limit.raw(_NONCE)})
    offset = bits.bytes(16)
    offset = bytes([offset[0] | 1]) + offset[1:]
    nonce = bits.bytes(_NONCE)
    session = derive(b"discreet/1/transfer", context, told["nonce"], nonce, told["point"])
    signs = unpack_bits(np.frombuffer(offset, dtype=np.uint8), COLUMNS)
    chooser = Chooser(signs.tolist(), told["point"], session, bits)
    yield Send("transfer/answer", {"points": chooser.points, "nonce": nonce})
    session = derive(session, chooser.points)
    return Sending(Sender(offset, chooser.keys, session), offset, session)


def open_choosing(context: bytes, bits: Bits) -> Steps[Choosing]:
    """Start a session as the party with the choices."""
    offer, nonce = Offer.make(bits), bits.bytes(_NONCE)
    yield Send("transfer/offer", {"point": offer.point, "nonce": nonce})
    told = yield Receive(
        "transfer/answer", {"points": Limit.raw(2 * POINT * COLUMNS), "nonce": Limit.raw(_NONCE)}
    )
    session = derive(b"discreet/1/transfer", context, nonce, told["nonce"], offer.point)
    seeds = offer.keys(told["points"], session)
    session = derive(session, told["points"])
    return Choosing(Receiver(seeds, session), bits, session)


class Sending:
    """The end with the messages. ``offset`` is the secret difference of its rows (bit 0 is 1)."""

    def __init__(self, sender: Sender, offset: bytes, session: bytes) -> None:
        self.offset = offset
        self.session = session
        self._sender = sender

    def __repr__(self) -> str:
        return "Sending(...)"

    def rows(self, count: int) -> Steps[Rows]:
        """The sender's correlated rows, for choices that the other end makes."""
        lots: list[Rows] = []
        for lot in _lots(count):
            limits = {
                "columns": Limit.array("<u1", columns_shape(lot)),
                "fold": Limit.raw(16),
                "digest": Limit.raw(32),
            }
            told = yield Receive("transfer/columns", limits)
            lots.append(self._sender.extend(told["columns"], Proof(told["fold"], told["digest"]), lot))
        return _joined(lots)

    def pads(self, rows: Rows, width: int = 1) -> Blocks:
        """Both keys of every row, ``width`` blocks each: (2, n, width, 2). Use each row's keys once."""
        return self._sender.pads(rows, width)

    def send(self, messages: NDArray[np.uint64]) -> Steps[None]:
        """Let the other end take one of ``messages[j]`` for every j; messages are (n, options, words)."""
        if messages.ndim != 3 or messages.dtype != np.uint64 or not messages.size:
            raise ParameterError(
                "messages have the wrong form",
                got=messages.shape,
                wanted="uint64 (transfers, options, words)",
            )
        count, options, words = messages.shape
        need = rows_needed(options)
        rows = yield from self.rows(count * need)
        for part in _parts(count, options, words):
            chosen = _slice(rows, part, need)
            yield Send("transfer/masked", {"messages": mask(self._sender, chosen, messages[part])})


class Choosing:
    """The end with the choices."""

    def __init__(self, receiver: Receiver, bits: Bits, session: bytes) -> None:
        self.session = session
        self._receiver = receiver
        self._bits = bits

    def __repr__(self) -> str:
        return "Choosing(...)"

    def rows(self, choices: NDArray[Any]) -> Steps[Rows]:
        """The receiver's correlated rows for bits of its own."""
        lots: list[Rows] = []
        at = 0
        for lot in _lots(len(choices)):
            columns, proof, rows = self._receiver.extend(choices[at : at + lot], self._bits)
            yield Send("transfer/columns", {"columns": columns, "fold": proof.fold, "digest": proof.digest})
            lots.append(rows)
            at += lot
        return _joined(lots)

    def pads(self, rows: Rows, width: int = 1) -> Blocks:
        """The keys of the choices, ``width`` blocks each: (n, width, 2). Use each row's keys once."""
        return self._receiver.pads(rows, width)

    def take(self, choices: NDArray[Any], options: int, words: int) -> Steps[NDArray[np.uint64]]:
        """One of ``options`` messages of so many words for every choice: (n, words)."""
        need = rows_needed(options)
        rows = yield from self.rows(choice_bits(choices, options))
        taken: list[NDArray[np.uint64]] = []
        for part in _parts(len(choices), options, words):
            mine = choices[part]
            told = yield Receive(
                "transfer/masked", {"messages": Limit.array("<u8", (len(mine), options, words))}
            )
            taken.append(unmask(self._receiver, _slice(rows, part, need), mine, told["messages"]))
        return np.concatenate(taken)


def _lots(count: int) -> Iterator[int]:
    """Sizes of the lots that make up so many rows."""
    if count < 1:
        raise ParameterError("nothing to transfer", got=count, wanted="at least one")
    for at in range(0, count, LOT):
        yield min(LOT, count - at)


def _parts(count: int, options: int, words: int) -> Iterator[slice]:
    """Transfers whose masked messages fill about a mebibyte."""
    size = max(1, _MESSAGE // (8 * options * words))
    for at in range(0, count, size):
        yield slice(at, min(count, at + size))


def _slice(rows: Rows, part: slice, need: int) -> Rows:
    return Rows(rows.first + part.start * need, rows.blocks[part.start * need : part.stop * need])


def _joined(lots: list[Rows]) -> Rows:
    return Rows(lots[0].first, np.concatenate([lot.blocks for lot in lots]))
