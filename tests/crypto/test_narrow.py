"""Words of a small ring: packed without gaps, multiplied exactly, whatever their bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.crypto.narrow import draw, factor, pack, packed_length, product, unpack
from discreet.crypto.onehot import columns, completed
from discreet.errors import ParameterError
from discreet.randomness import seeded


@given(st.integers(2, 32), st.integers(0, 300), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_what_is_packed_is_unpacked_and_takes_no_more_bits_than_it_has(bits, count, seed):
    words = draw((count,), seeded(seed))
    packed = pack(words, bits)
    assert packed.size == packed_length(count, bits) == -(-count // 64) * bits
    assert np.array_equal(unpack(packed, (count,), bits), words & np.uint32(2**bits - 1))


def test_packing_takes_tables_of_any_shape():
    words = draw((3, 5, 7), seeded(1))
    assert np.array_equal(unpack(pack(words, 13), (3, 5, 7), 13), words & np.uint32(2**13 - 1))


@pytest.mark.parametrize("bits", [0, 1, 33])
def test_words_have_2_to_32_bits(bits):
    with pytest.raises(ParameterError):
        packed_length(1, bits)


def test_packed_words_of_another_length_are_refused():
    with pytest.raises(ParameterError):
        unpack(np.zeros(5, dtype=np.uint64), (64,), 6)


@given(st.integers(2, 32), st.integers(0, 5), st.integers(0, 5), st.integers(0, 400), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_products_are_those_of_integers(bits, left, right, columns, seed):
    source = seeded(seed)
    a, b = draw((left, columns), source), draw((right, columns), source)
    got = product(factor(a, bits, left=True), factor(b, bits))
    slow = np.array(
        [
            [sum(int(x) * int(y) for x, y in zip(one, other, strict=True)) % 2**bits for other in b]
            for one in a
        ],
        dtype=object,
    ).reshape(left, right)
    assert got.shape == (left, right)
    assert ((got & np.uint64(2**bits - 1)).astype(object) == slow).all()


@pytest.mark.parametrize("bits", [12, 21, 22, 23, 32])
def test_products_of_the_largest_words_over_many_columns_are_exact(bits):
    """All words at the end of their range, so that partial sums are as large as they can be."""
    for extreme in (2 ** (bits - 1), 2 ** (bits - 1) - 1):
        words = np.full((1, 50_001), extreme, dtype=np.uint32)
        got = product(factor(words, bits, left=True), factor(words, bits))
        assert int(got[0, 0]) % 2**bits == 50_001 * extreme**2 % 2**bits


def test_partial_sums_stay_within_what_a_double_holds():
    for bits in range(2, 33):
        words = np.zeros((1, 4), dtype=np.uint32)
        left, right = factor(words, bits, left=True), factor(words, bits)
        assert 53 - left.size - right.size >= 9, "blocks of at least 512 columns"


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_table_follows_from_its_body_and_margins(a, b, seed):
    random = np.random.default_rng(seed)
    x, y = (columns(random.integers(0, size, 50), size).astype(np.uint64) for size in (a, b))
    whole = x @ y.T
    got = completed(whole[:-1, :-1], whole.sum(axis=1), whole.sum(axis=0)[:-1])
    assert np.array_equal(got, whole)
    rows = completed(x[:-1, None] * y[None, :-1], x, y[:-1])
    assert np.array_equal(rows, x[:, None] * y[None])
