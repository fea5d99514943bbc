import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import DataError, DomainError, ParameterError, RequestError, TooLargeError
from discreet.records import CHUNK_ROWS, LocalEngine, open_records
from discreet.records import memory as memory_room
from discreet.records.person import person_weights

RNG = np.random.default_rng(3)


def rows_of(records):
    chunks = [chunk for part in records.parts for chunk in part.chunks()]
    return np.concatenate([chunk.values for chunk in chunks], axis=1).T


def weights_of(records):
    return np.concatenate([chunk.weights for part in records.parts for chunk in part.chunks()])


def test_an_array_is_read_as_it_is():
    array = RNG.normal(size=(20_000, 3))
    records = open_records(array)
    assert records.names == ("x0", "x1", "x2") and records.dimension == 3 and records.person is None
    assert np.array_equal(rows_of(records), array)
    assert all(chunk.weights is None for part in records.parts for chunk in part.chunks())


@pytest.mark.parametrize("kind", ["i1", "u1", "i4", "u8", "f2", "f4", "?", ">f8", ">i2"])
def test_all_kinds_of_numbers_become_float64(kind):
    array = np.array([[0, 1], [1, 1], [0, 0]]).astype(kind)
    chunk = next(open_records(array).parts[0].chunks())
    assert chunk.values.dtype == np.float64 and chunk.values.flags.c_contiguous
    assert chunk.values.tolist() == [[0, 1, 0], [1, 1, 0]]


@pytest.mark.parametrize(
    "make", [np.asfortranarray, lambda a: a[::-1], lambda a: np.repeat(a, 2, axis=1)[:, ::2]]
)
def test_any_memory_layout_gives_contiguous_columns(make):
    array = make(RNG.normal(size=(9000, 2)))
    records = open_records(array)
    assert np.array_equal(rows_of(records), array)
    assert all(chunk.values.flags.c_contiguous for part in records.parts for chunk in part.chunks())


def test_lists_of_rows_and_other_array_likes_are_read():
    class Like:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0, 2.0]])

    assert rows_of(open_records([[1, 2.5], [3, 4]])).tolist() == [[1, 2.5], [3, 4]]
    assert rows_of(open_records(Like())).tolist() == [[1, 2]]


def test_columns_of_an_array_are_chosen_by_number_or_name_in_the_order_given():
    array = np.arange(12).reshape(4, 3)
    records = open_records(array, columns=[2, "x0"])
    assert records.names == ("x2", "x0")
    assert np.array_equal(rows_of(records), array[:, [2, 0]])


@pytest.mark.parametrize("columns", [[3], [-1], ["lat"], [1.0], [True]])
def test_a_column_that_the_array_has_not_is_refused(columns):
    with pytest.raises(DomainError, match="no such column"):
        open_records(np.zeros((2, 3)), columns=columns)


def test_a_column_asked_for_twice_is_refused():
    with pytest.raises(DomainError, match="twice"):
        open_records(np.zeros((2, 3)), columns=[1, "x1"])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (np.zeros(4), "reshape"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.zeros((0, 2)), "no rows"),
        (np.zeros((2, 0)), "no rows"),
        ([], "1 dimensions"),
        (7.0, "0 dimensions"),
        ([[1, 2], [3]], "all as long"),
        (np.array([["a", "b"]]), "not made of numbers"),
        (np.array([[1, None]]), "not made of numbers"),
        (np.zeros((1, 1), complex), "complex128"),
        (np.zeros((1, 1), np.longdouble), "up to 64 bits"),
        (np.zeros((1, 1), "M8[s]"), "datetime64"),
        (np.ma.masked_array([[1.0]], [[True]]), "masked"),
        (None, "0 dimensions"),
        (object(), "0 dimensions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_table_of_numbers_is_refused(source, words):
    with pytest.raises(DataError, match=re.escape(words)):
        open_records(source)


@pytest.mark.parametrize("person", [None, np.arange(6) % 2])
@pytest.mark.parametrize(("bad", "words"), [(np.nan, "'x1' has missing"), (np.inf, "'x1' holds infinite")])
def test_nan_and_infinity_are_refused_on_every_pass(bad, words, person):
    array = np.ones((6, 2))
    records = open_records(array, person=person)
    records.check()
    array[4, 1] = bad
    for action in (records.check, lambda: records.map_reduce(lambda chunk, _: {}, None)):
        with pytest.raises(DataError, match=words):
            action()


def test_rows_that_are_all_dropped_are_no_rows():
    records = open_records(np.full((5, 2), np.nan), missing="drop")
    with pytest.raises(DataError, match="no rows"):
        records.check()


def test_a_billion_rows_of_256_columns_stream_without_a_copy():
    array = np.broadcast_to(0.0, (10**9, 256))
    records = open_records(array)
    chunk = next(records.parts[-1].chunks())
    assert chunk.values.shape[0] == 256 and chunk.values.shape[1] <= CHUNK_ROWS
    assert sum(len(part.lines) for part in records.parts) == 10**9


@pytest.mark.parametrize("person", [np.broadcast_to(0, 10**9), np.broadcast_to("a", 10**9)])
def test_by_person_a_billion_rows_are_refused_before_memory_is_taken(person):
    with pytest.raises(TooLargeError, match="discreet prep"):
        open_records(np.broadcast_to(0.0, (10**9, 256)), person=person)


def test_a_2_tb_shaped_request_is_refused_before_memory_is_taken():
    with pytest.raises(TooLargeError, match="too wide"):
        open_records(np.broadcast_to(0.0, (1, 2**38)))


def test_a_part_that_would_flood_another_process_is_refused():
    part = open_records(np.broadcast_to(0.0, (10**9, 4096))).parts[0]
    with pytest.raises(TooLargeError, match="Use threads"):
        pickle.dumps(part)


IDS = {
    "integers": lambda people: people,
    "small integers": lambda people: people.astype(np.uint8),
    "text": lambda people: np.array([f"user {person}" for person in people]),
    "objects": lambda people: np.array([f"user {person}" for person in people], dtype=object),
    "list": lambda people: people.tolist(),
    "pandas": lambda people: pd.Series(people),
    "pandas category": lambda people: pd.Series([f"u{person}" for person in people], dtype="category"),
    "polars": lambda people: pl.Series(people),
    "arrow": lambda people: pa.chunked_array([people[:10], people[10:]]),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
@pytest.mark.parametrize("order", [np.sort, lambda people: people], ids=["sorted", "unsorted"])
def test_by_person_every_row_weighs_its_share(ids, order, monkeypatch):
    monkeypatch.setattr(memory_room, "PART_ROWS", 50)
    people = order(RNG.integers(0, 40, 500))
    array = np.stack([people, np.arange(500)], axis=1).astype(float)
    records = open_records(array, person=ids(people), rows_per_person=3)
    rows, weights = rows_of(records), weights_of(records)
    assert sorted(rows[:, 1]) == list(range(500))
    assert np.array_equal(array[rows[:, 1].astype(int)], rows)
    counts = np.bincount(people)
    assert weights.tolist() == person_weights(counts[rows[:, 0].astype(int)], 3.0).tolist()
    assert all(weights[rows[:, 0] == person].sum() <= 3 * (1 + 1e-12) for person in set(people.tolist()))


def test_one_person_lies_in_one_part(monkeypatch):
    monkeypatch.setattr(memory_room, "PART_ROWS", 50)
    people = np.concatenate([np.zeros(180), RNG.integers(0, 300, 1000)])
    records = open_records(people[:, None], person=people.astype(int))
    inside = [set(np.concatenate([c.values[0] for c in part.chunks()]).tolist()) for part in records.parts]
    assert len(inside) > 5
    assert sum(map(len, inside)) == len(set(people.tolist()))


def test_one_person_owning_everything_weighs_one_row():
    records = open_records(np.ones((100_000, 1)), person=np.zeros(100_000, dtype=int))
    assert len(records.parts) == 1
    assert weights_of(records).sum() == pytest.approx(1)
    assert set(weights_of(records).tolist()) == set(person_weights(np.array([100_000]), 1.0).tolist())


def test_dropped_rows_still_count_among_their_persons_rows():
    array = np.array([[1.0], [np.nan], [3.0], [4.0]])
    records = open_records(array, person=[7, 7, 8, 7], missing="drop")
    assert rows_of(records).ravel().tolist() == [1, 4, 3]
    assert weights_of(records).tolist() == [*person_weights(np.array([3, 3]), 1.0), 1]


@pytest.mark.parametrize(
    ("person", "words", "error"),
    [
        ("user", "no column names", ParameterError),
        ([1, 2], "does not fit", DataError),
        (np.zeros((3, 1), int), "does not fit", DataError),
        (5, "does not fit", DataError),
        ([1.0, 2.0, 3.0], "cannot tell people apart", DataError),
        ([True, False, True], "cannot tell people apart", DataError),
        (np.array(["1", None, "2"], dtype=object), "missing ids", DataError),
        (np.array([1, "a", 2], dtype=object), "mixes types", DataError),
        (np.array([2**70, 1, 2], dtype=object), "'person'", DataError),
        (np.ma.masked_array([1, 2, 3], [0, 1, 0]), "masked", DataError),
    ],
    ids=str,
)
def test_what_is_no_id_for_each_row_is_refused(person, words, error):
    with pytest.raises(error, match=words) as caught:
        open_records(np.zeros((3, 2)), person=person)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_rows_per_person_without_a_person_is_refused():
    with pytest.raises(ParameterError, match="person="):
        open_records(np.zeros((3, 2)), rows_per_person=2)


@pytest.mark.parametrize("bound", [0, -1, np.nan, np.inf, "many"])
def test_rows_per_person_out_of_range_is_refused(bound):
    with pytest.raises(RequestError, match="finite number above 0"):
        open_records(np.zeros((3, 2)), person=[1, 2, 3], rows_per_person=bound)


def test_an_unknown_rule_for_missing_values_is_refused():
    with pytest.raises(ParameterError, match="'error' or 'drop'"):
        open_records(np.zeros((3, 2)), missing="ignore")  # type: ignore[arg-type]


def test_the_repr_shows_columns_and_kind_but_no_count_and_no_value():
    records = open_records(np.full((4321, 2), 98765.0), person=np.full(4321, 55555), rows_per_person=3)
    assert repr(records) == "Records(array: x0, x1; one unit is one person, weight at most 3)"
    assert repr(open_records(np.zeros((4321, 99)))) == (
        "Records(array: x0, x1, x2, x3, x4, x5, x6, x7, ...; one unit is one row)"
    )
    assert not re.search("4321|98765|55555", repr(records.parts))


def summed(chunk, broadcast):
    weights = 1.0 if chunk.weights is None else chunk.weights
    return {"sum": np.rint(chunk.values * weights * broadcast).astype(np.int64).sum(axis=1)}


@pytest.mark.parametrize("order", [np.sort, lambda people: people], ids=["sorted", "unsorted"])
def test_processes_get_the_rows_of_their_part_alone(order, monkeypatch):
    monkeypatch.setattr(memory_room, "PART_ROWS", 4000)
    people = order(RNG.integers(0, 5000, 20_000))
    array = RNG.normal(size=(20_000, 2))
    records = open_records(array, person=people)
    assert len(records.parts) >= 4
    assert max(len(pickle.dumps(part)) for part in records.parts) < array.nbytes / 2
    threads = records.map_reduce(summed, 2**20, LocalEngine(2))["sum"]
    with LocalEngine(2, "processes") as engine:
        assert records.map_reduce(summed, 2**20, engine)["sum"].tolist() == threads.tolist()
