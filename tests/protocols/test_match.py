"""Rows matched by ids: what all hold and nothing else, in an order that says nothing; hostile points."""

import json
from pathlib import Path

import make_match
import numpy as np
import pytest
from scipy.special import chdtrc
from uniform import assert_uniform, bits_of

from discreet.crypto.hint import Hint
from discreet.errors import ParameterError, ProtocolError
from discreet.protocols import match
from discreet.protocols.match import BATCH, Match, align
from discreet.protocols.step import Send, arrays_of, run_parties
from discreet.randomness import secure, seeded

VECTORS = Path(__file__).parents[1] / "vectors" / "match.json"


def run(lists, sizes=(), bits=lambda name: secure()):
    """The common order by party, as ids, and the transcript."""
    agreed = Match(tuple(lists), sizes)
    ended, transcript = run_parties(
        {name: align(name, ids, agreed, bits(name)) for name, ids in lists.items()}
    )
    return {name: [lists[name][at] for at in ended[name]] for name in lists}, transcript


def names(*numbers):
    return [b"%d" % number for number in numbers]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("parties", [2, 3, 4, 5])
def test_all_parties_get_what_all_hold_in_one_order(parties, padded):
    rng = np.random.default_rng(parties)
    for most in (1, 8, 150):
        sizes = rng.integers(0, most + 1, parties)
        lists = {f"p{i}": names(*rng.permutation(most + 5)[:size]) for i, size in enumerate(sizes)}
        orders, _ = run(lists, (most,) * parties if padded else ())
        shared = set.intersection(*(set(ids) for ids in lists.values()))
        assert all(order == orders["p0"] for order in orders.values())
        assert set(orders["p0"]) == shared
        assert len(orders["p0"]) == len(shared)


@pytest.mark.parametrize(
    ("one", "two", "shared"),
    [
        ((), (), 0),
        ((1, 2), (), 0),
        ((), (1,), 0),
        ((1, 2), (3, 4), 0),
        ((1,), (1,), 1),
        ((1, 2, 3), (3, 1, 2), 3),
    ],
)
def test_empty_lists_no_overlap_and_whole_overlap(one, two, shared):
    orders, _ = run({"a": names(*one), "b": names(*two)})
    assert orders["a"] == orders["b"]
    assert len(orders["a"]) == shared


def test_lists_of_several_batches_and_very_different_lengths():
    lists = {
        "a": names(*range(BATCH + 100)),
        "b": names(*range(BATCH, 2 * BATCH + 50)),
        "c": names(BATCH + 1, 7),
    }
    orders, transcript = run(lists)
    assert orders["a"] == orders["b"] == orders["c"] == names(BATCH + 1)
    assert sum(record.name == "match/blinded" for record in transcript) == 2 * 2


def test_pairs_of_parties_alone_never_show():
    """What the leader can compute for an id is random, whether no other party holds it or one does."""
    lists = {
        "a": names(*range(90)),
        "b": names(*range(30), *range(1000, 1010)),
        "c": names(*range(30, 60), *range(2000, 2010)),
    }
    pieces = {"nobody": [], "held": [], "not held": []}
    for _ in range(8):
        left = leftovers(lists)
        assert not np.array_equal(left["b"], left["c"])
        pieces["nobody"].append(left["b"][60:])
        pieces["held"] += [left["b"][:30], left["c"][30:60]]
        pieces["not held"] += [left["c"][:30], left["b"][30:60]]
    for some in pieces.values():
        words = np.stack(some)
        assert_uniform(words, 2.0**64)
        assert len(np.unique(words)) == words.size
        ones = np.mean([bits_of(word) for word in words.reshape(-1, 2)], axis=0)
        assert np.abs(ones - 0.5).max() < 7 * 0.5 / np.sqrt(words.size / 2)


def test_the_same_look_finds_pairs_where_they_show():
    """The test above can fail: with two parties, pieces tell who is held."""
    left = leftovers({"a": names(*range(20)), "b": names(*range(10), *range(50, 60))})
    assert not left["b"][:10].any()
    assert left["b"][10:].all()


def leftovers(lists):
    """By follower, what its table leaves to the leader for each of the leader's ids."""
    seen = []

    class Spy(Hint):
        def read(self, keys, nonce, cells):
            read = super().read(keys, nonce, cells)
            seen.append(read)
            return read

    masks = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match, "Hint", Spy)
        words = match._words
        patch.setattr(match, "_words", lambda rows: masks.append(words(rows)) or words(rows))
        run(lists)
    leader, *followers = lists
    own = [mask for mask in masks if len(mask) == len(lists[leader])][-len(followers) :]
    return {name: mask ^ read for name, mask, read in zip(followers, own, seen, strict=True)}


def test_positions_do_not_depend_on_ids_or_rows():
    """The first row of one party comes at every position of the common order equally often."""
    count, runs = 5, 400
    found = np.zeros(count)
    for _ in range(runs):
        orders, _ = run({"a": names(*range(count)), "b": names(*range(count))})
        found[orders["a"].index(b"0")] += 1
    assert chdtrc(count - 1, ((found - runs / count) ** 2 / (runs / count)).sum()) > 1e-9


def test_sessions_share_nothing_that_could_be_looked_up():
    lists = {"a": names(1, 2, 3), "b": names(2, 3, 4)}
    seen = []
    for _ in range(3):
        _, transcript = run(lists)
        for record in transcript:
            for key, value in record.arrays.items():
                if key in ("points", "tags"):
                    seen += [row.tobytes() for row in value]
    tags = 2 * 3
    assert len(set(seen)) == len(seen)
    assert len(seen) == 3 * 6 + tags


@pytest.mark.parametrize("overlap", [0, 40])
def test_what_everybody_sees_is_uniform(overlap):
    lists = {"a": names(*range(60)), "b": names(*range(60 - overlap, 120 - overlap)), "c": names(*range(60))}
    words, cells = [], []
    for _ in range(12):
        _, transcript = run(lists)
        for record in transcript:
            if "points" in record.arrays:  # field elements: the lowest bit is 0, the highest too
                words.append(record.arrays["points"][:, 1:31].copy().view("<u2"))
            if "cells" in record.arrays:
                cells.append(record.arrays["cells"])
    assert_uniform(np.concatenate(words), 2.0**16)
    assert_uniform(np.concatenate(cells), 2.0**64)


def test_padding_hides_how_many_ids_there_are():
    forms = []
    for count in (0, 1, 7, 12):
        lists = {"a": names(*range(count)), "b": names(*range(100, 100 + count)), "c": names(5)}
        forms.append(run(lists, (12, 12, 3))[1].forms)
    assert all(form == forms[0] for form in forms)


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_bytes_are_those_that_are_announced(parties):
    lists = {f"p{i}": names(*range(i, i + 20 + i)) for i in range(parties)}
    agreed = Match(tuple(lists), tuple(len(ids) for ids in lists.values()))
    orders, transcript = run(lists, agreed.sizes)
    seen = dict.fromkeys(agreed.bytes(), 0)
    for record in transcript:
        seen[record.sender, record.receiver] += record.size
    spare = 16 * (min(agreed.sizes) - len(orders["p0"]))
    for (sender, receiver), told in agreed.bytes().items():
        assert told - seen[sender, receiver] == (spare if sender == agreed.leader else 0)


@pytest.mark.parametrize("vector", json.loads(VECTORS.read_text(encoding="utf-8")), ids=["two", "three"])
def test_the_vectors_of_a_slow_implementation_are_met(vector):
    lists = {name: [x.encode() for x in make_match.IDS[name]] for name in vector["names"]}
    orders, transcript = run(lists, bits=lambda name: seeded(make_match.SEEDS[name]))
    assert [x.decode() for x in orders["ann"]] == vector["order"]
    for record in transcript:
        told = record.arrays
        if record.name == "match/blinded":
            assert [row.tobytes().hex() for row in told["points"]] == vector["blinded"]
        if record.name == "match/raised":
            assert [row.tobytes().hex() for row in told["points"]] == vector["raised"][record.sender]
        if record.name == "match/shared":
            assert [row.tobytes().hex() for row in told["tags"]] == vector["tags"]
        if record.name == "match/hints":
            ids = lists[record.sender]
            read = Hint(len(ids)).read(ids, told["nonce"], told["cells"])
            values = vector["values"][record.sender]
            assert [row.astype("<u8").tobytes().hex() for row in read] == [values[x.decode()] for x in ids]


@pytest.mark.slow
def test_the_vectors_are_what_the_slow_implementation_makes():
    assert json.loads(json.dumps(make_match.vectors())) == json.loads(VECTORS.read_text(encoding="utf-8"))


THREE = {"a": names(1, 2, 3, 4), "b": names(2, 3, 4, 5), "c": names(3, 4, 5)}


def changed(role, name, change):
    """A role that changes the content of its messages of one name."""
    answer = None
    while True:
        try:
            step = role.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(step, Send) and step.name == name:
            plain = {
                key: value if isinstance(value, bytes) else value.copy()
                for key, value in arrays_of(step).items()
            }
            step = Send(step.name, change(plain), step.peer)
        answer = yield step


def cheat(who, name, change, lists=THREE):
    agreed = Match(tuple(lists))
    roles = {party: align(party, ids, agreed, secure()) for party, ids in lists.items()}
    roles[who] = changed(roles[who], name, change)
    return run_parties(roles)[0]


def with_point(raw):
    def change(arrays):
        arrays["points"][-1] = np.frombuffer(raw, dtype=np.uint8)
        return arrays

    return change


@pytest.mark.parametrize(
    "raw", [bytes(32), b"\xff" * 32, b"\x01" + bytes(31)], ids=["identity", "large", "odd"]
)
@pytest.mark.parametrize(
    ("who", "name"), [("a", "match/blinded"), ("b", "match/raised"), ("c", "match/raised")]
)
def test_hostile_points_are_refused(who, name, raw):
    with pytest.raises(ProtocolError, match="not a point"):
        cheat(who, name, with_point(raw))


@pytest.mark.parametrize(
    "change",
    [
        lambda tags: tags[::-1],
        lambda tags: tags[[0, 0]],
        lambda tags: np.concatenate([tags, 255 - tags[:1]]),
        lambda tags: tags.reshape(-1),
        lambda tags: tags.reshape(-1, 8),
    ],
    ids=["backwards", "twice", "unknown", "flat", "narrow"],
)
def test_tags_that_are_no_list_of_own_ids_are_refused(change):
    with pytest.raises(ProtocolError, match=r"in order|list of tags"):
        cheat("a", "match/shared", lambda arrays: {"tags": np.ascontiguousarray(change(arrays["tags"]))})


def test_followers_notice_that_they_were_told_different_lists():
    told = []

    def shorter_for_the_second(arrays):
        told.append(arrays["tags"])
        return {"tags": arrays["tags"][: len(told) % 2 + 1]}

    with pytest.raises(ProtocolError, match="other shared ids"):
        cheat("a", "match/shared", shorter_for_the_second)


@pytest.mark.parametrize("size", [0, 2**24 + 1, 2**63])
def test_sizes_out_of_range_are_refused(size):
    with pytest.raises(ProtocolError, match="size that is not allowed"):
        cheat("b", "match/hello", lambda arrays: {**arrays, "size": np.array(size, "<u8")})


def test_another_size_than_agreed_is_refused():
    agreed = Match(("a", "b"), (4, 4))
    roles = {
        "a": align("a", names(1), agreed, secure()),
        "b": align("b", names(1), Match(("a", "b")), secure()),
    }
    with pytest.raises(ProtocolError, match="size that is not allowed"):
        run_parties(roles)


def test_what_does_not_fit_the_plan_is_refused_before_anything_is_sent_or_drawn():
    class Untouchable:
        seeded = False

        def bytes(self, count):
            raise AssertionError("bits were drawn")

        integers = bytes

    for name, ids, agreed in (
        ("a", names(1, 1), Match(("a", "b"))),
        ("a", names(1, 2, 3), Match(("a", "b"), (2, 5))),
        ("a", [b""], Match(("a", "b"))),
        ("x", names(1), Match(("a", "b"))),
    ):
        with pytest.raises(ParameterError) as refused:
            next(align(name, ids, agreed, Untouchable()))
        assert "3" not in str(refused.value)


def test_plans_that_make_no_sense_are_refused():
    for parties, sizes in (
        (("a",), ()),
        (("a", "a"), ()),
        (("a", "b"), (1,)),
        (("a", "b"), (0, 4)),
        (("a", "b"), (2**24 + 1, 4)),
    ):
        with pytest.raises(ParameterError):
            Match(parties, sizes)
    with pytest.raises(ParameterError, match="no sizes"):
        Match(("a", "b")).bytes()


def test_a_plan_is_plain_data_and_says_who_leads_and_what_is_learned():
    agreed = Match(("a", "b", "c"), (5, 6, 7))
    assert Match.of(json.loads(json.dumps(agreed.to_dict()))) == agreed
    assert (agreed.leader, agreed.followers, agreed.size("b"), agreed.batches) == ("a", ("b", "c"), 6, 1)
    assert agreed.hint("c") == Hint(7)
    assert agreed.rounds() == 5
    assert "agreed sizes" in agreed.learns()
    assert "how many ids each party has" in Match(("a", "b")).learns()
    assert "all parties hold" in agreed.learns()
