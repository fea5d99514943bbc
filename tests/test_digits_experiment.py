"""The experiment with spoken digits runs on invented data, and meets its figures on the real ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments import digits, places


def invented(speakers: int = 2) -> digits.Digits:
    """Digits that differ in where they go."""
    draw = np.random.default_rng(0)
    labels, names, takes, features = [], [], [], []
    for speaker in range(speakers):
        for digit in range(10):
            for take in range(6):
                path = np.linspace(0, 1, int(draw.integers(12, 20)))[:, None] * [digit, -digit, digit % 3]
                features.append(5 * path + draw.normal(size=path.shape) * 0.3)
                labels.append(digit), names.append(f"s{speaker}"), takes.append(take)
    takes_array = np.array(takes)
    return digits.Digits(features, np.array(labels), np.array(names), takes_array, takes_array < 1)


def test_digits_are_recognised_and_the_table_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "OUT", tmp_path)
    monkeypatch.setattr(digits, "read_digits", lambda _: invented())
    text = digits.run(tmp_path, quick=False)
    rows = json.loads((tmp_path / "digits.json").read_text())["rows"]
    assert [row["covariances"] for row in rows] == ["diag", "full"]
    assert all(row["official"] > 90 and row["one speaker left out"] > 90 for row in rows)
    assert "nan" not in text
    assert "one speaker" not in digits.run(tmp_path, quick=True)


@pytest.mark.slow
def test_real_digits_are_recognised_as_claimed(real_data: Path) -> None:
    read = digits.read_digits(real_data)
    right = digits._recognise(read, read.official, "full") == read.digits[read.official.test]
    assert 98.3 <= 100 * right.mean() <= 99.7
