"""Recursions on shares equal plain ones bit for bit, stay within the stated error, refuse what could wrap."""

from dataclasses import replace

import numpy as np
import pytest
from circuit_shares import is_uniform, joined, refused_at_once, seen, split
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.protocols.garbled import open_evaluating, open_garbling
from discreet.protocols.pick import Pick, learn_label, tell_label
from discreet.protocols.step import run_pair
from discreet.protocols.trellis import (
    Trellis,
    Weights,
    all_arcs,
    check_range,
    hold_data,
    hold_model,
    left_right,
    plain,
)
from discreet.randomness import secure

KINDS = ["logsum", "max", "or"]


def models(kind, count, states, seed=0):
    """Weights of random models."""
    random = np.random.default_rng(seed)
    if kind == "or":
        return Weights(
            random.random((count, states)) < 0.6,
            random.random((count, states, states)) < 0.5,
            random.random((count, states)) < 0.7,
        )
    start = np.log(random.dirichlet(np.ones(states), count))
    arcs = np.log(random.dirichlet(np.ones(states), (count, states)))
    return Weights(start, arcs, np.log(random.uniform(0.1, 1, (count, states))))


def scores(plan, seed=0):
    """Scores in the declared range, its ends among them, in units of the plan."""
    random = np.random.default_rng(seed)
    shape = (plan.steps, plan.models, plan.states)
    if plan.kind == "or":
        return (random.random(shape) < 0.8).astype(np.int64)
    drawn = np.where(
        random.random(shape) < 0.2,
        random.choice([plan.low, plan.high], shape),
        random.uniform(plan.low, plan.high, shape),
    )
    return plan.fixed(drawn)


def plan_of(kind, steps=6, count=3, arcs=None, **more):
    width = {"width": 1} if kind == "or" else {"low": -30.0, "high": 5.0}
    return Trellis(kind, steps, count, arcs or all_arcs(3), **(width | more))


def shared(plan, weights, values, seed=0):
    first, second = split(values, plan.width, seed)
    return run_pair(hold_model(plan, weights, first, secure()), hold_data(plan, second, secure()))


def exact(plan, weights, values):
    """The recursion in doubles, with the logarithms of sums as they are."""
    join = np.logaddexp.reduce if plan.kind == "logsum" else np.max
    state = weights.start + values[0]
    for step in values[1:]:
        paths = state[:, :, None] + weights.transitions
        missing = np.ones((plan.states, plan.states), dtype=bool)
        missing[tuple(np.array(plan.arcs).T)] = False
        paths = np.where(missing, -np.inf, paths)
        state = join(paths, axis=1) + step
    return state if plan.answer == "states" else join(state + weights.end, axis=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", ["total", "states"])
@pytest.mark.parametrize("arcs", [all_arcs(3), left_right(4), all_arcs(1), ((1, 0), (0, 1), (0, 2))])
def test_shares_give_what_the_clear_recursion_gives(kind, answer, arcs):
    plan = plan_of(kind, arcs=arcs, answer=answer, opened="both")
    weights, values = models(kind, 3, plan.states), scores(plan)
    told, found, _ = shared(plan, weights, values)
    assert np.array_equal(told, plain(plan, weights, values))
    assert np.array_equal(found, told)


@pytest.mark.parametrize("kind", ["logsum", "max"])
@pytest.mark.parametrize("answer", ["total", "states"])
def test_the_answer_is_within_the_stated_error(kind, answer):
    plan = plan_of(kind, steps=40, count=5, answer=answer, arcs=left_right(4), opened="evaluator")
    weights, values = models(kind, 5, 4, 3), scores(plan, 3)
    _, found, _ = shared(plan, weights, values)
    wanted = exact(plan, weights, values / 2**plan.fraction)
    rounding = 2.0 ** -(plan.fraction + 1) * (plan.steps + 1)
    bound = plan.steps * 2 * plan.semiring.slack + rounding
    assert np.abs(found / 2**plan.fraction - wanted).max() <= bound
    assert np.abs(found / 2**plan.fraction - wanted).max() <= 0.3


@given(
    kind=st.sampled_from(KINDS),
    steps=st.integers(1, 5),
    count=st.integers(1, 3),
    states=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=15, deadline=None)
def test_any_trellis_is_right(kind, steps, count, states, seed):
    random = np.random.default_rng(seed)
    arcs = {(int(random.integers(states)), j) for j in range(states)}
    arcs |= {(int(i), int(j)) for i, j in random.integers(0, states, (3, 2))}
    plan = plan_of(kind, steps, count, tuple(sorted(arcs)), opened="evaluator")
    weights, values = models(kind, count, states, seed), scores(plan, seed)
    assert np.array_equal(shared(plan, weights, values, seed)[1], plain(plan, weights, values))


@pytest.mark.parametrize("kind", KINDS)
def test_with_shares_nothing_is_opened_and_shares_are_uniform(kind):
    plan = plan_of(kind, 2, 3000, all_arcs(1), opened="shares")
    one = models(kind, 1, 1)
    weights = Weights(*(np.repeat(part, 3000, axis=0) for part in (one.start, one.transitions, one.end)))
    values = np.repeat(scores(plan)[:, :1], 3000, axis=1)
    first, second, transcript = shared(plan, weights, values)
    assert np.array_equal(
        joined(first, second, plan.width, signed=kind != "or"), plain(plan, weights, values)
    )
    for share in (first, second):
        ones = np.array(
            [int((share >> np.uint64(place) & np.uint64(1)).sum()) for place in range(plan.width)]
        )
        assert np.abs(ones - 1500).max() < 6 * 28
    assert "open/shares" not in {record.name for record in transcript}


@pytest.mark.parametrize("opened", ["garbler", "evaluator"])
def test_only_the_party_that_is_named_learns(opened):
    plan = plan_of("max", opened=opened)
    weights, values = models("max", 3, 3), scores(plan)
    told, found, _ = shared(plan, weights, values)
    learned, other = (told, found) if opened == "garbler" else (found, told)
    assert np.array_equal(learned, plain(plan, weights, values))
    assert other is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_seen_is_uniform_and_sizes_say_nothing(kind):
    plan = plan_of(kind, 12, 20, opened="shares")
    low = np.zeros((12, 20, 3), dtype=np.int64)
    transcripts = [
        shared(plan, models(kind, 20, 3, seed), values)[2] for seed, values in ((1, low), (2, scores(plan)))
    ]
    for transcript in transcripts:
        assert is_uniform(seen(transcript, "first"))
        assert is_uniform(seen(transcript, "second"))
    assert transcripts[0].forms == transcripts[1].forms


def test_impossible_starts_and_arcs_are_exact_enough():
    arcs = all_arcs(3)
    weights = models("logsum", 2, 3)
    start, transitions = weights.start.copy(), weights.transitions.copy()
    start[:, 1:] = -np.inf
    transitions[:, 2, :2] = transitions[:, 1, 0] = -np.inf
    broken = Weights(start, transitions, weights.end)
    plan = plan_of("logsum", 8, 2, arcs, never=600.0, opened="evaluator")
    values = scores(plan, 5)
    _, found, _ = shared(plan, broken, values)
    wanted = exact(plan, broken, values / 256)
    assert np.abs(found / 256 - wanted).max() < 0.3
    with pytest.raises(ParameterError, match="impossible path"):
        check_range(replace(plan, never=100.0), broken)


def test_bits_of_data_are_moved_in_windows():
    plan = plan_of("max", 60, 20, opened="evaluator")  # 86,400 bits: two lots, one round each
    weights, values = models("max", 20, 3), scores(plan)
    _, found, transcript = shared(plan, weights, values)
    assert np.array_equal(found, plain(plan, weights, values))
    names = [record.name for record in transcript]
    assert names.count("transfer/columns") == 2
    assert max(record.size for record in transcript) <= 2**20 + 100


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"low": -3e4}, "may not fit"),
        ({"high": 3e4}, "may not fit"),
        ({"width": 13}, "may not fit"),
        ({"steps": 4000}, "may not fit"),
    ],
)
@pytest.mark.parametrize("kind", ["logsum", "max"])
def test_words_that_could_wrap_are_refused_before_anything_is_sent(kind, change, match):
    plan = plan_of(kind, **({"low": -30.0, "high": 5.0} | change))
    refusal = refused_at_once(
        hold_model(plan, models(kind, 3, 3), np.zeros((plan.steps, 3, 3), dtype=np.uint64), secure())
    )
    assert isinstance(refusal, ParameterError)
    assert match in str(refusal)


@pytest.mark.parametrize("kind", ["logsum", "max"])
def test_values_at_the_ends_of_what_is_accepted_do_not_wrap(kind):
    """The narrowest words that `check_range` accepts are right for all-lowest and all-highest scores."""
    weights = models(kind, 3, 3)
    for steps, low, high in ((6, -30.0, 5.0), (11, -8.0, 40.0), (3, -90.0, -80.0)):
        for width in range(13, 24):
            plan = plan_of(kind, steps, low=low, high=high, width=width, opened="evaluator")
            try:
                check_range(plan, weights)
            except ParameterError:
                continue
            break
        assert 15 <= width < 21
        for score in (low, high):
            values = np.full((steps, 3, 3), round(score * 256), dtype=np.int64)
            assert np.array_equal(shared(plan, weights, values)[1], plain(plan, weights, values))
        mixed = scores(plan, 4)
        assert np.array_equal(shared(plan, weights, mixed)[1], plain(plan, weights, mixed))


def test_weights_and_shares_of_the_wrong_form_are_refused_before_anything_is_sent():
    plan, share = plan_of("max"), np.zeros((6, 3, 3), dtype=np.uint64)
    good = models("max", 3, 3)
    for weights in (
        models("max", 2, 3),
        replace(good, end=good.end[:, :2]),
        replace(good, start=np.full((3, 3), 1e6)),
        replace(good, start=np.full((3, 3), np.nan)),
        replace(good, start=np.full((3, 3), np.inf)),
    ):
        refusal = refused_at_once(hold_model(plan, weights, share, secure()))
        assert isinstance(refusal, ParameterError)
        assert "1000000" not in str(refusal)
    for wrong in (share[:5], share.astype(np.int64), share + np.uint64(2**24)):
        assert isinstance(refused_at_once(hold_model(plan, good, wrong, secure())), ParameterError)
        assert isinstance(refused_at_once(hold_data(plan, wrong, secure())), ParameterError)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "sum"},
        {"steps": 0},
        {"models": 0},
        {"arcs": ()},
        {"arcs": ((0, 0), (0, 2))},
        {"arcs": ((0, 0), (0, 0))},
        {"arcs": ((3, 0),)},
        {"low": 2.0, "high": 1.0},
        {"never": 0.0},
        {"width": 3},
        {"width": 63},
        {"width": 12},
        {"fraction": 23},
        {"error": 1e-6},
        {"answer": "path"},
        {"opened": "all"},
    ],
    ids=str,
)
def test_plans_that_make_no_sense_are_refused(wrong):
    good = {"kind": "logsum", "steps": 2, "models": 1, "arcs": all_arcs(2)}
    with pytest.raises(ParameterError):
        Trellis(**(good | wrong))


def test_plans_that_differ_are_different_contexts():
    plan = plan_of("max")
    others = [
        replace(plan, **change)
        for change in ({"steps": 7}, {"width": 25}, {"opened": "both"}, {"low": -31.0})
    ]
    assert len({plan.context, *(other.context for other in others)}) == 5


def test_a_recursion_and_its_label_share_one_session():
    """A whole question: forward algorithm on shares, the best model on shares, its label by transfer."""
    plan = plan_of("logsum", 10, 4, opened="shares")
    choice = Pick("argmax", 4, plan.width)
    weights, values = models("logsum", 4, 3, 8), scores(plan, 8)
    labels = np.arange(8, dtype=np.uint64).reshape(4, 2)
    first, second = split(values, plan.width)

    def owner(bits):
        end = yield from open_garbling(b"which word", bits)
        share = yield from hold_model(plan, weights, first, bits, end)
        yield from tell_label(choice, share[None], labels, bits, end=end)

    def speaker(bits):
        end = yield from open_evaluating(b"which word", bits)
        share = yield from hold_data(plan, second, bits, end)
        return (yield from learn_label(choice, share[None], 2, bits, end))

    nothing, label, transcript = run_pair(owner(secure()), speaker(secure()))
    assert nothing is None
    assert np.array_equal(label[0], labels[plain(plan, weights, values).argmax()])
    names = [record.name for record in transcript]
    assert names.count("transfer/offer") == 1
    assert "open/shares" not in names
