"""Tables of counts with a helper who deals masks (`discreet.protocols.families`, route "helper").

The helper shares a seed with every holder; they stand for uniform masks a_v, one for each vector v. A holder
sends D_v = v - a_v to the holders it shares a family with: once for all families. For the table of x (held by
P) and y (held by Q),
    x'y = x'(D_y + a_y)  =  x' D_y  +  D_x' a_y  +  a_x' a_y
            what is summed:  by P      by Q         by the helper
and the helper sends Q its sum less a mask that P expands from its seed (Du and Atallah 2001; Beaver 1995).

**Three and more holders.** With z the vector that comes next, of R, and W the product so far, shared among
the holders before, each of them sends R its share less a mask of its own, D_W in sum; then
    W z = W D_z + D_W a_z + a_W a_z,
row by row as long as factors follow (the helper then corrects every row), summed over rows at the last. All
masks of W are fresh. Only at the end of a chain does a product have one row in all.

**Reveals** to the helper nothing, it receives no message; to a holder uniform words only. **Trusts** that the
helper colludes with no holder: with P it could take the masks off everything that P received. A helper who
deals falsely changes tables unseen. **Costs** for a vector (size - 1) words a row to every partner; for a
product of k > 2 holders its cells, about twice in all for each of the holders in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.narrow import Factor, factor, pack, packed_length, product, unpack
from discreet.crypto.onehot import columns, completed
from discreet.protocols.course import Course, Masks
from discreet.protocols.step import Limit, Receive, Send

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from discreet.protocols.families import Families, Tables
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Words = NDArray[np.uint32]

__all__ = ["deal", "hold", "payload", "rounds", "width"]

_KEY = 32


class _Holder:
    """A holder at work: one piece of rows after the other, tables summed up."""

    def __init__(self, name: str, own: Mapping[int, NDArray[Any]], course: Course, masks: Masks) -> None:
        self.name, self.own, self.course, self.masks = name, own, course, masks
        self.chains = course.agreed.chains
        self.others = [other for other in course.agreed.holders if other != name]
        self.body: dict[int, NDArray[np.uint64]] = {}
        self.margin: dict[int, NDArray[np.uint64]] = {}
        self._start = 0

    def piece(self, rows: int) -> Steps[None]:
        """Work through the next rows."""
        course, here = self.course, slice(self._start, self._start + rows)
        self._start += rows
        self.rows = rows
        self.ones = {index: columns(codes[here], course.free(index) + 1) for index, codes in self.own.items()}
        self.hidden = {index: self._drawn(index) for index in self.own}
        self.seen: dict[int, Words] = {}
        self._factors: dict[tuple[str, int, bool], Factor] = {}
        yield from self._exchange()
        self.corrections = yield from self._corrections()
        self.held = {
            number: self.ones[chain[0]]
            for number, chain in enumerate(self.chains)
            if chain[0] in self.ones
        }  # fmt: skip
        for place in range(1, course.depth):
            passed = (yield from self._pass_on(place)) if place > 1 else {}
            for number, chain in enumerate(self.chains):
                if place < len(chain):
                    self._multiply(number, chain, place, passed)

    def _drawn(self, index: int) -> Words:
        return self.masks.draw((self.course.free(index), self.rows), "mask", index)

    def _exchange(self) -> Steps[None]:
        """Send own vectors masked to those who need them, get theirs."""
        course = self.course
        for other in self.others:
            if wanted := course.masked(self.name, other):
                words = np.concatenate([self.ones[index][:-1] - self.hidden[index] for index in wanted])
                yield Send("families/masked", {"words": pack(words, course.bits)}, other)
        for other in self.others:
            if wanted := course.masked(other, self.name):
                shapes = [(course.free(index), self.rows) for index in wanted]
                words = yield from self._received("families/masked", shapes, other)
                self.seen |= dict(zip(wanted, words, strict=True))

    def _corrections(self) -> Steps[dict[tuple[int, int], Words]]:
        """What the helper corrects in products of every row."""
        course = self.course
        if not (places := course.dealt(self.name)):
            return {}
        shapes = [
            (course.width(self.chains[number], place), course.free(self.chains[number][place]), self.rows)
            for number, place in places
        ]
        words = yield from self._received("families/correction", shapes, course.agreed.helper)
        return dict(zip(places, words, strict=True))

    def _pass_on(self, place: int) -> Steps[dict[int, Words]]:
        """Masked shares of products so far go to whoever comes next in a chain; what comes here, in sum."""
        course = self.course
        for other in self.others:
            if numbers := course.passed(self.name, other, place):
                parts = [
                    self.held[n][:-1] - self.masks.draw((len(self.held[n]) - 1, self.rows), "pass", n, place)
                    for n in numbers
                ]
                yield Send("families/passed", {"words": pack(np.concatenate(parts), course.bits)}, other)
        whole: dict[int, Words] = {}
        for other in self.others:
            if numbers := course.passed(other, self.name, place):
                shapes = [(course.width(self.chains[n], place), self.rows) for n in numbers]
                words = yield from self._received("families/passed", shapes, other)
                for number, part in zip(numbers, words, strict=True):
                    whole[number] = whole[number] + part if number in whole else part
        return whole

    def _received(self, name: str, shapes: list[tuple[int, ...]], sender: str) -> Steps[list[Words]]:
        """Words that came packed in one message, as tables."""
        sizes = [int(np.prod(shape)) for shape in shapes]
        told = yield Receive(name, self.course.limit(sum(sizes)), sender)
        flat = unpack(told["words"], (sum(sizes),), self.course.bits)
        cuts = np.cumsum(sizes)[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)]

    def _multiply(self, number: int, chain: tuple[int, ...], place: int, passed: Mapping[int, Words]) -> None:
        """This holder's part of one product, of rows or of sums."""
        index, last = chain[place], place == len(chain) - 1
        if index in self.own:
            self._meet(number, chain, place, passed.get(number), last)
        elif number in self.held:
            held = self.held[number]
            if last:
                left = self._left(number, chain, held)
                self._add(self.margin, number, held.sum(axis=1, dtype=np.uint64))
                if self.course.cells(chain, place):
                    self._add(self.body, number, product(left, self._factor("seen", index, False)))
                return
            shape = (len(held) - 1, self.course.free(index), self.rows)
            body = np.empty(shape, dtype=np.uint32)
            if body.size:
                np.multiply(held[:-1, None], self.seen[index][None], out=body)
                body += self.masks.draw(shape, "share", number, place)
            nothing = np.zeros((self.course.free(index), self.rows), dtype=np.uint32)
            self.held[number] = completed(body, held, nothing).reshape(-1, self.rows)

    def _meet(
        self, number: int, chain: tuple[int, ...], place: int, passed: Words | None, last: bool
    ) -> None:
        """The same for the holder of the vector that comes in."""
        index, course = chain[place], self.course
        cells = course.cells(chain, place)
        if last:
            self._add(self.margin, number, self.ones[index][:-1].sum(axis=1, dtype=np.uint64))
            if cells:
                left = (
                    self._factor("seen", chain[0], True)
                    if place == 1
                    else factor(_there(passed), course.bits, left=True)
                )
                self._add(self.body, number, product(left, self._factor("hidden", index, False)))
            return
        width, free = course.width(chain, place), course.free(index)
        body = np.empty((width, free, self.rows), dtype=np.uint32)
        if cells:
            told = self.seen[chain[0]] if place == 1 else _there(passed)
            np.multiply(told[:, None], self.hidden[index][None], out=body)
            body += self.corrections[number, place]
        nothing = np.zeros((width + 1, self.rows), dtype=np.uint32)
        self.held[number] = completed(body, nothing, self.ones[index][:-1]).reshape(-1, self.rows)

    def _left(self, number: int, chain: tuple[int, ...], held: Words) -> Factor:
        """The product so far as a left factor; at first it is zeros and ones, which need no limbs."""
        if len(chain) == 2:
            return self._factor("ones", chain[0], False)
        return factor(held[:-1], self.course.bits, left=True)

    def _factor(self, kind: str, index: int, left: bool) -> Factor:
        """Words of this piece as doubles, made once."""
        key = (kind, index, left)
        if key not in self._factors:
            if kind == "ones":
                self._factors[key] = Factor((self.ones[index][:-1].astype(np.float64),), 1)
            else:
                words = (self.seen if kind == "seen" else self.hidden)[index]
                self._factors[key] = factor(words, self.course.bits, left=left)
        return self._factors[key]

    @staticmethod
    def _add(sums: dict[int, NDArray[np.uint64]], number: int, part: NDArray[np.uint64]) -> None:
        sums[number] = sums[number] + part if number in sums else part

    def tables(self) -> Steps[Tables]:
        """Shares of all tables: bodies completed, and hidden by the helper's shares of zero."""
        agreed = self.course.agreed
        ended = [n for n, chain in enumerate(self.chains) if chain[-1] in self.own]
        shapes = [agreed.shape(chain) for chain in self.chains]
        told: dict[int, Words] = {}
        if ended:
            words = yield from self._received("families/tables", [shapes[n] for n in ended], agreed.helper)
            told = dict(zip(ended, words, strict=True))
        return [self._table(number, chain, shapes[number], told) for number, chain in enumerate(self.chains)]

    def _table(
        self, number: int, chain: tuple[int, ...], shape: tuple[int, ...], told: Mapping[int, Words]
    ) -> NDArray[np.uint64]:
        if number not in self.margin:
            return np.zeros(shape, dtype=np.uint64)
        width, free = self.course.width(chain, len(chain) - 1), self.course.free(chain[-1])
        body = self.body.get(number, np.zeros((width, free), dtype=np.uint64))
        if number in told:
            whole = completed(body, np.zeros(width + 1, dtype=np.uint64), self.margin[number])
            return whole.reshape(shape) + told[number].astype(np.uint64)
        whole = completed(body, self.margin[number], np.zeros(free, dtype=np.uint64))
        return whole.reshape(shape) + self.masks.draw(shape, "table", number).astype(np.uint64)


def hold(name: str, own: Mapping[int, NDArray[Any]], agreed: Families, bits: Bits) -> Steps[Tables]:
    """A holder's role; tables are in the order of `Families.chains`."""
    told = yield Receive("families/seed", {"seed": Limit.raw(_KEY)}, agreed.helper)
    course = Course(agreed)
    holder = _Holder(name, own, course, Masks(agreed, bytes(told["seed"]), bits.seeded))
    for rows in agreed.chunks:
        yield from holder.piece(rows)
    return (yield from holder.tables())


def deal(agreed: Families, bits: Bits) -> Steps[None]:
    """The helper's role."""
    course = Course(agreed)
    masks: dict[str, Masks] = {}
    for name in agreed.holders:
        seed = bits.bytes(_KEY)
        masks[name] = Masks(agreed, seed, bits.seeded)
        yield Send("families/seed", {"seed": seed}, name)
    dealer = _Dealer(course, masks)
    for rows in agreed.chunks:
        for name, words in dealer.piece(rows):
            yield Send("families/correction", {"words": pack(words, course.bits)}, name)
    for name, words in dealer.tables():
        yield Send("families/tables", {"words": pack(words, course.bits)}, name)


class _Dealer:
    """The helper at work."""

    def __init__(self, course: Course, masks: Mapping[str, Masks]) -> None:
        self.course, self.masks = course, masks
        self.chains = course.agreed.chains
        self.body: dict[int, NDArray[np.uint64]] = {}

    def piece(self, rows: int) -> Iterable[tuple[str, Words]]:
        """Sum products of masks over the next rows; corrections by receiver."""
        course = self.course
        hidden = {
            index: self.masks[vector.holder].draw((course.free(index), rows), "mask", index)
            for index, vector in enumerate(course.agreed.vectors)
        }
        factors: dict[tuple[int, bool], Factor] = {}

        def made(index: int, left: bool) -> Factor:
            key = (index, left and course.bits > 22)
            if key not in factors:
                factors[key] = factor(hidden[index], course.bits, left=left)
            return factors[key]

        for number, chain in enumerate(self.chains):
            place = len(chain) - 1
            if not course.cells(chain, place):
                continue
            if place == 1:
                left = made(chain[0], True)
            else:
                left = factor(self._passed(number, chain, place, rows), course.bits, left=True)
            part = product(left, made(chain[place], False))
            self.body[number] = self.body[number] + part if number in self.body else part
        for name in course.agreed.holders:
            if places := course.dealt(name):
                parts = [self._correction(number, place, hidden, rows).ravel() for number, place in places]
                yield name, np.concatenate(parts)

    def _passed(self, number: int, chain: tuple[int, ...], place: int, rows: int) -> Words:
        """The sum of the masks under which a product so far was passed on."""
        shape = (self.course.width(chain, place), rows)
        return self._sum(chain, place, shape, "pass", number, place)

    def _correction(self, number: int, place: int, hidden: Mapping[int, Words], rows: int) -> Words:
        """What makes the shares of a product of masks whole, in every row."""
        chain = self.chains[number]
        left = hidden[chain[0]] if place == 1 else self._passed(number, chain, place, rows)
        whole = left[:, None] * hidden[chain[place]][None]
        return whole - self._sum(chain, place, whole.shape, "share", number, place)

    def _sum(self, chain: tuple[int, ...], place: int, shape: tuple[int, ...], *use: object) -> Words:
        """What the holders before a place have drawn for one use, in sum."""
        total = np.zeros(shape, dtype=np.uint32)
        for index in chain[:place]:
            total += self.masks[self.course.holder(index)].draw(shape, *use)
        return total

    def tables(self) -> Iterable[tuple[str, Words]]:
        """The sums of products of masks, less shares of zero, for the last holder of each chain."""
        course = self.course
        for name in course.agreed.holders:
            ended = [n for n, chain in enumerate(self.chains) if course.holder(chain[-1]) == name]
            if ended:
                yield name, np.concatenate([self._table(number).ravel() for number in ended])

    def _table(self, number: int) -> Words:
        chain, course = self.chains[number], self.course
        width, free = course.width(chain, len(chain) - 1), course.free(chain[-1])
        body = self.body.get(number, np.zeros((width, free), dtype=np.uint64)).astype(np.uint32)
        none = np.zeros(width + 1, dtype=np.uint32), np.zeros(free, dtype=np.uint32)
        shape = course.agreed.shape(chain)
        shares = self._sum(chain, len(chain) - 1, shape, "table", number)
        return completed(body, *none).reshape(shape) - shares


def width(agreed: Families) -> int:
    """Words of the largest message, for one row."""
    course = Course(agreed)
    most = 0
    for name in agreed.holders:
        corrected = sum(course.cells(agreed.chains[number], place) for number, place in course.dealt(name))
        sent = [sum(map(course.free, course.masked(name, other))) for other in agreed.holders]
        passed = [
            sum(course.width(agreed.chains[n], place) for n in course.passed(name, other, place))
            for other in agreed.holders
            for place in range(2, course.depth)
        ]
        most = max(most, corrected, *sent, *passed)
    return most


def payload(agreed: Families) -> dict[tuple[str, str], int]:
    """Bytes of content by sender and receiver."""
    course, helper = Course(agreed), agreed.helper
    total = {(helper, name): _KEY for name in agreed.holders}

    def add(sender: str, receiver: str, words: int, times: int = 1) -> None:
        if words:
            size = 8 * packed_length(words, course.bits) * times
            total[sender, receiver] = total.get((sender, receiver), 0) + size

    chains = agreed.chains
    for name in agreed.holders:
        wide = sum(course.cells(chains[number], place) for number, place in course.dealt(name))
        tables = [agreed.shape(chain) for chain in chains if course.holder(chain[-1]) == name]
        for rows, times in agreed.sizes.items():
            add(helper, name, wide * rows, times)
            for other in agreed.holders:
                add(name, other, rows * sum(map(course.free, course.masked(name, other))), times)
                for place in range(2, course.depth):
                    passed = course.passed(name, other, place)
                    add(name, other, rows * sum(course.width(chains[n], place) for n in passed), times)
        add(helper, name, sum(int(np.prod(shape)) for shape in tables))
    return total


def rounds(agreed: Families) -> int:
    """A seed; for every piece of rows an exchange and the steps of the longest chain; the tables."""
    return 2 + sum(agreed.sizes.values()) * max(1, Course(agreed).depth - 1)


def _there(words: Words | None) -> Words:
    assert words is not None
    return words
