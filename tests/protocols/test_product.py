"""Joint counts: right for two, three and more parties, by every way, and silent about the columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocols.uniform import assert_uniform

from discreet.crypto.sharing import join, signed
from discreet.crypto.triple import Form
from discreet.errors import ParameterError, ProtocolError, RangeError
from discreet.protocols.product import (
    Joint,
    Pair,
    be_one_of_three,
    help_out,
    hold,
    join_in,
    meet,
    opened,
)
from discreet.protocols.source import Dealt, Transferred
from discreet.protocols.step import Limit, Receive, Send, run_pair, run_parties
from discreet.randomness import secure, seeded


def counts(columns):
    """The slow, obvious count."""
    whole = np.zeros(tuple(table.shape[1] for table in columns), dtype=np.int64)
    for rows in zip(*columns, strict=True):
        product = np.ones((), dtype=np.int64)
        for row in rows:
            product = np.multiply.outer(product, row)
        whole += product
    return whole


def tables(agreed, seed):
    random = np.random.default_rng(seed)
    top = agreed.largest
    return {
        name: random.integers(-top, top + 1, (agreed.rows, width)) if top > 1
        else np.eye(width, dtype=np.int64)[random.integers(0, width, agreed.rows)]
        for name, width in agreed.widths
    }  # fmt: skip


@given(
    st.integers(1, 30),
    st.lists(st.integers(1, 4), min_size=2, max_size=5),
    st.sampled_from([1, 1000]),
    st.integers(0, 999),
)
@settings(max_examples=40, deadline=None)
def test_a_helper_lets_any_number_of_parties_count(rows, widths, largest, seed):
    agreed = Joint(rows, tuple((f"party {i}", width) for i, width in enumerate(widths)), largest)
    columns = tables(agreed, seed)
    roles = {name: join_in(name, table, agreed) for name, table in columns.items()}
    outputs, _ = run_parties({**roles, "helper": help_out(agreed, seeded(seed))})
    assert outputs.pop("helper") is None
    shares = np.stack([outputs[name] for name in agreed.parties])
    assert np.array_equal(join(shares).view(np.int64), counts(list(columns.values())))


@given(
    st.integers(1, 30),
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
    st.sampled_from([1, 100_000]),
    st.integers(0, 999),
)
@settings(max_examples=30, deadline=None)
def test_three_parties_count_alone(rows, widths, largest, seed):
    agreed = Joint(rows, tuple(zip("abc", widths, strict=True)), largest)
    columns = tables(agreed, seed)
    roles = {n: be_one_of_three(n, table, agreed, seeded(i)) for i, (n, table) in enumerate(columns.items())}
    outputs, _ = run_parties(roles)
    shares = np.stack([outputs[name] for name in "abc"])
    assert np.array_equal(join(shares).view(np.int64), counts(list(columns.values())))


@pytest.mark.parametrize(("rows", "left", "right"), [(1, 1, 1), (20_000, 3, 4), (100, 12, 1), (8193, 1, 2)])
def test_two_parties_count_alone(rows, left, right):
    agreed = Pair(rows, left, right, 1, 1)
    random = np.random.default_rng(rows)
    a, b = random.integers(0, 2, (rows, left)), random.integers(0, 2, (rows, right))
    mine, theirs, transcript = run_pair(hold(a, agreed, secure()), meet(b, agreed, secure()))
    assert np.array_equal(signed((mine + theirs) & np.uint64(2**40 - 1), 40), a.T @ b)
    assert len(transcript) == 2


def test_opening_joins_the_shares_for_all():
    parts = {"a": np.array([1, 2**64 - 1], dtype=np.uint64), "b": np.array([5, 3], dtype=np.uint64)}
    outputs, _ = run_parties({name: opened(part, tuple(set(parts) - {name})) for name, part in parts.items()})
    assert outputs["a"].tolist() == outputs["b"].tolist() == [6, 2]


def test_plans_that_cannot_be_exact_are_refused():
    for rows, widths, largest in (
        (2**40, (("a", 1), ("b", 1)), 2**12),
        (10, (("a", 1),), 1),
        (10, (("a", 1), ("a", 1)), 1),
        (0, (("a", 1), ("b", 1)), 1),
        (10, (("a", 0), ("b", 1)), 1),
    ):
        with pytest.raises(ParameterError):
            Joint(rows, widths, largest)


@pytest.mark.parametrize("value", [2, -2])
def test_numbers_beyond_the_bound_are_refused_before_anything_is_sent(value):
    agreed = Joint(5, (("a", 2), ("b", 2), ("c", 2)))
    columns = np.full((5, 2), value)
    for role in (join_in("a", columns, agreed), be_one_of_three("a", columns, agreed, secure())):
        with pytest.raises(RangeError) as refused:
            next(role)
        assert f"got {value}" not in str(refused.value)
    with pytest.raises(ParameterError):
        next(join_in("a", np.zeros((5, 3), dtype=np.int64), agreed))
    with pytest.raises(RangeError):
        next(hold(np.full((5, 2), value), Pair(5, 2, 2), secure()))
    two = Joint(5, (("a", 2), ("b", 2)))
    with pytest.raises(ParameterError):
        next(be_one_of_three("a", np.zeros((5, 2), dtype=np.int64), two, secure()))


WAYS = {
    "helper": lambda agreed, columns, seed: {
        **{name: join_in(name, table, agreed) for name, table in columns.items()},
        "helper": help_out(agreed, seeded(seed)),
    },
    "three": lambda agreed, columns, seed: {
        name: be_one_of_three(name, table, agreed, seeded(seed + i))
        for i, (name, table) in enumerate(columns.items())
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_all_that_a_party_receives_is_uniform_whatever_the_others_hold(way):
    agreed = Joint(500, (("a", 2), ("b", 2), ("c", 2)))
    forms = set()
    for value in (0, 1):
        columns = {name: np.full((500, 2), value) for name in agreed.parties}
        _, transcript = run_parties(WAYS[way](agreed, columns, 10 * value))
        forms.add(tuple(transcript.forms))
        for party in agreed.parties:
            received = [
                array
                for record in transcript.seen_by(party)
                for array in record.arrays.values()
                if isinstance(array, np.ndarray) and array.size >= 500
            ]
            assert received
            for array in received:
                assert_uniform(array, 2.0**64)
    assert len(forms) == 1


@pytest.mark.parametrize("way", WAYS)
def test_what_two_messages_have_in_common_is_uniform_too(way):
    """Nothing that a party can add up from what it got equals a column of somebody else."""
    agreed = Joint(500, (("a", 2), ("b", 2), ("c", 2)))
    columns = {name: np.ones((500, 2), dtype=np.int64) for name in agreed.parties}
    _, transcript = run_parties(WAYS[way](agreed, columns, 5))
    for party in agreed.parties:
        words = [
            array
            for record in transcript.seen_by(party)
            for array in record.arrays.values()
            if isinstance(array, np.ndarray) and array.shape == (500, 2)
        ]
        for i, first in enumerate(words):
            for second in words[:i]:
                assert_uniform(first + second, 2.0**64)
                assert_uniform(first - second, 2.0**64)


def test_what_three_parties_send_of_a_product_is_hidden_by_shares_of_zero():
    """From the transcript of all: z_i less its cross terms is uniform for each, and zero in all."""
    agreed = Joint(500, (("a", 1), ("b", 1), ("c", 1)))
    columns = {name: np.ones((500, 1), dtype=np.int64) for name in agreed.parties}
    _, transcript = run_parties(WAYS["three"](agreed, columns, 3))
    parts, sent = {}, {}
    for record in transcript:
        if record.name == "product/parts":
            index = "abc".index(record.receiver)
            parts[record.sender, index] = record.arrays["own"]
            parts[record.sender, (index + 1) % 3] = record.arrays["following"]
        elif record.name == "product/share":
            sent["abc".index(record.sender)] = record.arrays["share"]
    hidden = []
    for i in range(3):
        (x, x_next), (y, y_next) = ((parts[name, i], parts[name, (i + 1) % 3]) for name in "ab")
        hidden.append(sent[i] - (x * y + x * y_next + x_next * y))
        assert_uniform(hidden[i], 2.0**64, cells=16)
    assert not (hidden[0] + hidden[1] + hidden[2]).any()


def test_shares_of_the_result_are_uniform_over_many_runs():
    agreed = Joint(3, (("a", 2), ("b", 2)))
    columns = {name: np.ones((3, 2), dtype=np.int64) for name in agreed.parties}
    seen = []
    for seed in range(60):
        outputs, _ = run_parties(WAYS["helper"](agreed, columns, seed))
        seen.append(outputs["a"])
    assert_uniform(np.stack(seen), 2.0**64, cells=16)


def test_triples_come_from_any_source_in_order():
    class Fixed:
        """A source of one's own in the place of the helper, as oblivious transfer will be."""

        def __init__(self, last):
            self.dealt = Dealt(last, helper="dealer")

        def triple(self, form):
            return (yield from self.dealt.triple(form))

    agreed = Joint(4, (("a", 2), ("b", 3)))
    columns = tables(agreed, 1)
    roles = {name: join_in(name, columns[name], agreed, Fixed(name == "b")) for name in "ab"}
    outputs, _ = run_parties({**roles, "dealer": help_out(agreed, seeded(1))})
    assert np.array_equal((outputs["a"] + outputs["b"]).view(np.int64), counts(list(columns.values())))


def test_columns_of_another_shape_on_the_wire_are_refused():
    first, second = Joint(4, (("a", 2), ("b", 3))), Joint(4, (("a", 2), ("b", 2)))
    roles = {
        "a": join_in("a", np.zeros((4, 2), dtype=np.int64), first),
        "b": join_in("b", np.zeros((4, 2), dtype=np.int64), second),
        "helper": help_out(first, seeded(1)),
    }
    with pytest.raises(ProtocolError):
        run_parties(roles)


class Open:
    """Transfers without protection, for tests of what is built on them: all messages in the open."""

    def send(self, messages):
        yield Send("transfer/all", {"messages": messages})

    def take(self, choices, options, words):
        limit = Limit.array("<u8", (len(choices), options, words))
        told = yield Receive("transfer/all", {"messages": limit})
        return told["messages"][np.arange(len(choices)), choices]


@given(
    st.integers(1, 6),
    st.lists(st.integers(1, 3), min_size=2, max_size=2),
    st.sampled_from([1, 10**6]),
    st.integers(0, 99),
)
@settings(max_examples=20, deadline=None)
def test_two_parties_make_triples_by_transfers(rows, widths, largest, seed):
    agreed = Joint(rows, tuple(zip("ab", widths, strict=True)), largest)
    columns = tables(agreed, seed)
    roles = {
        name: join_in(name, columns[name], agreed, Transferred(name == "a", Open(), Open(), seeded(i)))
        for i, name in enumerate("ab")
    }
    outputs, _ = run_parties(roles)
    assert np.array_equal((outputs["a"] + outputs["b"]).view(np.int64), counts(list(columns.values())))


def test_transferred_triples_are_triples_and_every_offer_is_uniform():
    form = Form("pairs", 5, 2, 3)
    sources = [Transferred(first, Open(), Open(), seeded(first)) for first in (True, False)]
    one, two, transcript = run_pair(*(source.triple(form) for source in sources))
    a, b, c = (getattr(one, part) + getattr(two, part) for part in "abc")
    assert np.array_equal(form.of(a, b), c)
    assert_uniform(transcript.records[0].arrays["messages"], 2.0**64)
    again, _, _ = run_pair(*(source.triple(form) for source in sources))
    assert not np.array_equal(one.a, again.a)


def test_real_transfers_fit_as_a_source():
    transfer = pytest.importorskip("discreet.protocols.transfer", reason="transfers are not merged yet")
    agreed = Joint(30, (("a", 2), ("b", 3)), 1000)
    columns = tables(agreed, 1)

    def role(name):
        bits = seeded(ord(name))
        first, second = transfer.open_sending, transfer.open_choosing
        if name == "a":
            sends, takes = (yield from first(b"ab", bits)), (yield from second(b"ba", bits))
        else:
            takes, sends = (yield from second(b"ab", bits)), (yield from first(b"ba", bits))
        return (yield from join_in(name, columns[name], agreed, Transferred(name == "a", sends, takes, bits)))

    outputs, _ = run_parties({name: role(name) for name in "ab"})
    assert np.array_equal((outputs["a"] + outputs["b"]).view(np.int64), counts(list(columns.values())))
