"""Rehearsals: every party its own process, over TLS on this machine."""

import numpy as np
import pytest

from discreet.errors import IdentityError, LateError, ParameterError, PartyError, PeerError, ProtocolError
from discreet.session import Part, Plan, rehearse
from discreet.session.parcel import pack, unpack

RING = Plan("demo ring", 1, {}, {"a": "the sum", "b": "the sum", "c": "the sum"})
OVERLAP = Plan("demo overlap", 1, {"client": 3, "server": 2}, {"client": "a count", "server": "nothing"})
PAIR = Plan("demo", 1, {"size": 4096, "rounds": 2}, {"talker": "nothing", "listener": "nothing"})


def test_three_processes_add_their_numbers():
    parts = {
        name: Part(f"demos:ring_{name}", np.full(6, value, "<u8"))
        for name, value in (("a", 1), ("b", 20), ("c", 300))
    }
    outcomes = rehearse(RING, parts, record=True)
    assert [outcome.output.tolist() for outcome in outcomes.values()] == [[321] * 6] * 3
    receipts = [outcome.receipt for outcome in outcomes.values()]
    assert len({receipt.session for receipt in receipts}) == 1
    assert len({tuple(sorted(receipt.parties.items())) for receipt in receipts}) == 1
    assert all(len(fingerprint) == 64 for fingerprint in receipts[0].parties.values())
    assert receipts[0].peers["b"].total().sent == receipts[1].peers["a"].total().received > 48
    assert [record.name for record in outcomes["b"].transcript] == ["ring/start", "ring/middle", "tell/sum"]


def test_a_part_may_prepare_its_input_before_the_parties_meet():
    parts = {name: Part(f"demos:ring_{name}", 5, "demos:six_of") for name in "abc"}
    outcomes = rehearse(RING, parts)
    assert outcomes["a"].output.tolist() == [15] * 6
    with pytest.raises((ParameterError, PartyError), match="not a role"):
        rehearse(RING, {**parts, "a": Part("demos:ring_a", 5, "demos:nothing")})


def test_with_a_seed_the_same_messages_are_sent_again():
    parts = {
        "client": Part("demos:overlap_client", ["ann", "bob", "cid"]),
        "server": Part("demos:overlap_server", ["bob", "cid"]),
    }
    runs = [rehearse(OVERLAP, parts, seed=3, record=True)["client"] for _ in range(2)]
    assert [outcome.output for outcome in runs] == [2, 2]
    first, second = ([record.arrays["points"].tobytes() for record in one.transcript] for one in runs)
    assert first == second
    assert runs[0].receipt.session != runs[1].receipt.session


def test_a_role_with_a_defect_is_named_and_its_secret_is_not(capfd):
    parts = {"talker": Part("demos:unruly", 987654321), "listener": Part("demos:misled")}
    with pytest.raises(
        PartyError, match=r"'talker' failed; got 'RuntimeError in demos.py, line \d+'"
    ) as caught:
        rehearse(PAIR, parts)
    assert "987654321" not in str(caught.value) + "".join(capfd.readouterr())


def test_the_first_error_is_raised_and_not_that_of_who_was_left_alone():
    parts = {"talker": Part("demos:talker"), "listener": Part("demos:misled")}
    with pytest.raises(ProtocolError, match="not due"):
        rehearse(PAIR, parts)


@pytest.mark.parametrize("size", [0, 3 << 20])
def test_a_process_that_is_killed_ends_the_run_with_an_error(size):
    killed = Plan("demo", 1, {"size": size}, {"talker": "nothing", "listener": "nothing"})
    with pytest.raises(PeerError, match="went away"):
        rehearse(killed, {"talker": Part("demos:dies"), "listener": Part("demos:waits_for_two")})


def test_a_rehearsal_that_hangs_ends_in_time():
    parts = {"talker": Part("demos:misled"), "listener": Part("demos:misled")}
    with pytest.raises(LateError, match="silent"):
        rehearse(PAIR, parts, silence=0.3)


@pytest.mark.parametrize("wrong", ["demos:nothing", "demos", "no_such_module:role"])
def test_roles_that_do_not_exist_are_named(wrong):
    with pytest.raises((ParameterError, PartyError), match=r"not a role|ModuleNotFoundError"):
        rehearse(PAIR, {"talker": Part(wrong), "listener": Part("demos:misled")})


def test_parts_are_those_of_the_plan_and_inputs_are_plain_data():
    with pytest.raises(ParameterError, match="parts are missing"):
        rehearse(PAIR, {"talker": Part("demos:talker")})
    with pytest.raises(ParameterError, match="only plain data"):
        rehearse(PAIR, {"talker": Part("demos:talker", object()), "listener": Part("demos:misled")})
    with pytest.raises((ParameterError, IdentityError), match="name for a party"):
        odd = Plan("demo", 1, {}, {"a/b": "", "c": ""})
        rehearse(odd, {"a/b": Part("demos:talker"), "c": Part("demos:talker")})


def test_parcels_carry_plain_data_and_nothing_else():
    plain = {
        "a": [1, -(2**70), 2**64, None, True, 1.5, "text", b"bytes"],
        "b": (1, (2, 3), [4, (5,)]),
        "c": np.arange(6, dtype="<i4").reshape(2, 3),
        "d": {"e": np.zeros((0, 3)), "f": np.array(7, "<u8")},
    }
    back = unpack(pack(plain))
    assert back["a"] == plain["a"]
    assert back["b"] == plain["b"]
    assert back["c"].dtype == "<i4"
    assert back["c"].tolist() == plain["c"].tolist()
    assert back["d"]["e"].shape == (0, 3)
    assert unpack(pack([np.float64(2.5), np.uint64(2**63)])) == [2.5, 2**63]
    for wrong in (object(), {1, 2}, np.array([object()])):
        with pytest.raises(ParameterError, match="plain data"):
            pack(wrong)
