"""The experiment with models copied by asking runs on invented digits, and copies get better with answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments import copied, digits, melodies, places


@pytest.mark.slow
def test_models_are_copied_by_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples, said, voices = melodies.spoken_by(4, 10, 6, 10.0, 0)
    takes = np.tile(np.arange(6), 40)
    labels = np.array([int(word[1:]) for word in said])
    read = digits.Digits([], labels, np.array(voices), takes, takes < 1)
    monkeypatch.setattr(places, "OUT", tmp_path)
    monkeypatch.setattr(copied, "read_digits", lambda _: read)
    monkeypatch.setattr(copied, "read_recordings", lambda _: ([], samples))
    assert "copied by asking" in copied.run(tmp_path, True)
    rows = json.loads((tmp_path / "copied.json").read_text())["rows"]
    assert [row["answers"] for row in rows] == [30, 100]
    assert rows[1]["agrees with the owner"] > max(50, rows[0]["agrees with the owner"])
