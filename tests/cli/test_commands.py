"""Commands: what they print, what they write, and with which code they end."""

import ast
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import discreet
from discreet.accounting.ledger import Ledger
from discreet.cli import app

COMMANDS = (
    ("demo",),
    ("fit", "mixture"),
    ("fit", "hmm"),
    ("show",),
    ("ledger", "new"),
    ("ledger", "show"),
    ("ledger", "history"),
    ("ledger", "verify"),
    ("prep",),
    ("party", "new"),
    ("party", "show"),
    ("party", "trust"),
    ("audit", "game"),
    ("audit", "rotation"),
)


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "100"})


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    path = tmp_path / "rows.parquet"
    columns = {
        "lat": draw.normal(0, 1, 500),
        "lon": draw.normal(0, 1, 500),
        "user": draw.integers(0, 99, 500),
    }
    pq.write_table(pa.table(columns), path)
    return path


def fit(rows: Path, *more: object):
    least = ("--columns", "lat,lon", "--components", 2, "--epsilon", 1, "--delta", 1e-6)
    return call("fit", "mixture", rows, *least, "--bounds=-5:5", "--out", rows.parent / "out", *more)


@pytest.mark.parametrize("command", [*COMMANDS, ("fit",), ("ledger",), ("audit",), ("party",), ()])
def test_every_command_has_help_with_an_example(command):
    done = call(*command, "--help")
    assert done.exit_code == 0
    if command in COMMANDS:
        examples = [line for line in done.stdout.splitlines() if "Usage:" not in line]
        assert any(line.strip().startswith(f"discreet {' '.join(command)}") for line in examples)


def test_the_version_is_that_of_the_package():
    assert call("--version").stdout == f"discreet {discreet.__version__}\n"


def test_a_fit_prints_its_guarantee_what_it_wrote_and_what_is_left(rows, tmp_path):
    book = tmp_path / "ledger"
    made = call("ledger", "new", book, "--dataset", "trips", "--epsilon", 2, "--delta", 1e-6)
    assert made.exit_code == 0
    done = fit(rows, "--person", "user", "--ledger", book)
    assert done.exit_code == 0, done.stderr
    assert "epsilon 1 and delta 1e-06" in done.stdout
    for name in ("model.safetensors", "receipt.json", "report.html"):
        assert name in done.stdout
        assert (tmp_path / "out" / name).exists()
    left = Ledger.open(book).left("trips")
    assert f"{left.share:.1%} spent in 1 run" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr, "no colours where nobody sees them"
    assert done.stderr == "", "no progress bar where nobody sees it"

    for command, words in (("show", "trips"), ("history", "fit mixture"), ("verify", "intact")):
        assert words in call("ledger", command, book).stdout
    shown = call("show", tmp_path / "out")
    assert shown.exit_code == 0
    assert "lat" in shown.stdout
    assert "epsilon 1 and delta 1e-06" in shown.stdout


def test_json_is_json_and_the_same_as_the_files(rows, tmp_path):
    book = tmp_path / "ledger"
    budget = json.loads(
        call(
            "ledger",
            "new",
            book,
            "--dataset",
            "a",
            "--unit",
            "row",
            "--epsilon",
            2,
            "--delta",
            1e-6,
            "--json",
        ).stdout
    )
    assert budget["unit"] == "row"
    foreseen = json.loads(fit(rows, "--ledger", book, "--dry-run", "--json").stdout)
    done = json.loads(fit(rows, "--ledger", book, "--json").stdout)
    assert done["left"]["spent"] == foreseen["ledger"]["after"]["spent"]
    assert done["receipt"] == json.loads((tmp_path / "out" / "receipt.json").read_text())
    shown = json.loads(call("show", tmp_path / "out", "--json").stdout)
    assert shown["model"] == done["model"]
    assert shown["model"]["sha256"] == json.loads((tmp_path / "out" / "model.json").read_text())["sha256"]
    assert len(json.loads(call("ledger", "history", book, "--json").stdout)["entries"]) == 1
    assert json.loads(call("ledger", "show", book, "--json").stdout)["budgets"][0]["runs"] == 1
    assert json.loads(call("ledger", "verify", book, "--json").stdout)["intact"]
    assert (
        json.loads(call("audit", "game", "--rounds", 500, "--random-state", 1, "--json").stdout)["rounds"]
        == 500
    )


def test_a_dry_run_spends_nothing_and_writes_nothing(rows, tmp_path):
    book = tmp_path / "ledger"
    call("ledger", "new", book, "--dataset", "a", "--unit", "row", "--epsilon", 2, "--delta", 1e-6)
    before = book.read_bytes()
    done = fit(rows, "--ledger", book, "--dry-run")
    assert done.exit_code == 0
    assert "nothing was spent" in done.stdout
    assert "after" in done.stdout
    assert book.read_bytes() == before
    assert not (tmp_path / "out").exists()


def test_options_override_the_plan(rows, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'data = "rows.parquet"\ncomponents = 3\nepsilon = 1\ndelta = 1e-6\nout = "from-plan"\n'
        "[bounds]\nlat = [-5, 5]\nlon = [-5, 5]\n"
    )
    done = call("fit", "mixture", "--plan", file, "--components", 2, "--json")
    assert done.exit_code == 0, done.stdout
    assert len(json.loads(done.stdout)["model"]["components"]) == 2
    assert (tmp_path / "from-plan" / "model.json").exists()
    file.write_text(file.read_text().replace("delta", "detla"))
    refused = call("fit", "mixture", "--plan", file)
    assert refused.exit_code == 2
    assert "Did you mean 'delta'?" in refused.stderr


@pytest.mark.parametrize("option", [("--random-state", 3), ("--epsilon", "inf")])
def test_what_is_not_private_says_so(rows, option):
    done = fit(rows, *option)
    assert done.exit_code == 0
    assert "NOT PRIVATE" in done.stdout
    assert "not private (" in done.stdout


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (2, "DataError", ("fit", "mixture", "no.csv", "--components", 1, "--epsilon", 1)),
        (2, "ParameterError", ("fit", "mixture", "no.csv", "--components", 1)),
        (2, "ParameterError", ("fit", "mixture", "--plan", "no.toml")),
        (2, "DataError", ("fit", "hmm", "no.csv", "--states", 2, "--symbols", 2, "--epsilon", 1)),
        (2, "ParameterError", ("fit", "hmm", "no.csv", "--states", 2, "--epsilon", 1)),
        (2, "ParameterError", ("fit", "hmm", "no.csv", "--symbols", 2, "--epsilon", 1)),
        (2, "ParameterError", ("ledger", "new", "l", "--dataset", "a", "--epsilon", -1, "--delta", 0)),
        (2, "ParameterError", ("audit", "game", "--epsilon", 0)),
        (2, "ParameterError", ("audit", "rotation", "--rows", 99)),
        (2, "DataError", ("prep", "no.csv", "--person", "a", "--out", "b")),
        (1, "LedgerError", ("ledger", "show", "no")),
        (1, "BundleError", ("show", "no")),
        (2, "BadParameter", ("fit", "mixture", "no.csv", "--components", "two")),
        (2, "NoSuchOption", ("show", "no", "--nothing")),
    ],
)
def test_each_error_has_its_code_one_panel_and_no_traceback(code, kind, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call(*words)
    assert done.exit_code == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.count("╭") == 1
    machine = call(*words, "--json")
    assert machine.exit_code == code
    assert machine.stderr == ""
    error = json.loads(machine.stdout)["error"]
    assert error["type"] == kind
    assert error["what"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", 0), ("Epsilon is not", "inf fits without privacy")),
        (("--method", "input", "--person", "user"), ("--method input protects rows", "--method joint")),
        (("--covariance", "round"), ("no such --covariance", "full or tied")),
        (("--rows-per-person", 3), ("--rows-per-person bounds nobody",)),
        (("--rounds", 0), ("--rounds is not a whole number",)),
        (("--radius", 1), ("--bounds low:high or --radius",)),
    ],
)
def test_refusals_speak_of_options(rows, options, words):
    done = fit(rows, *options)
    assert done.exit_code == 2
    for each in words:
        assert each in done.stderr
    assert "'" not in done.stderr.replace("'user'", "")
    assert "_" not in done.stderr


def test_the_name_of_a_file_is_not_given_a_capital(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").touch()
    assert "│ empty.csv is empty." in call("prep", "empty.csv", "--person", "a", "--out", "b").stderr


def test_an_overspent_budget_ends_with_two(rows, tmp_path):
    book = tmp_path / "ledger"
    call("ledger", "new", book, "--dataset", "a", "--unit", "row", "--epsilon", 0.5, "--delta", 1e-6)
    done = fit(rows, "--ledger", book)
    assert done.exit_code == 2
    assert "OverspentError" in done.stderr
    assert "at most epsilon 0.5" in done.stderr
    assert not Ledger.open(book).entries()


def test_names_are_printed_as_they_are_and_never_as_markup(tmp_path):
    path, name = tmp_path / "rows.parquet", "[red]x[/] :bomb:"
    pq.write_table(pa.table({name: np.arange(100.0)}), path)
    out = tmp_path / "out"
    least = ("--components", 1, "--epsilon", 1, "--delta", 1e-6, "--bounds", "0:100", "--out", out)
    assert call("fit", "mixture", path, *least).exit_code == 0
    assert name in call("show", out).stdout
    assert "'[/x]'" in call("fit", "mixture", path, *least, "--columns", "[/x]").stderr


def test_prep_writes_files_that_fit_per_person(rows, tmp_path):
    done = call("prep", rows, "--person", "user", "--out", tmp_path / "by-user", "--buckets", 2)
    assert done.exit_code == 0
    assert "2 files" in done.stdout
    assert fit(tmp_path / "by-user", "--person", "user", "--out", tmp_path / "o").exit_code == 0
    again = call("prep", rows, "--person", "user", "--out", tmp_path / "by-user")
    assert again.exit_code == 2


def test_the_game_catches_a_learner_that_cheats():
    honest = call("audit", "game", "--rounds", 4000, "--random-state", 1)
    cheat = call("audit", "game", "--rounds", 4000, "--random-state", 1, "--noise-scale", 0.3)
    assert "does not refute" in honest.stdout
    assert "The claim is false" in cheat.stdout


def test_the_demo_tells_what_lies_where(tmp_path):
    done = call("demo", "--out", tmp_path / "demo", "--people", 300)
    assert done.exit_code == 0, done.stderr
    for words in ("map.png", "private/report.html", "not private", "room for epsilon", "not real data"):
        assert words in done.stdout
    assert (tmp_path / "demo" / "map.png").read_bytes()[:4] == b"\x89PNG"


def test_commands_call_jobs_and_nothing_else():
    for path in (Path(discreet.__file__).parent / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet."):
                room = (node.module or "").split(".")[1]
                assert room in {"cli", "jobs", "errors"}, f"{path.name} imports {node.module}"
