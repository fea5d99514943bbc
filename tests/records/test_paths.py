import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, DomainError, PersonError
from discreet.records import CHUNK_ROWS, open_records
from discreet.records import csv as csv_room
from discreet.records import files as files_room
from discreet.records import source as source_room

RNG = np.random.default_rng(11)
SECRET = "zanzibar"


def table(rows, seed=0):
    values = np.random.default_rng(seed).normal(size=(2, rows))
    return pa.table({"a": values[0], "b": values[1], "user": np.arange(rows) % 7})


def write(path, source=None, **options):
    source = table(100) if source is None else source
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(source, path, **options)
    else:
        text = source.to_pandas().to_csv(index=False)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def read(records):
    return np.concatenate([c.values for part in records.parts for c in part.chunks()], axis=1)


ENDINGS = pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz"])


@ENDINGS
def test_a_file_is_found_by_path_text_glob_and_list(ending, tmp_path):
    first, second = write(tmp_path / f"1.{ending}"), write(tmp_path / f"2.{ending}", table(50, seed=1))
    both = np.concatenate([table(100).to_pandas(), table(50, seed=1).to_pandas()])[:, :2].T
    assert np.allclose(read(open_records(first, columns=["a", "b"])), both[:, :100], rtol=1e-15)
    for source in (
        [first, str(second)],
        str(tmp_path / f"*.{ending}"),
        tmp_path / f"?.{ending}",
        (first, second),
    ):
        assert np.allclose(read(open_records(source, columns=["a", "b"])), both, rtol=1e-15)


def test_a_folder_stands_for_its_parquet_files(tmp_path):
    write(tmp_path / "in" / "1.parquet")
    write(tmp_path / "in" / "2.parquet", table(50))
    (tmp_path / "in" / "_SUCCESS").write_text("")
    (tmp_path / "in" / ".hidden.parquet").write_text("")
    assert read(open_records(tmp_path / "in")).shape == (3, 150)
    assert read(open_records([tmp_path / "in", write(tmp_path / "3.parquet")])).shape == (3, 250)


def test_a_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "x.parquet")
    assert read(open_records("~/x.parquet")).shape == (3, 100)


def test_a_name_with_pattern_letters_is_taken_literally_when_it_exists(tmp_path):
    write(tmp_path / "x[1].parquet")
    assert read(open_records(tmp_path / "x[1].parquet")).shape == (3, 100)


@pytest.mark.parametrize("groups", [1, 3, 1000, 50_000])
def test_parquet_is_read_whole_whatever_its_row_groups(groups, tmp_path):
    source = table(50_000)
    path = write(tmp_path / "x.parquet", source, row_group_size=max(groups, 50))
    records = open_records(path, columns=["b", "a"])
    chunks = [chunk for part in records.parts for chunk in part.chunks()]
    assert all(chunk.values.shape[1] <= CHUNK_ROWS and chunk.values.flags.c_contiguous for chunk in chunks)
    assert np.array_equal(read(records), np.stack([source["b"], source["a"]]))


def test_parquet_parts_are_ranges_of_row_groups(tmp_path):
    path = write(tmp_path / "x.parquet", table(600_000), row_group_size=20_000)
    records = open_records(path)
    assert 2 <= len(records.parts) <= 64
    assert sorted(group for part in records.parts for group in part.groups) == list(range(30))


@pytest.mark.parametrize("name", ["a.b", "weird name", "ü", "x[0]"])
def test_columns_of_any_name_are_read(name, tmp_path):
    path = write(tmp_path / "x.parquet", pa.table({"a": [0.0], name: [5.0]}))
    assert read(open_records(path, columns=[name])).tolist() == [[5]]


def test_files_of_differing_schemas_are_refused(tmp_path):
    write(tmp_path / "1.parquet")
    for number, other in enumerate(
        (
            table(5).rename_columns(["a", "c", "user"]),
            table(5).cast(pa.schema({"a": "float", "b": "double", "user": "int64"})),
        )
    ):
        write(tmp_path / "2.parquet", other)
        with pytest.raises(DataError, match=r"2\.parquet has other columns than 1\.parquet"):
            open_records(tmp_path, columns=["a"])
        write(tmp_path / f"{number}.csv", other)
    write(tmp_path / "2.csv")
    with pytest.raises(DataError, match="other columns"):
        open_records(tmp_path / "*.csv", columns=["a"])


@ENDINGS
def test_a_file_given_twice_is_refused_whatever_its_names(ending, tmp_path):
    path = write(tmp_path / f"x.{ending}")
    link, hard = tmp_path / f"soft.{ending}", tmp_path / f"hard.{ending}"
    link.symlink_to(path)
    os.link(path, hard)
    for source in ([path, path], [path, link], [hard, path], tmp_path / f"*.{ending}"):
        with pytest.raises(DataError, match="given twice"):
            open_records(source)


@ENDINGS
def test_damaged_and_foreign_files_are_refused(ending, tmp_path):
    path = write(tmp_path / f"x.{ending}", table(50_000))
    whole = path.read_bytes()
    broken = {"cut": whole[: len(whole) // 2], "foreign": os.urandom(4096), "empty": b""}
    if ending == "csv":
        broken = {"ragged": b"a,b,user\n1,2,3\n" + SECRET.encode(), "empty": b""}
    for content in broken.values():
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be read" if content else "is empty") as caught:
            open_records(path, columns=["a"]).check()
        assert SECRET not in str(caught.value)


def test_damage_inside_a_parquet_file_is_refused_when_it_is_read(tmp_path):
    path = write(tmp_path / "x.parquet", table(50_000))
    content = bytearray(path.read_bytes())
    content[4:2000] = os.urandom(1996)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read.*write it again"):
        open_records(path, columns=["a"]).check()


def test_paths_that_lead_nowhere_are_refused_with_a_remedy(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "nested" / "x.parquet")
    (tmp_path / "nested" / "deeper").mkdir()
    (tmp_path / "x.txt").write_text("hello")
    os.mkfifo(tmp_path / "pipe.csv")
    cases = {
        tmp_path / "none.parquet": "there is no file",
        tmp_path / "none*.parquet": "no file matches",
        tmp_path / "empty": "no Parquet file in",
        tmp_path / "nested": r"holds a folder, 'deeper'.*\*\*",
        tmp_path / "x.txt": "cannot tell how to read",
        tmp_path / "pipe.csv": "not a plain file",
        tmp_path / "x.txt" / "y.parquet": "cannot be read",
        "x\0.parquet": "character 0",
        "~nobody-of-that-name/x.parquet": "there is no file",
        "s3://bucket/x.parquet": "there is no file",
    }
    for source, words in cases.items():
        with pytest.raises(DataError, match=words):
            open_records(source)
    write(tmp_path / "x.parquet"), write(tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"only \.parquet files, or only"):
        open_records([tmp_path / "x.parquet", tmp_path / "x.csv"])


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "x.parquet")

    def forbid(*_):
        raise PermissionError(13, "Permission denied", SECRET)

    monkeypatch.setattr(Path, "open", forbid)
    with pytest.raises(DataError, match=r"may not be read.*owner"):
        open_records(path)


@ENDINGS
def test_no_rows_in_any_file_are_refused(ending, tmp_path):
    write(tmp_path / f"1.{ending}", table(0))
    write(tmp_path / f"2.{ending}", table(0))
    with pytest.raises(DataError, match="no rows"):
        open_records(tmp_path / f"*.{ending}", columns=["a"])
    write(tmp_path / f"3.{ending}", table(5))
    assert read(open_records(tmp_path / f"*.{ending}", columns=["a"])).shape == (1, 5)


@ENDINGS
@pytest.mark.parametrize("change", ["grow", "touch", "replace", "remove"])
def test_a_file_that_changed_since_it_was_opened_is_refused_on_a_later_pass(ending, change, tmp_path):
    path = write(tmp_path / f"x.{ending}")
    records = open_records(path, columns=["a"])
    records.check()
    if change == "grow":
        write(path, table(101))
    elif change == "touch":
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    else:
        kept = path.stat()
        shutil.copy(path, tmp_path / "copy")
        os.utime(tmp_path / "copy", ns=(kept.st_atime_ns, kept.st_mtime_ns))
        path.unlink()
        if change == "replace":
            (tmp_path / "copy").rename(path)
    with pytest.raises(DataError, match=r"has changed since|there is no file"):
        records.check()


@ENDINGS
def test_a_file_that_changes_while_it_is_read_is_refused_before_the_pass_ends(ending, tmp_path):
    path = write(tmp_path / f"x.{ending}", table(30_000))
    chunks = open_records(path, columns=["a"]).parts[0].chunks()
    next(chunks)
    os.utime(path, ns=(0, 5))
    with pytest.raises(DataError, match="has changed since"):
        list(chunks)


@ENDINGS
@pytest.mark.parametrize("limit", ["rows", "bytes"])
def test_large_files_that_nobody_prepared_are_refused_with_the_command_to_run(
    ending, limit, tmp_path, monkeypatch
):
    path = write(tmp_path / f"x.{ending}")
    open_records(path, columns=["a"], person="user").check()
    if limit == "rows":
        monkeypatch.setattr(source_room, "IN_MEMORY_ROWS", 99)
    else:
        monkeypatch.setattr(source_room, "_IN_MEMORY_BYTES", 999)
        monkeypatch.setattr("discreet.records.csv._IN_MEMORY_BYTES", {".csv": 999, ".gz": 999})
    with pytest.raises(PersonError, match=r"too large.*`discreet prep .*x\..* --person user --out FOLDER`"):
        open_records(path, columns=["a"], person="user")
    open_records(path, columns=["a"])


def test_csv_columns_that_stop_being_numbers_are_named_without_the_value(tmp_path):
    rows = ["a,b"] + ["1,2"] * 300_000 + [f"1,{SECRET}"]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    records = open_records(tmp_path / "x.csv", columns=["a", "b"])
    with pytest.raises(DataError, match=r"column 'b' of x\.csv is not made of numbers") as caught:
        records.check()
    assert SECRET not in str(caught.value)
    assert open_records(tmp_path / "x.csv", columns=["a"]).check() is None


@pytest.mark.parametrize("word", ["", "?", "NA", "NaN", "nan", "null", '""'])
def test_csv_words_for_missing_values(word, tmp_path):
    (tmp_path / "x.csv").write_text(f"a,b\n1,2\n{word},3\n")
    assert read(open_records(tmp_path / "x.csv", columns=["a", "b"], missing="drop")).tolist() == [[1], [2]]


def test_csv_ids_are_text_letter_by_letter(tmp_path):
    (tmp_path / "x.csv").write_text("user,a\n7,1\n07,2\n7,3\n")
    chunk = next(open_records(tmp_path / "x.csv", columns=["a"], person="user").parts[0].chunks())
    assert chunk.values.tolist() == [[1, 3, 2]] and chunk.weights.tolist() == [0.5, 0.5, 1]


def test_csv_in_the_wild(tmp_path):
    text = '\ufeffname,"a, b",c\r\n"one\r\ntwo",1e3,-0\r\n"say ""hi""", 2.5 ,+7\r\n'
    (tmp_path / "x.csv").write_text(text, encoding="utf-8", newline="")
    records = open_records(tmp_path / "x.csv", columns=["a, b"])
    assert read(records).tolist() == [[1000, 2.5]]


def test_csv_columns_are_declared_since_their_types_would_come_from_the_rows(tmp_path):
    (tmp_path / "x.csv").write_text("a,i\n1.5,3\n")
    with pytest.raises(DomainError, match="not named"):
        open_records(tmp_path / "x.csv")


def test_huge_csv_fields_do_not_break_the_chunks(tmp_path):
    note = "x" * (csv_room._BLOCK_BYTES // 3)
    (tmp_path / "x.csv").write_text("a,note\n" + "".join(f"{row},{note}\n" for row in range(10)))
    assert read(open_records(tmp_path / "x.csv", columns=["a"])).tolist() == [list(range(10))]


def test_stamps_show_no_sizes(tmp_path):
    assert "100" not in repr(open_records(write(tmp_path / "x.parquet"), columns=["a"]))
    assert files_room.kind_of("X.CSV.GZ") == "csv"
