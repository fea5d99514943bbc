"""Keyword recognition as published (paper 002, section 4.2.1), run step by step and counted.

Alice has features, Bob has models; Bob computes under Alice's Paillier key, at sizes that protect nothing. It
is here to be measured and to show its mistakes, and it is unsound: `discreet.audit.unsound` says what Alice
learns from the secure logarithm, `discreet.audit.guess` what she learns from the products.

Numbers have six decimal places, as in the paper; weights are rounded to 2**-10 (the paper truncates them to
whole numbers, which is faster and wrong). Masks cost what they cost in the paper, but their value is left
at nothing: over real numbers the secure exponent has no mask that both hides and cancels. Alice takes the
largest of the values that she sees away before she returns exponents, as the paper's normalisation needs.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import gmpy2
import numpy as np

from discreet.crypto import paillier
from discreet.randomness import expand, secure

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Cost", "Job", "Phase", "encryptions", "price", "recognise", "sum_of_logarithms"]

_DIGITS, _WEIGHT = 10**6, 2**10
_UNIT = _DIGITS * _WEIGHT
"""What a logarithm is multiplied by."""


@dataclass(frozen=True)
class Job:
    """Sizes: frames, dimensions of a feature, states of a model, models; fully connected."""

    frames: int = 98
    dimension: int = 39
    states: int = 5
    words: int = 10

    @property
    def products(self) -> int:
        """Encrypted numbers of a frame: all products of two among the features and 1, each pair twice."""
        return (self.dimension + 1) ** 2


Phase = dict[str, int]
"""How often each operation is done."""


@dataclass(frozen=True)
class Cost:
    """Operations of the three activities of table 4.1, for all words together."""

    encrypts: Phase
    scores: Phase
    recursion: Phase

    @staticmethod
    def of(job: Job) -> Cost:
        """Counted from the protocol; `recognise` counts the same by doing it."""
        frames, states, words = job.frames, job.states, job.words
        terms, steps = frames * job.products * states * words, (frames - 1) * states * words
        recursion = {
            "encrypt": 4 * steps + (states * words if frames else 0),
            "decrypt": 2 * steps,
            "power": steps * (states + 1),
            "multiply": steps * (states + 3) + states * words,
        }
        return Cost({"encrypt": frames * job.products}, {"power": terms, "multiply": terms}, recursion)


@dataclass
class _Bench:
    """A Paillier key of any size, and how often it was used."""

    secret: paillier.SecretKey
    counts: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of(size: int) -> _Bench:
        return _Bench(paillier._generated(secure(), size))

    def __post_init__(self) -> None:
        self.n = gmpy2.mpz(self.secret.public.n)
        self.square = self.n**2
        self._bits = expand(secure().bytes(32), "published words")

    def encrypt(self, value: int) -> gmpy2.mpz:
        """The textbook's: (1 + m n) r**n."""
        self.counts["encrypt"] += 1
        fresh = gmpy2.mpz(int.from_bytes(self._bits.bytes(self.secret.public.width), "big")) % self.n
        return (1 + value % self.n * self.n) * gmpy2.powmod(fresh, self.n, self.square) % self.square

    def decrypt(self, cipher: gmpy2.mpz) -> int:
        """By the owner's primes, apart: the fast way."""
        self.counts["decrypt"] += 1
        return self.secret._decrypted(cipher)

    def power(self, cipher: gmpy2.mpz, exponent: int) -> gmpy2.mpz:
        self.counts["power"] += 1
        return gmpy2.powmod(cipher, exponent, self.square)

    def multiply(self, left: gmpy2.mpz, right: gmpy2.mpz) -> gmpy2.mpz:
        self.counts["multiply"] += 1
        return left * right % self.square


def recognise(
    features: np.ndarray, weights: np.ndarray, start: np.ndarray, arcs: np.ndarray, size: int = 512
) -> tuple[np.ndarray, dict[str, Phase]]:
    """The whole protocol on small inputs; log-likelihoods as it ends with them, and what it took.

    ``weights`` are W of the paper (words, states, d + 1, d + 1), ``arcs`` probabilities (words, states,
    states). Step 8 multiplies the encryptions of log alpha(j): the sum of logarithms that is its mistake.
    """
    bench = _Bench.of(size)
    z = np.column_stack([features, np.ones(len(features))])
    pairs = np.rint(np.einsum("ti,tj->tij", z, z) * _DIGITS).astype(np.int64).reshape(len(z), -1)
    encrypted = [[bench.encrypt(int(value)) for value in row] for row in pairs]
    took = {"encrypts": _taken(bench)}
    grid = np.rint(weights * _WEIGHT).astype(np.int64).reshape(*weights.shape[:2], -1)
    scores = [[[_linear(bench, row, w) for w in word] for word in grid] for row in encrypted]
    took["scores"] = _taken(bench)
    totals = [_recursion(bench, [frame[k] for frame in scores], start[k], arcs[k]) for k in range(len(grid))]
    took["recursion"] = _taken(bench)
    return np.array([bench.decrypt(total) / _UNIT for total in totals]), took


def _taken(bench: _Bench) -> Phase:
    counts = dict(bench.counts)
    bench.counts.clear()
    return counts


def _linear(bench: _Bench, row: list[gmpy2.mpz], weights: np.ndarray) -> gmpy2.mpz:
    total = gmpy2.mpz(1)
    for cipher, weight in zip(row, weights, strict=True):
        total = bench.multiply(total, bench.power(cipher, int(weight)))
    return total


def _recursion(
    bench: _Bench, scores: list[list[gmpy2.mpz]], start: np.ndarray, arcs: np.ndarray
) -> gmpy2.mpz:
    """Steps 5 to 8."""
    first = [bench.encrypt(round(math.log(p) * _UNIT)) for p in start]
    state = [bench.multiply(a, b) for a, b in zip(first, scores[0], strict=True)]
    for frame in scores[1:]:
        exponents, largest = _exponent(bench, state)
        summed = [_weighted(bench, exponents, arcs[:, j]) for j in range(len(state))]
        logs = [_logarithm(bench, value, largest) for value in summed]
        state = [bench.multiply(a, b) for a, b in zip(logs, frame, strict=True)]
    total = state[0]
    for one in state[1:]:
        total = total * one % bench.square
    return total


def _exponent(bench: _Bench, state: list[gmpy2.mpz]) -> tuple[list[gmpy2.mpz], int]:
    """Secure exponent: Bob masks, Alice returns encrypted exponents, Bob takes the mask away."""
    masked = [bench.multiply(one, bench.encrypt(0)) for one in state]
    seen = [bench.decrypt(one) for one in masked]
    largest = max(seen)
    told = [bench.encrypt(round(math.exp((value - largest) / _UNIT) * _DIGITS)) for value in seen]
    return [bench.power(one, 1) for one in told], largest


def _weighted(bench: _Bench, exponents: list[gmpy2.mpz], arcs: np.ndarray) -> gmpy2.mpz:
    total = gmpy2.mpz(1)
    for cipher, p in zip(exponents, arcs, strict=True):
        total = bench.multiply(total, bench.power(cipher, round(float(p) * _DIGITS)))
    return total


def _logarithm(bench: _Bench, value: gmpy2.mpz, largest: int) -> gmpy2.mpz:
    """Secure logarithm, what its mask hides and what not is the audit's subject."""
    seen = bench.decrypt(value)
    log = round(math.log(max(seen, 1) / _DIGITS**2) * _UNIT)
    return bench.multiply(bench.encrypt(log + largest), bench.encrypt(0))


def price(job: Job, size: int, repeats: int = 40) -> dict[str, float]:
    """Seconds of the three activities at a key size: the time of each operation times how often it is done.

    The inputs of an operation are what they are in the protocol: exponents of 18 bits for scores, of 20 bits
    for transitions.
    """
    bench, cost = _Bench.of(size), Cost.of(job)
    ciphers = [bench.encrypt(10**6 + index) for index in range(repeats)]
    exponent = int(150.0 * _WEIGHT)
    each = {
        "encrypt": _time(lambda: [bench.encrypt(123456 + i) for i in range(repeats)], repeats),
        "decrypt": _time(lambda: [bench.decrypt(one) for one in ciphers], repeats),
        "power": _time(lambda: [bench.power(one, exponent) for one in ciphers * 20], 20 * repeats),
        "multiply": _time(lambda: [bench.multiply(one, ciphers[0]) for one in ciphers * 50], 50 * repeats),
    }
    phases = {"encrypts": cost.encrypts, "scores": cost.scores, "recursion": cost.recursion}
    return {name: sum(count * each[what] for what, count in phase.items()) for name, phase in phases.items()}


def encryptions(size: int, count: int = 40) -> dict[str, float]:
    """Table 4.2: seconds to make a key, and encryptions a second: the textbook's, and ours under the public
    key.

    Ours draws short exponents over a table made once for a key (`discreet.crypto.paillier`).
    """
    start = time.process_time()
    bench = _Bench.of(size)
    made = time.process_time() - start
    public, bits = bench.secret.public, expand(secure().bytes(32), "encryptions")
    values = list(range(1, count + 1))
    public.zeros(200, bits)  # the table is made once for a key, when there is enough to do
    textbook = _time(lambda: [bench.encrypt(value) for value in values], count)
    ours = _time(lambda: public.encrypt(values, bits), count)
    return {"key": made, "textbook": 1 / textbook, "ours": 1 / ours}


def _time(work: Callable[[], object], count: int) -> float:
    """Processor seconds of one, the best of three."""
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best / count


def sum_of_logarithms(last: np.ndarray) -> np.ndarray:
    """What step 8 adds up: sum_j log alpha(j) where log sum_j alpha(j) is meant; (..., states) in."""
    return last.sum(axis=-1)
