"""Garbled circuits that are sent before their inputs are known.

    garbler                                                 evaluator
    end = yield from open_early(context, rows, bits)        end = yield from open_late(context, rows, bits)
    ... give, take and run as ever: tables go out           yield from end.fetch(circuit, instances) for every run
                                    -- the inputs become known --
    yield from end.settle()                                 yield from end.redeem(all bits, in order)
    yield from end.tell(...)                                ... give, take and run as ever, then learn

The evaluator's bits are transferred ahead for random choices: rows t = q ^ r D. The garbler draws a fresh
label L for each bit c of the evaluator's; when c is known, the evaluator says d = c ^ r, and gets
e = q ^ d D ^ L, so that t ^ e = L ^ c D. Since r is uniform, d says nothing; since L is fresh, e shows
nothing but that label.

**Costs** 16 bytes a bit more than transfers of the bits themselves, and room for all tables at the
evaluator's end.
**Assumes** more of the hash: inputs are chosen when the tables are known already, so the simulation has to
program AES as an ideal cipher (Bellare, Hoang and Rogaway, "Adaptively secure garbling", 2012). What opens
the outputs is kept back until all inputs are there.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.block import derive, pack_bits, repeat_bits, unpack_bits
from discreet.crypto.garble import block_sizes
from discreet.errors import ParameterError
from discreet.protocols.garbled import VERSION, Evaluating, Garbling
from discreet.protocols.step import Limit, Receive, Send
from discreet.protocols.transfer import open_choosing, open_sending
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.crypto.circuit import Circuit
    from discreet.protocols.step import Steps
    from discreet.protocols.transfer import Choosing, Sending
    from discreet.randomness import Bits

__all__ = ["Early", "Late", "open_early", "open_late"]

_PIECE = 2**15
"""Labels of one message."""


def open_early(context: bytes, count: int, bits: Bits) -> Steps[Early]:
    """Start a session as the garbler, with transfers ahead for so many bits of the evaluator's."""
    sending = yield from open_sending(VERSION + b"ahead" + context, bits)
    rows = yield from sending.rows(count)
    return Early(sending, rows.blocks, bits)


def open_late(context: bytes, count: int, bits: Bits) -> Steps[Late]:
    """Start a session as the evaluator."""
    choosing = yield from open_choosing(VERSION + b"ahead" + context, bits)
    choices = unpack_bits(np.frombuffer(bits.bytes(-(-count // 8)), dtype=np.uint8), count)
    rows = yield from choosing.rows(choices)
    return Late(choosing, rows.blocks, choices)


class Early(Garbling):
    """The garbler's end: what it takes are fresh labels, which the evaluator gets when all settle."""

    def __init__(self, sending: Sending, rows: Blocks, bits: Bits) -> None:
        super().__init__(sending)
        self._rows = rows
        self._fresh = expand(derive(b"discreet/1/ahead", bits.bytes(32)), "labels", seeded=bits.seeded)
        self._taken: list[Blocks] = []

    def take(self, shape: tuple[int, int]) -> Steps[Blocks]:
        """Labels for bits that the evaluator will name later. No message."""
        raw = bytearray(self._fresh.bytes(16 * math.prod(shape)))
        labels = np.frombuffer(raw, dtype="<u8").reshape(-1, 2)
        self._taken.append(labels)
        return labels.reshape(*shape, 2)
        yield  # a role that needs no message

    def settle(self) -> Steps[None]:
        """Hand over the labels of all bits taken so far, once."""
        labels, self._taken = np.concatenate(self._taken), []
        if len(labels) != len(self._rows):
            raise ParameterError(
                "other bits were taken than were transferred", got=len(labels), wanted=str(len(self._rows))
            )
        length = -(-len(labels) // 8)
        told = yield Receive("labels/turns", {"turns": Limit.array("<u1", (length,))})
        turns = unpack_bits(told["turns"], len(labels))
        for at in range(0, len(labels), _PIECE):
            part = slice(at, at + _PIECE)
            sent = repeat_bits(turns[part]) & self.offset
            sent ^= self._rows[part]
            sent ^= labels[part]
            yield Send("labels/masked", {"labels": sent})
        self._rows = self._rows[:0]


class Late(Evaluating):
    """The evaluator's end: it keeps tables, and evaluates when it has its labels."""

    def __init__(self, choosing: Choosing, rows: Blocks, choices: NDArray[np.uint8]) -> None:
        super().__init__(choosing)
        self._rows = rows
        self._choices = choices
        self._tables: deque[NDArray[np.uint64]] = deque()
        self._labels = rows[:0]
        self._used = 0

    def fetch(self, circuit: Circuit, instances: int) -> Steps[None]:
        """Receive the tables of one run."""
        for gates in block_sizes(circuit, instances):
            told = yield Receive("gates/tables", {"tables": Limit.array("<u8", (4 * gates,))})
            self._tables.append(told["tables"])

    def redeem(self, bits: NDArray[Any]) -> Steps[None]:
        """Name all bits (n,) in the order in which they will be given, and get their labels, once."""
        if bits.shape != self._choices.shape:
            raise ParameterError(
                "other bits are given than were transferred", got=bits.shape, wanted=str(self._choices.shape)
            )
        yield Send("labels/turns", {"turns": pack_bits(bits ^ self._choices)})
        parts: list[Blocks] = []
        for at in range(0, len(bits), _PIECE):
            mine = self._rows[at : at + _PIECE]
            told = yield Receive("labels/masked", {"labels": Limit.array("<u8", mine.shape)})
            parts.append(told["labels"] ^ mine)
        self._labels = np.concatenate(parts)
        self._choices = self._choices[:0]

    def give(self, bits: NDArray[Any]) -> Steps[Blocks]:
        """Labels for the next bits, which were named before. No message."""
        first, self._used = self._used, self._used + bits.size
        return self._labels[first : self._used].reshape(*bits.shape, 2)
        yield  # a role that needs no message

    def run(self, circuit: Circuit, inputs: Mapping[str, Blocks]) -> Steps[dict[str, Blocks]]:
        """Evaluate a circuit whose tables are here. No message."""
        evaluating = self._evaluator.run(circuit, inputs)
        try:
            next(evaluating)
            while True:
                evaluating.send(self._tables.popleft())
        except StopIteration as end:
            return end.value
        yield  # a role that needs no message
