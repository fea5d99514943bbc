"""Scores: exact at the edges of the agreed ranges, refused beyond them, and silent about both sides."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.uniform import assert_uniform

from discreet.crypto.layout import Correlation, Matrix
from discreet.crypto.sharing import signed
from discreet.errors import CipherError, ParameterError, RangeError
from discreet.protocols.scores import Asking, Masks, Scores, ask, prepared, score
from discreet.protocols.step import Receive, Send, run_pair
from discreet.randomness import secure, seeded

AGREED = Scores(Matrix(20, 30, 9), 2**15, 2**15, 40, constant=1000)


class Silent:
    seeded = True

    def bytes(self, count):
        raise AssertionError("randomness was drawn")

    def integers(self, low, high, size):
        raise AssertionError("randomness was drawn")


@given(
    st.integers(1, 120),
    st.integers(1, 400),
    st.integers(1, 20),
    st.integers(1, 2**16),
    st.integers(1, 2**16),
    st.integers(0, 2**31),
)
@settings(max_examples=10, deadline=None)
def test_shares_join_to_the_linear_forms_at_the_edges(rows, features, outputs, largest, heaviest, seed):
    random = np.random.default_rng(seed)
    reach = features * largest * heaviest + 77
    agreed = Scores(Matrix(rows, features, outputs), largest, heaviest, reach.bit_length() + 1, 77)
    x = random.choice(np.array([-largest, largest, 0]), (rows, features))
    w = random.choice(np.array([-heaviest, heaviest, 0]), (features, outputs))
    x[0], w[:, 0] = largest, heaviest
    constants = np.full(outputs, 77)
    mine, theirs, transcript = run_pair(ask(x, agreed, secure()), score(w, agreed, secure(), constants))
    assert np.array_equal(
        signed((mine + theirs) & np.uint64(2**agreed.share_bits - 1), agreed.share_bits), x @ w + 77
    )
    assert [record.name for record in transcript] == ["scores/query", "scores/answer"]


def test_the_windows_of_a_series_are_scored_with_a_prepared_table():
    agreed = Scores(Correlation(100, 9000), 127, 127, 30)
    random = np.random.default_rng(1)
    query, series = random.integers(-127, 128, 100), random.integers(-127, 128, 9000)
    table = prepared(series, agreed)
    for _ in range(2):
        mine, theirs, _ = run_pair(ask(query, agreed, secure()), score(table, agreed, secure()))
        got = signed((mine + theirs) & np.uint64(2**30 - 1), 30)
        assert np.array_equal(got, np.correlate(series, query, "valid"))


def test_bounds_under_which_a_result_could_leave_its_share_are_refused():
    Scores(Matrix(1, 4, 1), 2**15, 2**15, 34)
    with pytest.raises(ParameterError, match="leave its share"):
        Scores(Matrix(1, 4, 1), 2**15, 2**15, 33)
    with pytest.raises(ParameterError):
        Scores(Matrix(1, 4, 1), 0, 1, 33)
    with pytest.raises(ParameterError):
        Scores(Matrix(1, 4, 1), 1, 1, 60)


@pytest.mark.parametrize("value", [2**15 + 1, -(2**15) - 1])
def test_numbers_beyond_the_bounds_are_refused_before_anything_is_drawn_or_sent(value):
    x, w = np.zeros((20, 30), dtype=np.int64), np.zeros((30, 9), dtype=np.int64)
    x[3, 4] = w[3, 4] = value
    for role in (ask(x, AGREED, Silent()), score(w, AGREED, Silent())):
        with pytest.raises(RangeError) as refused:
            next(role)
        assert str(value) not in str(refused.value)
    with pytest.raises(RangeError):
        next(score(np.zeros((30, 9), dtype=np.int64), AGREED, Silent(), np.full(9, 1001)))
    for wrong in (np.zeros((20, 31), dtype=np.int64), np.zeros((20, 30))):
        with pytest.raises(ParameterError):
            next(ask(wrong, AGREED, Silent()))


def transcript_of(x, w, seed):
    run = run_pair(ask(x, AGREED, seeded(seed)), score(w, AGREED, seeded(seed + 1000)))
    return run[2].records, run[0], run[1]


def test_what_each_side_saw_is_uniform_whatever_the_other_holds():
    """Extreme inputs on both sides; residues, answers and shares by chi-square."""
    setting = AGREED.setting
    for x, w, seed in ((0, 0, 1), (2**15, 2**15, 2), (-(2**15), 2**15, 3)):
        (query, answer), mine, theirs = transcript_of(np.full((20, 30), x), np.full((30, 9), w), seed)
        for low, high in (("low", "high"), ("key_low", "key_high")):
            words = query.arrays[low] + (query.arrays[high].astype(np.int64) << 16)
            for row, prime in zip(words, setting.ring.moduli, strict=True):
                assert_uniform(row, prime)
        for part in answer.arrays.values():
            words = np.zeros((*part.shape[:-1], 8), dtype=np.uint8)
            words[..., : part.shape[-1]] = part
            assert_uniform(words.view("<u8"), 2.0**setting.wire_bits, cells=8)
        assert_uniform(mine, 2.0**40, cells=8)
        assert_uniform(theirs, 2.0**40, cells=8)


def test_sizes_do_not_depend_on_the_numbers_and_nothing_repeats():
    zeros, full = np.zeros((20, 30), dtype=np.int64), np.full((20, 30), 2**15)
    w = np.ones((30, 9), dtype=np.int64)
    runs = [transcript_of(x, w, seed)[0] for x, seed in ((zeros, 1), (full, 2), (full, 3))]
    assert len({tuple(record.form for record in records) for records in runs}) == 1
    seeds = {bytes(records[0].arrays[name]) for records in runs for name in ("seed", "key_seed")}
    assert len(seeds) == 6
    for name in ("mask", "body"):
        assert not np.array_equal(runs[1][1].arrays[name], runs[2][1].arrays[name])


def test_a_malformed_query_is_refused_by_the_scorer():
    role = score(np.ones((30, 9), dtype=np.int64), AGREED, seeded(1))
    assert isinstance(next(role), Receive)
    asker = ask(np.zeros((20, 30), dtype=np.int64), AGREED, seeded(1))
    sent = next(asker)
    assert isinstance(sent, Send)
    bad = dict(sent.arrays)
    bad["high"] = np.full_like(bad["high"], 255)
    with pytest.raises(CipherError):
        role.send(bad)


def test_several_jobs_may_be_under_way_and_masks_drawn_before_give_the_share_beforehand():
    x, w = np.full((20, 30), 3), np.full((30, 9), -2)
    constants = np.full(9, 5)
    masks = [Masks.draw(AGREED, secure()) for _ in range(2)]

    def asker():
        asked = [Asking(x, AGREED, secure()) for _ in masks]
        for one in asked:
            yield from one.send()
        shares = []
        for one in asked:
            shares.append((yield from one.receive()))
        return shares

    def scorer():
        shares = []
        for one in masks:
            shares.append((yield from score(w, AGREED, secure(), constants, one)))
        return shares

    mine, theirs, transcript = run_pair(asker(), scorer())
    assert [record.name for record in transcript][:2] == ["scores/query"] * 2
    for one, other, drawn in zip(mine, theirs, masks, strict=True):
        assert np.array_equal(other, drawn.share(constants))
        assert np.array_equal(signed((one + other) & np.uint64(2**40 - 1), 40), x @ w + 5)
        assert_uniform(drawn.share(), 2.0**40, cells=8)
    assert "Masks(...)" in repr(masks) and repr(Asking(x, AGREED, secure())) == "Asking(...)"
    with pytest.raises(ParameterError):
        next(score(w, replace(AGREED, constant=7), secure(), None, masks[0]))


def test_a_bound_on_all_weights_of_a_result_takes_fewer_bits_and_is_checked():
    loose = Scores(Matrix(20, 30, 9), 2**10, 2**12, 40)
    tight = replace(loose, share_bits=25, total=2**13)
    assert tight.setting.weight < loose.setting.weight
    assert Scores.of(tight.to_dict()) == tight
    w = np.zeros((30, 9), dtype=np.int64)
    w[:2, 3] = 2**12
    x = np.full((20, 30), -(2**10))
    mine, theirs, _ = run_pair(ask(x, tight, secure()), score(w, tight, secure()))
    assert np.array_equal(signed((mine + theirs) & np.uint64(2**25 - 1), 25), x @ w)
    w[2, 3] = 1
    with pytest.raises(RangeError, match="add up"):
        next(score(w, tight, secure()))
    with pytest.raises(ParameterError, match="leave its share"):
        replace(tight, share_bits=24)


def test_results_that_need_not_be_exact_are_off_by_one_at_most_and_take_smaller_messages():
    agreed = replace(AGREED, exact=False)
    assert Scores.of(agreed.to_dict()) == agreed and agreed.setting.hidden_bits == float("inf")
    assert len(agreed.setting.ring.moduli) < len(AGREED.setting.ring.moduli)
    off = set()
    for x, w in ((0, 0), (2**15, 2**15), (-(2**15), 2**15)):
        masks = Masks.draw(agreed, secure())
        features, weights = np.full((20, 30), x), np.full((30, 9), w)
        asker, scorer = ask(features, agreed, secure()), score(weights, agreed, secure(), None, masks)
        mine, theirs, _ = run_pair(asker, scorer)
        assert np.array_equal(theirs, masks.share())
        assert_uniform(mine, 2.0**40, cells=8)
        assert_uniform(theirs, 2.0**40, cells=8)
        off |= set((signed((mine + theirs) & np.uint64(2**40 - 1), 40) - features @ weights).ravel().tolist())
    assert off <= {-1, 0, 1}


def test_an_asker_who_encrypts_fractions_reads_weights_if_results_are_exact_and_nothing_otherwise():
    """The attack that `Setting` names: its errors are q / (t 2**j), and it looks between two shares."""
    w = np.random.default_rng(1).integers(-(2**15), 2**15, (30, 9))
    for exact in (True, False):
        agreed = replace(AGREED, exact=exact)
        read, _, _ = run_pair(_ask_fractions(agreed, 7, 8, seeded(3)), score(w, agreed, seeded(4)))
        missed = (read - w[7] % 2**8 / 2**8 + 0.5) % 1 - 0.5
        if exact:
            assert np.abs(missed).max() < 1 / 16
        else:
            assert_uniform((read * 2**15).astype(np.uint64), 2.0**15, cells=8)
            assert np.abs(missed).max() > 0.3


def _ask_fractions(agreed, feature, depth, bits):
    """An asker with 2**-depth where whole numbers belong, and what it reads between two shares."""
    from discreet.crypto.lattice import _errors, _packed, _random, _wide, keys

    setting, layout, ring = agreed.setting, agreed.layout, agreed.setting.ring
    secret, public = keys(setting, bits)
    one = np.zeros((layout.rows, layout.inner), dtype=np.int64)
    one[:, feature] = 1
    whole, seed = layout.left(one), bits.bytes(32)
    part = ring.modulus // 2 ** (setting.share_bits + depth)
    body = ring.forward(ring.reduce(ring.lift(whole, part) + _errors(whole.shape, bits)))
    a = _random(ring, seed, "cipher", whole[..., 0].size).reshape(-1, *whole.shape)
    low, high = _packed(ring, body - ring.product(a, secret.values[: len(ring.moduli), None, None]))
    key = {"key_seed": public.seed, "key_low": public.low, "key_high": public.high}
    yield Send("scores/query", {**key, "seed": seed, "low": low, "high": high})
    told = yield Receive("scores/answer", agreed.answer)
    ring, drop = setting.opening, np.int64(64 - setting.wire_bits)
    centred = _wide(told["mask"]).view(np.int64) << drop >> drop
    values = ring.forward(ring.lift(centred))
    product = ring.inverse(ring.product(values, secret.values[: len(ring.moduli), None, None]))
    opened = _wide(told["body"]) + ring.whole(product)[..., layout.positions]
    unit = np.uint64(1) << np.uint64(setting.wire_bits - setting.share_bits)
    return layout.read(opened & (unit - np.uint64(1))) / float(unit)
