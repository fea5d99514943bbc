"""Shares, the field, triples, three parties, portions of noise: exact, uniform, refused where unsafe."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc

from discreet.crypto import field
from discreet.crypto.portion import Portion
from discreet.crypto.sharing import join, join_shamir, masks, signed, split, split_shamir
from discreet.crypto.trio import Held, multiplied, zero
from discreet.crypto.triple import Form, Triple, correction, expanded, sum_of
from discreet.errors import CipherError, ParameterError
from discreet.mechanisms.exact import discrete_gaussian, discrete_laplace
from discreet.randomness import seeded

VECTORS = Path(__file__).parents[1] / "vectors" / "sharing.json"
P = 2**61 - 1
WORDS = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**63, 2**64 - 1])
ELEMENTS = st.integers(0, P - 1) | st.sampled_from([0, 1, P - 1, 2**32 - 1, 2**32, 2**60])


def words(values):
    return np.array(values, dtype=np.uint64)


@given(st.lists(st.tuples(ELEMENTS, ELEMENTS), min_size=1, max_size=50))
@settings(max_examples=200, deadline=None)
def test_the_field_is_that_of_long_integers(pairs):
    left, right = words([a for a, _ in pairs]), words([b for _, b in pairs])
    assert field.multiply(left, right).tolist() == [a * b % P for a, b in pairs]
    assert field.add(left, right).tolist() == [(a + b) % P for a, b in pairs]


def test_two_to_the_61_minus_1_is_prime():
    """Lucas and Lehmer's test."""
    value = 4
    for _ in range(59):
        value = (value * value - 2) % P
    assert value == 0
    assert field.PRIME == P


@given(st.lists(WORDS, min_size=1, max_size=20), st.integers(2, 6), st.integers(1, 64), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_additive_shares_join_to_the_number(values, parties, modulus_bits, seed):
    shares = split(words(values), parties, seeded(seed), modulus_bits)
    assert shares.shape == (parties, len(values))
    assert join(shares, modulus_bits).tolist() == [value % 2**modulus_bits for value in values]
    assert all(int(share) < 2**modulus_bits for share in shares.ravel())


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 64))
@settings(deadline=None)
def test_numbers_with_a_sign_come_back(value, modulus_bits):
    wanted = (value + 2 ** (modulus_bits - 1)) % 2**modulus_bits - 2 ** (modulus_bits - 1)
    assert signed(words([value % 2**modulus_bits]), modulus_bits).tolist() == [wanted]


@given(st.lists(ELEMENTS, min_size=1, max_size=5), st.integers(1, 5), st.integers(0, 4), st.data())
@settings(max_examples=50, deadline=None)
def test_enough_shamir_shares_join_in_every_choice(values, enough, more, data):
    parties = enough + more
    shares = split_shamir(words(values), enough, parties, seeded(data.draw(st.integers(0, 99))))
    for chosen in itertools.combinations(range(parties), enough):
        assert join_shamir({i + 1: shares[i] for i in chosen}, enough).tolist() == values
    assert join_shamir({i + 1: shares[i] for i in range(parties)}, enough).tolist() == values


@pytest.mark.parametrize("kind", ["additive", "shamir"])
def test_too_few_shares_are_uniform_whatever_the_number(kind):
    """All but one of the additive parts, or enough - 1 of Shamir's: chi-square at 1e-9, and of their sums."""
    for value in (0, 2**60):
        secret = np.full(20_000, value, dtype=np.uint64)
        if kind == "additive":
            shares, top = split(secret, 3, seeded(value + 1)), 2.0**64
            seen = [shares[0], shares[1], shares[2], shares[0] + shares[2]]
        else:
            shares, top = split_shamir(secret, 3, 5, seeded(value + 1)), float(P)
            seen = [shares[0], shares[4], field.add(shares[0], shares[4])]
        for part in seen:
            counts, _ = np.histogram(part.astype(np.float64) / top, bins=32, range=(0, 1))
            statistic = ((counts - part.size / 32) ** 2 / (part.size / 32)).sum()
            assert chdtrc(31, statistic) > 1e-9


def test_a_wrong_share_is_seen_if_more_than_enough_are_opened():
    shares = split_shamir(words([5, 6]), 2, 3, seeded(1))
    held = {i + 1: shares[i].copy() for i in range(3)}
    held[3][1] = (held[3][1] + np.uint64(1)) % np.uint64(P)
    with pytest.raises(CipherError):
        join_shamir(held, 2)


def test_bad_shares_are_refused():
    shares = split_shamir(words([5]), 2, 3, seeded(1))
    with pytest.raises(CipherError):
        join_shamir({1: shares[0]}, 2)
    with pytest.raises(CipherError):
        join_shamir({0: shares[0], 1: shares[1]}, 2)
    with pytest.raises(CipherError):
        join_shamir({1: shares[0], 2: words([P])}, 2)
    for enough, parties in ((0, 3), (4, 3)):
        with pytest.raises(ParameterError):
            split_shamir(words([5]), enough, parties, seeded(1))
    with pytest.raises(ParameterError):
        split(words([5]), 1, seeded(1))
    with pytest.raises(ParameterError):
        masks((1,), seeded(1), 65)


@given(st.binary(min_size=1, max_size=40), st.integers(0, 9))
@settings(deadline=None)
def test_secret_bytes_cross_the_field(secret, seed):
    limbs = field.elements(secret)
    shares = split_shamir(limbs, 2, 3, seeded(seed))
    joined = join_shamir({1: shares[0], 3: shares[2]}, 2)
    assert field.bytes_of(joined, len(secret)) == secret
    with pytest.raises(CipherError):
        field.bytes_of(words([P - 1]), 7)


FORMS = st.builds(
    Form, st.sampled_from(["pairs", "sums"]), st.integers(1, 20), st.integers(1, 4), st.integers(1, 4)
)


def plain(form, x, y):
    x, y = x.astype(object), y.astype(object)
    whole = x[:, :, None] * y[:, None, :]
    return (whole.sum(axis=0) if form.product == "sums" else whole) % 2**64


@given(FORMS, st.integers(2, 5), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_masked_products_are_right_for_any_words(form, parties, seed):
    bits = seeded(seed)
    x, y = (masks(shape, bits) for shape in form.shapes[:2])
    if seed % 3 == 0:
        x[:], y[:] = np.uint64(2**64 - 1), np.uint64(2**63)
    seeds = [bits.bytes(16) for _ in range(parties)]
    triples = [expanded(form, key, 0) for key in seeds]
    triples[-1].c = triples[-1].c + correction(form, seeds, 0)
    xs, ys = split(x, parties, bits), split(y, parties, bits)
    opened = [triple.masked(*pair) for triple, *pair in zip(triples, xs, ys, strict=True)]
    d, e = (sum_of([pair[i] for pair in opened]) for i in (0, 1))
    shares = [triple.product(d, e, index == 0) for index, triple in enumerate(triples)]
    assert np.array_equal(join(np.stack(shares)), plain(form, x, y).astype(np.uint64))


def test_a_triple_is_used_once():
    form = Form("sums", 3, 1, 1)
    triple = expanded(form, b"k" * 16, 0)
    triple.masked(*(np.zeros(shape, dtype=np.uint64) for shape in form.shapes[:2]))
    with pytest.raises(ParameterError):
        triple.masked(*(np.zeros(shape, dtype=np.uint64) for shape in form.shapes[:2]))
    first, second = (expanded(form, b"k" * 16, number) for number in (0, 1))
    assert not np.array_equal(first.a, second.a)
    with pytest.raises(ParameterError):
        Form("sums", 0, 1, 1)
    assert isinstance(first, Triple)


@given(FORMS, st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_three_parties_multiply_without_a_dealer(form, seed):
    bits = seeded(seed)
    x, y = (masks(shape, bits) for shape in form.shapes[:2])
    xs, ys = split(x, 3, bits), split(y, 3, bits)
    keys = [bits.bytes(16) for _ in range(3)]
    shares = []
    for i in range(3):
        following = (i + 1) % 3
        nothing = zero(form.shapes[2], keys[i], keys[following], seed)
        held = (Held(parts[i], parts[following]) for parts in (xs, ys))
        shares.append(multiplied(form, *held, nothing))
    assert np.array_equal(join(np.stack(shares)), plain(form, x, y).astype(np.uint64))


def test_products_among_three_are_hidden_even_where_all_factors_are_zero():
    form = Form("pairs", 500, 1, 1)
    nothing = zero(form.shapes[2], b"a" * 16, b"b" * 16, 1)
    flat = Held(*(np.zeros((500, 1), dtype=np.uint64) for _ in range(2)))
    share = multiplied(form, flat, flat, nothing)
    counts, _ = np.histogram(share.astype(np.float64) / 2.0**64, bins=16, range=(0, 1))
    assert chdtrc(15, ((counts - 500 / 16) ** 2 / (500 / 16)).sum()) > 1e-9
    assert not np.array_equal(nothing, zero(form.shapes[2], b"a" * 16, b"b" * 16, 2))


@given(
    st.sampled_from(["gaussian", "laplace"]),
    st.floats(1e3, 1e9),
    st.integers(1, 50),
    st.integers(0, 49),
)
@settings(max_examples=200, deadline=None)
def test_what_the_honest_add_is_never_less_than_promised_and_hardly_more(
    mechanism, scale, counted, colluding
):
    if colluding >= counted:
        with pytest.raises(ParameterError):
            Portion(mechanism, scale, counted, colluding)
        return
    portion = Portion(mechanism, scale, counted, colluding)
    honest = 1 if mechanism == "laplace" else counted - colluding
    assert portion.own**2 * honest >= Fraction(scale) ** 2
    assert portion.own**2 * honest <= Fraction(scale) ** 2 * (1 + Fraction(1, 2**18))
    assert portion.remaining(colluding) >= scale * (1 - 1e-12)
    assert portion.remaining(counted) == 0
    assert portion.remaining(0) == pytest.approx(
        float(portion.own) * (1 if mechanism == "laplace" else math.sqrt(counted))
    )


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 15.0])
def test_noise_too_small_for_its_law_is_refused(scale):
    with pytest.raises(ParameterError):
        Portion("gaussian", scale, 1, 0)
    with pytest.raises(ParameterError):
        Portion("uniform", 100.0, 1, 0)


def test_the_sum_of_portions_has_the_promised_spread_after_colluders_took_theirs_out():
    """Ten parties, four collude: what is left has variance scale**2, by chi-square at 1e-9."""
    portion = Portion("gaussian", 1000.0, 10, 4)
    drawn = [portion.draw(discrete_gaussian, 2000, seeded(party)) for party in range(10)]
    left = np.sum(drawn[4:], axis=0).astype(np.float64)
    statistic = float((left**2).sum()) / 1000.0**2
    assert 1e-9 < chdtrc(2000, statistic) < 1 - 1e-9
    laplace = Portion("laplace", 1000.0, 10, 9)
    alone = np.abs(laplace.draw(discrete_laplace, 4000, seeded(1))).astype(np.float64)
    assert abs(alone.mean() / 1000 - 1) < 6.5 / math.sqrt(4000)


def test_the_vectors_of_plain_integers_are_met():
    """`python -m tests.crypto.make_sharing` made them."""
    vectors = json.loads(VECTORS.read_text())
    for case in vectors["field"]:
        assert field.multiply(words([case["a"]]), words([case["b"]])).tolist() == [case["product"]]
    for case in vectors["shamir"]:
        shares = {int(point): words([share]) for point, share in case["shares"].items()}
        assert join_shamir(shares, case["enough"]).tolist() == [case["secret"]]
        assert (
            split_shamir(words([case["secret"]]), case["enough"], 6, seeded(case["seed"])).ravel().tolist()
            == case["drawn"]
        )
