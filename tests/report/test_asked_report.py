"""The page of an asked question: who learned what, every phase, the sums; pictures; texts escaped."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from matplotlib.image import imread
from tests.ask.small import vocabulary

from discreet.ask.model import Model
from discreet.report.asked import AskedPaper
from discreet.report.asked_page import write_asked
from discreet.report.canvas import DAY, NIGHT
from discreet.report.flow import draw_flows
from discreet.session.receipt import Receipt
from discreet.wire.meter import Count, Meter

EVIL = "<script>alert(1)</script>&'"


def paper_of(role: str = "data", show_words: bool = True, ahead: bool = False, **settings: str) -> AskedPaper:
    model = Model.of(vocabulary(), longest=40, padding=20, show_words=show_words)
    question = model.offer.question([7, 39, 33], ahead=ahead)
    other = {"data": "model", "model": "data"}[role]
    phases = {
        "scores": Count(4_000_000, 1_000_000, 2, 2, 0.25, 0.5),
        "gates": Count(0, 30_000_000, 9, 1, 0.5, 0.25),
    }
    receipt = Receipt(
        plan=question.plan,
        role=role,
        parties={"data": "d" * 64, "model": "m" * 64},
        session=settings.get("session", "s" * 64),
        versions={"discreet": settings.get("version", "0")},
        started="2026-11-20T01:06:20+00:00",
        seconds=1.75,
        peers={other: Meter(phases)},
    )
    return AskedPaper(receipt, question)


def test_the_page_says_who_learned_what_and_what_every_phase_took():
    page = write_asked(paper_of())
    for words in ("Which word was spoken?", "Who learned what", "What it took", "What was agreed", "Receipt"):
        assert words in page
    assert "3 of 1 to 40 frames" in page
    assert re.search(r"recordings</strong></td><td class=\"words\">the word of each recording<", page)
    assert re.search(r"models</strong></td><td class=\"words\">nothing<", page)
    assert re.search(r"scores</td>.*?width:100.0%.*?0.75 s</td><td>4.00 MB</td><td>1.00 MB", page)
    assert re.search(r"together</td><td></td><td>1.75 s</td><td>4.00 MB</td><td>31.0 MB", page)
    assert "default-src 'none'" in page
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", page)


def test_words_that_are_hidden_are_not_on_the_page():
    assert "one, two and three" in write_asked(paper_of())
    hidden = write_asked(paper_of(show_words=False))
    assert "3, which are not shown" in hidden
    assert "but not the list of words" in hidden
    assert "one, two" not in hidden


def test_each_side_sees_its_own_counts():
    mine, theirs = paper_of(), paper_of("model")
    assert (mine.name, theirs.name) == ("recordings", "models")
    assert mine.flows[0].sender == "recordings" and theirs.flows[0].sender == "models"
    assert mine.size == theirs.size == 35_000_000
    assert mine.told("recordings") == "their owner learns the word"
    assert theirs.told("models") == "their owner learns nothing"
    assert mine.to_dict()["phases"]["gates"]["received"] == 30_000_000


@pytest.mark.parametrize("colours", [DAY, NIGHT], ids=["day", "night"])
def test_both_owners_are_drawn(colours):
    raw = draw_flows(paper_of(), colours)
    picture = imread(io.BytesIO(raw))
    assert picture.std() > 0.01 and picture.shape[1] > 2 * picture.shape[0]
    assert raw != draw_flows(paper_of("model"), colours)


def test_texts_of_a_receipt_cannot_break_out_of_the_page():
    paper = paper_of(session=EVIL, version=EVIL)
    ((peer, meter),) = paper.receipt.peers.items()
    odd = replace(paper.receipt, started=EVIL, peers={peer: Meter({EVIL: meter.phases["gates"]})})
    page = write_asked(replace(paper, receipt=odd))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 4


def test_a_run_of_no_length_has_a_page():
    paper = paper_of()
    ((peer, _),) = paper.receipt.peers.items()
    assert "0 bytes" in write_asked(
        replace(paper, receipt=replace(paper.receipt, peers={peer: Meter({"open": Count()})}))
    )
