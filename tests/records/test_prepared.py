import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, ParameterError, PersonError
from discreet.records import LocalEngine, open_records, prepare
from discreet.records import merge as merge_room
from discreet.records import prep as prep_room
from discreet.records import source as source_room
from discreet.records.files import Stamp
from discreet.records.person import bucket_of, person_weights, plain_ids

RNG = np.random.default_rng(2)
ROWS = 5000
IDS = {
    "int32": lambda people: pa.array(people, pa.int32()),
    "uint64": lambda people: pa.array(people.astype(np.uint64) + np.uint64(2**64 - 1000)),
    "negative": lambda people: pa.array(people - 250),
    "text": lambda people: pa.array([f"ü{person}" for person in people]),
    "large text": lambda people: pa.array([f"u{person}" for person in people], pa.large_string()),
    "category": lambda people: pa.array([f"u{person}" for person in people]).dictionary_encode(),
}


def table(rows=ROWS, ids="int32"):
    people = RNG.integers(0, 30, rows) ** 2 % 500
    return pa.table(
        {
            "a": RNG.normal(size=rows),
            "user": IDS[ids](people),
            "row": np.arange(rows),
            "note": pa.array([f"n{row % 5}" for row in range(rows)]).dictionary_encode(),
            "when": pa.array(np.arange(rows), pa.timestamp("ms", "UTC")),
        }
    )


def prepared(tmp_path, source=None, name="out", **options):
    prepare(table() if source is None else source, "user", tmp_path / name, **options)
    return tmp_path / name


def summed(chunk, broadcast):
    product = chunk.values if chunk.weights is None else chunk.values * chunk.weights
    return {"sum": np.rint(product * broadcast).astype(np.int64).sum(axis=1)}


def files(folder):
    return sorted(folder.glob("*.parquet"))


@pytest.fixture
def small_runs(monkeypatch):
    """Many tiny runs, blocks and row groups, so that small tables take every turn of the merge."""
    monkeypatch.setattr(prep_room, "_RUN_BYTES", 10_000)
    monkeypatch.setattr(prep_room, "_FAN", 3)
    monkeypatch.setattr(prep_room, "_GROUP_ROWS", 150)
    monkeypatch.setattr(merge_room, "_BLOCK_BYTES", 1)  # 64 rows


@pytest.mark.parametrize("ids", list(IDS))
@pytest.mark.parametrize("buckets", [1, 4, None])
def test_every_person_lies_in_one_run_of_one_file_in_the_old_order(ids, buckets, tmp_path, small_runs):
    source = table(ids=ids)
    summary = prepare(source.slice(0), "user", tmp_path / "out", buckets=buckets)
    seen = []
    for number, file in enumerate(files(tmp_path / "out")):
        piece = pq.read_table(file)
        people = plain_ids(piece["user"], "user").combine_chunks()
        assert people.to_pylist() == sorted(
            people.to_pylist(), key=lambda p: p if type(p) is int else p.encode()
        )
        assert set(bucket_of(people, summary.buckets).tolist()) <= {number}
        seen.append(piece)
    whole = pa.concat_tables(seen)
    assert whole.schema.remove_metadata().names == source.schema.names
    expected = source.cast(whole.schema).to_pandas()
    got = whole.to_pandas()
    assert got.groupby("user", sort=False)["row"].apply(lambda rows: rows.is_monotonic_increasing).all()
    pd.testing.assert_frame_equal(got.sort_values("row").reset_index(drop=True), expected, check_dtype=False)
    assert summary.buckets == (buckets or 16) == len(summary.files)
    assert summary.files == tuple(file.name for file in files(tmp_path / "out"))


def test_the_order_of_a_persons_rows_survives_a_merge_of_many_blocks(tmp_path, small_runs):
    people = np.repeat(RNG.integers(0, 3, 50), 100)  # each run holds several blocks of each person
    source = pa.table({"user": people, "row": np.arange(len(people))})
    (file,) = files(prepared(tmp_path, source, buckets=1))
    whole = pq.read_table(file).to_pandas()
    assert whole["user"].is_monotonic_increasing
    assert whole["row"].tolist() == np.argsort(people, kind="stable").tolist()


def test_other_columns_keep_their_types(tmp_path):
    source = table(ids="category")
    kept = pq.read_schema(files(prepared(tmp_path, source))[0])
    for field in source.schema:
        expected = pa.string() if field.name in ("user", "note") else field.type
        assert kept.field(field.name).type == expected


@pytest.mark.parametrize("ids", list(IDS))
@pytest.mark.parametrize("bound", [1.0, 7.5])
def test_prepared_files_weigh_like_the_same_rows_in_memory(ids, bound, tmp_path, small_runs):
    source = table(ids=ids)
    options = {"columns": ["row", "a"], "person": "user", "rows_per_person": bound}
    memory = open_records(source, **options)
    streamed = open_records(prepared(tmp_path, source, buckets=5), **options)
    assert len(streamed.parts) == 5
    by_row = []
    for records in (memory, streamed):
        chunks = [chunk for part in records.parts for chunk in part.chunks()]
        rows = np.concatenate([chunk.values[0] for chunk in chunks])
        by_row.append(np.concatenate([chunk.weights for chunk in chunks])[np.argsort(rows)])
    assert by_row[0].tolist() == by_row[1].tolist()


SOURCES = {
    "pandas": lambda source, tmp: source.to_pandas(),
    "polars": lambda source, tmp: pl.from_arrow(source),
    "parquet": lambda source, tmp: save(source, tmp / "s.parquet"),
    "two files": lambda source, tmp: [
        save(source.slice(0, 700), tmp / "1.parquet"),
        save(source.slice(700), tmp / "2.parquet"),
    ],
    "csv": lambda source, tmp: save(source, tmp / "s.csv"),
    "csv.gz": lambda source, tmp: save(source, tmp / "s.csv.gz"),
}


def save(source, path):
    if path.suffix == ".parquet":
        pq.write_table(source, path, row_group_size=999)
    else:
        source.to_pandas().to_csv(path, index=False)
    return path


@pytest.mark.parametrize("make", list(SOURCES))
@pytest.mark.parametrize("ids", ["int32", "text"])
def test_whatever_can_be_opened_can_be_prepared(make, ids, tmp_path, small_runs):
    source = table(ids=ids)
    folder = prepared(tmp_path, SOURCES[make](source, tmp_path))
    records = open_records(folder, columns=["a", "row"], person="user")
    expected = open_records(source, columns=["a", "row"], person="user").map_reduce(summed, 2**20)["sum"]
    assert records.map_reduce(summed, 2**20)["sum"].tolist() == expected.tolist()
    assert pq.read_schema(files(folder)[0]).names == source.schema.names


def test_chosen_columns_are_kept_beside_the_person(tmp_path):
    folder = prepared(tmp_path, columns=["a"])
    assert pq.read_schema(files(folder)[0]).names == ["a", "user"]
    with pytest.raises(DataError, match="no column 'b'"):
        prepare(table(), "user", tmp_path / "other", columns=["b"])


def test_the_summary_shows_no_counts(tmp_path):
    source = save(table(4321), tmp_path / "s.parquet")
    assert "4321" not in repr(prepare(source, "user", tmp_path / "out"))


def test_prepared_files_are_plain_parquet_by_row(tmp_path):
    records = open_records(prepared(tmp_path), columns=["row"])
    assert records.map_reduce(summed, 1)["sum"].tolist() == [ROWS * (ROWS - 1) // 2]


def tamper(path, change, keep_stamp=True):
    """Rewrite a sealed file with its seal, and with its old time."""
    before = path.stat()
    content = pq.read_table(path)
    changed = change(content).replace_schema_metadata(content.schema.metadata)
    pq.write_table(changed, path)
    if keep_stamp:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def reverse(content):
    return content.take(np.arange(len(content))[::-1])


def second_run(content):
    order = np.arange(len(content))
    return content.take(np.concatenate([order[1:], order[:1]]))


def foreigner(content):
    last = content.slice(len(content) - 1)
    stray = next(
        p
        for p in range(10**6, 10**7)
        if bucket_of(pa.array([p]), 4)[0] != bucket_of(last["user"].combine_chunks(), 4)[0]
    )
    return pa.concat_tables([content, last.set_column(1, "user", pa.array([stray], pa.int32()))])


def hole(content):
    return content.set_column(1, "user", pa.array([*content["user"].to_pylist()[:-1], None], pa.int32()))


TAMPERINGS = {
    "reversed": (reverse, PersonError, "not sorted by person"),
    "two runs": (second_run, PersonError, "not sorted by person"),
    "a stray": (foreigner, PersonError, "belongs into another file"),
    "a hole": (hole, DataError, "has missing ids"),
}


@pytest.mark.parametrize("case", list(TAMPERINGS))
@pytest.mark.parametrize("workers", [1, 2])
def test_a_broken_promise_is_caught_on_every_pass(case, workers, tmp_path, monkeypatch):
    change, error, words = TAMPERINGS[case]
    folder = prepared(tmp_path, buckets=4)
    opened = {"columns": ["a"], "person": "user"}
    records = open_records(folder, **opened)
    records.check()
    victim = files(folder)[2]
    tamper(victim, change)
    monkeypatch.setattr(Stamp, "verify", lambda stamp: None)  # as if the change had gone unseen
    for _ in range(2):
        with pytest.raises(error, match=words) as caught:
            records.map_reduce(summed, 1, LocalEngine(workers))
        assert error is DataError or victim.name in str(caught.value)
        assert not any(str(person) in str(caught.value).replace(victim.name, "") for person in range(10, 500))
    with pytest.raises(error, match=words):
        open_records(folder, **opened).check()


@pytest.mark.parametrize("again", [0, 1])
@pytest.mark.parametrize("rows", [1, 8192, 65_535, 65_536, 65_537, 131_072])
def test_a_person_who_comes_back_at_any_row_is_caught(rows, again, tmp_path):
    seal = json.dumps({"person": "user", "bucket": 0, "buckets": 1, "hash": "splitmix64", "version": 1})
    first = np.minimum(np.arange(rows) + 1, 40) if rows > 1 else np.ones(1, dtype=np.int64)
    content = pa.table({"user": np.concatenate([first, [again], np.full(70_000, 50)])})
    content = content.append_column("a", pa.array(np.ones(len(content))))
    good = content.sort_by("user").replace_schema_metadata({b"discreet.prep": seal.encode()})
    pq.write_table(good, tmp_path / "good.parquet")
    open_records(tmp_path / "good.parquet", person="user").check()
    if first[-1] == again:
        return  # then they never left
    pq.write_table(content.replace_schema_metadata(good.schema.metadata), tmp_path / "bad.parquet")
    with pytest.raises(PersonError, match="not sorted by person"):
        open_records(tmp_path / "bad.parquet", person="user").check()


def test_a_changed_prepared_file_is_refused_before_it_is_read(tmp_path):
    folder = prepared(tmp_path)
    records = open_records(folder, columns=["a"], person="user")
    records.check()
    tamper(files(folder)[1], lambda content: content.slice(1), keep_stamp=False)
    with pytest.raises(DataError, match="has changed since"):
        records.check()


def test_an_incomplete_set_is_refused(tmp_path):
    folder = prepared(tmp_path, buckets=4)
    opened = {"columns": ["a"], "person": "user"}
    for source in (files(folder)[:3], files(folder)[0]):
        with pytest.raises(PersonError, match=r"not complete.*all 4"):
            open_records(source, **opened)
    files(folder)[1].unlink()
    with pytest.raises(PersonError, match="not complete"):
        open_records(folder, **opened)


def test_a_bucket_that_is_there_twice_is_refused(tmp_path):
    folder = prepared(tmp_path, buckets=4)
    (folder / "copy.parquet").write_bytes(files(folder)[1].read_bytes())
    with pytest.raises(PersonError, match="another file holds as well"):
        open_records(folder, columns=["a"], person="user")
    files(folder)[3].unlink()  # four files again, but not the four
    with pytest.raises(PersonError, match="another file holds as well"):
        open_records(folder, columns=["a"], person="user")


def test_buckets_of_different_preparations_are_refused(tmp_path):
    one, two = prepared(tmp_path, buckets=2), prepared(tmp_path, buckets=3, name="two")
    with pytest.raises(PersonError, match="different preparations"):
        open_records([*files(one), *files(two)[:1]], columns=["a"], person="user")


def test_files_that_were_prepared_only_in_part_are_refused(tmp_path):
    folder = prepared(tmp_path, buckets=2)
    content = pq.read_table(files(folder)[1])
    pq.write_table(content.replace_schema_metadata(None), files(folder)[1])
    with pytest.raises(PersonError, match=r"00001-of-00002\.parquet was not prepared"):
        open_records(folder, columns=["a"], person="user")


@pytest.mark.parametrize(
    "seal",
    [
        b"",
        b"{}",
        b"[]",
        b'{"person": "user", "bucket": 3, "buckets": 3, "hash": "splitmix64"}',
        b'{"person": "user", "bucket": "0", "buckets": 3, "hash": "splitmix64"}',
        b'{"person": "user", "bucket": 0, "buckets": 1, "hash": "splitmix64", "version": 2}',
    ],
)
def test_seals_that_make_no_sense_are_refused(seal, tmp_path):
    pq.write_table(table().replace_schema_metadata({b"discreet.prep": seal}), tmp_path / "x.parquet")
    with pytest.raises(PersonError, match="seal that this version cannot read"):
        open_records(tmp_path / "x.parquet", columns=["a"], person="user")


def test_ids_of_another_type_than_sealed_are_refused(tmp_path):
    seal = json.dumps({"person": "user", "bucket": 0, "buckets": 1, "hash": "blake2b-64", "version": 1})
    content = table().sort_by("user").replace_schema_metadata({b"discreet.prep": seal.encode()})
    pq.write_table(content, tmp_path / "x.parquet")
    with pytest.raises(PersonError, match="another type"):
        open_records(tmp_path / "x.parquet", columns=["a"], person="user").check()


def test_files_prepared_by_another_column_count_as_not_prepared(tmp_path, monkeypatch):
    folder = prepared(tmp_path)
    by_row = open_records(folder, columns=["a"], person="row")
    assert all(weight == 1 for part in by_row.parts for chunk in part.chunks() for weight in chunk.weights)
    monkeypatch.setattr(source_room, "IN_MEMORY_ROWS", 10)
    with pytest.raises(PersonError, match="discreet prep"):
        open_records(folder, columns=["a"], person="row")


def test_dropped_rows_still_count_in_prepared_files(tmp_path):
    source = pa.table({"user": [1, 1, 1, 2], "a": [1.0, None, 3.0, 4.0]})
    folder = prepared(tmp_path, source, buckets=1)
    (chunk,) = open_records(folder, person="user", missing="drop").parts[0].chunks()
    assert chunk.values.tolist() == [[1, 3, 4]]
    assert chunk.weights.tolist() == [*person_weights(np.array([3, 3]), 1.0), 1]


def test_a_folder_that_is_not_empty_is_refused(tmp_path):
    folder = prepared(tmp_path)
    before = {file: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(DataError, match="not empty"):
        prepare(table(), "user", folder)
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="not empty"):
        prepare(table(), "user", tmp_path / "file")
    assert before == {file: file.read_bytes() for file in folder.iterdir()}


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="cannot be written"):
        prepare(table(), "user", tmp_path / "file" / "out")


def test_a_folder_that_somebody_fills_meanwhile_is_left_alone(tmp_path, monkeypatch):
    real = prep_room.sort_run

    def meanwhile(*args):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_text("x")
        return real(*args)

    monkeypatch.setattr(prep_room, "sort_run", meanwhile)
    with pytest.raises(DataError, match="cannot be written"):
        prepare(table(), "user", tmp_path / "out")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "theirs"]


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path):
    (tmp_path / "empty").mkdir()
    prepare(table(), "user", tmp_path / "empty")
    prepare(table(), "user", tmp_path / "deep" / "er")
    assert len(files(tmp_path / "empty")) == len(files(tmp_path / "deep" / "er")) == 16


@pytest.mark.parametrize("stage", ["merge_bucket", "sort_run", "_flush"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_preparation_leaves_nothing(stage, error, tmp_path, monkeypatch):
    real, calls = getattr(prep_room, stage), []

    def interrupt(*args):
        calls.append(1)
        if len(calls) == 3 or stage == "sort_run":
            raise error
        return real(*args)

    monkeypatch.setattr(prep_room, stage, interrupt)
    with pytest.raises((KeyboardInterrupt, DataError)):
        prepare(table(), "user", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_preparation_leaves_no_file_that_looks_finished(tmp_path):
    save(table(), tmp_path / "s.parquet")
    script = """
import sys, time
from discreet.records import prep
real, calls = prep._flush, []
def slow(path):
    real(path); calls.append(1)
    if len(calls) == 5:
        print("now", flush=True); time.sleep(60)
prep._flush = slow
prep.prepare(sys.argv[1], "user", sys.argv[2])
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path / "s.parquet", tmp_path / "out"], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"now\n"
        child.send_signal(signal.SIGKILL)
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["s.parquet"]
    prepare(tmp_path / "s.parquet", "user", tmp_path / "out")  # and the next try goes through
    open_records(tmp_path / "out", columns=["a"], person="user").check()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pa.table({"user": pa.array([], pa.int64())}), "no rows"),
        (pa.table({"user": [1.5]}), "cannot tell people apart"),
        (pa.table({"user": [1, None]}), "missing ids"),
        (pa.table({"name": [1]}), "no column 'user'"),
        (pa.table([[1], [1]], names=["user", "user"]), "more than one column 'user'"),
    ],
)
def test_what_cannot_be_prepared_is_refused(source, words, tmp_path):
    with pytest.raises(DataError, match=words):
        prepare(source, "user", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("buckets", [0, -1, 10_001])
def test_a_number_of_buckets_out_of_range_is_refused(buckets, tmp_path):
    with pytest.raises(ParameterError, match="buckets"):
        prepare(table(), "user", tmp_path / "out", buckets=buckets)


def test_one_person_who_owns_three_million_rows_is_streamed(tmp_path):
    rows = 3_000_000
    write_sealed = pa.table({"user": np.zeros(rows, dtype=np.int32), "a": np.ones(rows, dtype=np.float32)})
    folder = prepared(tmp_path, write_sealed, buckets=1)
    records = open_records(folder, person="user")
    chunks = 0
    before = pa.total_allocated_bytes()
    for chunk in records.parts[0].chunks():
        assert (chunk.weights == person_weights(np.array([rows]), 1.0)).all()
        assert pa.total_allocated_bytes() - before < 16e6
        chunks += 1
    assert chunks >= rows / 8192
