"""Base transfers: the chosen key and no other, whatever the peer sends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc

from discreet.crypto.transfer import POINT, Chooser, Offer, check_point
from discreet.errors import ProtocolError
from discreet.randomness import secure, seeded


@given(choices=st.lists(st.integers(0, 1), min_size=1, max_size=6), session=st.binary(max_size=40))
@settings(max_examples=25, deadline=None)
def test_the_receiver_gets_the_chosen_key_and_not_the_other(choices, session):
    offer = Offer.make(secure())
    chooser = Chooser(choices, offer.point, session, secure())
    pairs = offer.keys(chooser.points, session)
    for choice, pair, key in zip(choices, pairs, chooser.keys, strict=True):
        assert pair[choice] == key
        assert pair[1 - choice] != key
    assert len({key for pair in pairs for key in pair}) == 2 * len(choices)


def test_another_session_gives_other_keys():
    offer = Offer.make(secure())
    chooser = Chooser([0, 1], offer.point, b"one", secure())
    assert not {key for pair in offer.keys(chooser.points, b"two") for key in pair} & set(chooser.keys)


@pytest.mark.parametrize(
    "point",
    [
        bytes(32),
        b"\xff" * 32,
        (2**255 - 19).to_bytes(32, "little"),
        b"\1" + bytes(31),
        (2**255 - 20).to_bytes(32, "little"),
        b"",
        bytes(31),
    ],
    ids=["identity", "too large", "p", "negative", "p - 1", "empty", "short"],
)
def test_what_is_not_a_point_is_refused_by_both(point):
    good = Offer.make(secure()).point
    with pytest.raises(ProtocolError, match="point"):
        check_point(point)
    with pytest.raises(ProtocolError, match="point"):
        Chooser([0], point, b"s", secure())
    with pytest.raises(ProtocolError, match="point"):
        Offer.make(secure()).keys(good + point, b"s")


def test_lists_of_points_of_the_wrong_length_are_refused():
    with pytest.raises(ProtocolError, match="length"):
        Offer.make(secure()).keys(b"", b"s")


def test_points_say_nothing_about_the_choice():
    # with the same randomness the points of choice 0 and 1 differ, but each position is uniform for both:
    # the middle byte of the encodings over many transfers
    offer = Offer.make(seeded(0))
    for choice in (0, 1):
        raw = Chooser([choice] * 1500, offer.point, b"s", seeded(5 + choice)).points
        points = np.frombuffer(raw, dtype=np.uint8).reshape(-1, 2, POINT)
        for position in (0, 1):
            counts = np.bincount(points[:, position, 10:20].ravel() >> 4, minlength=16)
            expected = counts.sum() / 16
            assert chdtrc(15, float(((counts - expected) ** 2 / expected).sum())) > 1e-8
        same = points[:, 0] == points[:, 1]
        assert same.mean() < 0.02


def test_nothing_secret_is_shown():
    offer = Offer.make(secure())
    assert repr(offer) == "Offer(...)"
    assert repr(Chooser([1], offer.point, b"s", secure())) == "Chooser(1 transfers)"
