"""Totals: exact over those who stay, whoever drops out and when; nobody's numbers seen; noise inside."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc
from tests.protocols.uniform import assert_uniform, bits_of

from discreet.crypto.agreement import Agreement, opened, sealed
from discreet.crypto.portion import Portion
from discreet.errors import CipherError, ParameterError, PeerError, ProtocolError, RangeError
from discreet.mechanisms.exact import discrete_gaussian
from discreet.protocols.step import Receive, Send, arrays_of, domain, run_parties
from discreet.protocols.total import Total, collect, contribute
from discreet.randomness import seeded

PHASES = ("total/keys", "total/shares", "total/masked", "total/lists", "total/open")
LATE = ("total/lists", "total/open")  # whoever leaves so late is in the sum


def agreed_of(count, enough, size=6, **more):
    names = tuple(f"m{i}" for i in range(count))
    return Total(size, names, enough, b"session 1", 2**40, **more)


def run(agreed, numbers, losses=(), sample=None, change=None):
    """Carry messages; a member named in ``losses`` is gone before it sends the message named there."""
    members = {
        name: contribute(name, values, agreed, seeded(i), sample)
        for i, (name, values) in enumerate(numbers.items())
    }
    lost, queues, records = dict(losses), {}, []
    collector = collect(agreed)
    waiting = {}

    def advance(name):
        """Run a member until it waits or is lost."""
        try:
            asked = members[name].send(waiting.pop(name, None))
            while isinstance(asked, Send):
                if lost.get(name) == asked.name:
                    members.pop(name)
                    return
                sent = change(name, asked) if change else asked
                records.append((name, sent))
                queues.setdefault((name, agreed.collector), []).append(arrays_of(sent))
                asked = members[name].send(None)
        except StopIteration as end:
            outputs[name] = end.value
            members.pop(name)

    outputs = {}
    for name in list(members):
        advance(name)
    try:
        asked = next(collector)
        while True:
            if isinstance(asked, Send):
                records.append((agreed.collector, asked))
                if asked.peer in members:
                    waiting[asked.peer] = arrays_of(asked)
                    advance(asked.peer)
                asked = collector.send(None)
            elif queue := queues.get((asked.peer, agreed.collector)):
                content = queue.pop(0)
                asked.check(content)
                asked = collector.send(content)
            else:
                asked = collector.throw(PeerError("the member is gone", got=asked.peer))
    except StopIteration as end:
        return end.value, outputs, records


def numbers_of(agreed, seed=0):
    random = np.random.default_rng(seed)
    edge = np.array([-agreed.largest, agreed.largest, 0, 1, -1])
    return {name: random.choice(edge, agreed.size) for name in agreed.members}


def test_everybody_stays_and_the_sum_is_exact():
    agreed = agreed_of(5, 3)
    numbers = numbers_of(agreed)
    roles = {
        name: contribute(name, values, agreed, seeded(i)) for i, (name, values) in enumerate(numbers.items())
    }
    outputs, _ = run_parties({**roles, "collector": collect(agreed)})
    total, names = outputs.pop("collector")
    assert np.array_equal(total, np.sum(list(numbers.values()), axis=0))
    assert names == agreed.members
    assert set(outputs.values()) == {agreed.members}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("gone", [1, 2])
def test_members_that_drop_out_in_any_phase_are_left_out_exactly(phase, gone):
    agreed = agreed_of(5, 3)
    numbers = numbers_of(agreed, gone)
    for chosen in itertools.islice(itertools.combinations(agreed.members, gone), 4):
        (total, names), outputs, _ = run(agreed, numbers, [(name, phase) for name in chosen])
        stayed = agreed.members if phase in LATE else tuple(n for n in agreed.members if n not in chosen)
        assert names == stayed
        assert np.array_equal(total, np.sum([numbers[name] for name in stayed], axis=0))
        assert set(outputs) == set(agreed.members) - set(chosen)


@given(st.lists(st.sampled_from([None, None, *PHASES]), min_size=4, max_size=9), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_any_pattern_of_drop_outs_ends_exactly_or_in_a_clear_error(pattern, seed):
    agreed = agreed_of(len(pattern), len(pattern) // 2 + 1, size=3)
    numbers = numbers_of(agreed, seed)
    losses = [(name, phase) for name, phase in zip(agreed.members, pattern, strict=True) if phase]
    if len(pattern) - len(losses) < agreed.enough:
        with pytest.raises(PeerError, match="too few"):
            run(agreed, numbers, losses)
        return
    (total, names), _, _ = run(agreed, numbers, losses)
    early = {name for name, phase in losses if phase not in LATE}
    assert set(names) == set(agreed.members) - early
    assert np.array_equal(total, np.sum([numbers[name] for name in names], axis=0))


def test_what_the_collector_sees_of_a_member_is_uniform_and_says_nothing():
    agreed = agreed_of(3, 3, size=2000)
    forms = set()
    for value in (0, 2**40, -(2**40)):
        numbers = {name: np.full(2000, value) for name in agreed.members}
        _, _, records = run(agreed, numbers)
        masked = [send.arrays["numbers"] for _, send in records if send.name == "total/masked"]
        for words in masked:
            assert_uniform(words, 2.0**64)
        for first, second in itertools.combinations(masked, 2):  # no two of three masks cancel
            assert_uniform(first + second, 2.0**64)
        forms.add(
            tuple(
                (name, send.name, tuple((k, np.shape(v)) for k, v in send.arrays.items()))
                for name, send in records
            )
        )
    assert len(forms) == 1


def test_a_late_number_stays_masked_by_its_own_seed_when_pairs_are_opened():
    """Without either mask what is left of y is x; with one of the two still in, it is noise."""
    agreed = agreed_of(3, 2, size=500)
    numbers = {name: np.full(500, 11) for name in agreed.members}
    _, _, records = run(agreed, numbers)
    secrets = {}
    for i, name in enumerate(agreed.members):
        bits = seeded(i)
        secrets[name] = (Agreement.draw(bits), Agreement.draw(bits), bits.bytes(32))
    y = next(send.arrays["numbers"] for name, send in records if name == "m1" and send.name == "total/masked")
    pairs = np.zeros(500, dtype=np.uint64)
    for other, sign in (("m0", -1), ("m2", 1)):
        shared = secrets["m1"][1].shared(secrets[other][1].public)
        first, second = sorted(("m1", other))
        words = agreed.mask(shared, domain("pair", 2, first, second))
        pairs = pairs + words if sign > 0 else pairs - words
    own = agreed.mask(secrets["m1"][2], "own")
    assert_uniform(y - pairs, 2.0**64, cells=16)
    assert_uniform(y - own, 2.0**64, cells=16)
    assert np.array_equal((y - own - pairs).view(np.int64), numbers["m1"])


def test_sealed_notes_look_random_and_differ():
    agreed = agreed_of(9, 5)
    _, _, records = run(agreed, numbers_of(agreed))
    notes = [
        send.arrays["notes"] for name, send in records if send.name == "total/shares" and name != "collector"
    ]
    bits = np.concatenate([bits_of(row) for table in notes for row in table if row.any()])
    assert abs(bits.mean() - 0.5) < 7 * 0.5 / np.sqrt(bits.size)
    rows = {row.tobytes() for table in notes for row in table if row.any()}
    assert len(rows) == 9 * 8


def test_a_member_never_gives_both_secrets_of_another():
    """For everybody one row goes out, and it is the share of the seed exactly of those who arrived."""
    agreed = agreed_of(5, 3)
    _, _, records = run(agreed, numbers_of(agreed), [("m1", "total/masked")])
    opens = [send for _, send in records if send.name == "total/open"]
    assert len(opens) == 4
    for send in opens:
        assert set(send.arrays) == {"shares"}
        assert send.arrays["shares"].shape == (5, 5)
        assert all(row.any() for row in send.arrays["shares"])


def collector_that(lies):
    """A collector's messages to one member, changed by ``lies``; returns what the member does."""
    agreed = agreed_of(4, 3)
    numbers = numbers_of(agreed)
    roles = {
        name: contribute(name, values, agreed, seeded(i)) for i, (name, values) in enumerate(numbers.items())
    }

    def middle():
        inner = collect(agreed)
        answer = None
        while True:
            try:
                asked = inner.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(asked, Send):
                asked = Send(
                    asked.name, lies(asked.name, {k: np.copy(v) for k, v in asked.arrays.items()}), asked.peer
                )
            answer = yield asked

    return run_parties({**roles, "collector": middle()})


def replaced(message, part, change):
    def lies(name, arrays):
        if name == message:
            change(arrays[part])
        return arrays

    return lies


def cleared(flags):
    flags[:2] = False


def test_a_list_with_fewer_than_enough_survivors_is_refused_by_members():
    for message in ("total/keys", "total/shares", "total/arrived", "total/lists"):
        with pytest.raises(ProtocolError, match="list of members"):
            collector_that(replaced(message, "present", cleared))


def test_changed_keys_and_notes_are_noticed():
    def flip(table):
        table ^= 1

    with pytest.raises(ProtocolError, match="other keys"):
        collector_that(replaced("total/keys", "mask", flip))
    with pytest.raises(CipherError, match="sealed note"):
        collector_that(replaced("total/shares", "notes", flip))


def test_a_wrong_share_is_noticed_when_more_than_enough_answer():
    agreed = agreed_of(5, 3)

    def change(name, send):
        if name == "m2" and send.name == "total/open":
            shares = send.arrays["shares"].copy()
            shares[0, 0] ^= np.uint64(1)
            return Send(send.name, {"shares": shares}, send.peer)
        return send

    with pytest.raises(CipherError):
        run(agreed, numbers_of(agreed), change=change)


@pytest.mark.parametrize("value", [2**40 + 1, -(2**40) - 1])
def test_numbers_beyond_the_bound_are_refused_before_anything_is_drawn_or_sent(value):
    agreed = agreed_of(3, 2)
    numbers = np.zeros(6, dtype=np.int64)
    numbers[2] = value
    role = contribute("m0", numbers, agreed, seeded(1))
    with pytest.raises(RangeError) as refused:
        next(role)
    assert str(value) not in str(refused.value)
    for wrong in (np.zeros(5, dtype=np.int64), np.zeros(6)):
        with pytest.raises(ParameterError):
            next(contribute("m0", wrong, agreed, seeded(1)))
    with pytest.raises(ParameterError):
        next(contribute("m0", np.zeros(6, dtype=np.int64), agreed, seeded(1), discrete_gaussian))


def test_plans_that_protect_nobody_are_refused():
    for count, enough, more in (
        (4, 2, {}),  # two halves could each be told another story
        (4, 5, {}),
        (1, 1, {}),
        (5, 3, {"colluding": 1}),
        (5, 3, {"portion": Portion("gaussian", 1e4, 4, 1)}),  # counts on more than are enough
        (5, 4, {"colluding": 2, "portion": Portion("gaussian", 1e4, 4, 1)}),
        (5, 3, {"portion": Portion("gaussian", 1e16, 3, 1)}),
    ):
        with pytest.raises(ParameterError):
            agreed_of(count, enough, **more)
    with pytest.raises(ParameterError):
        Total(1, ("a", "b"), 2, b"s", 2**61)
    with pytest.raises(ParameterError):
        Total(1, ("a", "b"), 2, b"", 1)


def test_the_noise_in_a_total_has_the_promised_scale_even_after_losses_and_collusion():
    """Four of five are enough, one colludes: what the other three added has at least variance scale**2."""
    portion = Portion("gaussian", 1000.0, 4, 1)
    agreed = agreed_of(5, 4, size=3000, colluding=1, portion=portion)
    numbers = {name: np.full(3000, 7) for name in agreed.members}
    (total, names), _, _ = run(agreed, numbers, [("m4", "total/masked")], sample=discrete_gaussian)
    assert names == agreed.members[:4]
    noise = (total - 4 * 7).astype(np.float64)
    expected = float(portion.own) ** 2 * 4
    assert expected >= 1000.0**2 * 4 / 3 * (1 - 1e-9)
    assert 1e-9 < chdtrc(3000, (noise**2).sum() / expected) < 1 - 1e-9


def test_two_runs_of_one_session_name_differ_by_their_keys():
    agreed = agreed_of(3, 2, size=100)
    numbers = {name: np.zeros(100, dtype=np.int64) for name in agreed.members}
    first = contribute("m0", numbers["m0"], agreed, seeded(1))
    second = contribute("m0", numbers["m0"], agreed, seeded(2))
    assert next(first).arrays["mask"] != next(second).arrays["mask"]
    assert isinstance(next(first), Receive)


def test_agreed_secrets_are_the_same_for_both_and_notes_are_for_one():
    one, two, three = (Agreement.draw(seeded(i)) for i in range(3))
    assert one.shared(two.public) == two.shared(one.public) != one.shared(three.public)
    note = sealed(b"hello", one.shared(two.public), "a")
    assert opened(note, two.shared(one.public), "a") == b"hello"
    changed = bytes([note[0] ^ 1]) + note[1:]
    for bad, label in ((note, "b"), (changed, "a"), (note[:-1], "a"), (b"", "a")):
        with pytest.raises(CipherError):
            opened(bad, two.shared(one.public), label)
    with pytest.raises(CipherError):
        one.shared(bytes(32))  # a point of small order would make the secret public


def test_keys_agree_with_the_vector_of_rfc_7748():
    bob = Agreement(bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    alice = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    assert bob.public.hex() == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    assert bob.shared(alice).hex() == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"


ALL = "01234"
TWO_STORIES = (  # (who shared secrets, as told to each; whose number arrived, as told to each)
    # member 0 counts on pairs with 1 and 2 only; their keys are asked of the rest, and 0 stands alone
    (("012", ALL, ALL, ALL, ALL), ("012", "013", "023", "034", "034")),
    # everybody counts on all pairs, but the keys of 1, 2 and 3 are asked of three members each
    ((ALL,) * 5, ("034", "014", "024", "0134", "024")),
)


@pytest.mark.parametrize(("sharing", "arrived"), TWO_STORIES)
def test_a_collector_that_tells_members_different_lists_gets_no_share_from_anybody(sharing, arrived):
    """If members gave their shares, these lists would open member 0's number, or the sum of 0 and 4."""
    assert answers_to(sharing, arrived) == [None] * 5


def test_members_who_are_told_the_same_give_their_shares():
    assert [send.name for send in answers_to((ALL,) * 5, ("01234",) * 5)] == ["total/open"] * 5


def answers_to(sharing, arrived):
    """What five members give in the end to a collector that tells them these lists."""
    agreed = agreed_of(5, 3)
    numbers = numbers_of(agreed)
    roles = [contribute(f"m{i}", numbers[f"m{i}"], agreed, seeded(i)) for i in range(5)]
    flags = {text: np.array([str(i) in text for i in range(5)]) for text in (ALL, *sharing, *arrived)}

    def passed(rows):
        """What each has sealed for each, handed on as it is."""
        return [np.stack([rows[sender][i] for sender in range(5)]) for i in range(5)]

    keys = [next(role).arrays for role in roles]
    tables = {part: np.stack([np.frombuffer(one[part], np.uint8) for one in keys]) for part in keys[0]}
    for role in roles:
        next(role)
    notes = [role.send({"present": flags[ALL], **tables}).arrays["notes"] for role in roles]
    for role in roles:
        next(role)
    told = list(zip(roles, sharing, passed(notes), strict=True))
    masked = [role.send({"present": flags[text], "notes": table}) for role, text, table in told]
    tags = passed([send.arrays["tags"] for send in masked])
    for role in roles:
        next(role)
    answers = [
        stubborn(role, flags[text], table) for role, text, table in zip(roles, arrived, tags, strict=True)
    ]
    told = passed([np.zeros((5, 48), np.uint8) if one is None else one.arrays["tags"] for one in answers])
    for role, answer in zip(roles, answers, strict=True):
        if answer is not None:
            next(role)
    return [
        None if answer is None else stubborn(role, flags[text], table)
        for role, text, table, answer in zip(roles, arrived, told, answers, strict=True)
    ]


def stubborn(role, present, tags):
    """A member's answer to a list, or None if it refuses and ends."""
    try:
        return role.send({"present": present, "tags": tags})
    except ProtocolError as refused:
        assert "different lists" in str(refused)
    except CipherError as refused:  # the tag of somebody who has refused already
        assert "sealed note" in str(refused)
    return None


@pytest.mark.parametrize("message", ["total/arrived", "total/lists"])
def test_forged_tags_are_noticed(message):
    def flip(tags):
        tags ^= 1

    with pytest.raises(CipherError, match="sealed note"):
        collector_that(replaced(message, "tags", flip))
