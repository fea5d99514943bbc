"""The lattice cipher: exact, within its proven noise in the worst case, fresh, and hidden by the flood."""

import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.crypto import slow

from discreet.crypto.lattice import Cipher, Table, draw_masks, keys, share_of
from discreet.crypto.layout import Correlation, Matrix
from discreet.crypto.setting import LARGEST_MODULUS, Setting
from discreet.errors import CipherError, ParameterError, RangeError
from discreet.randomness import expand, secure, seeded

VECTORS = Path(__file__).parents[1] / "vectors" / "lattice.json"


class Extreme:
    """Bits at their worst: every error +21, every ternary coefficient 1, every flood and mask the largest."""

    seeded = True

    def bytes(self, count):
        half = count // 2
        return b"\xff" * half + b"\0" * (count - half)

    def integers(self, low, high, size):
        return np.full(size, high - 1, dtype=np.int64)


class Silent:
    """Bits that nobody may draw."""

    seeded = True

    def bytes(self, count):
        raise AssertionError("randomness was drawn")

    def integers(self, low, high, size):
        raise AssertionError("randomness was drawn")


def signed(shares, bits):
    shift = np.uint64(64 - bits)
    return (shares << shift).view(np.int64) >> shift.astype(np.int64)


def run(layout, setting, left, right, bits):
    secret, public = keys(setting, bits)
    table = Table.of(setting, layout.right(right))
    cipher = secret.encrypt(layout.left(left), bits)
    answer, mine = public.compute(cipher, table, layout.positions, bits)
    theirs = secret.open(answer, layout.positions)
    return layout.read(mine), layout.read(theirs)


def setting_of(layout, share_bits, largest):
    return Setting(share_bits, layout.weight(largest), layout.opened, layout.degree)


def list_of(residues, moduli):
    return [slow.join([int(r) for r in column], moduli) for column in residues.T]


def body_of(ring, low, high):
    values = low.astype(np.int64) + (high.astype(np.int64) << 16)
    return ring.inverse(values.astype(np.float64))


@pytest.mark.parametrize(
    "sides", [(98, 820, 50), (1, 20_000, 3), (5, 1, 7), (1, 1, 1), (9000, 2, 2), (3, 129, 70)]
)
def test_a_product_of_matrices_is_exact_at_the_edges_of_its_range(sides):
    rows, inner, columns = sides
    layout = Matrix(rows, inner, columns)
    setting = setting_of(layout, 48, 2**15)
    random = np.random.default_rng(rows)
    edge = np.array([-(2**15), 2**15 - 1, 0])
    left, right = random.choice(edge, (rows, inner)), random.choice(edge, (inner, columns))
    left[0], right[:, 0] = -(2**15), -(2**15)  # the largest sum there is
    mine, theirs = run(layout, setting, left, right, expand(secure().bytes(16), "t"))
    assert np.array_equal(signed(mine + theirs, 48), left @ right)


@given(st.integers(1, 40), st.integers(1, 300), st.integers(1, 12), st.integers(1, 40), st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_shares_are_right_modulo_any_power_of_two(rows, inner, columns, share_bits, seed):
    layout = Matrix(rows, inner, columns)
    random = np.random.default_rng(seed)
    half = 2 ** (share_bits - 1)
    left = random.integers(-half, half, (rows, inner))
    right = random.integers(-3, 4, (inner, columns))
    setting = setting_of(layout, share_bits, 3)
    mine, theirs = run(layout, setting, left, right, seeded(seed))
    wanted = (left.astype(object) @ right.astype(object)) % 2**share_bits
    assert np.array_equal((mine + theirs) & np.uint64(2**share_bits - 1), wanted.astype(np.uint64))


@pytest.mark.parametrize(
    ("degree", "share_bits", "largest"), [(4096, 10, 1), (4096, 16, 3), (16384, 47, 2**16)]
)
def test_other_degrees_are_exact_at_their_most_bits(degree, share_bits, largest):
    layout = Matrix(2, 100, 1, degree)
    setting = setting_of(layout, share_bits, largest)
    assert setting.ring.modulus.bit_length() <= LARGEST_MODULUS[degree]
    half = 2 ** (share_bits - 1)
    left = np.random.default_rng(1).choice(np.array([-half, half - 1]), (2, 100))
    right = np.random.default_rng(2).choice(np.array([-largest, largest]), (100, 1))
    mine, theirs = run(layout, setting, left, right, seeded(4))
    wanted = (left.astype(object) @ right.astype(object)) % 2**share_bits
    assert ((mine + theirs) % np.uint64(2**share_bits)).tolist() == wanted.tolist()


@pytest.mark.parametrize(("query", "series"), [(1, 1), (1024, 20_000), (4096, 8192), (100, 8093), (7, 8192)])
def test_every_window_of_a_series_is_correlated_exactly(query, series):
    layout = Correlation(query, series)
    random = np.random.default_rng(query)
    left, right = random.integers(-(2**11), 2**11, query), random.integers(-(2**11), 2**11, series)
    mine, theirs = run(layout, setting_of(layout, 40, 2**11), left, right, seeded(3))
    assert np.array_equal(signed(mine + theirs, 40), np.correlate(right, left, "valid"))


@pytest.mark.parametrize("share_bits", [1, 41, 48])
def test_the_worst_noise_stays_inside_its_proven_bound_and_opens_exactly(share_bits):
    """All errors +21, all of s and u one, the largest flood and mask, all weights the largest."""
    setting = Setting(share_bits, 8192 * 2**15, 10)
    ring, bits = setting.ring, Extreme()
    secret, public = keys(setting, bits)
    largest = 2 ** (share_bits - 1) - 1
    cipher = secret.encrypt(np.full((1, 1, 8192), -largest - 1), bits)
    table = Table.of(setting, np.full((1, 1, 8192), 2**15))
    positions = np.arange(8182, 8192)
    sums = public._refreshed(_sums(ring, cipher, table), bits)
    noise = _noise(setting, secret, public, cipher, table, positions, bits)
    assert max(map(abs, noise)) <= setting.gathered + 2 ** (setting.flood_bits - 1)
    # the gathered noise by itself comes close to its bound: this is the worst case, not a typical one
    flood = 2 ** (setting.flood_bits - 1) - 1
    gathered = [value - flood for value in noise]
    assert max(map(abs, gathered)) > 0.9 * 8192 * 2**15 * 21
    assert max(map(abs, gathered)) <= setting.gathered
    answer, mine = public.compute(cipher, table, positions, bits)
    theirs = secret.open(answer, positions)
    x, w = [-largest - 1] * 8192, [2**15] * 8192
    wanted = [slow.product(x, w, 8192)[i] % 2**share_bits for i in positions]
    got = (mine + theirs) & np.uint64(2**share_bits - 1)
    assert got.ravel().tolist() == wanted
    assert sums.shape[1] == 2


@pytest.mark.parametrize("share_bits", [1, 41, 48])
def test_results_that_need_not_be_exact_are_off_by_one_at_most_with_the_worst_noise(share_bits):
    """The same extremes under masks modulo q, the largest and others."""
    setting = Setting(share_bits, 8192 * 2**15, 10, exact=False)
    assert setting.ring.modulus >= 8 * 2**share_bits * setting.gathered
    largest = 2 ** (share_bits - 1) - 1
    positions, bits = np.arange(8182, 8192), Extreme()
    secret, public = keys(setting, bits)
    cipher = secret.encrypt(np.full((1, 1, 8192), -largest - 1), bits)
    table = Table.of(setting, np.full((1, 1, 8192), 2**15))
    wanted = slow.product([-largest - 1] * 8192, [2**15] * 8192, 8192)
    for seed in range(4):
        masks = draw_masks(setting, (1, 1, 10), seeded(seed)) if seed else None
        answer, mine = public.compute(cipher, table, positions, bits, masks)
        got = mine + secret.open(answer, positions)
        off = [
            (int(value) - wanted[at]) % 2**share_bits
            for value, at in zip(got.ravel(), positions, strict=True)
        ]
        assert set(off) <= {0, 1, 2**share_bits - 1}
        if seed:
            assert np.array_equal(mine, share_of(setting, masks))


def _sums(ring, cipher, table):
    from discreet.crypto.lattice import _random, _unpacked, multiplied

    a = _random(ring, cipher.seed, "cipher", 1).reshape(len(ring.moduli), 1, 1, -1)
    pair = np.stack([a, _unpacked(ring, cipher.low, cipher.high)], axis=1)
    return multiplied(ring, pair, table.values)


def _noise(setting, secret, public, cipher, table, positions, bits):
    """c0 + c1 s less the rounded message and mask, by long integers."""
    from discreet.crypto.lattice import _errors

    ring = setting.ring
    coefficients = ring.inverse(public._refreshed(_sums(ring, cipher, table), bits))
    c1, c0 = (list_of(coefficients[:, i, 0, 0], ring.moduli) for i in (0, 1))
    c1 = [value + int(error) for value, error in zip(c1, _errors((8192,), bits), strict=True)]
    s = [1] * 8192
    flood = list_of(public._flood((10,), bits), ring.moduli)
    errors = _errors((10,), bits)
    product = slow.product(c1, s, 8192)
    largest = 2 ** (setting.share_bits - 1)
    message = slow.product([-largest] * 8192, [2**15] * 8192, 8192)
    noise = []
    for index, position in enumerate(positions):
        seen = c0[position] + product[position] + flood[index] + int(errors[index])
        exact = slow.nearest(ring.modulus * (message[position] % (2 * largest)), 2 * largest)
        noise.append(slow.centred(seen - exact, ring.modulus))
    return noise


def test_a_ciphertext_is_the_message_and_a_small_error_and_nothing_else():
    setting = Setting(41, 2**20, 8192)
    ring, bits = setting.ring, seeded(5)
    secret, public = keys(setting, bits)
    values = np.random.default_rng(0).integers(-(2**40), 2**40, (1, 2, 8192))
    cipher = secret.encrypt(values, bits)
    s = [int(v) for v in ring.inverse(secret.values[: len(ring.moduli)])[0]]
    assert set(s) == {-1, 0, 1}
    from discreet.crypto.lattice import _random

    a = ring.inverse(_random(ring, cipher.seed, "cipher", 2))
    body = body_of(ring, cipher.low, cipher.high)
    for index in range(2):
        opened = slow.product(list_of(a[:, index], ring.moduli), s, 8192)
        c0 = list_of(body[:, 0, index], ring.moduli)
        errors = [
            slow.centred(c + o - slow.nearest(ring.modulus * int(m), 2**41), ring.modulus)
            for c, o, m in zip(c0, opened, values[0, index], strict=True)
        ]
        assert max(map(abs, errors)) <= 22
        assert 2.9 < np.std(errors) < 3.6  # 3.24, 8192 values: 14 standard deviations
    a = ring.inverse(_random(ring, public.seed, "public key", 1))[:, 0]
    b = ring.inverse((public.low.astype(np.int64) + (public.high.astype(np.int64) << 16)).astype(np.float64))
    opened = slow.product(list_of(a, ring.moduli), s, 8192)
    errors = [slow.centred(x + y, ring.modulus) for x, y in zip(opened, list_of(b, ring.moduli), strict=True)]
    assert max(map(abs, errors)) <= 21


def test_the_modulus_is_within_the_standard_and_the_flood_hides_forty_bits():
    layout = Matrix(98, 820, 50)
    for share_bits in range(1, 49):
        for largest in (1, 2**7, 2**15, 2**20, 2**30):
            setting = setting_of(layout, share_bits, largest)
            assert setting.ring.modulus.bit_length() <= LARGEST_MODULUS[8192]
            assert setting.hidden_bits >= 40
            spent = setting.gathered + 2 ** (setting.flood_bits - 1)
            left = spent * 2**setting.wire_bits / setting.ring.modulus + setting.degree + 1
            assert left < 2 ** (setting.wire_bits - share_bits - 1)
            room = setting.opening.modulus / 2 / (8192 * 2.0 ** (setting.wire_bits - 1))
            assert room > 1


@pytest.mark.parametrize(
    ("share_bits", "weight", "opened", "degree"),
    [(48, 2**31, 2**13, 4096), (0, 1, 1, 8192), (49, 1, 1, 8192), (8, 0, 1, 8192), (8, 1, 0, 8192),
     (8, 1, 1, 4097), (1, 1, 1, 1024), (40, 2**150, 1, 8192)],
)  # fmt: skip
def test_a_setting_that_is_not_safe_is_refused(share_bits, weight, opened, degree):
    with pytest.raises(ParameterError):
        Setting(share_bits, weight, opened, degree)


@cache
def small():
    setting = Setting(16, 100, 4096, 4096)
    return setting, *keys(setting, seeded(1))


@pytest.mark.parametrize("value", [2**15, -(2**15) - 1, 2**62])
def test_a_value_that_does_not_fit_is_refused_before_anything_is_drawn(value):
    _, secret, _ = small()
    values = np.zeros((1, 1, 4096), dtype=np.int64)
    values[0, 0, 7] = value
    with pytest.raises(RangeError) as refused:
        secret.encrypt(values, Silent())
    assert str(value) not in str(refused.value)


def test_weights_that_are_too_large_are_refused():
    setting, _, _ = small()
    weights = np.zeros((1, 1, 4096), dtype=np.int64)
    weights[0, 0, :2] = 50, -51
    with pytest.raises(RangeError):
        Table.of(setting, weights)


@pytest.mark.parametrize("weight", [-(2**63), 2**63 - 1, 101, -101])
def test_weights_of_any_size_are_compared_without_wrapping(weight):
    setting, _, _ = small()
    weights = np.zeros((4, 1, 4096), dtype=np.int64)
    weights[:, 0, 0] = weight
    with pytest.raises(RangeError):
        Table.of(setting, weights)


def test_more_openings_than_planned_are_refused_before_anything_is_drawn():
    setting, secret, public = small()
    cipher = secret.encrypt(np.zeros((2, 1, 4096), dtype=np.int64), seeded(2))
    table = Table.of(setting, np.zeros((1, 1, 4096), dtype=np.int64))
    with pytest.raises(ParameterError):
        public.compute(cipher, table, np.arange(4096), Silent())


def test_a_residue_that_is_not_below_its_prime_is_refused():
    setting, secret, public = small()
    cipher = secret.encrypt(np.zeros((1, 1, 4096), dtype=np.int64), seeded(2))
    high = cipher.high.copy()
    high[0, 0, 0, 0] = 255
    table = Table.of(setting, np.zeros((1, 1, 4096), dtype=np.int64))
    with pytest.raises(CipherError):
        public.compute(Cipher(cipher.seed, cipher.low, high), table, np.arange(3), seeded(1))


def test_what_the_computer_sees_looks_uniform_and_is_fresh_each_time():
    setting, secret, _ = small()
    zeros = secret.encrypt(np.zeros((1, 4, 4096), dtype=np.int64), seeded(2))
    again = secret.encrypt(np.zeros((1, 4, 4096), dtype=np.int64), seeded(3))
    full = secret.encrypt(np.full((1, 4, 4096), 2**15 - 1), seeded(4))
    assert zeros.seed != again.seed
    for cipher in (zeros, again, full):
        for row, prime in zip(
            cipher.low + (cipher.high.astype(np.int64) << 16), setting.ring.moduli, strict=True
        ):
            assert_uniform(row.ravel() / prime)
    assert (zeros.low == again.low).mean() < 0.01


def test_what_the_owner_sees_besides_its_shares_is_the_same_for_every_model():
    """c1, the noise of c0 and the shares are uniform, with the largest weights as with none."""
    setting, secret, public = small()
    positions = np.arange(4096)
    values = np.full((1, 1, 4096), 2**15 - 1)
    for weight, seed in ((0, 1), (100, 2)):
        weights = np.zeros((1, 1, 4096), dtype=np.int64)
        weights[0, 0, 0] = weight
        table = Table.of(setting, weights)
        cipher = secret.encrypt(values, seeded(seed))
        answer, mine = public.compute(cipher, table, positions, seeded(seed + 10))
        for part in (answer.mask, answer.body):
            words = np.zeros((*part.shape[:-1], 8), dtype=np.uint8)
            words[..., : part.shape[-1]] = part
            assert_uniform(words.view("<u8").ravel() / 2**setting.wire_bits)
        theirs = secret.open(answer, positions)
        assert_uniform(mine.ravel() / 2**16)
        assert_uniform(theirs.ravel() / 2**16)
        assert np.array_equal(
            signed(mine + theirs, 16).ravel(),
            signed(np.full(4096, weight * (2**15 - 1)).astype(np.uint64), 16),
        )


def test_the_noise_that_the_owner_sees_is_the_flood_and_nothing_smaller():
    """Of an answer the owner can compute what it decrypts to: shares, and noise as wide as the flood."""
    setting, secret, public = small()
    positions = np.arange(4096)
    table = Table.of(setting, np.zeros((1, 1, 4096), dtype=np.int64))
    cipher = secret.encrypt(np.zeros((1, 1, 4096), dtype=np.int64), seeded(1))
    answer, _ = public.compute(cipher, table, positions, seeded(2))
    wire, unit = setting.wire_bits, 2 ** (setting.wire_bits - setting.share_bits)
    s = [int(v) for v in setting.opening.inverse(secret.values[: len(setting.opening.moduli)])[0]]
    mask, body = (
        [int.from_bytes(row.tobytes(), "little") for row in part.reshape(-1, part.shape[-1])]
        for part in (answer.mask, answer.body)
    )
    opened = [x + y for x, y in zip(body, slow.product(mask, s, 4096), strict=True)]
    noise = np.array([slow.centred(value % 2**wire, unit) for value in opened], dtype=np.float64)
    half = 2.0 ** (setting.flood_bits - 1 + wire) / setting.ring.modulus
    assert 0.97 * half < np.abs(noise).max() < half + setting.degree + 1
    assert_uniform(
        (np.clip(noise, -0.9 * half, 0.9 * half * (1 - 1e-9))[np.abs(noise) < 0.9 * half] / half + 0.9) / 1.8
    )


def test_the_same_query_twice_gets_another_answer():
    setting, secret, public = small()
    cipher = secret.encrypt(np.zeros((1, 1, 4096), dtype=np.int64), seeded(2))
    table = Table.of(setting, np.ones((1, 1, 4096), dtype=np.int64)[..., :1].repeat(4096, -1) * 0)
    first, second = (public.compute(cipher, table, np.arange(5), seeded(seed))[0] for seed in (7, 8))
    assert (first.mask == second.mask).all(axis=-1).mean() < 0.01
    assert not np.array_equal(first.body, second.body)


def assert_uniform(fractions, cells=16):
    """Chi-square over 16 cells; 80 is exceeded with probability below 1e-10."""
    counts, _ = np.histogram(fractions, bins=cells, range=(0, 1))
    expected = fractions.size / cells
    assert ((counts - expected) ** 2 / expected).sum() < 80


def test_the_vector_of_the_slow_implementation_is_met():
    """`python -m tests.crypto.make_lattice` made it with Python integers; none of this code did."""
    for vector in json.loads(VECTORS.read_text()):
        setting = Setting(vector["share_bits"], vector["weight"], vector["opened"], vector["degree"])
        assert [setting.flood_bits, setting.wire_bits] == [vector["flood_bits"], vector["wire_bits"]]
        assert list(setting.ring.moduli) == vector["moduli"]
        encoded = setting.encoded(np.array(vector["values"]))
        assert list_of(encoded, setting.ring.moduli) == [int(v) for v in vector["encoded"]]
        secret, public = keys(setting, seeded(vector["seed"]))
        polynomial = np.resize(np.array(vector["values"]), (1, 1, setting.degree))
        cipher = secret.encrypt(polynomial, seeded(vector["seed"] + 1))
        body = body_of(setting.ring, public.low[:, None], public.high[:, None])[:, 0]
        assert digest(list_of(body, setting.ring.moduli)) == vector["public_key"]
        body = body_of(setting.ring, cipher.low, cipher.high)[:, 0, 0]
        assert digest(list_of(body, setting.ring.moduli)) == vector["cipher"]
        if vector["answer"]:
            assert answered(setting, public, cipher, vector["seed"] + 2) == vector["answer"]


def answered(setting, public, cipher, seed):
    weights = np.zeros((1, 1, setting.degree), dtype=np.int64)
    weights[0, 0, :20] = np.arange(20) % 7 - 3
    positions = np.arange(0, setting.degree, 64)
    answer, _ = public.compute(cipher, Table.of(setting, weights), positions, seeded(seed))
    words = {}
    for name, part in (("mask", answer.mask), ("body", answer.body)):
        wide = np.zeros((*part.shape[:-1], 8), dtype=np.uint8)
        wide[..., : part.shape[-1]] = part
        words[name] = digest(wide.view("<u8").ravel().tolist())
    return words


def digest(integers):
    return hashlib.sha256(",".join(map(str, integers)).encode()).hexdigest()
