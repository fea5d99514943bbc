"""Paillier: keys as short exponents ask, exact sums, no overflow, nothing sent that is not fresh."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.crypto.number import is_prime
from discreet.crypto.packing import Grid, Packing
from discreet.crypto.paillier import PublicKey, SecretKey, Zeros
from discreet.crypto.powers import FixedBase, products_of_powers
from discreet.errors import CipherError, ParameterError, RangeError
from discreet.randomness import secure, seeded

VECTORS = Path(__file__).parents[1] / "vectors" / "paillier.json"


@cache
def key():
    return SecretKey.generate(seeded(1), 2048)


class Silent:
    seeded = True

    def bytes(self, count):
        raise AssertionError("randomness was drawn")

    def integers(self, low, high, size):
        raise AssertionError("randomness was drawn")


@pytest.mark.parametrize("size", [2048, 3072])
def test_keys_are_blum_integers_as_short_exponents_ask(size):
    secret = SecretKey.generate(secure(), size)
    p, q, n = int(secret.p), int(secret.q), int(secret.public.n)
    assert n == p * q
    assert n.bit_length() == size
    assert p.bit_length() == q.bit_length() == size // 2
    assert p % 4 == q % 4 == 3
    assert math.gcd(p - 1, q - 1) == 2
    assert is_prime(p) and is_prime(q)
    # H is an n-th residue whose root is minus a square: its order divides (p - 1)(q - 1) / 2, but no quarter
    order = (p - 1) * (q - 1) // 2
    assert pow(int(secret.public.generator), order, n * n) == 1
    assert pow(int(secret.public.generator), order // 2, n * n) != 1


def test_no_key_has_primes_with_another_common_factor():
    """Of random pairs a third has one; keys too short to use are quick to make in numbers."""
    from discreet.crypto.paillier import _generated

    for seed in range(60):
        secret = _generated(seeded(seed), 64)
        assert math.gcd(int(secret.p) - 1, int(secret.q) - 1) == 2
        assert secret.p != secret.q


@pytest.mark.parametrize("size", [0, 512, 1024, 2047, 2049, 2056])
def test_short_keys_are_refused_before_anything_is_drawn(size):
    with pytest.raises(ParameterError):
        SecretKey.generate(Silent(), size)


def test_the_vectors_of_plain_integers_are_met():
    for vector in json.loads(VECTORS.read_text()):
        p, q, x, generator = (int(vector[name], 16) for name in ("p", "q", "x", "generator"))
        n = p * q
        assert pow(-x * x % n, n, n * n) == generator
        public = PublicKey(n, generator)
        secret = SecretKey(p, q, public)
        table = FixedBase.of(generator, n * n, public.bits // 2, 5)
        ciphers = []
        for case in vector["cases"]:
            message, exponent, cipher = (int(case[name], 16) for name in ("message", "exponent", "cipher"))
            digits = [(exponent >> (5 * i)) & 31 for i in range(len(table.table))]
            zero = table.power(digits)
            assert public.encrypt([message], Zeros(public, [zero])).numbers == [cipher]
            ciphers.append((message, cipher))
        size = public.width
        sent = b"".join(cipher.to_bytes(size, "little") for _, cipher in ciphers)
        received = public.received(sent, len(ciphers), public.largest)
        assert secret.decrypt(received) == [message for message, _ in ciphers]


NUMBERS = st.integers(-(2**600), 2**600)


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.data())
@settings(max_examples=15, deadline=None)
def test_arithmetic_is_that_of_integers(values, data):
    secret = key()
    others = data.draw(st.lists(NUMBERS, min_size=len(values), max_size=len(values)))
    weights = data.draw(
        st.lists(st.integers(-(2**62), 2**62), min_size=2 * len(values), max_size=2 * len(values))
    )
    columns = np.array(weights).reshape(len(values), 2)
    x = secret.public.encrypt(values, seeded(2), 2**600)
    y = secret.encrypt(others, seeded(3), 2**600)
    assert secret.decrypt(x) == values
    assert secret.decrypt(x + y) == [a + b for a, b in zip(values, others, strict=True)]
    assert secret.decrypt(x.plus(others, 2**600)) == [a + b for a, b in zip(values, others, strict=True)]
    wanted = [sum(v * int(w) for v, w in zip(values, column, strict=True)) for column in columns.T]
    assert secret.decrypt(x.weighted(columns, 2**65)) == wanted


def test_the_edges_of_the_plaintexts_are_exact_and_one_more_is_refused():
    secret = key()
    largest = secret.public.largest
    edges = [largest, -largest, 0, 1, -1]
    assert secret.decrypt(secret.encrypt(edges, seeded(1))) == edges
    for value in (largest + 1, -largest - 1):
        with pytest.raises(RangeError) as refused:
            secret.public.encrypt([value], Silent())
        assert str(value) not in str(refused.value)


def test_overflow_is_refused_before_anything_is_computed_or_drawn():
    secret = key()
    largest = secret.public.largest
    half = secret.encrypt([1], seeded(1), largest // 2 + 1)
    with pytest.raises(RangeError):
        half + half
    with pytest.raises(RangeError):
        half.plus([1], largest // 2 + 1)
    with pytest.raises(RangeError):
        half.weighted(np.array([[2]]), 2)
    with pytest.raises(RangeError):
        half.weighted(np.array([[2]]), 1)
    with pytest.raises(RangeError):
        half.plus([5], 4)
    with pytest.raises(RangeError):
        secret.encrypt([5], Silent(), 4)
    with pytest.raises(RangeError):
        secret.encrypt([5], Silent(), largest + 1)
    assert secret.decrypt(half + secret.encrypt([2], seeded(1), largest // 2 - 1)) == [3]


def test_results_of_arithmetic_cannot_be_sent_until_they_were_made_fresh():
    secret = key()
    x = secret.encrypt([3, 4], seeded(1), 10)
    same = x.weighted(np.eye(2, dtype=np.int64), 1)
    assert x.numbers == same.numbers  # arithmetic alone shows what was done
    for result in (x + x, x.plus([1, 1], 1), same):
        with pytest.raises(ParameterError):
            result.to_bytes()
    sealed = same.sealed(seeded(5))
    again = same.sealed(seeded(6))
    assert not set(sealed.numbers) & set(x.numbers) and not set(sealed.numbers) & set(again.numbers)
    assert secret.decrypt(sealed) == secret.decrypt(again) == [3, 4]
    read = secret.public.received(sealed.to_bytes(), 2, 10)
    assert secret.decrypt(read) == [3, 4]
    assert not read.fresh


def test_a_sealed_result_carries_one_fresh_zero_each():
    """All that a sealed result adds to what its plaintext says is one fresh H**r, drawn by the sender."""
    secret = key()
    n = int(secret.public.n)
    x = secret.encrypt([0] * 64, seeded(1), 1)
    result = x.weighted(np.full((64, 200), 3), 192).sealed(seeded(2))
    # multiply out: every sealed number is a fresh H**r times a known number
    known = x.weighted(np.full((64, 1), 3), 192).numbers[0]
    zeros = [int(number) * pow(int(known), -1, n * n) % (n * n) for number in result.numbers]
    wanted = secret.public.zeros(200, seeded(2)).numbers
    assert sorted(zeros) == sorted(int(zero) for zero in wanted)
    assert len(set(zeros)) == 200


def test_owner_and_public_make_the_same_zeros_from_the_same_bits():
    secret = key()
    assert secret.zeros(130, seeded(9)).numbers == secret.public.zeros(130, seeded(9)).numbers
    few = SecretKey.generate(seeded(7), 2048).public.zeros(3, seeded(1))
    assert len(few) == 3


@pytest.mark.parametrize("size", [2048, 3072])
def test_exponents_have_half_as_many_bits_as_the_modulus(size):
    public = SecretKey.generate(secure(), size).public
    table = public._table
    assert table.width * len(table.table) >= size // 2
    drawn = np.array(table.draw(500, secure()))
    assert drawn.min() >= 0
    assert drawn.max() < 2**table.width
    ones = np.unpackbits(drawn.astype(">u2").view(np.uint8)).sum()  # every digit is uniform: half of the bits
    bits = drawn.size * table.width
    assert abs(ones - bits / 2) < 7 * np.sqrt(bits) / 2


def test_a_stock_of_zeros_is_used_once():
    secret = key()
    stock = secret.zeros(3, seeded(1))
    numbers = list(stock.numbers)
    secret.encrypt([1, 2], stock)
    assert len(stock) == 1
    with pytest.raises(ParameterError):
        secret.encrypt([1, 2], stock)
    secret.encrypt([1], stock)
    assert len(stock) == 0
    assert len(set(numbers)) == 3


def test_what_belongs_to_another_key_is_refused():
    one, two = key(), SecretKey.generate(seeded(2), 2048)
    x, y = one.encrypt([1], seeded(1), 5), two.encrypt([1], seeded(1), 5)
    for work in (
        lambda: x + y,
        lambda: one.decrypt(y),
        lambda: one.public.encrypt([1], two.zeros(1, seeded(1))),
        lambda: (x + x).sealed(two.zeros(1, seeded(1))),
    ):
        with pytest.raises(ParameterError, match="different keys"):
            work()


@pytest.mark.parametrize("weight", [2**62 + 1, -(2**62) - 1, 2**63 - 1, -(2**63)])
def test_weights_that_overflow_64_bits_are_refused(weight):
    x = key().encrypt([1, 1, 1, 1], seeded(1), 5)
    with pytest.raises(RangeError):
        x.weighted(np.full((4, 1), weight), 2**66)
    with pytest.raises(RangeError):
        x.weighted(np.full((4, 1), 2**62), 2**63)  # their sum is 2**64, which wraps around to 0
    with pytest.raises(ParameterError):
        x.weighted(np.ones((3, 1), dtype=np.int64), 5)


def test_keys_cross_the_wire_and_malformed_ones_are_refused():
    public = key().public
    sent = public.to_bytes()
    read = PublicKey.read(sent)
    assert (read.n, read.generator) == (public.n, public.generator)
    short = b"\xff" * (3 * 128)
    even = (int(public.n) - 1).to_bytes(256, "little") + sent[256:]
    for bad in (
        b"",
        sent[:-1],
        sent + b"\0",
        short,
        even,
        sent[:256] + b"\0" * 512,
        sent[:256] + b"\xff" * 512,
    ):
        with pytest.raises(CipherError):
            PublicKey.read(bad)


def test_malformed_ciphertexts_are_refused():
    secret = key()
    public, width = secret.public, secret.public.width
    good = secret.encrypt([1, 2], seeded(1)).to_bytes()
    multiple = (int(secret.p) * 5).to_bytes(width, "little")
    for bad in (good[:-1], good + b"\0", b"\0" * (2 * width), b"\xff" * (2 * width), good[:width] + multiple):
        with pytest.raises(CipherError):
            public.received(bad, 2, 10)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_products_of_powers_are_right_for_every_exponent(exponents, seed):
    modulus = (1 << 127) - 1
    stream = np.random.default_rng(seed)
    bases = [int(value) for value in stream.integers(2, 2**62, len(exponents))]
    limited = [max(-(2**62), min(2**62, exponent)) for exponent in exponents]
    table = np.array([limited, limited[::-1]]).T
    wanted = [
        math.prod(pow(base, int(e), modulus) for base, e in zip(bases, column, strict=True)) % modulus
        for column in table.T
    ]
    assert products_of_powers(bases, table, modulus) == wanted


@pytest.mark.parametrize("bits", range(1, 24))
def test_products_of_powers_are_right_at_the_edges_of_every_width(bits):
    modulus = (1 << 127) - 1
    edges = np.array([2**bits - 1, -(2**bits) + 1, 2**bits, -(2**bits), 2 ** (bits - 1), 0, 1, -1])
    bases = list(range(2, 10))
    wanted = math.prod(pow(base, int(e), modulus) for base, e in zip(bases, edges, strict=True)) % modulus
    assert products_of_powers(bases, edges[:, None], modulus) == [wanted]


@given(st.integers(1, 2**100), st.integers(110, 2048), st.data())
@settings(max_examples=80, deadline=None)
def test_packed_numbers_come_back_at_their_largest(largest, bits, data):
    packing = Packing(largest, bits)
    edge = st.sampled_from([largest, -largest, 0, 1, -1]) | st.integers(-largest, largest)
    values = data.draw(st.lists(edge, min_size=1, max_size=3 * packing.slots))
    packed = packing.pack(values)
    assert packing.unpack(packed, len(values)) == values
    assert all(abs(whole) <= packing.whole < 2 ** (bits - 2) for whole in packed)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_sums_of_packed_numbers_are_right_up_to_the_bound(data):
    terms, largest = data.draw(st.integers(1, 50)), data.draw(st.integers(1, 2**40))
    packing = Packing(terms * largest, 400)
    rows = [
        data.draw(
            st.lists(st.sampled_from([largest, -largest]), min_size=packing.slots, max_size=packing.slots)
        )
        for _ in range(terms)
    ]
    whole = sum(packing.pack(row)[0] for row in rows)
    assert packing.unpack([whole], packing.slots) == [sum(column) for column in zip(*rows, strict=True)]


def test_what_does_not_fit_a_slot_is_refused_without_saying_it():
    packing = Packing(1000, 100)
    for value in (1001, -1001, 10**50):
        with pytest.raises(RangeError) as refused:
            packing.pack([1, value])
        assert str(value) not in str(refused.value)
    with pytest.raises(RangeError):
        Packing(2**100, 100)
    with pytest.raises(RangeError):
        Packing(-1, 100)


@given(st.floats(-8, 8), st.integers(0, 40))
@settings(deadline=None)
def test_the_grid_rounds_to_nearest_and_back(value, fraction):
    grid = Grid(3, fraction)
    integer = grid.integers(np.array([value]))
    assert abs(float(grid.reals(integer)[0]) - value) <= 2.0**-fraction / 2
    assert abs(int(integer[0])) <= grid.largest


@pytest.mark.parametrize("value", [8.6, -8.6, math.nan, math.inf, -math.inf])
def test_numbers_outside_of_the_grid_are_refused(value):
    with pytest.raises(RangeError):
        Grid(3, 0).integers(np.array([0.0, value]))
    with pytest.raises(ParameterError):
        Grid(30, 30)
