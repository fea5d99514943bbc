"""What each party sees of a question: sizes that the plan fixes, and contents that look uniform."""

import numpy as np
import pytest
from tests.ask.small import recording, run, vocabulary
from tests.protocols.uniform import assert_uniform, bits_of

from discreet.models.vocabulary import Vocabulary

SHAPES = [{}, {"topology": "full", "mixtures": 2}, {"symbols": 5}]


def uniform_parts(record):
    """The contents of a message as fractions of one, each of which must be uniform."""
    for name, value in record.arrays.items():
        if name in ("point", "points", "nonce", "seed", "key_seed", "fold", "digest"):
            continue  # group elements and hashes: too few, and tested with the extension
        raw = np.frombuffer(
            value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes(), "u1"
        )
        if name in ("high", "key_high"):
            continue  # high bits of residues modulo primes: together with the low ones in test_scores
        if record.name == "scores/answer":
            continue  # words of less than whole bytes: in test_scores
        if raw.size >= 20000:
            yield name, raw


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_view_of_the_owner_of_models_has_the_same_sizes_for_every_recording_of_a_padded_length(
    shape, ahead
):
    words = vocabulary(**shape)
    forms = set()
    for seed, frames in enumerate((9, 12, 16)):
        one = recording(words, frames, seed)
        _, transcript, _ = run(words, [one], ahead=ahead, padding=8, longest=16)
        forms.add(tuple(record.form for record in transcript))
        for record in transcript.seen_by("model"):
            for _, raw in uniform_parts(record):
                assert_uniform(raw, 256, cells=16)
    assert len(forms) == 1


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_view_of_the_owner_of_recordings_is_uniform_but_for_the_word(shape, ahead):
    """Two vocabularies with the same card: the same forms, uniform contents."""
    forms = set()
    words = vocabulary(**shape)
    for seed, models in enumerate((words.models, words.models[::-1])):
        turned = Vocabulary(words.words, models)
        one = recording(turned, 10, seed)
        _, transcript, _ = run(turned, [one], ahead=ahead, longest=10)
        forms.add(tuple(record.form for record in transcript))
        for record in transcript.seen_by("data"):
            for _, raw in uniform_parts(record):
                assert_uniform(raw, 256, cells=16)
    assert len(forms) == 1


def test_the_last_message_says_the_word_and_nothing_else():
    """Colours of the answer's wires: as many bits as a word's number has, and no score."""
    words = vocabulary(words=4)
    for ahead in (False, True):
        _, transcript, _ = run(words, [recording(words, 6)], ahead=ahead)
        opened = [record for record in transcript if record.name == "open/colours"]
        assert [record.size for record in opened] == [1]
        assert transcript.records[-1] is opened[0]


def test_the_same_question_twice_repeats_no_byte_that_matters():
    words = vocabulary()
    one = recording(words, 6)
    first, second = (run(words, [one])[1] for _ in range(2))
    for mine, other in zip(first, second, strict=True):
        for name in mine.arrays:
            if mine.name != "open/colours":
                assert not np.array_equal(bits_of(mine.arrays[name]), bits_of(other.arrays[name]))
