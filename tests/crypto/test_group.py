"""Many points at once: as one by one, in order, and no hostile point goes through."""

import hashlib

import pytest
import slow_circuits as slow

from discreet.crypto.group import any_points, hash_points, inverse, raise_points, scalar
from discreet.crypto.transfer import check_point
from discreet.errors import ProtocolError
from discreet.randomness import secure, seeded

TEXTS = [b"", b"ann", b"bob", bytes(100)]


def test_texts_become_the_points_of_a_slow_implementation():
    wanted = [slow.encode(slow.to_group(hashlib.sha512(b"prefix" + text).digest())) for text in TEXTS]
    assert hash_points(b"prefix", TEXTS) == wanted


def test_raised_points_are_those_of_a_slow_implementation():
    secret = scalar(seeded(5))
    number = int.from_bytes(secret, "little")
    points = [slow.to_group(hashlib.sha512(text).digest()) for text in TEXTS]
    assert raise_points(secret, hash_points(b"", TEXTS)) == [
        slow.encode(slow.times(number, point)) for point in points
    ]


def test_many_points_stay_in_order():
    texts = [b"%d" % i for i in range(1500)]
    secret = scalar(secure())
    together = raise_points(secret, hash_points(b"", texts))
    assert together == [raise_points(secret, hash_points(b"", [text]))[0] for text in texts]


def test_the_inverse_undoes_and_scalars_commute():
    one, two = scalar(secure()), scalar(secure())
    points = hash_points(b"", TEXTS)
    assert raise_points(inverse(one), raise_points(one, points)) == points
    assert raise_points(one, raise_points(two, points)) == raise_points(two, raise_points(one, points))


def test_points_of_nobody_are_valid_and_differ():
    points = any_points(50, secure())
    assert len(set(points)) == 50
    assert all(check_point(point) == point for point in points)


@pytest.mark.parametrize(
    "hostile",
    [bytes(32), b"\x01" + bytes(31), b"\xff" * 32, bytes(31) + b"\x80", b"", bytes(33)],
    ids=["identity", "negative", "not canonical", "high bit", "empty", "long"],
)
@pytest.mark.parametrize("count", [1, 1200])
def test_what_is_no_point_is_refused_wherever_it_stands(hostile, count):
    points = any_points(1, secure()) * count
    with pytest.raises(ProtocolError, match="not a point"):
        raise_points(scalar(secure()), [*points, hostile])
