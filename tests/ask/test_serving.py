"""Serving and asking for keywords: right words, offers and sizes checked on both sides, answers counted."""

import asyncio
import subprocess
import sys

import melodies
import numpy as np
import pytest
from counter import Running

from discreet.ask import serving
from discreet.ask.answers import Allowance, Answers
from discreet.ask.keyword import Prepared
from discreet.ask.serving import (
    answers_of,
    ask,
    identifier_of,
    load_model,
    memory,
    open_desk,
    question_of,
    serve,
)
from discreet.errors import ParameterError, ProtocolError, RefusedError, TooLargeError
from discreet.session import Limits, request
from discreet.wire.identity import Home
from discreet.wire.tls import Place


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    for name in ("bob", "alice", "carl"):
        home.new(name)
    return {name: home.identity(name) for name in home.names()}


@pytest.fixture(scope="module")
def words():
    return melodies.vocabulary()


def desk_of(words, tmp_path, most=None, **settings):
    settings = {"longest": 24, "padding": 12, **settings}
    return open_desk(words, tmp_path / "answers", Allowance(most), **settings)


@pytest.fixture(scope="module")
def shared(people, words, tmp_path_factory):
    desk = desk_of(words, tmp_path_factory.mktemp("answers"), together=4)
    with Running(people["bob"], [people["alice"].card, people["carl"].card], desk) as service:
        yield service


def put(shared, people, recordings, **settings):
    return ask(recordings, people["bob"].card, shared.service.place, people["alice"], **settings)


@pytest.mark.parametrize("ahead", [False, True])
def test_several_recordings_are_answered_in_their_order(shared, people, words, ahead):
    lengths = (20, 7, 12)
    recordings = [melodies.recording(at, frames) for at, frames in enumerate(lengths)]
    before = sum(one.answers for one in shared.service.desk.answers.tallies())
    answer = put(shared, people, recordings, ahead=ahead)
    assert answer.words == melodies.WORDS == tuple(map(words.predict, recordings))
    assert answer.learned == {"data": "up, down, flat", "model": "nothing"}
    assert answer.bytes > 10_000
    assert ("ahead" in answer.phases) == ahead
    assert sum(one.answers for one in shared.service.desk.answers.tallies()) == before + 3
    shared.outcomes("alice")
    assert list(shared.notes[-1].sizes["frames"]) == [12, 12, 24]  # lengths as they are padded, no others
    name, receipt = shared.receipts[-1]
    assert name == "alice"
    assert receipt.learned == "nothing"
    assert receipt.session == answer.receipts["data"].session


def test_one_recording_gives_one_word_and_a_function_is_asked_for_it_after_the_offer(shared, people):
    def record(offer):
        assert offer.longest == 24
        return [melodies.recording(1)]

    assert put(shared, people, melodies.recording(2)).word == "flat"
    assert put(shared, people, record).word == "down"


@pytest.mark.parametrize(
    ("recordings", "told"),
    [
        ([np.zeros((25, 2))], "recording 1 is longer than what is offered.*24 frames"),
        ([np.zeros((9, 2))] * 5, "too many recordings"),
        ([np.zeros((9, 3))], "a recording is not rows"),
        ([], "several recordings"),
    ],
)
def test_a_client_refuses_recordings_that_are_not_offered_before_it_asks(shared, people, recordings, told):
    before = shared.service.desk.answers.tallies()
    with pytest.raises(ValueError, match=told):
        put(shared, people, recordings)
    assert shared.service.desk.answers.tallies() == before


def test_no_recording_together_is_refused_and_steps_end_at_the_longest(words, tmp_path):
    with pytest.raises(ParameterError, match="at least 1 together"):
        desk_of(words, tmp_path, together=0)
    assert desk_of(words, tmp_path, longest=5, padding=12).card.padding == 5
    with pytest.raises(ParameterError, match="padding of an offer is out of range"):
        desk_of(words, tmp_path, padding=0)


def test_what_could_not_be_kept_ahead_is_refused_before_it_counts(shared, people, monkeypatch):
    monkeypatch.setattr(serving, "_AHEAD", 1000)
    before = shared.service.desk.answers.tallies()
    with pytest.raises(TooLargeError, match="too much room"):
        put(shared, people, melodies.recording(1), ahead=True)
    assert shared.service.desk.answers.tallies() == before
    assert put(shared, people, melodies.recording(1)).word == "down"


def test_the_owner_refuses_sizes_that_no_client_of_ours_would_ask_for(shared, people):
    async def go(sizes):
        channel = await shared.channel(people["alice"])
        try:
            await request.ask(channel, "keyword", sizes, await request.ask_for_offer(channel))
        finally:
            await channel.close()

    for sizes in (
        {"frames": [7], "ahead": 0},
        {"frames": [24, 12], "ahead": 0},
        {"frames": [36], "ahead": 0},
        {"frames": [0], "ahead": 0},
        {"frames": [], "ahead": 0},
        {"frames": [12] * 5, "ahead": 0},
        {"frames": 12, "ahead": 0},
        {"frames": [12], "ahead": 2},
        {"frames": [12], "ahead": [0]},
        {"frames": [12]},
        {"ahead": 0},
    ):
        with pytest.raises(RefusedError) as error:
            asyncio.run(go(sizes))
        assert error.value.got == "sizes"


def test_both_sides_build_the_same_question_from_padded_lengths(words, tmp_path):
    offer = desk_of(words, tmp_path).card
    lengths = [24, 3, 13, 12, 1]
    padded = sorted(map(offer.padded, lengths))
    for ahead in (0, 1):
        sizes = {"frames": padded, "ahead": ahead}
        assert question_of(offer, sizes, 9).plan == offer.question(lengths, ahead=bool(ahead)).plan


def test_a_batch_counts_each_recording_and_is_refused_as_a_whole(people, words, tmp_path):
    desk = desk_of(words, tmp_path, most=3)
    with Running(people["bob"], [people["alice"].card], desk) as service:
        two = [melodies.recording(0), melodies.recording(1)]
        assert put(service, people, two).words == ("up", "down")
        with pytest.raises(RefusedError) as error:
            put(service, people, two)
        assert error.value.got == "limit"
        assert put(service, people, two[:1]).word == "up"
    (tally,) = Answers.open(desk.answers.path).tallies()
    assert (tally.answers, tally.client) == (3, people["alice"].fingerprint)


def test_the_count_goes_on_when_the_service_begins_again(words, tmp_path, people):
    one, two = (desk_of(words, tmp_path, most=2) for _ in range(2))
    assert one.card.model != two.card.model  # the digest in an offer is salted anew
    assert one.identifier == two.identifier == identifier_of(words)
    session = one.session("keyword", {"frames": [12], "ahead": 0})
    one.charge(people["alice"].card, session)
    two.charge(people["alice"].card, session)
    assert one.answers.left(people["alice"].fingerprint, one.identifier, one.allowance) == 0


def test_an_offer_holds_no_weight_and_no_list_of_words_that_is_hidden(words, tmp_path):
    desk = desk_of(words, tmp_path, show_words=False)
    text = str(desk.offer)
    assert not any(repr(word) in text for word in melodies.WORDS)
    assert "0.05" not in text
    assert "-0.8" not in text


def test_an_offer_of_a_stranger_is_checked(words, tmp_path):
    plain = dict(desk_of(words, tmp_path).offer)
    assert serving.offered(plain)[1] == 16
    for wrong in (
        {},
        {**plain, "version": 2},
        {**plain, "questions": ["other"]},
        {**plain, "together": "many"},
        {**plain, "offer": {}},
        {**plain, "offer": {**plain["offer"], "states": 10**9}},
        {**plain, "offer": {**plain["offer"], "ranges": None}},
        {**plain, "offer": {**plain["offer"], "more": 1}},
        {**plain, "offer": {**plain["offer"], "words": [1, 2, 3]}},
    ):
        with pytest.raises(ProtocolError, match="offers something else"):
            serving.offered(wrong)


def test_a_worker_prepares_the_model_once(words, tmp_path):
    desk = desk_of(words, tmp_path)
    assert isinstance(load_model(desk.private), Prepared)


def test_memory_grows_with_what_is_asked(words, tmp_path):
    offer = desk_of(words, tmp_path).card
    small, large = (question_of(offer, {"frames": [12] * count, "ahead": 0}, 16) for count in (1, 9))
    assert 0 < memory(small) < memory(large)


def test_a_service_whose_questions_need_more_than_they_may_take_does_not_begin(people, words, tmp_path):
    with pytest.raises(ParameterError, match="more memory than a session may"):
        serve(
            words,
            people["bob"],
            [people["alice"].card],
            Place("127.0.0.1", 0),
            answers=tmp_path / "answers",
            limits=Limits(memory=1 << 20),
        )


def test_answers_of_a_vocabulary_without_a_folder_need_a_file(words, tmp_path):
    with pytest.raises(ParameterError, match="counted in a file"):
        open_desk(words)
    assert answers_of(tmp_path / "words") == tmp_path / "words.answers"


def test_serving_is_a_call_that_ends_with_an_interruption(people, tmp_path):
    import signal

    home = Home(tmp_path / "home")
    for name in ("bob", "carl"):
        home.new(name)
    home.trust(home.identity("carl").certificate)
    words = [home.folder, tmp_path / "answers", 5, tmp_path / "log", 5]
    process = subprocess.Popen(
        [sys.executable, melodies.__file__, *map(str, words)], stdout=subprocess.PIPE, text=True
    )
    assert int(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    process.stdout.close()
