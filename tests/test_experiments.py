"""Experiments run, on invented data of the shape they expect; the figures themselves come from real data."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.fit.hmm.data import Sequences
from discreet.models.hmm import HMM

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments import (
    asia,
    casino,
    dice,
    dice_utility,
    dice_violation,
    digits,
    gowalla,
    lifesci,
    places,
    private_digits,
    unsound,
    visits,
    worlds,
)


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
            "time": draw.integers(0, 10**12, 500).astype("datetime64[ms]"),
            "lat": draw.uniform(40.5, 40.9, 500),
            "lon": draw.uniform(-74.2, -73.8, 500),
        }
    )
    pq.write_table(table, tmp_path / "location" / "gowalla_nyc.parquet")
    for module in (places, lifesci, gowalla, dice, private_digits):
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


def _dice(states: int, length: int, count: int, kind: str = "near") -> tuple[HMM, HMM, Sequences]:
    draw = np.random.default_rng([states, length, count])
    truth = casino.make_truth(states)
    return (
        truth,
        casino.make_skeleton(truth, kind, draw),
        casino.make_throws(truth, np.full(count, length), draw),
    )


def test_similarity_does_not_depend_on_how_states_are_named() -> None:
    truth, model, throws = _dice(3, 20, 50)  # the truth has ties between paths
    judge, order = casino.Judge.of(model, throws), [2, 0, 1]
    renamed = casino.make_model(
        model.chain.start[order],
        model.chain.transition[np.ix_(order, order)],
        model.emission.probabilities[order],
    )
    assert judge.similarity(renamed) == 100.0
    assert abs(judge.excess(renamed)) < 1e-12
    assert judge.similarity(truth) < 100.0


def test_one_sequence_moves_the_published_counts_by_more_than_the_paper_claims() -> None:
    _, start, throws = _dice(2, 10, 60)
    transitions, emissions = dice_violation.measure_changes(start, throws, np.arange(12))
    assert max(transitions.max(), emissions.max()) > 2.0


def test_for_fixed_parameters_one_sequence_moves_the_counts_by_its_length_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unsound, "ROUNDS", 1)  # no training before the counts: here the paper is right
    _, start, throws = _dice(2, 10, 60)
    transitions, emissions = dice_violation.measure_changes(start, throws, np.arange(12))
    assert transitions == pytest.approx(0.9) and emissions == pytest.approx(1.0)


def test_the_published_variants_approach_plain_training_as_noise_vanishes() -> None:
    _, start, throws = _dice(2, 10, 300)
    judge = casino.Judge.of(casino.train(start, throws, unsound.ROUNDS), throws)
    draw = np.random.default_rng(0)
    at_the_end = unsound.noise_at_the_end_not_private(start, throws, 1e9, draw)
    every_time = unsound.noise_every_time_as_published(start, throws, 1e9, draw)
    assert judge.similarity(at_the_end) > 99.9 and judge.similarity(every_time) > 99.9
    assert judge.similarity(unsound.noise_every_time_as_published(start, throws, 0.1, draw)) < 95


def test_nothing_that_is_fitted_can_reach_the_published_variants() -> None:
    from discreet.fit.hmm.schedule import METHODS

    assert METHODS == ("score", "iterate", "moments", "labelled")
    source = Path(places.ROOT, "src")
    assert not [path for path in source.rglob("*.py") if "experiments.unsound" in path.read_text()]


def test_the_utility_of_private_dice_is_measured_beside_both_plain_fits() -> None:
    found = dice_utility.compare(2, "near", 300, 0, (4.0,))
    assert found["plain, 80 rounds", 0.0]["similarity to 80"] == 100.0
    assert found["plain, 1,000 rounds", 0.0]["excess over 1,000"] == 0.0
    private, start = found["private, Gaussian", 4.0], found["skeleton", 0.0]
    assert private["excess over 80"] < start["excess over 80"]


@pytest.mark.slow
def test_the_dice_figures_are_drawn(invented: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dice, "METHODS", ("iterate",))
    text = dice.run(invented, quick=True)
    assert dice.AT_THE_END in text and "NOT PRIVATE" in text and "nan" not in text
    assert {path.name for path in (invented / "out").glob("*.png")} == {
        f"dice_{measure}_{states}.png" for measure in ("similarity", "excess") for states in (2, 3)
    }


def test_random_worlds_are_fitted_nearer_to_the_truth_than_their_skeleton() -> None:
    found = worlds.compare(worlds.World(2, 2, 1, 8, 3000, 0.8), "near", 0)
    assert found["private"] < found["skeleton"] and found["plain"] < found["skeleton"]


def test_visits_are_cells_in_order_of_time_one_sequence_a_person(invented: Path) -> None:
    sequences = visits.read_visits(invented)
    table = pq.read_table(invented / "location" / "gowalla_nyc.parquet")
    users = table["user"].to_numpy()
    assert len(sequences) == len(np.unique(users)) and sum(map(len, sequences)) == len(users)
    first = table.filter(pa.array(users == users.min())).sort_by("time").slice(0, 1).to_pylist()[0]
    low, high = np.array(visits.REGION.low), np.array(visits.REGION.high)
    cell = ((np.array([first["lat"], first["lon"]]) - low) / (high - low) * visits.SIDE).astype(int)
    assert sequences[0][0] == cell[0] * visits.SIDE + cell[1]
    value, method = visits.score_of(sequences, 1, "iterate", 1.0, 0)
    assert np.isfinite(value) and method == "iterate"


def test_private_digits_are_told_apart_where_they_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_digits, "DIGITS", 2)
    draw = np.random.default_rng(0)
    tones = [(-1) ** digit * np.sign(np.arange(20) - 9.5)[:, None] for digit in range(2)]
    features = [tones[i % 2] + 0.3 * draw.normal(size=(20, 13)) for i in range(120)]
    spoken = digits.Digits(
        features, np.arange(120) % 2, np.repeat(["ann", "bob"], 60), np.arange(120), np.arange(120) < 20
    )
    choice = private_digits.Choice("short", states=2)
    assert private_digits.accuracy(spoken, spoken.official, choice, 8.0, 0) > 90
    assert private_digits.accuracy(spoken, spoken.official, choice, np.inf, 0) == 100
    rows = [{"models": "short", "epsilon 8": 90.0, "epsilon 64": 95.0, "plain": 100.0}]
    monkeypatch.setattr(private_digits, "OUT", tmp_path)
    monkeypatch.setattr(places, "OUT", tmp_path)
    assert "| short | 90.00 | 95.00 | 100.00 |" in private_digits.write(rows, 1)


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


def test_asia_is_the_variant_of_the_paper() -> None:
    assert asia.ASIA.tables["E"][..., 0].ravel().tolist() == [0.9, 0.1, 0.1, 0.01]
    assert asia.ASIA.tables["D"][..., 0].ravel().tolist() == [0.9, 0.2, 0.8, 0.9]
    assert asia.ASIA.structure.families["D"] == ("E", "B", "D")
    assert asia.ASIA.structure.cells() == 36


def test_asia_is_counted_alike_by_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asia, "ROWS", 300)
    codes = asia.draw(3)
    wanted = asia.pooled(codes)
    rotated, moved = asia.by_rotation(codes)
    assert asia.same(rotated, wanted)
    assert moved == {"E": 8 * 300 * 6, "D": 8 * 300 * 6}
    for way in asia.WAYS:
        tables, moved = asia.by_sites(codes, way)
        assert asia.same(tables, wanted), way.name
        assert set(moved) == set(asia.CROSSING) and min(moved.values()) > 0
    tables["E"][0, 0, 0] += 1
    assert not asia.same(tables, wanted)


def test_the_expected_error_of_a_share_is_that_of_the_binomial_law() -> None:
    from scipy.stats import binom

    for count, share in ((1, 0.3), (7, 0.01), (40, 0.9), (99, 0.5), (1000, 0.2)):
        values = np.arange(count + 1)
        exact = float((np.abs(values / count - share) * binom.pmf(values, count, share)).sum())
        assert asia.mean_deviation(count, share) == pytest.approx(exact, rel=1e-10)
    assert asia.mean_deviation(0, 0.3) == 0.3
    assert asia.mean_deviation(5, 1.0) == 0.0


@pytest.mark.slow
def test_asia_writes_its_three_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROWS", 200), ("QUICK_SETS", 3)):
        monkeypatch.setattr(asia, name, value)
    monkeypatch.setattr(places, "OUT", tmp_path / "out")
    text = asia.run(tmp_path, quick=True)
    assert "nan" not in text and text.count("| True |") == 6
    assert "two sites alone, by transfers 3 of 3" in text
    assert {path.name for path in (tmp_path / "out").glob("*.json")} == {
        "asia.json",
        "asia_errors.json",
        "asia_bytes.json",
    }


def test_the_kept_figures_of_asia_lie_within_sampling_error() -> None:
    import json

    kept = places.ROOT / "experiments" / "expected"
    rows = json.loads((kept / "asia_errors.json").read_text())["rows"]
    assert len(rows) == 18
    assert all(abs(row[name]) <= 3 for row in rows for name in ("z of size", "z of sign"))
    counted = json.loads((kept / "asia.json").read_text())["rows"]
    assert all(row["as pooled"] is not False for row in counted)
