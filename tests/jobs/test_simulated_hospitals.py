"""Simulated hospitals and plans to start from: what they hold, and that the plans are plans."""

import csv
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.jobs.hospitals import ID, asia, simulate_hospitals, sites, write_hospitals
from discreet.jobs.template import START, Draft, plan_text
from discreet.join import JoinPlan
from discreet.models.bif import parse_bif

PUBLISHED = """network unknown { }
variable asia { type discrete [ 2 ] { yes, no }; }
variable tub { type discrete [ 2 ] { yes, no }; }
variable smoke { type discrete [ 2 ] { yes, no }; }
variable lung { type discrete [ 2 ] { yes, no }; }
variable bronc { type discrete [ 2 ] { yes, no }; }
variable either { type discrete [ 2 ] { yes, no }; }
variable xray { type discrete [ 2 ] { yes, no }; }
variable dysp { type discrete [ 2 ] { yes, no }; }
probability ( asia ) { table 0.01, 0.99; }
probability ( tub | asia ) { (yes) 0.05, 0.95; (no) 0.01, 0.99; }
probability ( smoke ) { table 0.5, 0.5; }
probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }
probability ( bronc | smoke ) { (yes) 0.6, 0.4; (no) 0.3, 0.7; }
probability ( either | lung, tub ) {
  (yes, yes) 1.0, 0.0; (no, yes) 1.0, 0.0; (yes, no) 1.0, 0.0; (no, no) 0.0, 1.0; }
probability ( xray | either ) { (yes) 0.98, 0.02; (no) 0.05, 0.95; }
probability ( dysp | bronc, either ) {
  (yes, yes) 0.9, 0.1; (no, yes) 0.7, 0.3; (yes, no) 0.8, 0.2; (no, no) 0.1, 0.9; }
"""


def test_asia_is_the_published_network():
    ours, theirs = asia(), parse_bif(PUBLISHED)
    assert ours.structure == theirs.structure
    assert all(np.allclose(ours.tables[node], theirs.tables[node], atol=1e-15) for node in ours.tables)


@pytest.mark.parametrize("hospitals", [2, 3])
def test_hospitals_share_people_but_not_columns_or_order(hospitals):
    found = simulate_hospitals(hospitals, 300, 0)
    columns = [column for _, held in found.values() for column in held]
    assert sorted(columns) == sorted(asia().structure.nodes)
    lists = [ids for ids, _ in found.values()]
    assert all(len(ids) == len(set(ids)) == 330 for ids in lists)
    assert len(set.intersection(*map(set, lists))) == 300
    assert all(one != other for i, one in enumerate(lists) for other in lists[:i])
    assert {name: tuple(held) for name, (_, held) in found.items()} == sites(hospitals)


def test_people_are_those_of_the_network_and_follow_the_seed():
    found = simulate_hospitals(2, 4000, 1)
    smokes = found["south"][1]["smoke"].count("yes") / 4400
    assert abs(smokes - 0.5) < 6 * 0.5 / np.sqrt(4400)
    assert found == simulate_hospitals(2, 4000, 1)
    assert found != simulate_hospitals(2, 4000, 2)
    ids, columns = found["north"]
    either, xray = (dict(zip(ids, columns[name], strict=True)) for name in ("either", "xray"))
    ill = [xray[one] for one in ids if either[one] == "yes"]
    assert ill.count("yes") / len(ill) > 0.9


def test_files_hold_ids_and_columns(tmp_path):
    files = write_hospitals(tmp_path, 3, 50, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["east.csv", "north.csv", "south.csv"]
    with files["east"].open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [ID, "either", "dysp"]
    assert len(rows) == 56
    assert {cell for row in rows[1:] for cell in row[1:]} <= {"yes", "no"}


@pytest.mark.parametrize(("hospitals", "people"), [(1, 10), (4, 10), (2, 0), (2, 10**6 + 1)])
def test_numbers_out_of_range_are_refused(hospitals, people):
    with pytest.raises(ParameterError, match="simulated"):
        simulate_hospitals(hospitals, people, 0)


@pytest.mark.parametrize("helper", ["dealer", None])
@pytest.mark.parametrize("pays", [(), ("clinic",)])
def test_the_plan_to_start_from_is_a_plan(helper, pays):
    text = plan_text(replace(START, helper=helper, pays=pays))
    plan = JoinPlan.of(tomllib.loads(text))
    assert plan.name == "my-study"
    assert plan.helper == helper
    assert plan.payers == pays
    assert plan.rows.id == "patient"
    assert max(map(len, text.splitlines())) <= 110


def test_every_decision_of_a_plan_is_in_the_text():
    text = plan_text(START)
    for word in (
        "place",
        "duplicates",
        "missing",
        "count",
        "kind",
        "exact",
        "epsilon",
        "delta",
        "prior",
        "silence",
    ):
        assert word in text
    for line in ("exact = true", 'file = "network.bif"', "count = 2000", 'kind = "helper"'):
        assert f"#   {line}" in text


def test_a_draft_with_a_file_reads_its_structure(tmp_path):
    (tmp_path / "asia.bif").write_text(PUBLISHED)
    draft = Draft("a", sites(3), None, 'file = "asia.bif"', "count = 5", ())
    (tmp_path / "plan.toml").write_text(plan_text(draft))
    plan = JoinPlan.read(tmp_path / "plan.toml")
    assert plan.network == asia().structure
    assert plan.kind == "three"
