"""The published secure logarithm and order-preserving matrix run as printed, and are read by a program."""

import math

import gmpy2
import numpy as np
import pytest

from discreet.audit.unsound import (
    logarithm_alice,
    logarithm_bob,
    maximum_alice,
    maximum_bob,
    possible_guesses,
    recover_gaps,
    recover_number,
    size_range,
)
from discreet.errors import ParameterError
from discreet.protocols.step import run_pair
from discreet.randomness import seeded


class Toy:
    """Paillier as in the textbook, with 512 bits: enough to run the printed protocols, not to protect."""

    width = 128

    def __init__(self, seed):
        self.bits = seeded(seed)
        primes = [gmpy2.next_prime(self._number(32) | 1 << 255) for _ in range(2)]
        self.n = int(primes[0] * primes[1])
        self.square = self.n**2
        self.order = int(gmpy2.lcm(primes[0] - 1, primes[1] - 1))
        self.inverse = pow(self.order, -1, self.n)

    def _number(self, width):
        return int.from_bytes(self.bits.bytes(width), "big")

    def encrypt(self, value):
        fresh = self._number(60) + 1
        return int((1 + value % self.n * self.n) * gmpy2.powmod(fresh, self.n, self.square) % self.square)

    def decrypt(self, cipher):
        plain = (int(gmpy2.powmod(cipher, self.order, self.square)) - 1) // self.n * self.inverse % self.n
        return plain if plain < self.n // 2 else plain - self.n

    def add(self, first, second):
        return first * second % self.square

    def scale(self, cipher, factor):
        return int(gmpy2.powmod(cipher, factor, self.square))


@pytest.fixture(scope="module")
def cipher():
    return Toy(2)


def logarithm(cipher, number, bits, blind=128):
    """Bob's decrypted result, and what Alice saw."""
    answer, seen, _ = run_pair(
        logarithm_bob(cipher, cipher.encrypt(number), blind, bits), logarithm_alice(cipher)
    )
    return cipher.decrypt(answer) / 10**6, seen


def test_the_secure_logarithm_computes_the_logarithm(cipher):
    for number in (1, 7, 10**6, 123_456_789_012):
        got, _ = logarithm(cipher, number, seeded(number))
        assert got == pytest.approx(math.log(number), abs=2e-6)


def test_the_number_is_recovered_from_several_blindings(cipher):
    """An utterance that is asked twelve times: Alice reads the number that Bob must hide, exactly."""
    draw = np.random.default_rng(4)
    numbers = [int(value) for value in draw.integers(1, 10**12, 20)]
    seen = [
        [logarithm(cipher, number, seeded(at + 100 * turn))[1] for turn in range(12)]
        for at, number in enumerate(numbers)
    ]
    assert [
        recover_number(row) for row in seen
    ] == numbers  # each fails with chance 2.5e-4; the seeds are fixed
    twice = sum(recover_number(row[:2]) == number for row, number in zip(seen, numbers, strict=True))
    assert twice >= 5  # 6 / pi^2 of 20 are 12


def test_one_blinding_confirms_a_guess_and_rules_out_the_others(cipher):
    guesses = [10**9 + 7 * at for at in range(1000)]
    _, seen = logarithm(cipher, guesses[400], seeded(9))
    assert possible_guesses(seen, guesses) == [guesses[400]]


def test_one_blinding_tells_the_size(cipher):
    """The blinding factor has 16 bits: a probability of 1e-3 and one of 1e-9 never look the same."""
    for number in (10**3, 10**9):
        low, high = size_range(logarithm(cipher, number, seeded(1), blind=16)[1], 16)
        assert low <= math.log2(number) <= high
        assert high - low == 16


def test_a_zero_is_seen(cipher):
    with pytest.raises(ParameterError, match="logarithm of nothing"):
        logarithm(cipher, 0, seeded(1))


def moved(cipher, scores, bits):
    bob = maximum_bob(cipher, [cipher.encrypt(score) for score in scores], 40, bits)
    return run_pair(bob, maximum_alice(cipher, len(scores)))[1]


def test_the_order_preserving_matrix_keeps_the_order_and_gives_away_all_gaps(cipher):
    """Ten words: Alice should learn which has the largest score, and learns all scores."""
    draw = np.random.default_rng(11)
    exact = 0
    for turn in range(20):
        scores = [int(value) for value in draw.integers(-(10**9), 0, 10)]
        seen = moved(cipher, scores, seeded(turn))
        assert np.argmax(seen) == np.argmax(scores)
        assert np.array_equal(np.argsort(seen), np.argsort(scores))
        gaps = [score - min(scores) for score in scores]
        recovered = recover_gaps(seen)
        common = math.gcd(*gaps)
        assert [gap * common for gap in recovered] == gaps
        exact += common == 1
    assert exact >= 19
    assert recover_gaps([5, 5]) == [0, 0]
