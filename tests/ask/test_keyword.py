"""The word that comes out of the encrypted run is the plain one, whatever the models are."""

import pytest
from tests.ask.small import recording, run, vocabulary

from discreet.ask.cost import cost

SHAPES = [
    {"kind": "full", "words": 10, "states": 5, "dimension": 6},
    {"kind": "diag", "words": 20, "states": 2, "dimension": 5, "topology": "full"},
    {"kind": "full", "mixtures": 3, "words": 3, "topology": "full"},
    {"kind": "diag", "mixtures": 2, "words": 4},
    {"symbols": 5, "words": 4, "topology": "full"},
    {"symbols": 7, "words": 3, "states": 1},
]


def plain(words, recordings):
    return [words.predict(one) for one in recordings]


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_encrypted_answer_is_the_plain_one(shape, ahead):
    words = vocabulary(**shape)
    recordings = [recording(words, frames, seed) for seed, frames in enumerate((13, 25, 10))]
    outputs, _, _ = run(words, recordings, ahead=ahead)
    assert outputs == {"data": plain(words, recordings), "model": None}


@pytest.mark.parametrize("padding", [1, 8])
def test_recordings_of_many_lengths_share_a_session(padding):
    words = vocabulary(words=3, dimension=2, kind="diag")
    recordings = [recording(words, 5 + 7 * seed % 20, seed) for seed in range(9)]
    outputs, _, question = run(words, recordings, padding=padding, longest=32, together=4)
    assert [batch.recordings for batch in question.batches] == [4, 4, 1]
    assert outputs["data"] == plain(words, recordings)


@pytest.mark.parametrize("frames", [1, 2, 500])
def test_recordings_may_be_very_short_or_long(frames):
    words = vocabulary(words=2, states=2, dimension=2, kind="diag")
    one = recording(words, frames, 3)
    assert run(words, [one], padding=min(frames, 50))[0]["data"] == plain(words, [one])


@pytest.mark.parametrize("opened", ["data", "model", "both"])
@pytest.mark.parametrize("ahead", [False, True])
def test_the_word_is_opened_to_those_who_are_named(opened, ahead):
    words = vocabulary()
    one = recording(words, 6)
    outputs, _, question = run(words, [one], opened=opened, ahead=ahead)
    for role in ("data", "model"):
        knows = opened in (role, "both")
        assert outputs[role] == ([words.predict(one)] if knows else None)
        assert (question.plan.learns[role] == "nothing") != knows


def test_a_word_is_told_out_of_a_list_that_stays_private():
    words = vocabulary(words=4)
    one = recording(words, 9, 5)
    outputs, _, question = run(words, [one], show_words=False)
    assert outputs["data"] == plain(words, [one])
    assert not any(word in str(question.to_dict()) for word in words.words)


@pytest.mark.parametrize("shape", [{}, {"symbols": 4}, {"topology": "full"}], ids=str)
def test_the_best_path_may_be_asked_for(shape):
    words = vocabulary(**shape)
    one = recording(words, 12, 1)
    assert run(words, [one], method="viterbi")[0]["data"] == [words.predict(one, "viterbi")]


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(
    "shape", [{}, {"topology": "full", "mixtures": 2}, {"symbols": 6}, {"kind": "diag", "words": 7}], ids=str
)
def test_bytes_are_what_cost_predicts(shape, ahead):
    words = vocabulary(**shape)
    recordings = [recording(words, frames, frames) for frames in (4, 9, 30)]
    _, transcript, question = run(words, recordings, ahead=ahead, padding=3, opened="both")
    assert cost(question).bytes == transcript.size
    gates = sum(record.size for record in transcript if record.name.endswith("gates/tables"))
    assert cost(question).tables == gates
