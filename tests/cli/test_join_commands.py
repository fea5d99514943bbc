"""`discreet join`: help with examples, a plan to start from, a look, a rehearsal, and a real run of three."""

import json
import os
import socket
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from discreet.cli import app


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "110"})


def flat(result):
    return " ".join(result.stdout.split())


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("join") / "demo"
    made = call("join", "new", "--demo", folder, "--people", 150)
    assert made.exit_code == 0
    assert "Nobody is real" in made.stdout
    return folder


@pytest.mark.parametrize("command", ["new", "check", "rehearse", "run"])
def test_every_command_has_help_with_an_example(command):
    shown = call("join", command, "--help")
    assert shown.exit_code == 0
    assert f"discreet join {command}" in shown.stdout


def test_a_plan_to_start_from_can_be_looked_at_at_once(tmp_path):
    plan = tmp_path / "plan.toml"
    assert call("join", "new", plan).exit_code == 0
    shown = call("join", "check", plan)
    assert shown.exit_code == 0
    assert "Who learns what" in shown.stdout
    assert "Say --rows" in shown.stdout
    again = call("join", "new", plan)
    assert again.exit_code == 2
    made = json.loads(call("join", "new", tmp_path / "other.toml", "--json").stdout)
    assert made == {"plan": str(tmp_path / "other.toml"), "simulated": False}


def test_a_look_says_who_learns_what_and_what_it_costs(demo):
    shown = call("join", "check", demo / "plan.toml", "--rows", 165)
    assert shown.exit_code == 0
    for word in ("dealer", "north", "south", "What is promised", "epsilon 1", "kB", "rounds", "formula"):
        assert word in flat(shown)
    plain = json.loads(call("join", "check", demo / "plan.toml", "--rows", 165, "--json").stdout)
    assert plain["rows"] == 165
    assert set(plain["learns"]) == {"dealer", "north", "south"}
    assert plain["bytes"] == sum(size for *_, size in plain["pairs"])


def test_a_rehearsal_ends_with_folders_that_can_be_shown(demo, tmp_path):
    out = tmp_path / "out"
    done = call(
        "join", "rehearse", demo / "plan.toml", "--data", f"north={demo}/north.csv", "--out", out, "--json"
    )
    assert done.exit_code == 0, done.stdout
    plain = json.loads(done.stdout)
    assert set(plain["parties"]) == {"north", "south", "dealer"}
    assert plain["parties"]["dealer"]["cpts"] is None
    assert plain["parties"]["north"]["rows"] == 150
    north, dealer = call("show", out / "north"), call("show", out / "dealer")
    assert north.exit_code == dealer.exit_code == 0
    assert "smoke" in north.stdout
    assert "SHA-256" in north.stdout
    assert "dealer did not get the network" in dealer.stdout
    assert json.loads(call("show", out / "dealer", "--json").stdout)["model"]["role"] == "helper"


def test_requests_that_cannot_be_met_end_with_two(demo, tmp_path):
    plan = demo / "plan.toml"
    for words in (
        ("check", tmp_path / "none.toml"),
        ("rehearse", plan, "--data", "north"),
        ("rehearse", plan, "--data", "north=a", "--data", "north=b"),
        ("rehearse", plan, "--data", "north=none.csv", "--out", tmp_path / "out"),
        ("run", plan, "--as", "nobody", "--out", tmp_path / "out"),
    ):
        refused = call("join", *words)
        assert refused.exit_code == 2, refused.stdout
    assert not (tmp_path / "out").exists()


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Hospital:
    """One party with a home of its own, as a process."""

    def __init__(self, name, folder):
        self.name, self.folder, self.home = name, folder, folder / f"home-{name}"

    def start(self, *words):
        environment = {**os.environ, "DISCREET_HOME": str(self.home)}
        command = [sys.executable, "-m", "discreet", *map(str, words)]
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def call(self, *words):
        environment = {"COLUMNS": "110", "DISCREET_HOME": str(self.home)}
        done = CliRunner().invoke(app, [str(word) for word in words], env=environment)
        assert done.exit_code == 0, done.stdout
        return done.stdout


@pytest.mark.slow
def test_three_hospitals_make_keys_trust_each_other_and_run(tmp_path):
    folder = tmp_path / "demo"
    assert call("join", "new", "--demo", folder, "--hospitals", 3, "--people", 120).exit_code == 0
    text = (folder / "plan.toml").read_text()
    names = ("north", "south", "east")
    for name, port in zip(names, free_ports(3), strict=True):
        text = "\n".join(
            f'place = "127.0.0.1:{port}"' if line.startswith(f'place = "{name}.') else line
            for line in text.splitlines()
        )
    (folder / "plan.toml").write_text(text)
    hospitals = [Hospital(name, folder) for name in names]
    cards = {}
    for one in hospitals:
        made = json.loads(one.call("party", "new", one.name, "--json"))
        cards[one.name] = made["file"], made["fingerprint"]
    for one in hospitals:
        for other in names:
            if other != one.name:
                file, fingerprint = cards[other]
                one.call("party", "trust", file, "--fingerprint", fingerprint)
    running = [
        one.start(
            *("join", "run", folder / "plan.toml", "--as", one.name, "--data", folder / f"{one.name}.csv"),
            *("--ledger", folder / f"{one.name}.ledger", "--out", tmp_path / one.name, "--json"),
        )
        for one in hospitals
    ]
    ended = [process.communicate(timeout=180) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], ended
    networks = [(tmp_path / name / "network.bif").read_bytes() for name in names]
    assert networks[0] == networks[1] == networks[2]
    told = [json.loads(out) for out, _ in ended]
    assert len({one["session"] for one in told}) == 1
    assert [list(one["parties"]) for one in told] == [[name] for name in names]
    assert all((tmp_path / name / "report.html").is_file() for name in names)


@pytest.mark.slow
def test_a_party_that_waits_alone_is_told_so(tmp_path):
    folder = tmp_path / "demo"
    assert call("join", "new", "--demo", folder, "--people", 50).exit_code == 0
    plan = folder / "plan.toml"
    lines = plan.read_text().splitlines()
    ports = iter(free_ports(3))
    plan.write_text(
        "\n".join(
            f'place = "127.0.0.1:{next(ports)}"' if line.startswith("place") else line for line in lines
        )
    )
    parties = {name: Hospital(name, folder) for name in ("north", "south", "dealer")}
    for one in parties.values():
        one.call("party", "new", one.name)
    for other in ("south", "dealer"):
        card = json.loads(parties[other].call("party", "show", "--json"))["parties"][0]
        parties["north"].call("party", "trust", card["file"], "--fingerprint", card["fingerprint"])
    words = ("join", "run", plan, "--as", "north", "--data", folder / "north.csv", "--wait", 1)
    alone = parties["north"].start(*words, "--ledger", folder / "north.ledger", "--out", tmp_path / "out")
    _, err = alone.communicate(timeout=60)
    assert alone.returncode == 1
    assert "Error" in err
    assert not (tmp_path / "out").exists()
    left = json.loads(call("ledger", "show", folder / "north.ledger", "--json").stdout)
    assert left["budgets"][0]["runs"] == 0


def test_networks_are_shown_with_their_margins_unless_they_are_too_dense(capsys, monkeypatch):
    """What `discreet show` prints of a receiver's folder."""
    from types import SimpleNamespace

    from joint_cases import people, settings

    from discreet.cli.join import joint
    from discreet.errors import TooLargeError
    from discreet.join import JoinPlan
    from discreet.models.margins import parameters
    from discreet.models.network import Network
    from discreet.models.tally import tally

    plan = JoinPlan.of(settings("helper", to=("south",)))
    network = parameters(tally(people(1), plan.network), plan.network, prior=1.0)
    paper = SimpleNamespace(plan=plan, name="south", role="holder", rows=24, network=network)
    joint(paper)
    shown = capsys.readouterr().out
    for state, chance in zip(plan.network.states["D"], network.query(["D"]), strict=True):
        assert f"{state} {chance:.1%}" in shown

    def refuse(self, *, most=0):
        raise TooLargeError("too dense")

    monkeypatch.setattr(Network, "margins", refuse)
    joint(paper)
    assert "too dense to say" in capsys.readouterr().out
