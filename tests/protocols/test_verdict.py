"""Which model explains a recording best, bit for bit as in the clear; live and with tables ahead."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.crypto.circuit import bits_of_words, words_of_bits
from discreet.crypto.garble import Garbler, block_sizes
from discreet.errors import ParameterError, ProtocolError
from discreet.protocols.ahead import open_early, open_late
from discreet.protocols.garbled import open_evaluating, open_garbling
from discreet.protocols.recursion import Trellis, Weights, all_arcs, left_right, plain
from discreet.protocols.semiring import Semiring
from discreet.protocols.stages import mixed_score, paced_step, start_step, widened, winner
from discreet.protocols.step import Send, run_pair, under
from discreet.protocols.verdict import Verdict, find_word, judge, read_word, told_bits
from discreet.randomness import secure

RANDOM = np.random.default_rng(4)
LOG = Trellis("logsum", 7, 3, left_right(2), low=-20, high=0, width=20, opened="evaluator")
PLANS = [
    Verdict(LOG, 16),
    Verdict(LOG, 16, recordings=3, least=7),
    Verdict(replace(LOG, arcs=all_arcs(2)), 16, recordings=2, components=3, label_bits=16),
    Verdict(replace(LOG, kind="max"), 15, recordings=2, components=2, least=3),
    Verdict(replace(LOG, steps=1), 16),
    Verdict(replace(LOG, models=1), 20, recordings=2),
]


def garbling(plan, weights, share, labels, ahead):
    opening = open_early(b"t", plan.told, secure()) if ahead else open_garbling(b"t", secure())
    end = yield from opening
    out = yield from judge(plan, weights, share, end, labels)
    if ahead:
        yield from end.settle()
    yield from end.tell(out)
    return (yield from end.learn(out))


def evaluating(plan, share, lengths, ahead):
    opening = open_late(b"t", plan.told, secure()) if ahead else open_evaluating(b"t", secure())
    end = yield from opening
    if ahead:
        for circuit, instances in plan.runs():
            yield from end.fetch(circuit, instances)
        yield from end.redeem(np.concatenate([bits.ravel() for bits in told_bits(plan, share, lengths)]))
    out = yield from find_word(plan, share, lengths, end)
    shown = yield from end.learn(out)
    yield from end.tell(out)
    return read_word(plan, shown)


def drawn(plan):
    words, states = plan.words, plan.trellis.states
    square = np.log(RANDOM.dirichlet(np.ones(states), (words, states)))
    weights = Weights(np.zeros((words, states)), square, np.zeros((words, states)))
    scores = RANDOM.integers(-20 * 256, 0, plan.shape)
    lengths = RANDOM.integers(plan.least, plan.steps + 1, plan.recordings)
    return weights, scores, lengths


def winners(plan, weights, scores, lengths):
    """Every recording by itself, in the clear, cut to its real length."""
    joined = scores.reshape(*plan.shape[:2], plan.trellis.states, plan.components)
    joined = plan.narrow.plain(joined, 3)
    for number, length in enumerate(lengths):
        lanes = slice(number * plan.words, (number + 1) * plan.words)
        trellis = replace(plan.trellis, steps=int(length))
        yield int(plain(trellis, weights, joined[:length, lanes]).argmax())


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("plan", PLANS, ids=range(len(PLANS)))
def test_the_word_is_that_of_the_plain_recursion_for_every_hidden_length(plan, ahead):
    weights, scores, lengths = drawn(plan)
    mask = np.uint64(2**plan.score_width - 1)
    mine = RANDOM.integers(0, 2**60, plan.shape).astype(np.uint64) & mask
    theirs = (scores.view(np.uint64) - mine) & mask
    listed = None
    if plan.label_bits:
        listed = RANDOM.integers(0, 2, (plan.words, plan.label_bits)).astype(np.uint8)
    opened, found, transcript = run_pair(
        garbling(plan, weights, mine, listed, ahead), evaluating(plan, theirs, lengths, ahead)
    )
    wanted = np.array(list(winners(plan, weights, scores, lengths)))
    if listed is not None:
        wanted = np.packbits(listed, axis=1, bitorder="little")[wanted]
    assert np.array_equal(found, wanted)
    assert np.array_equal(read_word(plan, opened), wanted)
    tables = sum(record.size for record in transcript if record.name == "gates/tables")
    assert tables == 32 * plan.gates == 32 * sum(c.ands * n for c, n in plan.runs())


def test_nothing_goes_back_and_forth_but_turns_and_labels_once_tables_are_ahead():
    plan = PLANS[1]
    weights, _, lengths = drawn(plan)
    zero = np.zeros(plan.shape, dtype=np.uint64)
    _, _, transcript = run_pair(
        garbling(plan, weights, zero, None, True), evaluating(plan, zero, lengths, True)
    )
    names = [record.name for record in transcript]
    late = names[max(at for at, name in enumerate(names) if name == "gates/tables") + 1 :]
    assert late == ["labels/turns", "labels/masked", "open/colours", "open/labels"]


def test_turns_and_masked_labels_are_uniform_whatever_the_bits():
    from tests.protocols.uniform import assert_uniform, bits_of

    for value in (0, 1):
        choices = np.full(4000, value, dtype=np.uint8)

        def first():
            end = yield from open_early(b"t", 4000, secure())
            yield from end.take((1, 4000))
            yield from end.settle()

        def second(choices=choices):
            end = yield from open_late(b"t", 4000, secure())
            yield from end.redeem(choices)
            return (yield from end.give(choices[None]))

        _, labels, transcript = run_pair(first(), second())
        turns, masked = (record for record in transcript if record.name.startswith("labels/"))
        assert_uniform(bits_of(turns.arrays["turns"]), 2, cells=2)
        assert_uniform(masked.arrays["labels"], 2.0**64)
        assert_uniform(labels, 2.0**64)


@pytest.mark.parametrize("count", [7, 9])
def test_bits_other_than_those_transferred_are_refused_at_both_ends(count):
    def first():
        end = yield from open_early(b"t", 8, secure())
        yield from end.take((1, count))
        with pytest.raises(ParameterError):
            yield from end.settle()

    def second():
        end = yield from open_late(b"t", 8, secure())
        with pytest.raises(ParameterError):
            yield from end.redeem(np.zeros(count, dtype=np.uint8))

    run_pair(first(), second())


def test_plans_and_inputs_that_make_no_sense_are_refused():
    for change in (
        {"recordings": 0},
        {"components": 0},
        {"least": 0},
        {"least": 8},
        {"label_bits": -1},
        {"score_width": 21},
    ):
        with pytest.raises(ParameterError):
            replace(PLANS[0], **change)
    with pytest.raises(ParameterError):
        replace(PLANS[0], trellis=Trellis("or", 3, 2, left_right(2), width=1, fraction=0))
    plan = PLANS[3]
    share = np.zeros(plan.shape, dtype=np.uint64)
    for lengths in ([3], [2, 3], [3, 8]):
        with pytest.raises(ParameterError):
            next(told_bits(plan, share, np.array(lengths)))
    with pytest.raises(ParameterError):
        next(told_bits(plan, share[1:], np.array([3, 3])))
    weights = drawn(plan)[0]
    with pytest.raises(ParameterError):
        next(judge(plan, weights, share, None, np.zeros((3, 5))))


def test_circuits_of_a_step_take_it_or_leave_it():
    semiring = Semiring("logsum", 20, 8, 1 / 64)
    circuit = paced_step(semiring, 2, left_right(2), 16, True)
    words = RANDOM.integers(-(2**13), 2**13, (2, 50))
    told = RANDOM.integers(-(2**13), 0, (2, 50))
    arcs = RANDOM.integers(-300, 0, (3, 50))
    going = RANDOM.integers(0, 2, (1, 50)).astype(np.uint8)
    flat = lambda values, width: np.concatenate([bits_of_words(v.view(np.uint64), width) for v in values])  # noqa: E731
    inputs = {"state": flat(words, 20), "own": flat(arcs, 20), "told": flat(told, 16), "going": going}
    out = circuit.plain(inputs)["state"].reshape(2, 20, 50).swapaxes(0, 1)
    after = np.stack(
        [words[0] + arcs[0], semiring.plain(np.stack([words[0] + arcs[1], words[1] + arcs[2]]), 0)]
    )
    assert np.array_equal(words_of_bits(out, signed=True), np.where(going, after + told, words))
    begun = start_step(semiring, 2, 16).plain({"own": flat(words, 20), "told": flat(told, 16)})["state"]
    assert np.array_equal(words_of_bits(begun.reshape(2, 20, 50).swapaxes(0, 1), signed=True), words + told)
    assert widened([3, 4], 4) == [3, 4, 4, 4]


def test_circuits_join_components_and_name_the_first_of_the_largest():
    semiring = Semiring("logsum", 16, 8, 1 / 64)
    parts = RANDOM.integers(-(2**12), 0, (3, 40))
    mine = RANDOM.integers(0, 2**16, (3, 40))
    bits = lambda values: np.concatenate([bits_of_words(v % 2**16, 16) for v in values])  # noqa: E731
    out = mixed_score(semiring, 3).plain({"own": bits(mine), "told": bits(parts - mine)})["score"]
    assert np.array_equal(words_of_bits(out, signed=True), semiring.plain(parts, 0))
    totals = RANDOM.integers(0, 4, (5, 40)) + 2**15 - 2  # around the border where words wrap
    marks = RANDOM.integers(0, 2, (5 * 6, 40)).astype(np.uint8)
    number = words_of_bits(winner(5, 16, 0).plain({"totals": bits(totals)})["answer"])
    assert np.array_equal(number, totals.argmax(axis=0))
    told = winner(5, 16, 6).plain({"totals": bits(totals), "labels": marks})["answer"]
    assert np.array_equal(told, marks.reshape(5, 6, 40)[number.astype(int), :, np.arange(40)].T)


def test_sizes_of_blocks_are_known_before_garbling():
    circuit = mixed_score(Semiring("logsum", 20, 8, 1 / 64), 4)
    for batch in (1, 700, 5000):
        garbler = Garbler(b"\x01" * 16, b"session")
        inputs = {name: garbler.give(np.zeros((80, batch))) for name in ("own", "told")}
        sizes = [len(tables) // 4 for tables in garbler.run(circuit, inputs)]
        assert sizes == block_sizes(circuit, batch)
        assert sum(sizes) == circuit.ands * batch


def test_steps_under_a_phase_keep_what_they_do_and_change_their_names():
    def role():
        yield Send("a/b", {})
        try:
            yield Send("c", {})
        except ProtocolError:
            yield Send("d", {})
        return 7

    steps = under("ahead", role())
    assert next(steps).name == "ahead/a/b"
    assert steps.send(None).name == "ahead/c"
    assert steps.throw(ProtocolError("x")).name == "ahead/d"
    with pytest.raises(StopIteration) as end:
        steps.send(None)
    assert end.value.value == 7
