"""The keyword experiments run on invented models, and their tables say what they should."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments import keyword, keyword_growth, places
from experiments.keyword_growth import Size, invented


@pytest.fixture
def spoken():
    """A dozen recordings of three invented words."""
    size = Size(frames=12, dimension=4, states=3, words=3, full=False)
    vocabulary, _ = invented(size)
    draw = np.random.default_rng(4)
    features = [np.clip(draw.normal(size=(int(n), 4)) * 0.5, -1, 1) for n in draw.integers(6, 14, 12)]
    says = [vocabulary.predict(one) for one in features]
    return keyword.Spoken(vocabulary, features, says)


def test_last_logarithms_sum_to_the_plain_scores(spoken):
    chosen = np.arange(len(spoken.features))
    last = keyword.last_logarithms(spoken, chosen)
    assert np.logaddexp.reduce(last, axis=2) == pytest.approx(spoken.scores, abs=1e-6)


@pytest.mark.slow
def test_tables_of_times_and_accuracy(spoken, tmp_path, monkeypatch):
    monkeypatch.setattr(places, "OUT", tmp_path)
    monkeypatch.setattr(keyword, "read_spoken", lambda _: spoken)
    monkeypatch.setattr(keyword, "FRAMES", 12)
    text = keyword.run(tmp_path, quick=True)
    times = json.loads((tmp_path / "keyword.json").read_text())["rows"]
    paper = next(row for row in times if row["who"].startswith("paper, 256"))
    assert paper["all"] == pytest.approx(1162.73)
    ours = [row for row in times if row["who"].startswith("ours")]
    assert len(ours) == 4 and all(0 < row["all"] < 60 and row["security"] == "128 bits" for row in ours)
    keys = json.loads((tmp_path / "keyword_keys.json").read_text())["rows"]
    assert [row["paper"] for row in keys] == [828.5, None] and all(row["ours"] > 0 for row in keys)
    accuracy = json.loads((tmp_path / "keyword_accuracy.json").read_text())["rows"]
    assert [row["of these, margin above 1 nat"] for row in accuracy[:2]] == [0, 0]
    assert "nan" not in text


@pytest.mark.slow
def test_table_of_growth(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "OUT", tmp_path)
    keyword_growth.run(tmp_path, quick=True)
    rows = json.loads((tmp_path / "keyword_growth.json").read_text())["rows"]
    assert rows[0]["time x"] == rows[0]["bytes x"] == 1
    grown = {row["change"]: row["bytes x"] for row in rows}
    assert set(grown) == {"base", *keyword_growth.SMALL_CHANGES}
    assert all(grown[name] > 1.2 for name in ("frames", "states", "words", "mixtures"))
    assert grown["topology"] < 0.9
