"""`discreet ask serve, keyword, rehearse, limits`: as people type them, in processes of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import wave

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.ask.answers import Allowance, Answers
from discreet.cli import app
from discreet.cli.service import opened
from discreet.jobs import Opened
from discreet.wire.identity import Home
from discreet.wire.tls import Place

RATE = 8000


def call(*words, home=None):
    arguments = [str(word) for word in words]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "100", "DISCREET_HOME": str(home or "")})


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    """The homes of bob, who has models, and of alice, who has recordings; each trusts the other."""
    made = {name: Home(tmp_path_factory.mktemp(name)) for name in ("bob", "alice")}
    for name, home in made.items():
        home.new(name)
    made["bob"].trust(made["alice"].identity("alice").certificate)
    made["alice"].trust(made["bob"].identity("bob").certificate)
    return {name: home.folder for name, home in made.items()}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models of three melodies, few numbers a frame: the folder, and recordings for tests."""
    folder = tmp_path_factory.mktemp("words")
    assert call("ask", "tones", folder / "tones", "--words", 3, "--speakers", 3, "--takes", 3).exit_code == 0
    options = ["--epsilon", "inf", "--covariance", "diag", "--states", "3", "--ceps", "6", "--deltas", "0"]
    done = call("fit", "words", folder / "tones" / "train", *options, "--out", folder / "words")
    assert done.exit_code == 0, done.output
    return folder / "words", sorted((folder / "tones" / "test").iterdir())


class Served:
    """A service as a process of the command."""

    def __init__(self, home, bundle, *options):
        words = "ask serve --as bob --listen 127.0.0.1:0 --workers 1 --json"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "discreet", *words.split(), str(bundle), *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "DISCREET_HOME": str(home), "OMP_NUM_THREADS": "1"},
        )

    def __enter__(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.opened = json.loads(line)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        out, self.err = self.process.communicate(timeout=60)
        self.visits = [json.loads(line) for line in out.splitlines()]

    @property
    def to(self):
        return f"bob@{self.opened['place']}"


def said(path):
    return path.stem.rsplit("_", 2)[0]


def test_a_client_asks_a_service_until_its_answers_are_used_up(homes, models, tmp_path):
    bundle, files = models
    with Served(homes["bob"], bundle, "--limit", 3, "--answers", tmp_path / "answers") as service:
        asked = ("ask", "keyword", files[0], files[-1], "--to", service.to, "--as", "alice")
        done = call(*asked, home=homes["alice"])
        assert done.exit_code == 0, done.output
        assert done.stdout.count(said(files[0])) >= 2
        assert "The owner of the models learned: nothing" in done.stdout
        plain = json.loads(call(*asked[:3], *asked[4:], "--ahead", "--json", home=homes["alice"]).stdout)
        assert list(plain["words"].values()) == [said(files[0])]
        assert plain["phases"]["ahead"]["bytes"] > 0
        refused = call(*asked, "--json", home=homes["alice"])
        assert refused.exit_code == 1
        assert json.loads(refused.stdout)["error"]["got"] == "limit"
    assert service.process.returncode == 0
    assert service.err == ""
    assert service.opened["clients"] == ["alice"]
    assert [visit["outcome"] for visit in service.visits] == ["answered", "answered", "refused (limit)"]
    assert not any(word in str(service.visits) for word in map(said, files))
    receipts = [list((homes[name] / "receipts").iterdir()) for name in ("bob", "alice")]
    sessions = [{json.loads(path.read_text())["session"] for path in folder} for folder in receipts]
    assert sessions[0] == sessions[1]
    assert len(sessions[0]) == 2
    mine = next((homes["alice"] / "receipts").iterdir())
    asked = call("show", mine, "--out", tmp_path / "asked")
    for part in (
        "as the owner of the recordings saw it",
        "together",
        "models learned: nothing",
        "report.html",
    ):
        assert part in asked.stdout, asked.output
    assert not any(f" {said(path)}" in asked.stdout for path in (files[0], files[-1]))
    assert (tmp_path / "asked/report.html").is_file()
    assert json.loads(call("show", mine, "--json").stdout)["as"] == "recordings"
    shown = call("ask", "limits", tmp_path / "answers", home=homes["bob"])
    assert "alice" in shown.stdout
    (row,) = json.loads(call("ask", "limits", tmp_path / "answers", "--json", home=homes["bob"]).stdout)[
        "answers"
    ]
    assert (row["name"], row["answers"], row["charges"]) == ("alice", 3, 2)


def test_a_rehearsal_shows_words_phases_and_what_each_side_learned(models):
    bundle, files = models
    done = call("ask", "rehearse", bundle, files[0])
    assert done.exit_code == 0, done.output
    for part in (said(files[0]), "scores", "MB", "learned: nothing", "saw how many recordings"):
        assert part in done.stdout, part
    assert re.search(r"lengths: 1 of \d+ frames\.", done.stdout)
    plain = json.loads(call("ask", "rehearse", bundle, files[0], files[1], "--ahead", "--json").stdout)
    assert list(plain["words"].values()) == [said(files[0]), said(files[1])]
    assert plain["bytes"] == sum(phase["bytes"] for phase in plain["phases"].values())
    assert plain["receipt"] is None


@pytest.mark.parametrize("command", ["serve", "keyword", "rehearse", "limits"])
def test_every_command_has_an_example(command):
    done = call("ask", command, "--help")
    assert done.exit_code == 0
    assert f"discreet ask {command}" in done.stdout.replace("Usage:", "")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("keyword SOUND --to bob --as alice", 2, "NAME@HOST:PORT"),
        ("keyword SOUND --to bob@127.0.0.1 --as alice", 2, "host:port"),
        ("keyword SOUND --to carl@127.0.0.1:1 --as alice", 2, "not trusted"),
        ("keyword SOUND --to bob@127.0.0.1:1 --as carl", 2, "no such party"),
        ("keyword nothing.wav --to bob@127.0.0.1:1 --as alice", 2, "nothing.wav"),
        ("serve BUNDLE --as alice --listen here", 2, "host:port"),
        ("serve BUNDLE --as alice --listen 127.0.0.1:0 --per day", 2, "limit is for a period"),
        ("serve BUNDLE --as alice --listen 127.0.0.1:0 --limit 5 --per moon", 2, "hour, day, week"),
        ("serve BUNDLE --as alice --listen 127.0.0.1:0 --limit -5", 2, "limit of answers"),
        ("serve BUNDLE --as alice --listen 127.0.0.1:0 --clients carl", 2, "not trusted"),
        ("serve nowhere --as alice --listen 127.0.0.1:0", 1, "no such folder"),
        ("serve SOUND --as alice --listen 127.0.0.1:0", 1, "no such folder"),
        ("limits nowhere", 1, "no ledger of this name"),
        ("rehearse BUNDLE SLOW", 2, "another sampling rate"),
    ],
)
def test_what_cannot_be_is_refused_with_a_code(words, code, told, homes, models, tmp_path):
    slow = tmp_path / "slow.wav"
    with wave.open(str(slow), "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(16000)
        file.writeframes(np.zeros(16000, "<i2").tobytes())
    places = {"SOUND": models[1][0], "BUNDLE": models[0], "SLOW": slow}
    done = call("ask", *(places.get(word, word) for word in words.split()), home=homes["alice"])
    assert done.exit_code == code, done.output
    assert told in " ".join(done.stderr.split()), done.stderr


def test_limits_are_said_for_their_period(tmp_path, capsys):
    for seconds, words in (
        (3600.0, "3 answers a client an hour"),
        (60.0, "a client in 60 s"),
        (None, "client\n"),
    ):
        here, allowance = Place("127.0.0.1", 9), Allowance(3, seconds)
        opened(Opened(here, ("a",), 2, 20, 10, allowance, tmp_path, tmp_path), as_json=False)
        assert words in capsys.readouterr().out


def test_nobody_has_had_an_answer_yet(tmp_path):
    Answers.at(tmp_path / "words.answers")
    (tmp_path / "words").mkdir()
    assert "Nobody has had an answer yet" in call("ask", "limits", tmp_path / "words").stdout
    Answers.at(tmp_path / "words.answers").charge("f" * 64, "m" * 64, 2, Allowance(5))
    assert "unknown" in call("ask", "limits", tmp_path / "words").stdout
