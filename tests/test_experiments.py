"""Experiments run, on invented data of the shape they expect; the figures themselves come from real data."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments import digits, gowalla, lifesci, places


@pytest.fixture
def invented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    draw = np.random.default_rng(0)
    (tmp_path / "tabular").mkdir()
    (tmp_path / "location").mkdir()
    rows = draw.normal(scale=2, size=(400, 10))
    with gzip.open(tmp_path / "tabular" / "lifesci_ds1_10.csv.gz", "wt") as file:
        file.write(",".join(f"c{i}" for i in range(11)) + "\n")
        np.savetxt(file, np.column_stack([rows, np.ones(400)]), delimiter=",")
    table = pa.table(
        {
            "user": draw.integers(0, 60, 500),
            "lat": draw.uniform(40.5, 40.9, 500),
            "lon": draw.uniform(-74.2, -73.8, 500),
        }
    )
    pq.write_table(table, tmp_path / "location" / "gowalla_nyc.parquet")
    for module in (places, lifesci, gowalla):
        monkeypatch.setattr(module, "OUT", tmp_path / "out")
    return tmp_path


@pytest.mark.slow
def test_lifesci_writes_its_table_and_figure(invented: Path) -> None:
    text = lifesci.run(invented, quick=True)
    assert "joint, K = 3" in text
    assert "nan" not in text
    assert {path.name for path in (invented / "out").iterdir()} == {
        "lifesci.json",
        "lifesci.md",
        "lifesci.png",
    }


@pytest.mark.slow
def test_gowalla_writes_its_table_and_maps(invented: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gowalla, "COMPONENTS", 3)
    text = gowalla.run(invented, quick=True)
    assert "joint, per person" in text
    assert (invented / "out" / "gowalla_map.png").stat().st_size > 10_000


def test_digits_are_read_with_their_labels_and_folds(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    home = tmp_path / "speech" / "fsdd"
    home.mkdir(parents=True)
    lines, draw = ["file,start,frames,speaker,digit,take,split"], np.random.default_rng(0)
    for speaker in ("ann", "bob"):
        parts = [draw.integers(-9000, 9000, 400 + 80 * i).astype(np.int16) for i in range(6)]
        starts = np.cumsum([0, *map(len, parts)])
        for i, part in enumerate(parts):
            split = "test" if i < 2 else "train"
            lines.append(f"{speaker}.flac,{starts[i]},{len(part)},{speaker},{i % 3},{i},{split}")
        soundfile.write(home / f"{speaker}.flac", np.concatenate(parts), 8000)
    (home / "index.csv").write_text("\n".join(lines) + "\n")
    read = digits.read_digits(tmp_path)
    assert [one.shape for one in read.features[:6]] == [(3 + i, 39) for i in range(6)]
    assert all(np.abs(one.mean(axis=0)).max() < 1e-9 for one in read.features)
    assert read.official.test.tolist() == [0, 1, 6, 7] and len(read.official.train) == 8
    left_out = {
        fold.name: (set(read.speakers[fold.test]), len(fold.train)) for fold in read.leave_one_speaker_out
    }
    assert left_out == {"ann": ({"ann"}, 6), "bob": ({"bob"}, 6)}
    assert len(read.of(read.official.train, digit=2)) == 4
    assert read.digits.tolist() == [0, 1, 2] * 4 and read.takes.tolist() == list(range(6)) * 2
    assert digits.read_digits(tmp_path) is read
    with pytest.raises(FileNotFoundError, match="DISCREET_DATA"):
        digits.read_digits(tmp_path / "elsewhere")


@pytest.mark.slow
def test_release_compares_policies_on_invented_walks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from experiments import release

    draw = np.random.default_rng(1)
    (tmp_path / "location").mkdir()
    for data in release.PLACES:
        south, north, west, east = data.box
        middle = np.array([(south + north) / 2, (west + east) / 2])
        size = np.array([north - south, east - west]) / 2
        steps = draw.normal(0, 0.03, (30, 80, 2)).cumsum(axis=1)
        spots = middle + np.clip(steps, -0.9, 0.9) * size
        table = pa.table(
            {
                "user": np.repeat(np.arange(30), 80),
                "time": np.tile(np.arange(80) * 60.0, 30),
                "lat": spots[..., 0].reshape(-1),
                "lon": spots[..., 1].reshape(-1),
            }
        )
        pq.write_table(table, tmp_path / "location" / data.file)
    for module in (places, release):
        monkeypatch.setattr(module, "OUT", tmp_path / "out")
    monkeypatch.setattr(release, "QUICK", (2, 6))
    text = release.run(tmp_path, quick=True)
    assert "DPHMM radius" in text and "DPLS" in text and "nan" not in text
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"release.json", "release_fair.json", "release_time.png", "release_settings.png"} <= written
