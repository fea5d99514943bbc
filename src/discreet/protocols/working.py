"""Tables of counts by three workers of whom no two collude (`discreet.protocols.families`, route "three").

Every vector is shared once, x = x_0 + x_1 + x_2, and worker i holds x_i and x_(i+1). A holder that is worker
i keeps x_i, which worker i+2 expands from a seed, and sends x_(i+1) = x - x_i to worker i+1; x_(i+2) is zero,
since all who hold it may know so. Any other holder lets workers expand two parts from seeds and sends the
third, to the two who hold it. Products are those of `discreet.crypto.trio` (Araki and others 2016): for every
table worker i sums
    x_i' (y_i + y_(i+1)) + x_(i+1)' y_i + r_i,        r_0 + r_1 + r_2 = 0,
over rows, and no byte is sent. For families of more than two vectors, products of rows are shared again:
every worker sends its own part, one narrow word for every row and cell, to the one before it.

**Reveals** nothing: a worker sees two of three parts, which are uniform. **Trusts** that no two workers
collude, and that all follow the protocol: a worker who sends other words changes tables unseen. Holders that
are no workers send their shares and get nothing. **Costs** (size - 1) words a row for a vector of a worker,
twice that for a vector of another holder; three times the cells for each product that is shared again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.narrow import Factor, draw, factor, pack, packed_length, product, unpack
from discreet.crypto.onehot import columns, completed
from discreet.protocols.cut import KEY, PARTS, Cut
from discreet.protocols.step import Limit, Receive, Send
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.protocols.families import Families, Tables
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Words = NDArray[np.uint32]
    Sums = NDArray[np.uint64]
    Part = Words | None

__all__ = ["hold", "payload", "rounds", "width"]


class _Holder:
    """A holder's side: its vectors cut into parts, piece by piece."""

    def __init__(self, name: str, own: Mapping[int, NDArray[Any]], course: Cut, bits: Bits) -> None:
        self.name, self.own, self.course = name, own, course
        self.keys = [bits.bytes(KEY) for _ in PARTS]
        self._seeded = bits.seeded
        self._streams: dict[tuple[int, int], Bits] = {}
        self._start = 0

    def introduce(self) -> Steps[None]:
        """Give workers the keys of parts."""
        for worker in self.course.workers:
            if parts := self.course.keyed(self.name, worker):
                keys = b"".join(self.keys[part] for part in parts)
                yield Send("families/keys", {"keys": keys}, worker)

    def piece(self, rows: int) -> Steps[dict[tuple[int, int], Part]]:
        """Share the next rows of all own vectors; every part of them."""
        here = slice(self._start, self._start + rows)
        self._start += rows
        cut = {
            (index, part): words
            for index, codes in self.own.items()
            if index in self.course.used
            for part, words in self._cut(index, codes[here]).items()
        }
        for worker in self.course.workers:
            if wanted := self.course.sends(self.name, worker):
                words = np.concatenate([_there(cut[index, self.course.sent(index)]) for index in wanted])
                yield Send("families/part", {"words": pack(words, self.course.bits)}, worker)
        return cut

    def _cut(self, index: int, codes: NDArray[Any]) -> dict[int, Part]:
        course = self.course
        rest = columns(codes, course.free(index) + 1)[:-1]
        parts: dict[int, Part] = {}
        for part in PARTS:
            if part == course.empty(index):
                parts[part] = None
            elif part != course.sent(index):
                drawn = self._draw(index, part, rest.shape)
                parts[part] = drawn
                rest -= drawn
        parts[course.sent(index)] = rest
        return parts

    def _draw(self, index: int, part: int, shape: tuple[int, ...]) -> Words:
        if (index, part) not in self._streams:
            label = self.course.agreed.label("part", index, part)
            self._streams[index, part] = expand(self.keys[part], label, seeded=self._seeded)
        return draw(shape, self._streams[index, part])


class _Worker:
    """A worker's side: parts of everybody's vectors come in, tables are summed up."""

    def __init__(self, name: str, holder: _Holder, course: Cut, bits: Bits) -> None:
        self.name, self.holder, self.course = name, holder, course
        self.chains = course.agreed.chains
        self.mine, self.next = course.parts(name)
        self.before, self.after = (course.workers[(self.mine + step) % 3] for step in (2, 1))
        self._key, self._seeded = bits.bytes(KEY), bits.seeded
        self._keys: dict[tuple[str, int], bytes] = {}
        self._zeros: dict[tuple[object, ...], list[Bits]] = {}
        self._streams: dict[tuple[int, int], Bits] = {}
        self.body: dict[int, Sums] = {}
        self.left: dict[int, Sums] = {}
        self.right: dict[int, Sums] = {}

    def introduce(self) -> Steps[None]:
        """Exchange keys of zeros with the other workers; get the holders' keys of parts."""
        yield Send("families/zero", {"key": self._key}, self.before)
        for holder in self.course.agreed.holders:
            if parts := self.course.keyed(holder, self.name):
                told = yield Receive("families/keys", {"keys": Limit.raw(KEY * len(parts))}, holder)
                for number, part in enumerate(parts):
                    self._keys[holder, part] = bytes(told["keys"])[KEY * number : KEY * (number + 1)]
        told = yield Receive("families/zero", {"key": Limit.raw(KEY)}, self.after)
        self._next_key = bytes(told["key"])

    def piece(self, rows: int, own: Mapping[tuple[int, int], Part]) -> Steps[None]:
        """Work through the next rows."""
        self.rows = rows
        self._factors: dict[tuple[int, str], Factor | None] = {}
        self.parts = dict(own)
        for holder in self.course.agreed.holders:
            yield from self._receive(holder)
        self.held: dict[int, tuple[Words, Words]] = {}
        for place in range(1, self.course.depth):
            yield from self._share_again(place)
        for number, chain in enumerate(self.chains):
            self._sum(number, chain)

    def _receive(self, holder: str) -> Steps[None]:
        """The parts of another holder's vectors: expanded, or sent."""
        course = self.course
        if holder == self.name:
            return
        if wanted := course.sends(holder, self.name):
            shapes = [(course.free(index), self.rows) for index in wanted]
            for index, words in zip(
                wanted, (yield from self._received("families/part", shapes, holder)), strict=True
            ):
                self.parts[index, course.sent(index)] = words
        for index in course.used:
            if course.agreed.vectors[index].holder != holder:
                continue
            for part in (self.mine, self.next):
                if part == course.empty(index):
                    self.parts[index, part] = None
                elif part != course.sent(index):
                    self.parts[index, part] = self._drawn(holder, index, part)

    def _received(self, name: str, shapes: list[tuple[int, ...]], sender: str) -> Steps[list[Words]]:
        sizes = [int(np.prod(shape)) for shape in shapes]
        told = yield Receive(name, self.course.limit(sum(sizes)), sender)
        flat = unpack(told["words"], (sum(sizes),), self.course.bits)
        pieces = np.split(flat, np.cumsum(sizes)[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def _drawn(self, holder: str, index: int, part: int) -> Words:
        if (index, part) not in self._streams:
            label = self.course.agreed.label("part", index, part)
            key = self._keys[holder, part]
            self._streams[index, part] = expand(key, label, seeded=self._seeded)
        return draw((self.course.free(index), self.rows), self._streams[index, part])

    def _zero(self, shape: tuple[int, ...], *use: object) -> Words:
        """This worker's share of zero."""
        if use not in self._zeros:
            label = self.course.agreed.label("zero", *use)
            keys = (self._key, self._next_key)
            self._zeros[use] = [expand(key, label, seeded=self._seeded) for key in keys]
        own, following = (draw(shape, stream) for stream in self._zeros[use])
        return own - following

    def _words(self, index: int, part: int) -> Words:
        """One part of a vector's free columns."""
        words = self.parts.get((index, part))
        return np.zeros((self.course.free(index), self.rows), dtype=np.uint32) if words is None else words

    def _product(self, number: int, chain: tuple[int, ...]) -> tuple[Words, Words]:
        """Both parts of a family's product so far, with its last column."""
        if number not in self.held:
            both = tuple(
                _whole(self._words(chain[0], part), part == 0) for part in (self.mine, self.next)
            )  # fmt: skip
            self.held[number] = (both[0], both[1])
        return self.held[number]

    def _share_again(self, place: int) -> Steps[None]:
        """Multiply row by row where more factors follow, and share the products again."""
        course = self.course
        cut = {number: self._row_products(number, place) for number in course.shared_again(place)}
        after: dict[int, Words] = {}
        if cut:
            flat = np.concatenate([words.ravel() for words in cut.values()])
            yield Send("families/shared", {"words": pack(flat, course.bits)}, self.before)
            shapes = [words.shape for words in cut.values()]
            words = yield from self._received("families/shared", shapes, self.after)
            after = dict(zip(cut, words, strict=True))
        for number, chain in enumerate(self.chains):
            if place < len(chain) - 1:
                self._extend(number, chain, place, cut.get(number), after.get(number))

    def _row_products(self, number: int, place: int) -> Words:
        chain = self.chains[number]
        x, x_next = (words[:-1] for words in self._product(number, chain))
        y, y_next = (self._words(chain[place], part) for part in (self.mine, self.next))
        whole = x[:, None] * (y + y_next)[None]
        whole += x_next[:, None] * y[None]
        whole += self._zero(whole.shape, "rows", number, place)
        return whole

    def _extend(
        self, number: int, chain: tuple[int, ...], place: int, own: Words | None, after: Words | None
    ) -> None:
        shape = (self.course.width(chain, place), self.course.free(chain[place]), self.rows)
        extended: list[Words] = []
        for held, part, body in zip(
            self._product(number, chain), (self.mine, self.next), (own, after), strict=True
        ):
            body = np.zeros(shape, dtype=np.uint32) if body is None else body
            table = completed(body, held, self._words(chain[place], part))
            extended.append(table.reshape(-1, self.rows))
        self.held[number] = (extended[0], extended[1])

    def _sum(self, number: int, chain: tuple[int, ...]) -> None:
        """The last product of a family, summed over rows, and its margins."""
        last = chain[-1]
        if len(chain) == 2:
            left = _whole_sum(self.parts.get((chain[0], self.mine)), self.course.free(chain[0]))
            left[-1:] += np.uint64(self.rows if self.mine == 0 else 0)
        else:
            left = self._product(number, chain)[0].sum(axis=1, dtype=np.uint64)
        right = _whole_sum(self.parts.get((last, self.mine)), self.course.free(last))[:-1]
        _add(self.left, number, left)
        _add(self.right, number, right)
        if not self.course.cells(chain, len(chain) - 1):
            return
        body = np.zeros((len(left) - 1, len(right)), dtype=np.uint64)
        for own, other in (("own", "both"), ("next", "own")):
            x = self._left(number, chain, own)
            y = self._factor(last, other, "right")
            if x is not None and y is not None:
                body += product(x, y)
        _add(self.body, number, body)

    def _left(self, number: int, chain: tuple[int, ...], which: str) -> Factor | None:
        if len(chain) == 2:
            return self._factor(chain[0], which, "left")
        words = self._product(number, chain)[which == "next"]
        return factor(words[:-1], self.course.bits, left=True)

    def _factor(self, index: int, which: str, side: str) -> Factor | None:
        """Parts of a vector as doubles, made once a piece; None for a part that is zero."""
        key = (index, f"{which} {side}")
        if key not in self._factors:
            words = self._chosen(index, which)
            bits, left = self.course.bits, side == "left"
            self._factors[key] = None if words is None else factor(words, bits, left=left)
        return self._factors[key]

    def _chosen(self, index: int, which: str) -> Part:
        own, following = (self.parts.get((index, part)) for part in (self.mine, self.next))
        if which == "both":
            return own + following if own is not None and following is not None else _either(own, following)
        return own if which == "own" else following

    def tables(self) -> Tables:
        """Shares of all tables, hidden by shares of zero."""
        tables: Tables = []
        for number, chain in enumerate(self.chains):
            shape = self.course.agreed.shape(chain)
            left, right = self.left[number], self.right[number]
            body = self.body.get(number, np.zeros((len(left) - 1, len(right)), dtype=np.uint64))
            whole = completed(body, left, right).reshape(shape)
            tables.append(whole + self._zero(shape, "table", number).astype(np.uint64))
        return tables


def hold(name: str, own: Mapping[int, NDArray[Any]], agreed: Families, bits: Bits) -> Steps[Tables | None]:
    """A holder's role; a worker's tables are in the order of `Families.chains`."""
    course = Cut(agreed)
    holder = _Holder(name, own, course, bits)
    yield from holder.introduce()
    if name not in course.workers:
        for rows in agreed.chunks:
            yield from holder.piece(rows)
        return None
    worker = _Worker(name, holder, course, bits)
    yield from worker.introduce()
    for rows in agreed.chunks:
        yield from worker.piece(rows, (yield from holder.piece(rows)))
    return worker.tables()


def width(agreed: Families) -> int:
    """Words of the largest message, for one row."""
    course, chains = Cut(agreed), agreed.chains
    sent = [sum(map(course.free, course.sends(h, w))) for h in agreed.holders for w in course.workers]
    again = [
        sum(course.cells(chains[n], place) for n in course.shared_again(place))
        for place in range(1, course.depth)
    ]
    return max(0, *sent, *again)


def payload(agreed: Families) -> dict[tuple[str, str], int]:
    """Bytes of content by sender and receiver."""
    course, total = Cut(agreed), dict[tuple[str, str], int]()

    def add(sender: str, receiver: str, size: int) -> None:
        if size:
            total[sender, receiver] = total.get((sender, receiver), 0) + size

    for position, worker in enumerate(course.workers):
        before = course.workers[(position + 2) % 3]
        add(worker, before, KEY)
        for holder in agreed.holders:
            add(holder, worker, KEY * len(course.keyed(holder, worker)))
        for rows, times in agreed.sizes.items():
            for holder in agreed.holders:
                words = rows * sum(map(course.free, course.sends(holder, worker)))
                add(holder, worker, times * 8 * packed_length(words, course.bits))
            for place in range(1, course.depth):
                again = course.shared_again(place)
                words = rows * sum(course.cells(agreed.chains[number], place) for number in again)
                add(worker, before, times * 8 * packed_length(words, course.bits))
    return total


def rounds(agreed: Families) -> int:
    """The keys; for every piece of rows an exchange and the steps of the longest chain."""
    course = Cut(agreed)
    again = sum(bool(course.shared_again(place)) for place in range(1, course.depth))
    return 1 + sum(agreed.sizes.values()) * (1 + again)


def _whole(words: Words, first: bool) -> Words:
    """A part of a vector with its last column, one less the others; the one is in the first part."""
    last = np.uint32(first) - words.sum(axis=0, dtype=np.uint32)
    return np.concatenate([words, last[None]])


def _whole_sum(words: Part, free: int) -> Sums:
    """Sums over rows of a part and of its last column, but for the ones."""
    if words is None:
        return np.zeros(free + 1, dtype=np.uint64)
    sums = words.sum(axis=1, dtype=np.uint64)
    return np.concatenate([sums, np.uint64(0) - sums.sum(keepdims=True, dtype=np.uint64)])


def _either(one: Part, other: Part) -> Part:
    return other if one is None else one


def _add(sums: dict[int, Sums], number: int, part: Sums) -> None:
    sums[number] = sums[number] + part if number in sums else part


def _there(words: Part) -> Words:
    assert words is not None
    return words
