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

from experiments import gowalla, lifesci, places


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
