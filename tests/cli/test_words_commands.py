"""`discreet fit words` and `discreet ask`: from made-up recordings to a word, in words, files and codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.accounting.ledger import Ledger
from discreet.cli import app


def call(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "100"})


def flat(text: str) -> str:
    """The words of a panel, on one line."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tones of four words, and models of them."""
    folder = tmp_path_factory.mktemp("words")
    done = call("ask", "tones", folder / "tones", "--words", 4, "--speakers", 2, "--takes", 4)
    assert done.exit_code == 0 and "24 recordings" in done.stdout, done.output
    done = call("fit", "words", folder / "tones/train", "--epsilon", "inf", "--out", folder / "words")
    assert done.exit_code == 0, done.output
    assert "NOT PRIVATE" in done.stdout and "report.html" in done.stdout
    return folder


def test_recordings_are_recognised_with_a_margin(made: Path) -> None:
    done = call("ask", "plain", made / "words", made / "tones/test", "--named")
    assert done.exit_code == 0, done.output
    assert "8 of 8 right (100.0%)" in done.stdout and "margin, nats" in done.stdout
    one = made / "tones/test/brio_s1_0.wav"
    heard = json.loads(call("ask", "plain", made / "words", one, "--json").stdout)["heard"]
    assert heard[0]["word"] == "brio" and heard[0]["margin"] > 0 and heard[0]["second"] != "brio"
    best = json.loads(call("ask", "plain", made / "words", one, "--json", "--method", "viterbi").stdout)
    assert best["heard"][0]["word"] == "brio" and best["known"] == 0


def test_a_vocabulary_is_shown_with_what_sounds_alike(made: Path) -> None:
    done = call("show", made / "words")
    assert done.exit_code == 0, done.output
    assert "Models of 4 words: 5 states" in done.stdout and "brio" in done.stdout
    plain = json.loads(call("show", made / "words", "--json").stdout)["model"]
    assert plain["words"] == ["alto", "brio", "coda", "duet"] and plain["private"] is False
    assert plain["front"]["sound"]["rate"] == 8000 and len(plain["distances"]) == 4


def test_a_private_fit_says_beforehand_and_afterwards_what_it_costs(made: Path, tmp_path: Path) -> None:
    book = tmp_path / "ledger"
    call("ledger", "new", book, "--dataset", "tones", "--unit", "person", "--epsilon", 10, "--delta", 1e-5)
    private = ("--epsilon", 8, "--delta", 1e-5, "--words", "alto,brio,coda,duet", "--max-frames", 80)
    asked = ("fit", "words", made / "tones/train", *private, "--person", "speaker", "--ledger", book)
    before = book.read_bytes()
    seen = call(*asked, "--dry-run", "--out", tmp_path / "words")
    assert seen.exit_code == 0, seen.output
    assert "nothing was spent" in seen.stdout and "as much as 4 words" in flat(seen.stdout)
    assert book.read_bytes() == before and not (tmp_path / "words").exists()
    told = json.loads(call(*asked, "--dry-run", "--json", "--out", tmp_path / "words").stdout)
    done = json.loads(call(*asked, "--json", "--out", tmp_path / "words").stdout)
    assert told["guarantee"] == done["model"]["guarantee"] and done["model"]["private"] is True
    assert done["receipt"]["words"] == 4 and done["left"]["runs"] == 1
    assert len(Ledger.open(book).entries()) == 1
    again = call(*asked, "--out", tmp_path / "more")
    assert again.exit_code == 2 and "OverspentError" in again.stderr
    assert not (tmp_path / "more").exists()


def test_a_plan_in_a_file_does_the_same(made: Path, tmp_path: Path) -> None:
    folders = tmp_path / "folders"
    for path in (made / "tones/train").iterdir():
        word, rest = path.name.split("_", 1)
        (folders / word).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folders / word / rest)
    (tmp_path / "plan.toml").write_text(
        'data = "folders"\nlabels = "folders"\nepsilon = "inf"\nstates = 3\n'
        'covariance_type = "diag"\nout = "words"\n'
    )
    done = call("fit", "words", "--plan", tmp_path / "plan.toml", "--json")
    assert done.exit_code == 0, done.output
    heard = json.loads(
        call("ask", "plain", tmp_path / "words", made / "tones/test", "--named", "--json").stdout
    )
    assert heard["known"] == 8 and heard["right"] >= 6


REFUSED: dict[str, tuple[tuple[object, ...], str]] = {
    "no budget": ((), "epsilon is not given"),
    "no such labels": (("--epsilon", "inf", "--labels", "guess"), "no such layout"),
    "undeclared words": (("--epsilon", 1, "--delta", 1e-5, "--max-frames", 80), "words are not declared"),
    "other words": (("--epsilon", "inf", "--words", "yes,no"), "not declared"),
    "another rate": (("--epsilon", "inf", "--rate", 16000), "another sampling rate"),
    "a rate without a recipe": (("--epsilon", "inf", "--rate", 44100), "no recipe"),
    "where is no choice": (
        ("--epsilon", "inf", "--labels", "index", "--where", "train"),
        "where cannot be understood",
    ),
    "no such setting": (("--epsilon", "inf", "--topology", "ring"), "no such topology"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_end_with_code_2_and_write_nothing(made: Path, tmp_path: Path, case: str) -> None:
    options, words = REFUSED[case]
    done = call("fit", "words", made / "tones/train", *options, "--out", tmp_path / "words")
    assert done.exit_code == 2 and not (tmp_path / "words").exists(), done.output
    assert words in flat(done.stderr).lower(), done.stderr


def test_settings_that_are_not_for_words_are_refused(made: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('epsilon = "inf"\nradius = 3.0\n')
    done = call(
        "fit", "words", made / "tones/train", "--plan", tmp_path / "plan.toml", "--out", tmp_path / "words"
    )
    assert done.exit_code == 2 and "not for words" in done.stderr
    both = call("fit", "words", made / "tones/train", made / "tones/test", "--epsilon", "inf")
    assert both.exit_code == 2 and "one folder" in both.stderr


def test_a_dry_run_of_a_folder_that_is_absent_is_refused(tmp_path: Path) -> None:
    done = call("fit", "words", tmp_path / "absent", "--epsilon", "inf", "--dry-run")
    assert done.exit_code == 2 and "not there" in done.stderr


def test_what_cannot_be_asked_is_refused(made: Path, tmp_path: Path) -> None:
    for words in (
        ("ask", "plain", tmp_path / "absent", made / "tones/test"),
        ("ask", "plain", made / "words", tmp_path / "absent.wav"),
        ("ask", "plain", made / "words", made / "tones/test", "--method", "sideways"),
        ("ask", "tones", made / "tones"),
    ):
        done = call(*words)
        assert (done.exit_code in (1, 2) and done.exception is None) or isinstance(done.exception, SystemExit)
        assert done.stderr and "Traceback" not in done.stderr
