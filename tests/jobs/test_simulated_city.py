"""The demonstration: a city that is the same for the same seed, and a demo that can be run twice."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from discreet.accounting.ledger import Ledger
from discreet.errors import ParameterError
from discreet.jobs import run_demo
from discreet.jobs.city import BOUNDS, simulate_city


def test_the_same_seed_gives_the_same_city():
    one, two, other = simulate_city(300, 1), simulate_city(300, 1), simulate_city(300, 2)
    assert np.array_equal(one.points, two.points)
    assert one.points.shape != other.points.shape or not np.array_equal(one.points, other.points)


def test_people_differ_in_how_often_they_check_in_and_stay_on_the_island():
    city = simulate_city(5000)
    counts = np.bincount(city.user)
    assert counts.min() == 1
    assert np.median(counts) < 6
    assert counts.max() > 100
    assert BOUNDS["lat"][0] <= city.lat.min() <= city.lat.max() <= BOUNDS["lat"][1]
    assert BOUNDS["lon"][0] <= city.lon.min() <= city.lon.max() <= BOUNDS["lon"][1]
    assert np.all(np.diff(city.user) >= 0)


def test_the_demo_can_be_run_twice_and_starts_a_new_ledger(tmp_path):
    told = []
    first = run_demo(str(tmp_path / "demo"), people=500, tell=lambda *words: told.append(words))
    assert {words[0] for words in told} >= {"fitting privately", "fitting without privacy", "drawing"}
    second = run_demo(str(tmp_path / "demo"), people=500)
    names = {entry.name for entry in (tmp_path / "demo").iterdir()}
    assert names == {"city.parquet", "private", "plain", "map.png", "ledger"}
    assert len(Ledger.open(tmp_path / "demo" / "ledger").entries()) == 1
    assert second.private.paper.digest != first.private.paper.digest, "private noise is never drawn twice"
    assert second.plain.paper.digest == first.plain.paper.digest
    assert second.plain_score > second.uniform_score
    assert second.private.paper.guarantee.private
    assert not second.plain.paper.guarantee.private
    assert set(pq.read_schema(tmp_path / "demo" / "city.parquet").names) == {"user", "lat", "lon"}


def test_the_demo_removes_nothing_that_is_not_its_own(tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary.txt").touch()
    with pytest.raises(ParameterError, match="taken"):
        run_demo(str(tmp_path), people=100)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ParameterError, match="taken"):
        run_demo(str(tmp_path), people=100)
    assert (tmp_path / "private" / "diary.txt").exists()
