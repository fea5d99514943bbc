"""Plans: the same words from Python, the command line and TOML; what is wrong is named with its remedy."""

import math
from pathlib import Path

import pytest

from discreet.errors import DomainError, ParameterError
from discreet.jobs import FitMixture, make_plan, read_plan

LEAST = {"data": "rows.csv", "components": 3, "epsilon": 1.0}


def test_text_and_values_mean_the_same():
    told = make_plan({**LEAST, "columns": "lat, lon", "bounds": "lat=40.4:40.9,lon=-74.3:-73.7"})
    meant = make_plan(
        {**LEAST, "columns": ["lat", "lon"], "bounds": {"lat": [40.4, 40.9], "lon": [-74.3, -73.7]}}
    )
    assert told == meant
    assert told.data == ("rows.csv",)
    assert make_plan({**LEAST, "bounds": "0:1"}).bounds == (0.0, 1.0)
    assert make_plan({**LEAST, "bounds": [[0, 1], [2, 3]]}).bounds == ((0.0, 1.0), (2.0, 3.0))
    assert make_plan({**LEAST, "bounds": "0:1,2:3"}).bounds == ((0.0, 1.0), (2.0, 3.0))
    assert make_plan({**LEAST, "radius": 3, "center": "1,2"}).center == (1.0, 2.0)
    assert make_plan({**LEAST, "radius": 3, "center": "b=1,a=2"}).center == {"a": 2.0, "b": 1.0}


@pytest.mark.parametrize("value", ["inf", "Infinity", math.inf])
def test_infinite_epsilon_is_allowed_in_words(value):
    assert make_plan({**LEAST, "epsilon": value}).epsilon == math.inf


def test_an_unknown_setting_is_refused_with_the_nearest_known_one():
    with pytest.raises(ParameterError, match="there is no setting 'epsilonn'") as refused:
        make_plan({"epsilonn": 1.0})  # said before anything that is missing
    assert refused.value.remedy == "Did you mean 'epsilon'?"
    with pytest.raises(ParameterError) as refused:
        make_plan({**LEAST, "rows-per-persn": 1.0})
    assert refused.value.remedy == "Did you mean 'rows_per_person'?"


@pytest.mark.parametrize("name", ["data", "components", "epsilon"])
def test_what_is_missing_is_named(name):
    with pytest.raises(ParameterError, match=f"{name} is not given"):
        make_plan({key: value for key, value in LEAST.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("components", True),
        ("components", 2.5),
        ("epsilon", "much"),
        ("delta", "1e-6"),
        ("bounds", "lat=40"),
        ("bounds", "lat=40:x"),
        ("bounds", "lat=1:2,3:4"),
        ("bounds", "lat=1:2,lat=3:4"),
        ("bounds", [1, 2, 3]),
        ("center", "here"),
        ("data", []),
        ("random_state", "seed"),
    ],
)
def test_what_cannot_be_understood_is_named(name, value):
    with pytest.raises((ParameterError, DomainError), match=name) as refused:
        make_plan({**LEAST, name: value})
    assert refused.value.wanted


def test_paths_in_a_file_are_relative_to_the_file(tmp_path: Path, monkeypatch):
    folder = tmp_path / "plans"
    folder.mkdir()
    file = folder / "run.toml"
    file.write_text(
        'data = ["a.csv", "/b.csv"]\ncomponents = 2\nepsilon = inf\nout = "result"\nledger = "../l"\n'
        "[bounds]\nx = [0, 1]\n"
    )
    plan = make_plan(read_plan(file))
    assert plan.data == (str(folder / "a.csv"), "/b.csv")
    assert plan.out == str(folder / "result")
    assert plan.ledger == str(folder / "../l")
    assert plan.bounds == {"x": (0.0, 1.0)}


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path):
    file = tmp_path / "run.toml"
    with pytest.raises(ParameterError, match="cannot be read"):
        read_plan(file)
    for text in ("epsilon: 3", "epsilon = " + "9" * 5000, "a = " + "[" * 50_000 + "]" * 50_000):
        file.write_text(text)
        with pytest.raises(ParameterError, match="is not TOML"):
            read_plan(file)


def test_without_out_a_paid_result_is_never_replaced(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = make_plan(LEAST)
    assert plan.place == Path("mixture")
    (tmp_path / "mixture").mkdir()
    (tmp_path / "mixture-2").mkdir()
    assert plan.place == Path("mixture-3")


def test_every_setting_is_described():
    assert all(field.description for field in FitMixture.model_fields.values())
