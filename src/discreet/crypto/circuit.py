"""Boolean circuits as data: built gate by gate once, then run on many instances by array operations.

    build = Builder()
    a, b = build.input("a", 8), build.input("b", 8)
    build.output("sum", add(build, a, b))
    circuit = build.circuit()

The builder folds constants, shares equal gates and drops gates that no output needs. The finished circuit is
cut into **layers** of AND gates and of XOR gates, which take turns; each gate is in the first that comes
after its inputs. Every
layer is two gathers and one array operation for all its gates and all instances,
whoever runs it: `Circuit.plain` on bits, `discreet.crypto.garble` on labels. XOR and NOT are free in
garbling, so what counts is ``ands`` (32 bytes each on the wire) and ``depth`` (layers of AND).

A wire is an integer. Wire 0 is the constant one; the constant zero is `ZERO`, which needs no wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ONE", "ZERO", "Bit", "Builder", "Circuit", "Layer", "Word", "bits_of_words", "words_of_bits"]

Bit = int
"""A wire of a circuit under construction."""

Word = list[int]
"""Wires of a number, the lowest bit first; the highest is the sign in two's complement."""

ZERO = -1
ONE = 0

_Kind = Literal["and", "xor"]


@dataclass(frozen=True, eq=False)
class Layer:
    """Gates that run together: their inputs' wires; outputs are the wires from ``first`` on."""

    kind: _Kind
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    first: int

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, eq=False)
class Circuit:
    """A finished circuit. Wire 0 is one, then the inputs by name, then the layers' outputs."""

    inputs: Mapping[str, slice]
    layers: tuple[Layer, ...]
    outputs: Mapping[str, NDArray[np.intp]]
    wires: int

    def __repr__(self) -> str:
        return f"Circuit({self.ands} AND gates, {self.depth} deep, {self.wires} wires)"

    @property
    def ands(self) -> int:
        """AND gates of one instance."""
        return sum(len(layer) for layer in self.layers if layer.kind == "and")

    @property
    def depth(self) -> int:
        """Layers of AND gates."""
        return sum(layer.kind == "and" for layer in self.layers)

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Refuse bits or labels of an input that do not fit; ``shape`` is (bits, instances)."""
        if name not in self.inputs:
            raise ParameterError("no such input", got=name, wanted=str(sorted(self.inputs)))
        wanted = self.inputs[name].stop - self.inputs[name].start
        if len(shape) != 2 or shape[0] != wanted:
            raise ParameterError(
                f"input {name!r} has the wrong shape", got=shape, wanted=f"({wanted}, instances)"
            )

    def plain(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.uint8]]:
        """Run on bits in the clear: arrays (bits, instances) of 0 and 1 in and out."""
        batch = {array.shape[1] for array in inputs.values()}
        if set(inputs) != set(self.inputs) or len(batch) != 1:
            raise ParameterError("inputs are missing or differ in instances", got=sorted(inputs))
        values = np.zeros((self.wires, *batch), dtype=np.uint8)
        values[ONE] = 1
        for name, array in inputs.items():
            self.check(name, array.shape)
            values[self.inputs[name]] = array
        for layer in self.layers:
            operate = np.bitwise_and if layer.kind == "and" else np.bitwise_xor
            into = values[layer.first : layer.first + len(layer)]
            operate(values[layer.left], values[layer.right], out=into)
        return {name: values[wires] for name, wires in self.outputs.items()}


class Builder:
    """A circuit under construction."""

    def __init__(self) -> None:
        self._kinds: list[_Kind | None] = [None]
        self._ends: list[tuple[int, int]] = [(0, 0)]
        self._known: dict[tuple[_Kind, int, int], int] = {}
        self._inputs: dict[str, slice] = {}
        self._outputs: dict[str, Word] = {}

    def input(self, name: str, width: int) -> Word:
        """A number that comes from outside; all inputs come before the first gate."""
        if name in self._inputs or self._known or width < 1:
            raise ParameterError("inputs come first, once each, with at least one bit", got=(name, width))
        first = len(self._kinds)
        self._kinds += [None] * width
        self._ends += [(0, 0)] * width
        self._inputs[name] = slice(first, first + width)
        return list(range(first, first + width))

    def words(self, name: str, count: int, width: int) -> list[Word]:
        """One input that holds several numbers of a width, one after the other."""
        wires = self.input(name, count * width)
        return [wires[at : at + width] for at in range(0, count * width, width)]

    def output_words(self, name: str, words: Sequence[Word]) -> None:
        """One output that holds several numbers, one after the other."""
        self.output(name, [bit for word in words for bit in word])

    def output(self, name: str, word: Sequence[Bit]) -> None:
        """Give a number out under a name."""
        if name in self._outputs or not word:
            raise ParameterError("outputs have one name each and at least one bit", got=name)
        self._outputs[name] = [self._solid(bit) for bit in word]

    def xor(self, left: Bit, right: Bit) -> Bit:
        """Exclusive or: free."""
        if left == right:
            return ZERO
        if ZERO in (left, right):
            return max(left, right)
        return self._gate("xor", left, right)

    def invert(self, bit: Bit) -> Bit:
        """Not: free."""
        return self.xor(bit, ONE)

    def both(self, left: Bit, right: Bit) -> Bit:
        """And: the gate that costs."""
        if ZERO in (left, right):
            return ZERO
        if left == right or right == ONE:
            return left
        if left == ONE:
            return right
        return self._gate("and", left, right)

    def either(self, left: Bit, right: Bit) -> Bit:
        """Or: one AND gate."""
        return self.xor(self.xor(left, right), self.both(left, right))

    def sum(self, bits: Sequence[Bit]) -> Bit:
        """Exclusive or of many, as a tree."""
        level = list(bits) or [ZERO]
        while len(level) > 1:
            paired = [self.xor(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
            level = paired + level[len(level) & ~1 :]
        return level[0]

    def all(self, bits: Sequence[Bit]) -> Bit:
        """And of many, as a tree."""
        level = list(bits) or [ONE]
        while len(level) > 1:
            paired = [self.both(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
            level = paired + level[len(level) & ~1 :]
        return level[0]

    def any(self, bits: Sequence[Bit]) -> Bit:
        """Or of many, as a tree."""
        return self.invert(self.all([self.invert(bit) for bit in bits]))

    def constant(self, value: int, width: int) -> Word:
        """A public number as wires; costs nothing."""
        if not -(2 ** (width - 1)) <= value < 2**width:
            raise ParameterError("a constant does not fit", got=value, wanted=f"{width} bits")
        return [ONE if value >> place & 1 else ZERO for place in range(width)]

    def circuit(self) -> Circuit:
        """Finish: order the gates that outputs need into layers, and number the wires anew."""
        if not self._outputs:
            raise ParameterError("a circuit without outputs", wanted="at least one output")
        groups: dict[int, list[int]] = {}
        for gate, place in self._places().items():
            groups.setdefault(place, []).append(gate)
        numbers = np.full(len(self._kinds), -1, dtype=np.intp)
        numbered = 1 + sum(part.stop - part.start for part in self._inputs.values())
        numbers[:numbered] = np.arange(numbered)
        layers: list[Layer] = []
        for place in sorted(groups):
            gates = groups[place]
            ends = numbers[np.array([self._ends[gate] for gate in gates], dtype=np.intp)]
            kind: _Kind = "and" if place % 2 else "xor"
            layers.append(Layer(kind, ends[:, 0].copy(), ends[:, 1].copy(), numbered))
            numbers[gates] = np.arange(numbered, numbered + len(gates))
            numbered += len(gates)
        outputs = {name: numbers[np.array(word, dtype=np.intp)] for name, word in self._outputs.items()}
        return Circuit(dict(self._inputs), tuple(layers), outputs, numbered)

    def _places(self) -> dict[int, int]:
        """For each gate in use the layer it runs in: XOR and AND take turns, each gate as early as it can.

        Chains of adders so run one behind the other, a bit apart. To run all XOR gates that are ready before
        the next AND gates takes fewer layers of AND and many more of XOR: in a step of a recursion 77 and 322
        instead of 82 and 148.
        """
        used = self._used()
        places: dict[int, int] = {}
        for gate, kind in enumerate(self._kinds):
            if kind is None or not used[gate]:
                continue
            after = max((places.get(end, -1) for end in self._ends[gate]), default=-1) + 1
            places[gate] = after + (after % 2 != (kind == "and"))
        return places

    def _used(self) -> list[bool]:
        used = [False] * len(self._kinds)
        for word in self._outputs.values():
            for bit in word:
                used[bit] = True
        for gate in range(len(self._kinds) - 1, -1, -1):
            if used[gate] and self._kinds[gate] is not None:
                for end in self._ends[gate]:
                    used[end] = True
        return used

    def _gate(self, kind: _Kind, left: int, right: int) -> int:
        key = (kind, min(left, right), max(left, right))
        if key not in self._known:
            self._known[key] = len(self._kinds)
            self._kinds.append(kind)
            self._ends.append(key[1:])
        return self._known[key]

    def _solid(self, bit: Bit) -> int:
        """The wire itself; the constant zero gets one, as the sum of one and one."""
        return self._gate("xor", ONE, ONE) if bit == ZERO else bit


def bits_of_words(words: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """Integers of any shape modulo 2**width as bits (width, ...), the lowest first."""
    places = np.arange(width, dtype=np.uint64).reshape(width, *[1] * words.ndim)
    return (words.astype(np.uint64)[None] >> places & np.uint64(1)).astype(np.uint8)


def words_of_bits(bits: NDArray[Any], *, signed: bool = False) -> NDArray[Any]:
    """Bits (width, ...) as integers: uint64, or int64 in two's complement."""
    places = np.arange(len(bits), dtype=np.uint64).reshape(-1, *[1] * (bits.ndim - 1))
    words: NDArray[Any] = (bits.astype(np.uint64) << places).sum(axis=0, dtype=np.uint64)
    if not signed:
        return words
    spare = np.uint64(64 - len(bits))
    return (words << spare).view(np.int64) >> np.int64(spare)
