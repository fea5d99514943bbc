"""Noise made inside: two parties draw discrete Gaussians that neither of them knows, as additive shares.

    garbler      share = yield from give_noise(draw, bits)
    evaluator    share = yield from take_noise(draw, bits)      the sum modulo 2**ring_bits is the noise

Each party gives uniform bits; the bits that count are the exclusive or of both, so they are uniform and
unknown to either. A garbled circuit turns them into noise by public tables (`discreet.crypto.bells`) and
adds a uniform word of the garbler's: the sum is the evaluator's share, minus the word the garbler's. Nothing
else is opened. Each adds its share to its share of a count before those are opened; a helper, who has no
share of the count, gives its own to a party other than the evaluator. Then nobody can subtract the noise.

**The law.** Within a total variation of 2**-closeness, for all cells together, of independent discrete
Gaussians of the stated deviation, which is the law of `discreet.mechanisms.noise`; the bound is proven in
integers (`Draw.distance`). Who releases numbers with this noise adds `Draw.delta` to their delta.

**Reveals** nothing to one party: a garbler sees uniform rows, an evaluator labels and a uniform word.
**Costs** `Draw.bytes`: 32 bytes an AND gate (370 a cell for a deviation of 32, 1,000 for 10,000) and 16 bytes
a uniform bit (150 and 320). The time does not depend on the noise, unlike that of samplers that reject.
**Trusts** that the two do not collude and follow the protocol. A party whose own bits are not uniform changes
nothing as long as the other's are. A wrong share shifts a result unseen, but takes no noise off. An evaluator
that deviates can do no more than that, or end the run. A garbler that deviates could garble *another
circuit*, one whose noise is zero or known to it, and nobody would notice: it would learn the results as if
they were exact. So let the party garble that sees no result, or has the least use for it: a helper, if any.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.bells import bells
from discreet.crypto.block import derive
from discreet.crypto.circuit import Builder, bits_of_words, words_of_bits
from discreet.crypto.extension import LOT, columns_shape
from discreet.crypto.transfer import POINT
from discreet.crypto.words import add
from discreet.errors import ParameterError
from discreet.protocols.address import address
from discreet.protocols.garbled import open_evaluating, open_garbling
from discreet.protocols.opening import random_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.crypto.bells import Bells
    from discreet.crypto.circuit import Circuit
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

__all__ = ["Draw", "give_noise", "take_noise"]

_LABELS = 2**21
"""Labels of uniform bits that are held at once: 32 MiB."""


@dataclass(frozen=True)
class Draw:
    """The plan: how many cells, the bits of a share, the law, and who garbles and who evaluates.

    ``law`` is (deviation, closeness): the standard deviation of the discrete Gaussian, in units of the grid,
    and b such that all cells together are within 2**-b of it in total variation.
    """

    cells: int
    ring_bits: int
    law: tuple[float, int]
    garbler: str
    evaluator: str

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= 2**32:
            raise ParameterError("noise is drawn for at least one cell", got=self.cells, wanted="1 to 2**32")
        if not 1 <= self.ring_bits <= 64:
            raise ParameterError("no such width", got=self.ring_bits, wanted="1 to 64 bits")
        if len(self.law) != 2 or not 1 <= self.law[1] <= 200:
            raise ParameterError(
                "no such law",
                got=self.law,
                wanted="(deviation, closeness), with a closeness of 1 to 200 bits",
            )
        object.__setattr__(self, "law", (float(self.law[0]), int(self.law[1])))  # 32 and 32.0 are one plan
        if self.garbler == self.evaluator:
            raise ParameterError("noise is drawn by two parties", got=self.garbler, wanted="two names")
        _ = self.noise

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a plan that both sides hash."""
        return {
            "cells": self.cells,
            "ring_bits": self.ring_bits,
            "law": list(self.law),
            "garbler": self.garbler,
            "evaluator": self.evaluator,
        }

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Draw:
        """From plain data."""
        deviation, closeness = plain["law"]
        law = (deviation, closeness)
        return Draw(plain["cells"], plain["ring_bits"], law, plain["garbler"], plain["evaluator"])

    @property
    def noise(self) -> Bells:
        """The sum of small discrete Gaussians from which a cell is drawn."""
        return bells(self.law[0], Fraction(1, self.cells << self.law[1]))

    @property
    def largest(self) -> int:
        """No cell's noise is larger in magnitude: what a share must have room for beside the count."""
        return self.noise.largest

    @property
    def distance(self) -> Fraction:
        """Proven: the total variation between all cells and independent exact discrete Gaussians."""
        return self.cells * self.noise.distance

    def delta(self, epsilon: float) -> float:
        """What this noise adds to the delta of a release with exact noise, (epsilon, delta).

        With laws P, Q of the exact release on neighbours and P', Q' within t of them,
        P'(S) <= P(S) + t <= e^epsilon Q(S) + delta + t <= e^epsilon Q'(S) + delta + (1 + e^epsilon) t.
        """
        odds = math.exp(min(epsilon, 700.0))  # beyond, no distance is small enough
        return min(1.0, math.nextafter((1 + odds) * float(self.distance) * (1 + 1e-12), math.inf))

    @property
    def ands(self) -> int:
        """AND gates of a cell."""
        return _circuit(self.noise, self.ring_bits).ands

    @property
    def context(self) -> bytes:
        """What parties must agree on: the plan, and every number in the tables."""
        digest = hashlib.sha256(repr(self.noise).encode()).digest()
        return derive(b"discreet/1/draw", repr(self).encode(), digest)

    def blocks(self) -> list[int]:
        """How many cells are drawn together, block by block."""
        size = max(1, _LABELS // self.noise.bits)
        return [min(size, self.cells - at) for at in range(0, self.cells, size)]

    def bytes(self) -> dict[tuple[str, str], int]:
        """Content sent from one to the other, exactly."""
        there, back = 2 * POINT * 128 + 16, POINT + 16
        for cells in self.blocks():
            there += 32 * self.ands * cells + -(-self.ring_bits * cells // 8)
            rows = self.noise.bits * cells
            lots = [min(LOT, rows - at) for at in range(0, rows, LOT)]
            back += sum(math.prod(columns_shape(lot)) + 48 for lot in lots)
        return {(self.garbler, self.evaluator): there, (self.evaluator, self.garbler): back}

    def rounds(self) -> int:
        """Runs of messages in one direction."""
        return 2 + 2 * len(self.blocks())


def give_noise(agreed: Draw, bits: Bits) -> Steps[NDArray[np.uint64]]:
    """The garbler's role; returns its shares modulo 2**ring_bits, one a cell."""
    return (yield from address(_give(agreed, bits), agreed.evaluator))


def take_noise(agreed: Draw, bits: Bits) -> Steps[NDArray[np.uint64]]:
    """The evaluator's role; returns its shares modulo 2**ring_bits, one a cell."""
    return (yield from address(_take(agreed, bits), agreed.garbler))


def _give(agreed: Draw, bits: Bits) -> Steps[NDArray[np.uint64]]:
    circuit = _circuit(agreed.noise, agreed.ring_bits)
    end = yield from open_garbling(agreed.context, bits)
    shares: list[NDArray[np.uint64]] = []
    for cells in agreed.blocks():
        mine = _uniform(bits, (agreed.noise.bits, cells))
        mask = random_words(bits, agreed.ring_bits, (cells,))
        labels = {"mask": end.give(bits_of_words(mask, agreed.ring_bits))}
        labels["uniform"] = end.give(mine) ^ (yield from end.take(mine.shape))  # labels of the XOR
        out = yield from end.run(circuit, labels)
        yield from end.tell(out["share"])
        shares.append((np.uint64(0) - mask) & _ones(agreed.ring_bits))
    return np.concatenate(shares)


def _take(agreed: Draw, bits: Bits) -> Steps[NDArray[np.uint64]]:
    circuit = _circuit(agreed.noise, agreed.ring_bits)
    end = yield from open_evaluating(agreed.context, bits)
    shares: list[NDArray[np.uint64]] = []
    for cells in agreed.blocks():
        mine = _uniform(bits, (agreed.noise.bits, cells))
        labels = {"mask": end.take((agreed.ring_bits, cells))}
        labels["uniform"] = end.take(mine.shape) ^ (yield from end.give(mine))
        out = yield from end.run(circuit, labels)
        shares.append(words_of_bits((yield from end.learn(out["share"]))))
    return np.concatenate(shares)


def _uniform(bits: Bits, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Uniform bits, as zeros and ones."""
    count = math.prod(shape)
    packed = np.frombuffer(bits.bytes(-(-count // 8)), dtype=np.uint8)
    return np.unpackbits(packed, count=count).reshape(shape)


def _ones(width: int) -> np.uint64:
    return np.uint64(2**width - 1)


@lru_cache(maxsize=16)
def _circuit(noise: Bells, ring_bits: int) -> Circuit:
    """Uniform bits and a mask in, noise plus mask out."""
    build = Builder()
    mask = build.input("mask", ring_bits)
    word, carry = noise.draw(build, build.input("uniform", noise.bits), ring_bits)
    build.output("share", add(build, word, mask, carry))
    return build.circuit()
