"""Transfers and garbled computations as steps: outputs right, the peer's lies caught, contexts kept apart."""

import numpy as np
import pytest
from circuit_shares import is_uniform, seen

from discreet.crypto.circuit import Builder, bits_of_words, words_of_bits
from discreet.crypto.words import add, less
from discreet.errors import ParameterError, ProtocolError
from discreet.protocols.garbled import open_evaluating, open_garbling
from discreet.protocols.step import Send, arrays_of, run_pair
from discreet.protocols.transfer import open_choosing, open_sending
from discreet.randomness import secure, seeded

RANDOM = np.random.default_rng(2)


def send(messages, bits, context=b"test"):
    sending = yield from open_sending(context, bits)
    for part in messages:
        yield from sending.send(part)


def take(choices, options, words, bits, context=b"test"):
    choosing = yield from open_choosing(context, bits)
    taken = []
    for part in choices:
        taken.append((yield from choosing.take(part, options, words)))
    return taken


def compare_and_add(garbler, a, bits, context=b"c"):
    """Both know the shape; the garbler learns whether a < b, the evaluator the sum."""
    build = Builder()
    x, y = build.input("a", 16), build.input("b", 16)
    build.output("sum", add(build, x, y))
    build.output("less", [less(build, x, y, signed=False)])
    circuit, mine = build.circuit(), bits_of_words(a, 16)
    end = yield from (open_garbling if garbler else open_evaluating)(context, bits)
    if garbler:
        labels = {"a": end.give(mine)}
        labels["b"] = yield from end.take(mine.shape)
    else:
        labels = {"a": end.take(mine.shape)}
        labels["b"] = yield from end.give(mine)
    out = yield from end.run(circuit, labels)
    if garbler:
        yield from end.tell(out["sum"])
        shown = yield from end.learn(out["less"])
        return shown[0]
    shown = yield from end.learn(out["sum"])
    yield from end.tell(out["less"])
    assert end.gates == circuit.ands * len(a)
    return words_of_bits(shown)


def changed(role, name, change):
    """A role whose messages of one name are changed on the way out."""
    answer = None
    while True:
        try:
            step = role.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(step, Send) and step.name == name:
            step = Send(
                step.name,
                change(
                    {
                        key: np.copy(value) if isinstance(value, np.ndarray) else value
                        for key, value in arrays_of(step).items()
                    }
                ),
            )
        answer = yield step


@pytest.mark.parametrize(("options", "words"), [(2, 1), (2, 5), (3, 2), (16, 1), (100, 3)])
def test_messages_are_taken(options, words):
    parts = [RANDOM.integers(0, 2**63, (count, options, words)).astype(np.uint64) for count in (1, 40)]
    choices = [RANDOM.integers(0, options, len(part)) for part in parts]
    _, taken, transcript = run_pair(send(parts, secure()), take(choices, options, words, secure()))
    for part, choice, found in zip(parts, choices, taken, strict=True):
        assert np.array_equal(found, part[np.arange(len(part)), choice])
    assert {record.name for record in transcript} == {
        "transfer/offer",
        "transfer/answer",
        "transfer/columns",
        "transfer/masked",
    }


def test_many_transfers_go_in_lots_and_messages_stay_small():
    messages = RANDOM.integers(0, 2**63, (150_000, 2, 1)).astype(np.uint64)
    choices = RANDOM.integers(0, 2, 150_000)
    _, taken, transcript = run_pair(send([messages], secure()), take([choices], 2, 1, secure()))
    assert np.array_equal(taken[0][:, 0], messages[np.arange(150_000), choices, 0])
    assert max(record.size for record in transcript) <= 2**20 + 100


def test_both_ends_compute_and_each_learns_its_own():
    a, b = RANDOM.integers(0, 2**16, (2, 300)).astype(np.uint64)
    shown, total, _ = run_pair(compare_and_add(True, a, secure()), compare_and_add(False, b, secure()))
    assert np.array_equal(shown, a < b)
    assert np.array_equal(total, (a + b) % 2**16)


@pytest.mark.parametrize("value", [0, 2**16 - 1])
def test_what_each_party_sees_is_uniform_and_of_the_same_form(value):
    same = np.full(64, value, dtype=np.uint64)
    other = np.full(64, 77, dtype=np.uint64)

    def run(a, b):
        return run_pair(compare_and_add(True, a, secure()), compare_and_add(False, b, secure()))[2]

    transcript = run(same, same)
    assert transcript.forms == run(other, other).forms
    # but for the opened answers, which are what they are
    transcript.records = [record for record in transcript if not record.name.startswith("open")]
    assert is_uniform(seen(transcript, "first"))
    assert is_uniform(seen(transcript, "second"))


def test_a_cheating_chooser_is_caught():
    def cheat(arrays):
        arrays["columns"][:, 0] ^= np.arange(128).astype(np.uint8)
        return arrays

    a = np.arange(50, dtype=np.uint64)
    bad = changed(compare_and_add(False, a, secure()), "transfer/columns", cheat)
    with pytest.raises(ProtocolError, match="same choices"):
        run_pair(compare_and_add(True, a, secure()), bad)


@pytest.mark.parametrize("point", [bytes(32), b"\xff" * 32])
def test_points_that_are_none_are_refused_by_the_sender(point):
    bad = changed(
        take([np.zeros(1, dtype=int)], 2, 1, secure()),
        "transfer/offer",
        lambda arrays: {**arrays, "point": point},
    )
    with pytest.raises(ProtocolError, match="point"):
        run_pair(send([np.zeros((1, 2, 1), dtype=np.uint64)], secure()), bad)


def test_points_that_are_none_are_refused_by_the_receiver():
    bad = changed(
        send([np.zeros((1, 2, 1), dtype=np.uint64)], secure()),
        "transfer/answer",
        lambda arrays: {**arrays, "points": bytes(64) + arrays["points"][64:]},
    )
    with pytest.raises(ProtocolError, match="point"):
        run_pair(bad, take([np.zeros(1, dtype=int)], 2, 1, secure()))


def test_labels_that_the_circuit_does_not_have_are_refused():
    def lie(arrays):
        arrays["labels"][0, 3] ^= np.uint64(1)
        return arrays

    a = np.arange(50, dtype=np.uint64)
    bad = changed(compare_and_add(False, a, secure()), "open/labels", lie)
    with pytest.raises(ProtocolError, match="label"):
        run_pair(compare_and_add(True, a, secure()), bad)


def test_parties_with_different_contexts_do_not_understand_each_other():
    a = np.arange(5, dtype=np.uint64)
    with pytest.raises(ProtocolError, match="choices"):
        run_pair(compare_and_add(True, a, secure(), b"one"), compare_and_add(False, a, secure(), b"two"))


def test_the_same_bits_give_the_same_messages():
    a = np.arange(20, dtype=np.uint64)

    def run():
        return run_pair(compare_and_add(True, a, seeded(1)), compare_and_add(False, a, seeded(2)))[2]

    one, two = run(), run()
    assert seen(one, "first", ()) == seen(two, "first", ())
    assert seen(one, "second", ()) == seen(two, "second", ())


def test_messages_of_the_wrong_form_are_refused_before_anything_else():
    def role(messages):
        sending = yield from open_sending(b"test", secure())
        yield from sending.send(messages)

    for messages in (
        np.zeros((1, 2), dtype=np.uint64),
        np.zeros((1, 2, 1)),
        np.zeros((0, 2, 1), dtype=np.uint64),
    ):
        with pytest.raises(ParameterError, match="form"):
            run_pair(role(messages), take([np.zeros(1, dtype=int)], 2, 1, secure()))
    with pytest.raises(ParameterError, match="options"):
        run_pair(role(np.zeros((1, 2, 1), dtype=np.uint64)), take([np.array([2])], 2, 1, secure()))
