"""The experiments with word models run on invented data; their figures come from digits and from tones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments import digits, melodies, places, spoken


def invented() -> tuple[digits.Digits, list[np.ndarray]]:
    """Digits that are tones, said by three voices."""
    samples, said, voices = melodies.spoken_by(3, 10, 6, 10.0, 0)
    takes = np.tile(np.arange(6), 30)
    labels = np.array([int(word[1:]) for word in said])
    return digits.Digits([], labels, np.array(voices), takes, takes < 1), samples


@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False])
def test_spoken_digits_are_recognised_and_the_tables_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    monkeypatch.setattr(places, "OUT", tmp_path)
    read, samples = invented()
    monkeypatch.setattr(spoken, "read_digits", lambda _: read)
    monkeypatch.setattr(spoken, "read_recordings", lambda _: ([], samples))
    monkeypatch.setattr(spoken, "FITS", 1)
    text = spoken.run(tmp_path, quick)
    rows = json.loads((tmp_path / "spoken.json").read_text())["rows"]
    assert rows[0]["models"] == "39, full" and rows[0]["official"] > 90 and "nan" not in text
    assert len(rows) == (2 if quick else len(spoken.PLAIN))
    hidden = json.loads((tmp_path / "spoken_private.json").read_text())["rows"]
    assert [row["epsilon"] for row in hidden] == ([8.0] if quick else [1.0, 2.0, 4.0, 8.0, 16.0, 8.0, 64.0])


@pytest.mark.slow
def test_melodies_are_recognised_and_the_tables_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "OUT", tmp_path)
    text = melodies.run(tmp_path, quick=True)
    rows = json.loads((tmp_path / "melodies.json").read_text())["rows"]
    assert all(row["10 dB"] > 90 and row["-10 dB"] < row["10 dB"] for row in rows) and "nan" not in text
    hidden = json.loads((tmp_path / "melodies_private.json").read_text())["rows"]
    assert hidden[0]["plain"] > 90 and hidden[0]["epsilon 8"] > hidden[1]["epsilon 8"]
