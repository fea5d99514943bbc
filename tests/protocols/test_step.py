"""Roles in memory: what they exchange, and how mistakes in a protocol end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError, ProtocolError
from discreet.protocols.step import (
    Limit,
    Receive,
    Send,
    arrays_of,
    domain,
    phase_of,
    run_pair,
    run_parties,
)
from discreet.randomness import secure, seeded

EIGHT = {"x": Limit.array("<u8", (8,))}


def masked(values, bits):
    """The first of three parties in a ring: mask, let the sum travel, unmask."""
    mask = np.frombuffer(bits.bytes(64), "<u8")
    yield Send("ring/start", {"x": values + mask}, "b")
    told = yield Receive("ring/end", EIGHT, "c")
    return told["x"] - mask


def add(values, before, after, wanted, name):
    told = yield Receive(wanted, EIGHT, before)
    yield Send(name, {"x": told["x"] + values}, after)


def echo(name="ask", answer="answer", limits=EIGHT):
    told = yield Receive(name, limits)
    yield Send(answer, told)
    return told


def ask(arrays, name="ask", answer="answer", limits=EIGHT):
    yield Send(name, arrays)
    return (yield Receive(answer, limits))


def test_parties_in_a_ring_learn_only_the_sum():
    values = np.arange(24, dtype="<u8").reshape(3, 8)
    roles = {
        "a": masked(values[0], secure()),
        "b": add(values[1], "a", "c", "ring/start", "ring/middle"),
        "c": add(values[2], "b", "a", "ring/middle", "ring/end"),
    }
    outputs, transcript = run_parties(roles)
    assert np.array_equal(outputs["a"], values.sum(axis=0))
    assert outputs["b"] is None
    assert [record.name for record in transcript] == ["ring/start", "ring/middle", "ring/end"]
    assert [record.name for record in transcript.seen_by("a")] == ["ring/end"]
    assert transcript.size == 3 * 64
    assert phase_of("ring/start") == "ring"


def test_a_pair_speaks_of_its_peer():
    sent = {"x": np.arange(8, dtype="<u8")}
    back, heard, transcript = run_pair(ask(sent), echo())
    assert np.array_equal(back["x"], heard["x"])
    assert transcript.records[0].form == ("first", "second", "ask", (("x", "<u8", (8,)),))
    assert transcript.forms[1][:3] == ("second", "first", "answer")


def test_what_arrives_is_a_read_only_copy():
    mine = np.arange(16, dtype=">u8")[::2]
    got = arrays_of(Send("ask", {"x": mine}))["x"]
    mine[0] = 7
    assert got.dtype.str == "<u8"
    assert got.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert got.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        got[0] = 1


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"y": np.zeros(8, "<u8")}, "other parts"),
        ({}, "other parts"),
        ({"x": np.zeros(8, "<u8"), "y": b""}, "other parts"),
        ({"x": np.zeros(9, "<u8")}, "shape"),
        ({"x": np.zeros((8, 1), "<u8")}, "shape"),
        ({"x": np.zeros(8, "<i8")}, "instead of <u8"),
        ({"x": bytes(64)}, "bytes instead of <u8"),
    ],
)
def test_arrays_that_were_not_asked_for_are_refused(arrays, match):
    with pytest.raises(ProtocolError, match=match):
        run_pair(ask(arrays), echo())


def test_too_many_bytes_and_raw_lengths_are_refused():
    free = {"x": Limit("bytes", None, 10)}
    assert run_pair(ask({"x": bytes(10)}, limits=free), echo(limits=free))[1] == {"x": bytes(10)}
    with pytest.raises(ProtocolError, match="11 bytes instead of at most 10"):
        run_pair(ask({"x": bytes(11)}), echo(limits=free))
    with pytest.raises(ProtocolError, match="shape"):
        run_pair(ask({"x": bytes(11)}), echo(limits={"x": Limit.raw(10)}))


def test_truth_values_are_zero_or_one():
    bad = np.array([0, 1, 2], np.uint8).view(bool)
    with pytest.raises(ProtocolError, match="not true or false"):
        run_pair(ask({"x": bad}), echo(limits={"x": Limit.array("?", (3,))}))


@pytest.mark.parametrize("wrong", [np.array(["a"]), np.array([None]), np.zeros(2, complex)])
def test_only_plain_numbers_are_sent(wrong):
    with pytest.raises(ParameterError, match="plain numbers"):
        arrays_of(Send("ask", {"x": wrong}))


def test_lists_are_not_sent():
    with pytest.raises(ProtocolError, match="cannot be sent"):
        arrays_of(Send("ask", {"x": [1, 2]}))


@pytest.mark.parametrize(
    ("dtype", "shape", "most"),
    [
        ("<u8", (8,), 63),
        ("<u8", (-1,), 8),
        ("<u8", None, -1),
        ("O", None, 8),
        ("nonsense", None, 8),
        ("bytes", (2, 2), 4),
        ("bytes", (9,), 8),
        ("S4", None, 8),
        ("u4,u4", None, 8),
    ],
)
def test_impossible_limits_are_refused(dtype, shape, most):
    with pytest.raises(ParameterError):
        Limit(dtype, shape, most)


def test_a_wrong_name_says_what_was_due():
    with pytest.raises(ProtocolError, match="not due; got 'ask'; wanted 'other'"):
        run_pair(ask({"x": b""}), echo(name="other"))


def test_parties_that_wait_for_each_other_are_named():
    with pytest.raises(ProtocolError, match=r"wait for each other; got .'first' for 'ask' from 'second'"):
        run_pair(echo(), echo())


def test_a_message_nobody_received_is_an_error():
    def silent():
        return 1
        yield

    def talks():
        yield Send("lost", {})

    with pytest.raises(ProtocolError, match=r"nobody received; got .'lost' to 'first'"):
        run_pair(silent(), talks())


@pytest.mark.parametrize("peer", ["c", "a", "peer"])
def test_unknown_peers_are_refused(peer):
    def talks(to):
        yield Send("x", {}, to)

    with pytest.raises(ProtocolError, match="not there"):
        run_parties({"a": talks(peer), "b": echo(), "d": echo()})


def test_a_role_that_fails_stops_the_others():
    closed = []

    def fails():
        yield Receive("ask", {})
        raise ParameterError("out of range")

    def waits():
        try:
            yield Send("ask", {})
            yield Receive("answer", {})
        finally:
            closed.append("waits")

    with pytest.raises(ParameterError, match="out of range"):
        run_pair(fails(), waits())
    assert closed == ["waits"]


def test_a_long_stream_does_not_pile_up():
    lying, most = 0, 0
    block = np.zeros(1 << 20, np.uint8)

    def talks():
        nonlocal lying, most
        for _ in range(64):
            lying += 1
            most = max(most, lying)
            yield Send("tables", {"x": block})

    def listens():
        nonlocal lying
        for _ in range(64):
            yield Receive("tables", {"x": Limit.array("|u1", (1 << 20,))})
            lying -= 1

    _, _, transcript = run_pair(talks(), listens(), record=False)
    assert most <= 10
    assert len(transcript) == 0


def test_the_same_inputs_and_bits_give_the_same_transcript():
    def run(seed):
        values = np.arange(8, dtype="<u8")
        roles = {
            "a": masked(values, seeded(seed)),
            "b": add(values, "a", "c", "ring/start", "ring/middle"),
            "c": add(values, "b", "a", "ring/middle", "ring/end"),
        }
        return [record.arrays["x"].tobytes() for record in run_parties(roles)[1]]

    assert run(1) == run(1)
    assert run(1) != run(2)


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
@settings(max_examples=200, deadline=None)
def test_domains_of_different_parts_differ(one, two):
    assert (domain("p", 1, *one) == domain("p", 1, *two)) == (one == two)
    assert domain("p", 1, *one) != domain("p", 2, *one)
