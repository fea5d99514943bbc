"""Receipts of questions, read back: shown if they are whole, refused if they do not fit themselves."""

from __future__ import annotations

import copy
import json

import pytest
from tests.report.test_asked_report import paper_of

from discreet.errors import BundleError, ParameterError
from discreet.jobs import show_bundle
from discreet.jobs.question import KIND, asked_paper, is_asked, keep_asked


@pytest.fixture
def plain():
    return json.loads(json.dumps(paper_of().receipt.to_dict()))


def test_a_receipt_is_shown_from_its_file_and_from_the_folder_of_its_page(plain, tmp_path):
    path = tmp_path / "keyword-bob.json"
    path.write_text(json.dumps(plain))
    shown = show_bundle(path, tmp_path / "out")
    assert shown.kind == KIND
    assert shown.to_dict()["bytes"] == 35_000_000
    assert {entry.name for entry in (tmp_path / "out").iterdir()} == {"receipt.json", "report.html"}
    again = show_bundle(tmp_path / "out", tmp_path / "out")  # an older page may be replaced
    assert again.paper == shown.paper == asked_paper(plain)
    assert "Which word was spoken?" in (tmp_path / "out/report.html").read_text()


def test_a_place_that_is_taken_is_left_alone(plain, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("x")
    with pytest.raises(BundleError, match="taken"):
        keep_asked(plain, asked_paper(plain), tmp_path / "mine")


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.pop("peers"),
        lambda one: one.update(role="helper"),
        lambda one: one.update(seconds="1"),
        lambda one: one.update(seconds=float("nan")),
        lambda one: one.update(digest="0" * 64),
        lambda one: one.update(session=7),
        lambda one: one["plan"]["learns"].update(model="the word"),
        lambda one: one["plan"]["agreed"].update(batches=[]),
        lambda one: one["plan"]["agreed"]["offer"].update(states=0),
        lambda one: one["peers"]["model"]["scores"].update(sent=-1),
        lambda one: one["peers"]["model"]["scores"].update(waited="long"),
        lambda one: one["peers"].update(other={}),
        lambda one: one["parties"].pop("data"),
    ],
)
def test_a_receipt_that_does_not_fit_itself_is_refused(plain, change):
    changed = copy.deepcopy(plain)
    change(changed)
    assert is_asked(changed)
    with pytest.raises(BundleError, match="receipt of the question"):
        asked_paper(changed)


def test_other_receipts_are_not_taken_for_questions(plain, tmp_path):
    assert not is_asked({})
    assert not is_asked({"plan": {"protocol": "join"}})
    assert not is_asked({"plan": "keyword"})
    path = tmp_path / "receipt.json"
    path.write_text(json.dumps({**plain, "plan": {**plain["plan"], "protocol": "join"}}))
    with pytest.raises(ParameterError, match="no page yet"):
        show_bundle(path, tmp_path / "out")
    with pytest.raises(BundleError, match="joint run is damaged"):
        show_bundle(path)
