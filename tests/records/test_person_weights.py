import hashlib
import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError, ParameterError
from discreet.records.person import (
    RunWeights,
    bucket_of,
    check_rows_per_person,
    group_rows,
    person_weights,
    plain_ids,
    run_lengths,
)

BOUNDS = st.floats(1e-6, 1e6, allow_nan=False)


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=30), BOUNDS)
def test_the_rows_of_one_person_share_at_most_rows_per_person(counts, bound):
    for count, weight in zip(counts, person_weights(np.array(counts), bound).tolist(), strict=True):
        assert weight <= 1
        assert Fraction(weight) * count <= Fraction(bound)  # exactly, not up to rounding
        assert weight >= min(1, bound / count) * (1 - 2**-51)


def test_weights_are_exact_where_floats_are():
    assert person_weights(np.array([1, 2, 4, 8]), 2.0).tolist() == [1, 1, 0.5, 0.25]


def test_a_vanishing_bound_gives_vanishing_weights():
    assert person_weights(np.array([10**6]), 5e-324).tolist() == [0.0]


@pytest.mark.parametrize("bound", [0, -1, float("nan"), float("inf"), "2", None, True, [1]])
def test_rows_per_person_must_be_a_finite_number_above_0(bound):
    with pytest.raises(ParameterError, match="rows_per_person"):
        check_rows_per_person(bound)


def splitmix64(value):
    z = (value + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(1, 10_000))
def test_integers_are_hashed_by_splitmix64(values, buckets):
    assert bucket_of(pa.array(values, pa.int64()), buckets).tolist() == [
        splitmix64(value % 2**64) % buckets for value in values
    ]


def test_splitmix64_is_the_published_one():
    assert splitmix64(0) == 0xE220A8397B1DCDAF


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint64()])
def test_the_width_of_an_integer_does_not_move_its_bucket(kind):
    assert bucket_of(pa.array([5, 100], kind), 97).tolist() == bucket_of(pa.array([5, 100]), 97).tolist()


@given(st.lists(st.text(), min_size=1), st.integers(1, 10_000))
def test_text_is_hashed_by_blake2b(texts, buckets):
    expected = [
        int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") % buckets
        for text in texts
    ]
    for kind in (pa.string(), pa.large_string()):
        assert bucket_of(pa.array(texts, kind), buckets).tolist() == expected


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([1, 2], pa.uint8()),
        pa.array(["a", "b"]),
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"], pa.string_view()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]),
    ],
    ids=lambda ids: str(ids.type),
)
def test_integers_and_text_are_ids(ids):
    plain = plain_ids(ids, "user")
    assert plain.to_pylist() == ids.to_pylist()
    assert not pa.types.is_dictionary(plain.type)


@pytest.mark.parametrize(
    "kind",
    [pa.float64(), pa.bool_(), pa.timestamp("s"), pa.binary(), pa.decimal128(5, 1), pa.null()],
    ids=str,
)
def test_other_types_cannot_tell_people_apart(kind):
    with pytest.raises(DataError, match=f"person column 'user'.*got '{re.escape(str(kind))}'"):
        plain_ids(pa.array([], kind), "user")


@pytest.mark.parametrize(
    "ids", [pa.array([1, None]), pa.array(["a", None]), pa.array(["a", None]).dictionary_encode()]
)
def test_missing_ids_are_refused(ids):
    with pytest.raises(DataError, match="'user' has missing ids"):
        plain_ids(ids, "user")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60))
def test_grouping_keeps_people_together_and_their_rows_in_order(people):
    order, counts = group_rows(pa.array(people))
    order = np.arange(len(people)) if order is None else order
    ends = np.cumsum(counts)
    seen = []
    for start, stop in zip(ends - counts, ends, strict=True):
        rows = order[start:stop].tolist()
        assert rows == sorted(rows) and len({people[row] for row in rows}) == 1
        seen.append(people[rows[0]])
    assert len(set(seen)) == len(seen) and sorted(order.tolist()) == list(range(len(people)))


@given(
    st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=30),
    st.lists(st.integers(1, 50), min_size=1),
    st.lists(st.integers(1, 50), min_size=1),
    st.booleans(),
)
def test_weights_do_not_depend_on_how_ids_or_rows_are_cut(runs, id_sizes, row_sizes, text):
    lengths = [length for length, _ in runs]
    people = np.repeat(np.arange(len(runs)), lengths)
    ids = pa.array([f"{person:04}" for person in people]) if text else pa.array(people)
    seen = []
    batches = (ids[a:b] for a, b in cuts(len(people), id_sizes))
    weights = RunWeights(run_lengths(batches, lambda people: seen.append(people.to_pylist())), 1.0)
    taken = np.concatenate([weights.take(b - a) for a, b in cuts(len(people), row_sizes)])
    weights.finish()
    assert taken.tolist() == np.repeat(person_weights(np.array(lengths), 1.0), lengths).tolist()
    firsts = list(dict.fromkeys(person for batch in seen for person in batch))
    assert firsts == list(dict.fromkeys(ids.to_pylist()))


def cuts(total, sizes):
    start = turn = 0
    while start < total:
        stop = min(total, start + sizes[turn % len(sizes)])
        yield start, stop
        start, turn = stop, turn + 1


@pytest.mark.parametrize("rows", [4, 6])
def test_ids_and_rows_of_different_number_are_refused(rows):
    weights = RunWeights(run_lengths(iter([pa.array([1, 1, 2, 2, 2])]), lambda people: None), 1.0)
    with pytest.raises(DataError, match="differ in length"):
        weights.take(rows)
        weights.finish()


def test_a_person_who_owns_every_row_costs_no_memory_when_read_ahead():
    ids = pa.array(np.zeros(1000, dtype=np.int64))
    weights = RunWeights(run_lengths((ids for _ in range(1000)), lambda people: None), 1.0)
    assert weights.take(10).tolist() == person_weights(np.array([1_000_000]), 1.0).repeat(10).tolist()
    assert len(weights._ends) < 10
