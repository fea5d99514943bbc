"""Two parties compute on garbled circuits: one garbles, the other evaluates, nobody sees a value on the way.

    garbler                                            evaluator
    end = yield from open_garbling(context, bits)      end = yield from open_evaluating(context, bits)
    a = end.give(bits of a)                            a = end.take(shape of a)
    b = yield from end.take(shape of b)                b = yield from end.give(bits of b)
    out = yield from end.run(circuit, {"a": a, "b": b})        the same
    yield from end.tell(out["sum"])                    sum = yield from end.learn(out["sum"])

Bits, labels and shapes are (bits, instances). Labels of one run may be inputs of the next: a long computation
is a loop over a small circuit, and memory does not grow with it.

**Reveals** what is opened by ``tell`` and ``learn``, to the party that learns; besides, the circuits and
sizes.
**Trusts** both parties to follow the protocol (`discreet.crypto.garble` says what a party that does not could
do).
**Costs** 32 bytes an AND gate, 16 bytes a bit of the evaluator's input, nothing for the garbler's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.block import pack_bits, repeat_bits, unpack_bits
from discreet.crypto.garble import Evaluator, Garbler, colours
from discreet.errors import ProtocolError
from discreet.protocols.step import Limit, Receive, Send
from discreet.protocols.transfer import open_choosing, open_sending

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.crypto.block import Blocks
    from discreet.crypto.circuit import Circuit
    from discreet.protocols.step import Steps
    from discreet.protocols.transfer import Choosing, Sending
    from discreet.randomness import Bits

__all__ = ["VERSION", "Evaluating", "Garbling", "open_evaluating", "open_garbling"]

VERSION = b"discreet/1/garbled/"
"""What the contexts of all sessions begin with."""


def open_garbling(context: bytes, bits: Bits) -> Steps[Garbling]:
    """Start a session as the garbler; it sends no secret that the session's offset does not cover."""
    sending = yield from open_sending(VERSION + context, bits)
    return Garbling(sending)


def open_evaluating(context: bytes, bits: Bits) -> Steps[Evaluating]:
    """Start a session as the evaluator."""
    choosing = yield from open_choosing(VERSION + context, bits)
    return Evaluating(choosing)


class Garbling:
    """The garbler's end; arrays of labels hold those for 0."""

    def __init__(self, sending: Sending) -> None:
        self.transfers = sending
        self._garbler = Garbler(sending.offset, sending.session)

    def __repr__(self) -> str:
        return f"Garbling({self.gates} gates)"

    @property
    def gates(self) -> int:
        """AND gates so far."""
        return self._garbler.gates

    @property
    def offset(self) -> Blocks:
        """D, the secret difference of the labels of a wire."""
        return self._garbler.offset

    def give(self, bits: NDArray[Any]) -> Blocks:
        """Labels for bits of the garbler's own. No message."""
        return self._garbler.give(bits)

    def take(self, shape: tuple[int, int]) -> Steps[Blocks]:
        """Labels for bits of the evaluator's, by transfer."""
        rows = yield from self.transfers.rows(math.prod(shape))
        return rows.blocks.reshape(*shape, 2)

    def run(self, circuit: Circuit, inputs: Mapping[str, Blocks]) -> Steps[dict[str, Blocks]]:
        """Garble a circuit for all instances: labels in, labels out."""
        garbling = self._garbler.run(circuit, inputs)
        while True:
            try:
                tables = next(garbling)
            except StopIteration as end:
                return end.value
            yield Send("gates/tables", {"tables": tables})

    def tell(self, labels: Blocks) -> Steps[None]:
        """Open bits to the evaluator."""
        yield Send("open/colours", {"colours": pack_bits(colours(labels).ravel())})

    def learn(self, labels: Blocks) -> Steps[NDArray[np.uint8]]:
        """Learn bits from the evaluator, who shows its labels: it cannot show a label that it does not hold.

        Raises `ProtocolError` for anything that is not a label of the wire.
        """
        told = yield Receive("open/labels", {"labels": Limit.array("<u8", labels.shape)})
        difference = told["labels"] ^ labels
        bits = (difference[..., 0] & np.uint64(1)).astype(np.uint8)
        if not np.array_equal(difference, repeat_bits(bits) & self._garbler.offset):
            raise ProtocolError("a label was shown that the circuit does not have")
        return bits


class Evaluating:
    """The evaluator's end; arrays of labels hold one label of each wire."""

    def __init__(self, choosing: Choosing) -> None:
        self.transfers = choosing
        self._evaluator = Evaluator(choosing.session)

    def __repr__(self) -> str:
        return f"Evaluating({self.gates} gates)"

    @property
    def gates(self) -> int:
        """AND gates so far."""
        return self._evaluator.gates

    def give(self, bits: NDArray[Any]) -> Steps[Blocks]:
        """Labels for bits of the evaluator's own, by transfer."""
        rows = yield from self.transfers.rows(np.asarray(bits).ravel())
        return rows.blocks.reshape(*bits.shape, 2)

    def take(self, shape: tuple[int, int]) -> Blocks:
        """Labels for bits of the garbler's. No message."""
        return self._evaluator.take(shape)

    def run(self, circuit: Circuit, inputs: Mapping[str, Blocks]) -> Steps[dict[str, Blocks]]:
        """Evaluate a circuit for all instances: labels in, labels out."""
        evaluating = self._evaluator.run(circuit, inputs)
        try:
            gates = next(evaluating)
            while True:
                told = yield Receive("gates/tables", {"tables": Limit.array("<u8", (4 * gates,))})
                gates = evaluating.send(told["tables"])
        except StopIteration as end:
            return end.value

    def learn(self, labels: Blocks) -> Steps[NDArray[np.uint8]]:
        """Learn opened bits."""
        mine = colours(labels)
        length = -(-mine.size // 8)
        told = yield Receive("open/colours", {"colours": Limit.array("<u1", (length,))})
        return mine ^ unpack_bits(told["colours"], mine.size).reshape(mine.shape)

    def tell(self, labels: Blocks) -> Steps[None]:
        """Open bits to the garbler."""
        yield Send("open/labels", {"labels": labels})
