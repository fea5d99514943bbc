"""Joint tables of many families: equal to the pooled counts by every route, and silent about the codes."""

import json
import os
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.family_cases import AGREED, pooled, right
from tests.protocols.make_families import VECTORS, vectors
from tests.protocols.uniform import assert_uniform

from discreet.crypto.narrow import unpack
from discreet.errors import DataError, ParameterError, RangeError, TooLargeError
from discreet.protocols import encrypting, families
from discreet.protocols.families import ROUTES, Families, Vector, cheaper, help_out, hold
from discreet.protocols.step import run_parties
from discreet.randomness import secure, seeded

LONG = os.environ.get("DISCREET_LONG") == "1"
TWO = (Vector("a", 3), Vector("b", 4))
RUNS = 600 if LONG else 100


def agreed_of(random, route, rows, largest=6):
    """Any holders, vectors and families that a route allows."""
    count = 2 if route in ("transfer", "lattice") else int(random.integers(3 if route == "three" else 2, 7))
    holders = tuple("abcdef"[:count])
    vectors = tuple(
        Vector(holders[index % count], int(random.integers(1, largest + 1)))
        for index in range(random.integers(count, 3 * count + 1))
    )
    chosen = []
    for _ in range(random.integers(1, 5)):
        parties = random.choice(holders, int(random.integers(2, min(count, 4) + 1)), replace=False)
        own = [[i for i, vector in enumerate(vectors) if vector.holder == party] for party in parties]
        chosen.append(tuple(int(random.choice(indices)) for indices in own))
    workers = tuple(random.choice(holders, 3, replace=False).tolist()) if route == "three" else ()
    return Families(rows, holders, vectors, tuple(chosen), route, workers)


def codes_of(agreed, random):
    return {
        name: [random.integers(0, agreed.vectors[i].size, agreed.rows) for i in agreed.own(name)]
        for name in agreed.holders
    }


def play(agreed, codes, source=lambda name: secure()):
    roles = {name: hold(name, codes[name], agreed, source(name)) for name in agreed.holders}
    if agreed.route == "helper":
        roles["helper"] = help_out(agreed, source("helper"))
    return run_parties(roles)


def moved(transcript):
    total = {}
    for record in transcript:
        way = record.sender, record.receiver
        total[way] = total.get(way, 0) + record.size
    return total


@given(st.sampled_from(["helper", "three"]), st.integers(1, 150), st.integers(0, 10**6))
@settings(max_examples=200 if LONG else 60, deadline=None)
def test_tables_equal_the_pooled_counts_and_bytes_what_was_announced(route, rows, seed):
    random = np.random.default_rng(seed)
    agreed = agreed_of(random, route, rows)
    codes = codes_of(agreed, random)
    out, transcript = play(agreed, codes)
    assert right(agreed, codes, out)
    assert moved(transcript) == agreed.bytes()


@given(st.sampled_from(["transfer", "lattice"]), st.integers(1, 150), st.integers(0, 10**6))
@settings(max_examples=60 if LONG else 12, deadline=None)
def test_two_alone_count_the_same(route, rows, seed):
    random = np.random.default_rng(seed)
    agreed = agreed_of(random, route, rows)
    codes = codes_of(agreed, random)
    out, transcript = play(agreed, codes)
    assert right(agreed, codes, out)
    assert moved(transcript) == agreed.bytes()


@pytest.mark.parametrize("route", ROUTES)
def test_sizes_up_to_twenty_and_every_piece_of_rows_count(route, monkeypatch):
    """Pieces of 64 rows, so that most runs have several and a last one that is shorter."""
    monkeypatch.setattr(families, "_CHUNK", 64)
    monkeypatch.setattr("discreet.protocols.encrypting._PIECE", 64)
    for seed in range(2 if route == "lattice" else 5):
        random = np.random.default_rng(seed)
        agreed = agreed_of(random, route, 150 + seed, largest=5 if route == "lattice" else 20)
        codes = codes_of(agreed, random)
        out, transcript = play(agreed, codes)
        assert route == "lattice" or set(agreed.chunks[:-1]) == {64}
        assert right(agreed, codes, out)
        assert moved(transcript) == agreed.bytes()


@pytest.mark.parametrize("bits", [22, 24, 32])
@pytest.mark.parametrize("route", ROUTES)
def test_wider_rings_are_exact_as_well(route, bits):
    """As many rows need, or noise: products then need limbs."""
    random = np.random.default_rng(3)
    agreed = replace(agreed_of(random, route, 2000, largest=4), least_bits=bits)
    assert agreed.ring_bits == bits
    codes = codes_of(agreed, random)
    assert right(agreed, codes, play(agreed, codes)[0])


def test_the_ring_is_the_smallest_that_holds_the_rows_and_a_sign():
    for rows, bits in ((1, 2), (3, 3), (2000, 12), (100_000, 18), (10**6, 21), (2**31 - 1, 32)):
        assert Families(rows, ("a", "b"), TWO, ((0, 1),), "helper").ring_bits == bits


class Given:
    """A helper's bits that were written down."""

    seeded = True

    def __init__(self, seeds):
        self.seeds = seeds

    def bytes(self, count):
        return self.seeds.pop(0)


def test_a_run_is_the_one_that_slow_integers_make():
    told = json.loads(VECTORS.read_text())
    assert told == json.loads(json.dumps(vectors()))
    for run in told["runs"]:
        agreed = Families.of(run["plan"])
        codes = {name: [np.array(codes)] for name, codes in zip("ab", run["codes"], strict=True)}
        sources = {"helper": Given([bytes.fromhex(seed) for seed in run["seeds"]])}
        out, transcript = play(agreed, codes, lambda name, sources=sources: sources.get(name, secure()))
        for record in transcript:
            if record.name != "families/seed":
                assert record.arrays["words"].tolist() == run[f"{record.sender} to {record.receiver}"]
        for name in "ab":
            assert out[name][0].tolist() == run[f"share of {name}"]


def test_packing_is_the_one_of_slow_integers():
    from discreet.crypto.narrow import pack

    for case in json.loads(VECTORS.read_text())["packing"]:
        assert pack(np.array(case["words"], dtype=np.uint32), case["bits"]).tolist() == case["packed"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"rows": 0}, ParameterError),
        ({"rows": 2**31}, ParameterError),
        ({"holders": ("a",)}, ParameterError),
        ({"holders": ("a", "a")}, ParameterError),
        ({"route": "carrier pigeon"}, ParameterError),
        ({"holders": ("a", "b", "c"), "route": "transfer"}, ParameterError),
        ({"holders": ("a", "b", "c"), "route": "lattice"}, ParameterError),
        ({"helper": "a"}, ParameterError),
        ({"route": "three"}, ParameterError),
        ({"holders": ("a", "b", "c"), "route": "three", "workers": ("a", "b", "x")}, ParameterError),
        ({"holders": ("a", "b", "c", "d"), "route": "three"}, ParameterError),
        ({"workers": ("a", "b", "c")}, ParameterError),
        ({"least_bits": 33}, ParameterError),
        ({"vectors": (Vector("a", 0), Vector("b", 4))}, ParameterError),
        ({"vectors": (Vector("x", 3), Vector("b", 4))}, ParameterError),
        ({"families": ((0,),)}, ParameterError),
        ({"families": ((0, 2),)}, ParameterError),
        ({"families": ((0, -1),)}, ParameterError),
        ({"vectors": (*TWO, Vector("a", 2)), "families": ((0, 2),)}, ParameterError),
        ({"vectors": (*TWO, Vector("a", 2)), "families": ((0, 1, 2),)}, ParameterError),
        ({"vectors": (Vector("a", 2**13), Vector("b", 2**12))}, TooLargeError),
    ],
)
def test_plans_that_make_no_sense_are_refused(change, error):
    sound = {"rows": 9, "holders": ("a", "b"), "vectors": TWO, "families": ((0, 1),), "route": "helper"}
    Families(**sound)
    with pytest.raises(error):
        Families(**(sound | change))


@pytest.mark.parametrize("name", AGREED)
def test_plain_data_says_the_same(name):
    agreed = AGREED[name]
    assert Families.of(json.loads(json.dumps(agreed.to_dict()))) == agreed


@pytest.mark.parametrize("route", ["helper", "transfer", "lattice", "three"])
def test_codes_that_were_not_agreed_are_refused_before_anything_is_sent_and_not_quoted(route):
    holders = ("a", "b", "c") if route == "three" else ("a", "b")
    agreed = Families(5, holders, TWO, ((0, 1),), route)
    for codes, error in (
        ([np.array([0, 1, 2, 77, 0])], RangeError),
        ([np.array([0, 1, -77, 2, 0])], RangeError),
        ([np.array([0, 1, 2, 0])], DataError),
        ([np.array([0.0, 1.0, 2.0, 0.0, 77.0])], DataError),
        ([], DataError),
        ([np.zeros(5, dtype=int)] * 2, DataError),
    ):
        with pytest.raises(error) as refused:
            next(hold("a", codes, agreed, secure()))
        assert "77" not in str(refused.value)
    with pytest.raises(ParameterError):
        next(hold("nobody", [], agreed, secure()))


def test_only_a_route_with_a_helper_has_one():
    agreed = Families(5, ("a", "b"), TWO, ((0, 1),), "transfer")
    with pytest.raises(ParameterError):
        next(help_out(agreed, secure()))


def test_who_has_shares_at_the_end():
    assert AGREED["families with a helper"].shareholders == ("a", "b")
    agreed = AGREED["families of three for a fourth"]
    assert agreed.shareholders == ("c", "a", "b")
    codes = codes_of(agreed, np.random.default_rng(1))
    assert play(agreed, codes)[0]["d"] is None


def test_the_helper_receives_nothing():
    agreed = AGREED["long families with a helper"]
    _, transcript = play(agreed, codes_of(agreed, np.random.default_rng(1)))
    assert not transcript.seen_by("helper")


def test_holders_without_a_common_family_send_each_other_nothing():
    vectors = tuple(Vector(name, 3) for name in "abcd")
    for route in ("helper", "three"):
        workers = tuple("abc") if route == "three" else ()
        agreed = Families(70, tuple("abcd"), vectors, ((0, 1), (2, 3)), route, workers)
        _, transcript = play(agreed, codes_of(agreed, np.random.default_rng(1)))
        ways = {(record.sender, record.receiver) for record in transcript}
        if route == "helper":
            assert ways == {("helper", name) for name in "abcd"} | {
                ("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")
            }  # fmt: skip
        else:
            assert not any(receiver == "d" for _, receiver in ways)


def test_each_vector_is_masked_once_however_many_families_it_is_in():
    vectors = (Vector("a", 5), *(Vector("b", 3) for _ in range(4)))
    few = Families(640, ("a", "b"), vectors, ((0, 1),), "helper")
    many = replace(few, families=((0, 1), (0, 2), (0, 3), (0, 4)))
    assert many.bytes()["a", "b"] == few.bytes()["a", "b"] == 640 * 4 * 11 // 8
    three = replace(many, holders=("a", "b", "c"), route="three")
    assert sum(three.bytes().values()) - 640 * (4 + 4 * 2) * 11 // 8 == 6 * 32, "words and keys"
    few, many = replace(few, route="transfer"), replace(many, route="transfer")
    assert many.bytes()["a", "b"] < few.bytes()["a", "b"] + 5 * 640 * 16 * 2


def test_frames_add_little_to_what_was_announced():
    from discreet.wire.frame import write_message

    for name in ("families with a helper", "families by transfers", "families of three"):
        agreed = replace(AGREED[name], rows=20_000)
        _, transcript = play(agreed, codes_of(agreed, np.random.default_rng(1)))
        framed = sum(
            len(frame) for record in transcript for frame in write_message(0, record.name, record.arrays)
        )
        assert 1 <= framed / sum(agreed.bytes().values()) <= 1.01


def test_memory_is_bounded_by_the_piece_not_by_the_rows():
    vectors = (Vector("a", 1000), Vector("b", 900), Vector("c", 5))
    for route in ("helper", "three"):
        agreed = Families(10**6, ("a", "b", "c"), vectors, ((0, 1), (2, 1)), route)
        assert max(agreed.chunks) * 1000 <= 2**21
        assert sum(agreed.chunks) == 10**6


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 640, 2**14, 2**18 + 1])
def test_pieces_are_counted_by_their_size_without_walking_through_them(rows):
    for agreed in AGREED.values():
        agreed = replace(agreed, rows=rows)
        assert agreed.sizes == Counter(agreed.chunks)
        if agreed.route == "lattice":
            several = {("a", "b"): 0, ("b", "a"): 0}
            for name, job in encrypting.jobs(agreed):
                back = (name, "b" if name == "a" else "a")
                several[back] += sum(limit.most for limit in job.query.values())
                several[back[::-1]] += sum(limit.most for limit in job.answer.values())
            assert several == agreed.bytes()
    largest = replace(AGREED["families with a helper"], rows=2**31 - 1)
    assert sum(size * count for size, count in largest.sizes.items()) == largest.rows
    assert largest.rounds() > largest.rows // 2**14  # in no time, and without a list of pieces


def test_the_cheaper_way_for_two_depends_on_the_line():
    vectors = (Vector("a", 4), *(Vector("b", 4) for _ in range(19)))
    pairs = tuple((0, index) for index in range(1, 20))
    agreed = Families(10**6, ("a", "b"), vectors, pairs, "transfer")
    assert cheaper(agreed, line=1e10).route == "transfer"
    assert cheaper(agreed, line=2e7).route == "lattice"
    assert agreed.seconds(line=1e7) > agreed.seconds(line=1e9) > 0
    assert agreed.seconds(delay=0.2) - agreed.seconds(delay=0.1) == pytest.approx(0.1 * agreed.rounds())


WORDS = {"families/masked", "families/passed", "families/correction", "families/part", "families/shared",
         "families/offered", "families/tables"}  # fmt: skip


def received(agreed, transcript, party):
    """Narrow words that a party received, one array a message."""
    found = []
    for record in transcript.seen_by(party):
        if record.name in WORDS:
            packed = record.arrays["words"]
            whole = 64 * packed.size // agreed.ring_bits
            found.append(unpack(packed, (whole,), agreed.ring_bits))
        else:
            assert record.name.split("/")[1] in {"seed", "keys", "zero", "offer", "answer", "columns"}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in AGREED if "lattice" not in name])
@pytest.mark.parametrize("value", [0, 1])
def test_all_that_a_party_receives_is_uniform_whatever_the_others_hold(name, value):
    """Every message, and sums and differences of any two of one size: no mask served twice."""
    agreed = replace(AGREED[name], rows=640)
    codes = {
        party: [np.full(640, value * (agreed.vectors[i].size - 1)) for i in agreed.own(party)]
        for party in agreed.holders
    }
    _, transcript = play(agreed, codes)
    ring, looked = 2.0**agreed.ring_bits, 0
    for party in agreed.holders:
        words = [array for array in received(agreed, transcript, party) if array.size >= 640]
        columns = [column for array in words for column in array.reshape(-1, 640)]
        looked += len(columns)
        for index, column in enumerate(columns):
            assert_uniform(column, ring)
            for other in columns[:index]:
                for both in (column + other, column - other):
                    assert_uniform(both & np.uint32(2**agreed.ring_bits - 1), ring, cells=16)
    assert looked > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["families with a helper", "long families with a helper", "families of three"]
)
def test_shares_and_small_messages_are_uniform_over_many_runs(name):
    """Each cell of each share, and the helper's tables, over runs of the same few rows."""
    agreed = replace(AGREED[name], rows=3)
    codes = {party: [np.zeros(3, dtype=int) for _ in agreed.own(party)] for party in agreed.holders}
    ring = 2.0**agreed.ring_bits
    shares, told = {}, {}
    for _ in range(RUNS):
        out, transcript = play(agreed, codes)
        for party in agreed.shareholders:
            for number, family in enumerate(agreed.families):
                if (
                    all(agreed.vectors[index].holder != party for index in family)
                    and agreed.route == "helper"
                ):
                    assert not out[party][number].any()
                    continue
                shares.setdefault((party, number), []).append(out[party][number])
            for turn, words in enumerate(received(agreed, transcript, party)):
                told.setdefault((party, turn), []).append(words)
    for stack in shares.values():
        for cell in np.stack(stack).reshape(RUNS, -1).T:
            assert_uniform(cell, ring, cells=8)
    for stack in told.values():
        columns = np.stack(stack).T
        used = [column for column in columns if column.any()]
        assert used
        for column in used:
            assert_uniform(column, ring, cells=8)


def test_sessions_do_not_share_masks():
    agreed = replace(AGREED["families with a helper"], rows=640)
    codes = codes_of(agreed, np.random.default_rng(1))
    first, second = (play(agreed, codes)[1] for _ in range(2))
    for party in agreed.holders:
        for one, other in zip(received(agreed, first, party), received(agreed, second, party), strict=True):
            if one.size >= 640:
                assert_uniform((one - other) & np.uint32(2**agreed.ring_bits - 1), 2.0**agreed.ring_bits)


def test_other_plans_give_other_masks_from_the_same_seed():
    agreed = AGREED["families with a helper"]
    codes = codes_of(agreed, np.random.default_rng(1))
    other = replace(agreed, families=(*agreed.families, (4, 1)))
    runs = [play(plan, codes, lambda name: seeded(5))[1] for plan in (agreed, other)]
    first, second = (
        next(
            record.arrays["words"]
            for record in run
            if record.name == "families/masked" and record.sender == "b"
        )
        for run in runs
    )
    assert first[:12].all() and not np.isin(first[:12], second).any()


def test_an_opened_table_is_the_pooled_one():
    agreed = AGREED["families of three"]
    codes = codes_of(agreed, np.random.default_rng(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out, _ = play(agreed, codes)
    whole = sum(out[name][2] for name in agreed.shareholders) & np.uint64(2**agreed.ring_bits - 1)
    assert whole.tolist() == pooled(agreed, codes)[2].tolist()


@pytest.mark.parametrize("route", ROUTES)
def test_no_family_and_no_column_to_send_are_fine(route):
    """Nothing to count, or only vectors with one code: tables are margins, and nothing travels but keys."""
    holders = tuple("abc") if route == "three" else tuple("ab")
    for chosen in ((), ((0, 1),), ((2, 1),)):
        agreed = Families(1, holders, (Vector("a", 1), Vector("b", 1), Vector("a", 4)), chosen, route)
        codes = codes_of(agreed, np.random.default_rng(1))
        out, transcript = play(agreed, codes)
        assert right(agreed, codes, out)
        assert moved(transcript) == agreed.bytes()
        assert not any(record.name in {"families/masked", "families/offered"} for record in transcript)


@pytest.mark.parametrize("rows", [50, 2**18 + 1, 10**6])
def test_over_the_lattice_the_columns_of_a_whole_run_are_hidden_but_for_two_to_the_minus_40(rows):
    from discreet.protocols.encrypting import jobs

    vectors = tuple(Vector("ab"[index % 2], 5) for index in range(12))
    agreed = Families(rows, ("a", "b"), vectors, tuple((i, i + 1) for i in range(11)), "lattice")
    asked = jobs(agreed)
    assert len(asked) == -(-rows // 2**18) * 24, "six vectors of four columns lead"
    assert {job.among for _, job in asked} == {len(asked)}
    alone = [job.setting.flood_bits - np.log2(job.layout.opened * job.setting.gathered) for _, job in asked]
    assert sum(2.0**-bits for bits in alone) <= 2.0**-40
