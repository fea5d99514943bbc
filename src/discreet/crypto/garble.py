"""Garbled circuits by array operations: whole layers of gates, many instances at once.

The garbler gives every wire two labels of 128 bits, W for 0 and W ^ D for 1, and sends 32 bytes for each AND
gate; the evaluator, who holds one label of each input, finds one label of every wire and learns nothing else.
Half-gates with free XOR (Zahur, Rosulek and Evans, Eurocrypt 2015): for inputs A, B with colours a, b (the
lowest bits of the labels for 0) and H the tweakable hash of `discreet.crypto.block`,

    first  row    G = H(A) ^ H(A ^ D) ^ b D           second row    E = H'(B) ^ H'(B ^ D) ^ A
    label for 0   H(A) ^ a G ^ H'(B) ^ b (E ^ A)
    evaluator     H(X) ^ x G ^ H'(Y) ^ y (E ^ X)      for labels X, Y of colours x, y

**Tweaks.** Every gate of every instance has a position of its own in the session, so no pair (key, tweak)
repeats: two tweaks a gate, a new AES key at the latest after 4,096 gates.

**Streaming.** Tables are made and used in blocks of at most one mebibyte. Memory is the wires of one circuit
for one slice of the instances, whatever the number of instances; a long computation is a loop over small
circuits.

**Inputs.** A label of the garbler's own input costs nothing on the wire: the label that the evaluator will
hold is drawn from a public seed, and the garbler sets its label for 0 accordingly. Labels of the evaluator's
input are the correlated rows of `discreet.crypto.extension`, whose offset is D.

**Assumes** AES as an ideal cipher; about 112 bits of security whatever the size of the circuit, see
`discreet.crypto.block`. D has 127 uniform bits (its lowest is 1: the colour).
**Protects** against parties that follow the protocol (semi-honest). An evaluator that deviates learns nothing
more, but may stop or report a false result; a *garbler* that deviates can garble another circuit and so learn
what that circuit tells about the input. Sizes and timing depend on circuits and instances, never on values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.crypto.block import EPOCH, Blocks, Tweaks, block_of, derive, repeat_bits
from discreet.errors import ParameterError
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from discreet.crypto.circuit import Circuit

__all__ = ["BLOCK", "Evaluator", "Garbler", "block_sizes", "colours"]

BLOCK = 2**15
"""AND gates whose tables fill one mebibyte."""

_WIRES = 2**19
"""Labels held at once (8 MiB), unless a single instance needs more."""

_LOW = np.uint64(1)


def colours(labels: Blocks) -> NDArray[np.uint8]:
    """The lowest bits: shares of the values, since the garbler's and the evaluator's differ by the value."""
    return (labels[..., 0] & np.uint64(1)).astype(np.uint8)


class _Piece:
    """Views into the workspace for so many gates, made once for each number."""

    def __init__(self, space: _Workspace, count: int) -> None:
        values = space.values
        size = 2 * values * count
        self.labels = space.labels[: 2 * size].reshape(values, 2, count, 2)
        self.raw = space.labels[: 2 * size].data.cast("B")
        self.once = space.once[: 16 * size].view(np.uint64).reshape(values, 2, count, 2)
        self.once_raw = space.once[: 16 * size].data
        self.once_into = space.once[: 16 * size + 15].data
        self.hashed = space.twice[: 16 * size].view(np.uint64).reshape(values, 2, count, 2)
        self.hashed_into = space.twice[: 16 * size + 15].data
        self.masks = space.masks[: 4 * count].reshape(2, count, 2)
        self.held = self.labels[0]
        self.left = self.labels[0, 0]
        self.colours = self.labels[0, :, :, 0]
        self.mask_low, self.mask_high = self.masks[:, :, 0], self.masks[:, :, 1]
        self.spare = space.spare[: 2 * count].reshape(count, 2)


class _Workspace:
    """Arrays for one piece of a layer, small enough for the processor's cache.

    ``values`` is how many labels of a wire are hashed: two by the garbler, one by the evaluator.
    """

    def __init__(self, values: int) -> None:
        self.values = values
        size = 2 * values * EPOCH
        self.labels = np.empty(2 * size, dtype=np.uint64)
        self.once = np.empty(16 * size + 15, dtype=np.uint8)
        self.twice = np.empty(16 * size + 15, dtype=np.uint8)
        self.masks = np.empty(4 * EPOCH, dtype=np.uint64)
        self.spare = np.empty(2 * EPOCH, dtype=np.uint64)
        self.tweaks = np.zeros((2, EPOCH, 2), dtype=np.uint64)
        self.tweaks[:, :, 0] = np.arange(2 * EPOCH, dtype=np.uint64).reshape(EPOCH, 2).T
        self._pieces: dict[int, _Piece] = {}

    def piece(self, count: int) -> _Piece:
        if count not in self._pieces:
            self._pieces[count] = _Piece(self, count)
        return self._pieces[count]


@dataclass(frozen=True)
class _Step:
    """Some gates of one layer. ``table``: where their tables start; ``opens``: the length of a new block."""

    both: bool
    ends: NDArray[np.intp]
    first: int
    gates: int
    table: int = 0
    opens: int = 0


@lru_cache(maxsize=64)
def _program(circuit: Circuit, batch: int) -> tuple[_Step, ...]:
    """The order of work for so many instances, the same on both sides."""
    steps: list[_Step] = []
    for layer in circuit.layers:
        most = EPOCH // batch if layer.kind == "and" else max(1, _WIRES // (4 * batch))
        for at in range(0, len(layer), most):
            part = slice(at, at + most)
            ends = np.stack([layer.left[part], layer.right[part]])
            steps.append(_Step(layer.kind == "and", ends, layer.first + at, ends.shape[1]))
    return tuple(_with_blocks(steps, batch))


def _with_blocks(steps: list[_Step], batch: int) -> Iterator[_Step]:
    """Say where each step's tables lie, and how long a block is that starts with it."""
    starts: list[tuple[int, int]] = []
    at, opened = BLOCK, -1
    lengths: dict[int, int] = {}
    for index, step in enumerate(steps):
        count = step.gates * batch if step.both else 0
        if step.both and at + count > BLOCK:
            at, opened = 0, index
        starts.append((at, opened))
        at += count
        if opened >= 0:
            lengths[opened] = at
    for index, step in enumerate(steps):
        yield replace(step, table=starts[index][0], opens=lengths.get(index, 0))


def _instances(circuit: Circuit) -> int:
    """Instances that run together."""
    return min(EPOCH, max(1, _WIRES // circuit.wires))


def block_sizes(circuit: Circuit, batch: int) -> list[int]:
    """The gates of each block of tables of a run with so many instances, in order."""
    size = _instances(circuit)
    slices = [min(size, batch - start) for start in range(0, batch, size)]
    return [step.opens for part in slices for step in _program(circuit, part) if step.opens]


class _Machine:
    """What both ends share: positions, wires, and the order of gates."""

    values = 0

    def __init__(self, session: bytes) -> None:
        self._tweaks = Tweaks(derive(b"discreet/1/garble/gates", session))
        self._inputs = expand(derive(b"discreet/1/garble/inputs", session), "garbled inputs")
        self._space = _Workspace(self.values)
        self._epoch = 0
        self._at = EPOCH
        self._aes = self._tweaks.key(0)
        self.gates = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.gates} gates)"

    def _draw(self, shape: tuple[int, ...]) -> Blocks:
        """Labels that the evaluator will hold, from the public seed."""
        raw = bytearray(self._inputs.bytes(16 * math.prod(shape)))
        return np.frombuffer(raw, dtype="<u8").reshape(*shape, 2)

    def _place(self, count: int) -> slice:
        """Positions for gates that run together, under a new key if this epoch has no room for them."""
        if self._at + count > EPOCH:
            self._aes = self._tweaks.key(self._epoch)
            self._epoch += 1
            self._at = 0
        self._at += count
        self.gates += count
        return slice(self._at - count, self._at)

    def _hash(self, piece: _Piece, place: slice) -> Blocks:
        """H of all labels of a piece: (values, left and right, gates, 2)."""
        self._aes.apply(piece.raw, piece.once_into)
        np.bitwise_xor(piece.once, self._space.tweaks[:, place], out=piece.once)
        self._aes.apply(piece.once_raw, piece.hashed_into)
        return np.bitwise_xor(piece.hashed, piece.once, out=piece.hashed)

    def _mask(self, piece: _Piece) -> NDArray[np.uint64]:
        """The colours of both inputs as blocks of zeros or ones."""
        np.bitwise_and(piece.colours, _LOW, out=piece.mask_low)
        np.negative(piece.mask_low, out=piece.mask_low)
        piece.mask_high[...] = piece.mask_low
        return piece.masks

    def _walk(
        self, circuit: Circuit, inputs: Mapping[str, Blocks], one: Blocks
    ) -> Generator[tuple[Blocks, _Step], None, dict[str, Blocks]]:
        """Go through all instances, a slice at a time: XOR layers are done here, AND steps are handed out."""
        batch = _check_inputs(circuit, inputs)
        outputs = {
            name: np.empty((len(wires), batch, 2), np.uint64) for name, wires in circuit.outputs.items()
        }
        size = _instances(circuit)
        for start in range(0, batch, size):
            part = slice(start, min(batch, start + size))
            wires = np.empty((circuit.wires, part.stop - part.start, 2), dtype=np.uint64)
            wires[0] = one
            for name, labels in inputs.items():
                wires[circuit.inputs[name]] = labels[:, part]
            for step in _program(circuit, part.stop - part.start):
                if step.both:
                    yield wires, step
                else:
                    ends = wires.take(step.ends, axis=0, mode="clip")
                    np.bitwise_xor(ends[0], ends[1], out=wires[step.first : step.first + step.gates])
            for name, ends in circuit.outputs.items():
                outputs[name][:, part] = wires[ends]
        return outputs


class Garbler(_Machine):
    """The end that knows both labels of every wire; arrays of labels hold those for 0.

    ``session`` is public, agreed by both and never used twice; ``offset`` is D, 16 uniform bytes of which the
    lowest bit is 1.
    """

    values = 2

    def __init__(self, offset: bytes, session: bytes) -> None:
        if len(offset) != 16 or not offset[0] & 1:
            raise ParameterError("the offset of a garbler has 16 bytes and is odd")
        super().__init__(session)
        self.offset = block_of(offset)
        self._tile = np.tile(self.offset, (EPOCH, 1))

    def give(self, bits: NDArray[Any]) -> Blocks:
        """Labels for an input of the garbler's own, bits (width, instances): nothing needs to be sent."""
        return self._draw(bits.shape) ^ (repeat_bits(bits) & self.offset)

    def run(
        self, circuit: Circuit, inputs: Mapping[str, Blocks]
    ) -> Generator[NDArray[np.uint64], None, dict[str, Blocks]]:
        """Garble all instances: yields tables to send, block by block, and returns the outputs' labels.

        ``inputs`` are labels (bits, instances, 2) by name.
        """
        walk = self._walk(circuit, inputs, self.offset)
        tables = np.empty(0, dtype=np.uint64)
        while True:
            try:
                wires, step = next(walk)
            except StopIteration as end:
                if tables.size:
                    yield tables
                return end.value
            if step.opens:
                if tables.size:
                    yield tables
                tables = np.empty(4 * step.opens, dtype=np.uint64)
            self._garble(wires, step, tables)

    def _garble(self, wires: Blocks, step: _Step, tables: NDArray[np.uint64]) -> None:
        batch = wires.shape[1]
        count = step.gates * batch
        piece = self._space.piece(count)
        wires.take(step.ends, axis=0, out=piece.held.reshape(2, step.gates, batch, 2), mode="clip")
        offset = self._tile[:count]
        np.bitwise_xor(piece.held, offset, out=piece.labels[1])
        hashed = self._hash(piece, self._place(count))
        rows = tables[4 * step.table : 4 * (step.table + count)].reshape(2, count, 2)
        np.bitwise_xor(hashed[0], hashed[1], out=rows)
        masks = self._mask(piece)
        rows[0] ^= np.bitwise_and(masks[1], offset, out=piece.spare)
        masks &= rows
        label = wires[step.first : step.first + step.gates].reshape(count, 2)
        np.bitwise_xor(hashed[0, 0], hashed[0, 1], out=label)
        label ^= masks[0]
        label ^= masks[1]
        rows[1] ^= piece.left


class Evaluator(_Machine):
    """The end that knows one label of every wire."""

    values = 1

    def take(self, shape: tuple[int, int]) -> Blocks:
        """Labels of an input of the garbler's own, (bits, instances): from the public seed."""
        return self._draw(shape)

    def run(
        self, circuit: Circuit, inputs: Mapping[str, Blocks]
    ) -> Generator[int, NDArray[np.uint64], dict[str, Blocks]]:
        """Evaluate all instances: yields how many gates' tables it needs, is sent them (4 words a gate)."""
        walk = self._walk(circuit, inputs, np.zeros(2, dtype=np.uint64))
        tables = np.empty(0, dtype=np.uint64)
        while True:
            try:
                wires, step = next(walk)
            except StopIteration as end:
                return end.value
            if step.opens:
                tables = yield step.opens
            self._evaluate(wires, step, tables)

    def _evaluate(self, wires: Blocks, step: _Step, tables: NDArray[np.uint64]) -> None:
        batch = wires.shape[1]
        count = step.gates * batch
        piece = self._space.piece(count)
        wires.take(step.ends, axis=0, out=piece.held.reshape(2, step.gates, batch, 2), mode="clip")
        hashed = self._hash(piece, self._place(count))
        rows = tables[4 * step.table : 4 * (step.table + count)].reshape(2, count, 2)
        masks = self._mask(piece)
        masks[0] &= rows[0]
        masks[1] &= np.bitwise_xor(rows[1], piece.left, out=piece.spare)
        label = wires[step.first : step.first + step.gates].reshape(count, 2)
        np.bitwise_xor(hashed[0, 0], hashed[0, 1], out=label)
        label ^= masks[0]
        label ^= masks[1]


def _check_inputs(circuit: Circuit, inputs: Mapping[str, Blocks]) -> int:
    """Refuse labels that do not fit the circuit; the number of instances."""
    batch = {labels.shape[1] for labels in inputs.values()}
    if set(inputs) != set(circuit.inputs) or len(batch) != 1:
        raise ParameterError("inputs are missing or differ in instances", got=sorted(inputs))
    for name, labels in inputs.items():
        circuit.check(name, labels.shape[:2])
    return batch.pop()
