"""The ring: exact against long integers, at the edges of its range."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.crypto import slow

from discreet.crypto.ring import Ring, primes
from discreet.errors import ParameterError
from discreet.randomness import expand, seeded

DEGREES = (1024, 2048, 4096, 8192, 16384)
EDGES = np.array([0, 1, -1, 2**22, 2**44, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**62 + 12345])


@pytest.mark.parametrize("degree", DEGREES)
def test_primes_are_distinct_primes_with_the_right_remainder(degree):
    found = primes(degree, 12)
    assert len(set(found)) == 12
    for prime in found:
        assert prime < 2**23
        assert prime % (2 * degree) == 1
        assert all(prime % divisor for divisor in range(2, 2900))


@pytest.mark.parametrize("degree", DEGREES)
def test_products_are_exact_at_the_largest_residues(degree):
    """Every coefficient p/2 in size: the sums inside the transform are as large as they can be."""
    ring = Ring.of(degree, 2)
    halves = np.array([prime // 2 for prime in ring.moduli], dtype=np.float64)[:, None, None]
    flat = np.broadcast_to(halves, (2, 1, degree)).copy()
    signs = np.where(seeded(degree).integers(0, 2, (2, 1, degree)) == 1, 1.0, -1.0)
    for left, right in ((flat, flat), (flat * signs, flat)):
        got = ring.inverse(ring.product(ring.forward(left), ring.forward(right)))
        for row, prime in enumerate(ring.moduli):
            lists = [[int(v) for v in x[row, 0]] for x in (left, right)]
            wanted = [slow.centred(value, prime) for value in slow.product(*lists, degree)]
            assert [slow.centred(int(v), prime) for v in got[row, 0]] == wanted


@pytest.mark.parametrize("degree", DEGREES)
def test_there_and_back_is_the_identity(degree):
    ring = Ring.of(degree, 3)
    drawn = ring.uniform(5, seeded(1))
    assert np.array_equal(ring.inverse(ring.forward(drawn)), drawn)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20), st.integers(-(2**90), 2**90))
@settings(max_examples=60, deadline=None)
def test_lifting_is_exact_for_every_int64_and_factor(values, factor):
    ring = Ring.of(1024, 6)
    array = np.array([*values, *EDGES], dtype=np.int64)
    lifted = ring.lift(array, factor)
    for row, prime in zip(lifted, ring.moduli, strict=True):
        assert [int(v) for v in row] == [slow.centred(int(v) * factor, prime) for v in array]


@given(st.lists(st.integers(0, 2**138), min_size=1, max_size=10), st.integers(8, 63))
@settings(max_examples=60, deadline=None)
def test_whole_and_switched_agree_with_long_integers(values, bits):
    ring = Ring.of(8192, 6)
    modulus = ring.modulus
    edges = [0, 1, modulus - 1, modulus // 2 - 2**90, modulus // 2 + 2**90, modulus // 3]
    chosen = [value % modulus for value in (*values, *edges)]
    chosen = [value for value in chosen if abs(value - modulus / 2) > modulus / 2**47]
    residues = np.array([[slow.centred(v, p) for v in chosen] for p in ring.moduli], dtype=np.float64)
    wanted = [slow.centred(value, modulus) % 2**64 for value in chosen]
    assert ring.whole(residues).tolist() == wanted
    for got, value in zip(ring.switched(residues, bits).tolist(), chosen, strict=True):
        off = slow.centred(got - slow.nearest(value << bits, modulus), 2**bits)
        assert abs(off) <= 1
        exact = Fraction(value << bits, modulus) - got
        assert abs(exact - round(exact / 2**bits) * 2**bits) < Fraction(4, 5)


def test_uniform_residues_fill_their_range_and_follow_from_the_key():
    ring = Ring.of(4096, 2)
    first, again = (ring.uniform(8, expand(b"k" * 16, "one")) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, ring.uniform(8, expand(b"k" * 16, "two")))
    for row, prime in zip(first, ring.moduli, strict=True):
        assert np.abs(row).max() <= prime // 2
        share = (row.ravel() < -prime / 4).mean()  # a quarter; 8 standard deviations
        assert abs(share - 0.25) < 8 * np.sqrt(0.1875 / row.size)


@pytest.mark.parametrize("degree", [0, 512, 1000, 32768])
def test_other_degrees_are_refused(degree):
    with pytest.raises(ParameterError):
        Ring.of(degree, 2)


def test_too_many_primes_are_refused():
    with pytest.raises(ParameterError):
        primes(16384, 500)
