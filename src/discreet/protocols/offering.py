"""Tables of counts between two holders alone, by transfers (`discreet.protocols.families`, "transfer").

For a vector y whose holder chooses, and all vectors x of the other that share a family with it, every row
and column j of y is one correlated transfer: the choice is y's bit, and what hangs on it is the whole string
of x's zeros and ones, one narrow word for each. With h0 and h1 the two strings of pads that the transfer
gives, the other sends c = x + h0 - h1 and keeps -h0; who chose 1 takes h1 + c = x + h0, who chose 0 takes h0.
So both have shares of y[row, j] x[row, :], and sum them over rows (Gilboa 1999, with strings for bits).

**Reuse.** y's choices are transferred once, for all its partners. Which vector of a family chooses is settled
so that as few columns as possible do: the least weighted vertex cover of the graph of families, which both
find alike.

**Reveals** nothing but sizes: choices are hidden by the extension, c by pads of which the chooser lacks one.
**Trusts** nobody but that both follow the protocol. Choices that differ between columns of the extension are
caught (`discreet.crypto.extension`); a holder that offers other strings than its own rows changes tables by
amounts that depend on the other's codes, and could see that when they are opened. **Costs** 16 bytes for
every row and column that chooses, and one narrow word for every row and cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.extension import COLUMNS, LOT, Rows, columns_shape
from discreet.crypto.narrow import pack, packed_length, unpack
from discreet.crypto.onehot import columns
from discreet.crypto.transfer import POINT
from discreet.protocols.cover import Cover
from discreet.protocols.step import Limit, Receive, Send
from discreet.protocols.transfer import open_choosing, open_sending

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.protocols.families import Families, Tables
    from discreet.protocols.step import Steps
    from discreet.protocols.transfer import Choosing, Sending
    from discreet.randomness import Bits

    Words = NDArray[np.uint32]
    Sums = NDArray[np.uint64]

__all__ = ["hold", "payload", "rounds", "width"]

_NONCE = 16
_PROOF = 16 + 32


class _Holder:
    """A holder at work."""

    def __init__(self, name: str, own: Mapping[int, NDArray[Any]], course: Cover) -> None:
        self.name, self.own, self.course = name, own, course
        (self.other,) = (holder for holder in course.agreed.holders if holder != name)
        self.choosing: Choosing | None = None
        self.sending: Sending | None = None
        self.sums: dict[int, Sums] = {}
        self._start = 0

    def open(self, bits: Bits) -> Steps[None]:
        """The sessions of transfers that are needed, first that in which the first holder chooses."""
        for chooser in self.course.agreed.holders:
            if not self.course.choices(chooser):
                continue
            context = self.course.agreed.label("transfers", chooser).encode()
            if chooser == self.name:
                self.choosing = yield from open_choosing(context, bits)
            else:
                self.sending = yield from open_sending(context, bits)

    def piece(self, rows: int) -> Steps[None]:
        """Work through the next rows: choose, let choose, offer, take."""
        here = slice(self._start, self._start + rows)
        self._start += rows
        ones = {index: columns(codes[here], self.course.free(index) + 1) for index, codes in self.own.items()}
        mine = theirs = None
        if self.choosing is not None:
            bits = np.concatenate([ones[index][:-1] for index in self.course.chosen(self.name)])
            mine = yield from self.choosing.rows(bits.astype(np.uint8).ravel())
        if self.sending is not None:
            theirs = yield from self.sending.rows(rows * self.course.choices(self.other))
            offered = self._offered(self.sending, theirs, ones, rows)
            yield Send("families/offered", {"words": pack(offered, self.course.bits)})
        if self.choosing is not None and mine is not None:
            yield from self._take(self.choosing, mine, ones, rows)

    def _offered(self, sending: Sending, rows: Rows, ones: Mapping[int, Words], count: int) -> Words:
        """The strings c for all that the other chose."""
        course, at, parts = self.course, 0, list[Any]()
        for index in course.chosen(self.other):
            free, hanging = course.free(index), course.hanging(index)
            part = _slice(rows, at, free * count)
            at += free * count
            pads = sending.pads(part, _width(hanging, course.bits))
            zero, one = (_words(pad, hanging, course.bits).reshape(hanging, free, count) for pad in pads)
            _add(self.sums, index, np.uint64(0) - zero.sum(axis=2, dtype=np.uint64))
            strings = np.concatenate([ones[other][:-1] for other in course.partners[index]])
            np.subtract(zero, one, out=one)
            one += strings[:, None]
            parts.append(one.ravel())
        return np.concatenate(parts)

    def _take(self, choosing: Choosing, rows: Rows, ones: Mapping[int, Words], count: int) -> Steps[None]:
        """Add up what was taken."""
        course = self.course
        length = count * course.words(self.name)
        limit = {"words": Limit.array("<u8", (packed_length(length, course.bits),))}
        told = yield Receive("families/offered", limit)
        words = unpack(told["words"], (length,), course.bits)
        at = position = 0
        for index in course.chosen(self.name):
            free, hanging = course.free(index), course.hanging(index)
            part = _slice(rows, at, free * count)
            at += free * count
            pads = choosing.pads(part, _width(hanging, course.bits))
            taken = _words(pads, hanging, course.bits).reshape(hanging, free, count)
            strings = words[position : position + taken.size].reshape(taken.shape)
            position += taken.size
            strings &= np.uint32(0) - ones[index][:-1]
            taken += strings
            _add(self.sums, index, taken.sum(axis=2, dtype=np.uint64))


def hold(name: str, own: Mapping[int, NDArray[Any]], agreed: Families, bits: Bits) -> Steps[Tables]:
    """A holder's role; tables are in the order of `Families.chains`."""
    holder = _Holder(name, own, Cover(agreed))
    yield from holder.open(bits)
    for rows in agreed.chunks:
        yield from holder.piece(rows)
    return holder.course.tables(own, holder.sums)


def width(agreed: Families) -> int:
    """Words of the largest message, for one row."""
    course = Cover(agreed)
    return max(course.words(name) for name in agreed.holders)


def payload(agreed: Families) -> dict[tuple[str, str], int]:
    """Bytes of content by sender and receiver."""
    course, total = Cover(agreed), dict[tuple[str, str], int]()
    for name, other in (agreed.holders, agreed.holders[::-1]):
        if not (each := course.choices(name)):
            continue
        up, down = POINT + _NONCE, 2 * POINT * COLUMNS + _NONCE
        for rows, times in agreed.sizes.items():
            lots = [min(LOT, each * rows - at) for at in range(0, each * rows, LOT)]
            up += times * sum(int(np.prod(columns_shape(lot))) + _PROOF for lot in lots)
            down += times * 8 * packed_length(course.words(name) * rows, course.bits)
        total[name, other] = total.get((name, other), 0) + up
        total[other, name] = total.get((other, name), 0) + down
    return total


def rounds(agreed: Families) -> int:
    """Two for each session that is opened, two for every piece of rows."""
    course = Cover(agreed)
    opened = sum(course.choices(name) > 0 for name in agreed.holders)
    return 2 * opened + (2 * sum(agreed.sizes.values()) if opened else 0)


def _add(sums: dict[int, Sums], index: int, part: Sums) -> None:
    sums[index] = sums[index] + part if index in sums else part


def _slice(rows: Rows, start: int, count: int) -> Rows:
    return Rows(rows.first + start, rows.blocks[start : start + count])


def _width(words: int, bits: int) -> int:
    """Blocks of pads that hold so many words."""
    return -(-words // (2 * (64 // bits)))


def _words(pads: NDArray[np.uint64], count: int, bits: int) -> Words:
    """Pads (n, blocks, 2) as words (count, n), of which the low bits are uniform and independent."""
    each = 64 // bits
    out = np.empty((count, len(pads)), dtype=np.uint32)
    for index in range(count):
        half, place = divmod(index, each)
        out[index] = pads[:, half // 2, half % 2] >> np.uint64(place * bits)
    return out
