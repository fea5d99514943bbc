"""`discreet release`: learn, explain, run."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.release import Map, Policy

BOX = "39.85:40.00,116.28:116.50"


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "100"})


@pytest.fixture
def home(tmp_path):
    draw = np.random.default_rng(1)
    place = 39.92 + draw.normal(0, 0.004, (40, 2)).cumsum(axis=0) * 0.3 + [0, 76.47]
    rows = pd.DataFrame(
        {"user": ["ann"] * 40, "time": np.arange(40) * 60.0, "lat": place[:, 0], "lon": place[:, 1]}
    )
    rows.to_parquet(tmp_path / "traces.parquet")
    done = call(
        "release", "learn", tmp_path / "traces.parquet", "--cell", "1km", "--box", BOX, "--public",
        "--out", tmp_path / "map.json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return tmp_path


@pytest.mark.parametrize("command", ["learn", "explain", "run"])
def test_every_command_has_help_with_an_example(command):
    done = call("release", command, "--help")
    assert done.exit_code == 0
    assert f"discreet release {command}" in done.stdout.replace("Usage:", "")


def test_explain_says_what_a_policy_would_do(home):
    done = call("release", "explain", "--map", home / "map.json", "--policy", "radius:2km", "--epsilon", 1)
    assert done.exit_code == 0
    assert (
        "nothing was drawn" in done.stdout and "expected error" in done.stdout and "Over time" in done.stdout
    )
    plain = json.loads(
        call(
            "release",
            "explain",
            "--map",
            home / "map.json",
            "--policy",
            "radius:2km",
            "--epsilon",
            1,
            "--json",
        ).stdout
    )
    assert plain["steps"][0]["least"] >= 2


def test_run_writes_releases_and_a_report(home):
    done = call(
        "release", "run", home / "traces.parquet", "--map", home / "map.json", "--policy", "radius:2km",
        "--epsilon", 1, "--out", home / "out.parquet", "--report", home / "report.html",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert pq.read_table(home / "out.parquet").num_rows == 40
    assert "For you alone" in done.stdout
    assert (
        "owner" not in (home / "report.html").read_text().split('id="story">')[1][:20_000].split('"steps"')[0]
    )
    assert "\x1b" not in done.stdout


def test_a_map_without_a_budget_says_that_it_is_public_and_a_private_one_prints_its_guarantee(home):
    learn = ("release", "learn", home / "traces.parquet", "--cell", "1km", "--box", BOX)
    public = call(*learn, "--out", home / "m.json")
    assert public.exit_code == 0 and "count as public" in public.stdout
    refused = call(*learn, "--out", home / "n.json", "--delta", 1e-6)
    assert refused.exit_code == 2
    private = call(
        "release", "learn", home / "traces.parquet", "--cell", "3km", "--box", BOX, "--epsilon", 1,
        "--delta", 1e-6, "--out", home / "private.json",
    )  # fmt: skip
    assert private.exit_code == 0, private.output
    assert "epsilon 1 and delta 1e-06" in private.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--policy", "near"),
        ("--policy", "radius:2km", "--repair", "best"),
        ("--policy", "radius:2km", "--start", "x"),
        ("--policy", "radius:2km", "--start", "inf"),
        ("--policy", "radius:2km", "--start", "nan"),
        ("--policy", "radius:2km", "--start", "nan,nan"),
    ],
)
def test_bad_requests_end_with_two(home, words):
    done = call("release", "explain", "--map", home / "map.json", "--epsilon", 1, *words)
    assert done.exit_code == 2


def test_a_flat_hull_is_said_aloud(tmp_path):
    world = Map([[0, 0], [1, 0], [0, 3], [1, 3]], np.full((4, 4), 0.25))
    place = world.save(tmp_path / "map.json")
    for edges, flat in (([(0, 1), (2, 3)], True), ([(0, 1), (0, 2), (2, 3)], False)):
        policy = Policy.edges(world, edges).save(tmp_path / "policy.json")
        done = call("release", "explain", "--map", place, "--policy", policy, "--epsilon", 1)
        assert done.exit_code == 0, done.output
        assert ("is released exactly" in " ".join(done.stdout.split())) == flat
