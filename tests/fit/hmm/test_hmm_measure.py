"""What one person can change: bounded as stated, and by exactly their own integers, in whatever company."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.fit.hmm import belief as beliefs
from discreet.fit.hmm import measure as measuring
from discreet.fit.hmm.belief import Belief, Crowd, ask
from discreet.fit.hmm.measure import SUMS, Census, CountQuestion, ScoreQuestion, measure
from discreet.fit.hmm.points import MomentQuestion, PointModel
from discreet.fit.hmm.scoring import length_classes
from discreet.fit.hmm.windows import WindowQuestion
from discreet.fit.mixture.measure import Layout
from discreet.fit.mixture.scales import Scales
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain
from discreet.models.gaussian import Gaussian
from discreet.models.hmm import HMM
from discreet.models.logits import Logits, Tables
from discreet.models.moments import COVARIANCE_TYPES, Frame, Pairs
from discreet.models.semiring import log_sum
from discreet.models.sequences import pack_sequences
from discreet.records import sequences as held
from discreet.records.engine import LocalEngine
from discreet.records.sequences import hold_sequences
from discreet.statistic import Statistic

LONG = os.environ.get("DISCREET_LONG") == "1"
SEEDS = range(40 if LONG else 1)
LONGEST = 24
NORMS = ("l1", "l2")
MODELS = ("usual", "zeros", "rare", "hopeless")


@pytest.fixture(autouse=True)
def few_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions about scores are whitened with fewer drawings: what is tested does not depend on them."""
    monkeypatch.setattr(beliefs, "_DRAWN", 4000)
    monkeypatch.setattr(beliefs, "_FEWEST", 50)


def chain_of(draw: np.random.Generator, states: int, kind: str) -> Chain:
    """Usual steps; steps that cannot be; steps that nearly cannot be."""
    start, steps = draw.dirichlet(np.ones(states)), draw.dirichlet(np.ones(states), states)
    if kind == "zeros" and states > 1:
        steps = np.triu(steps) + 1e-3 * np.eye(states)
        start = np.eye(states)[0]
    if kind in ("rare", "hopeless"):
        tiny = 1e-250 if kind == "hopeless" else 1e-40
        steps = np.full((states, states), tiny) + np.eye(states)
        start = np.full(states, tiny) + np.eye(states)[0]
    return Chain(start / start.sum(), steps / steps.sum(axis=1, keepdims=True))


def symbols_of(draw: np.random.Generator, states: int, symbols: int, kind: str) -> HMM:
    emission = draw.dirichlet(np.ones(symbols), states)
    if kind != "usual":
        tiny = {"zeros": 0.0, "rare": 1e-60, "hopeless": 1e-280}[kind]
        emission = np.where(draw.random(emission.shape) < 0.5, tiny, emission)
        emission[:, -1] = np.maximum(emission[:, -1], 0.05)
    return HMM(chain_of(draw, states, kind), Categorical(emission / emission.sum(axis=1, keepdims=True)))


def points_of(
    draw: np.random.Generator, states: int, dimension: int, covariances: str, kind: str
) -> PointModel:
    spread = {"usual": 0.1, "zeros": 0.01, "rare": 1e-4, "hopeless": 1e-6}[kind]
    stretch = draw.normal(size=(states, dimension, dimension)) * 0.5
    full = spread * (np.eye(dimension) + stretch @ stretch.transpose(0, 2, 1))
    if covariances in ("diag", "spherical"):
        full = full * np.eye(dimension)
    if covariances == "spherical":
        full = np.eye(dimension) * np.einsum("kii->k", full)[:, None, None] / dimension
    if covariances == "tied":
        full[:] = full[0]
    means = draw.uniform(-0.7, 0.7, (states, dimension))
    return PointModel(chain_of(draw, states, kind), Frame.of(np.full(states, 1 / states), means, full))


def score_question(model: HMM, norm: Any, draw: np.random.Generator) -> ScoreQuestion:
    """The first question of a fit from this model."""
    emission: Any = model.emission
    logits = Logits.of(Tables(model.chain.start, model.chain.transition, emission.probabilities))
    belief = Belief(logits, logits.flatten(logits.tables))
    return ask(belief, Crowd(np.array([3, 20]), np.array([5.0, 9.0])), norm, draw).question


def questions(seed: int, norm: Any) -> list[tuple[str, Any, int]]:
    """Questions of all types: a name, the question, and the number of symbols, or minus the dimension."""
    draw = np.random.default_rng(seed)
    made: list[tuple[str, Any, int]] = [("census", Census(length_classes(LONGEST), norm), 3)] * 9
    for kind in MODELS:
        for states, symbols in ((1, 2), (3, 4), (14, 9)):
            model = symbols_of(draw, states, symbols, kind)
            size = states * (1 + states + symbols)
            limit = float(draw.choice([0.3, 4.0, 1e3]))
            made.append((f"counts {kind}", CountQuestion(model, np.ones(size), limit, norm), symbols))
            if states < 14 or (seed == 0 and kind == "rare"):
                made.append((f"score {kind}", score_question(model, norm, draw), symbols))
    made += [("windows", WindowQuestion(3, length, 2.0, norm), 3) for length in (1, 2, 4)]
    for kind in MODELS:
        for covariances in COVARIANCE_TYPES:
            for states, dimension, even in ((1, 1, False), (3, 2, True), (14, 2, False), (2, 9, False)):
                model = points_of(draw, states, dimension, covariances, kind)
                scales = Scales.choose(dimension, covariances, norm, whole=even)
                layout = Layout(states, Pairs.of(covariances, dimension), scales)
                question = MomentQuestion(model, layout, even, float(draw.choice([0.2, 1.5, 50.0])), norm)
                made.append((f"moments {kind} {covariances}", question, -dimension))
    return [one for one in made if one[1].size]


def strange_sequences(draw: np.random.Generator, width: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and lengths: the shortest, the longest, constant ones, ones at corners, and any."""
    lengths = np.where(
        draw.random(count) < 0.5, draw.choice([1, 2, LONGEST], count), draw.integers(1, LONGEST + 1, count)
    )
    parts: list[np.ndarray] = []
    for length in lengths:
        if width > 0:
            any_ = draw.integers(0, width, (length, 1))
            parts.append(any_ if draw.random() < 0.5 else np.full((length, 1), any_[0, 0]))
            continue
        points = draw.uniform(-1, 1, (length, -width))
        style = draw.integers(4)
        if style == 1:
            points[:] = np.sign(points[0])  # a corner: far outside every state
        if style == 2:
            points[:] = points[0]
        if style == 3:
            points = np.sign(points)
        parts.append(points)
    return np.concatenate(parts), lengths.astype(np.intp)


def labels_for(draw: np.random.Generator, question: Any, rows: int) -> list[np.ndarray | None]:
    """No labels; some; all: often ones that cannot be."""
    model = getattr(question, "model", None)
    if model is None:
        return [None]
    path = draw.integers(0, model.chain.states, rows).astype(np.intp)
    return [None, np.where(draw.random(rows) < 0.5, path, -1), path]


def asked(
    rows: np.ndarray,
    lengths: np.ndarray,
    labels: Any,
    question: Any,
    *,
    person: Any = None,
    share: float = 1.0,
) -> Statistic:
    sequences = hold_sequences(
        rows, lengths, max_length=LONGEST, states=labels, person=person, sequences_per_person=share
    )
    return measure(sequences, question, share, "test", LocalEngine(1))


def cut_rows(lengths: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The numbers of the rows of some sequences."""
    firsts = np.cumsum(lengths) - lengths
    return np.concatenate([firsts[one] + np.arange(int(lengths[one])) for one in which])


def chosen(rows: Any, lengths: np.ndarray, labels: Any, which: np.ndarray) -> tuple[Any, np.ndarray, Any]:
    places = cut_rows(lengths, which)
    return rows[places], lengths[which], None if labels is None else labels[places]


def size_of(total: Any, norm: str) -> float:
    """The norm of integers, exactly up to the last rounding."""
    whole = [int(value) for value in total]
    return float(sum(map(abs, whole))) if norm == "l1" else float(sum(value**2 for value in whole)) ** 0.5


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_changes_a_sum_by_more_than_its_bound(seed: int, norm: str) -> None:
    draw = np.random.default_rng(1000 + seed)
    largest: dict[str, float] = {}
    for name, question, width in questions(seed, norm):
        for _ in range(3 if LONG else 1):
            rows, lengths = strange_sequences(draw, width, int(draw.integers(1, 9)))
            share = float(draw.choice([0.3, 1.0, 2.5]))
            person = np.zeros(len(lengths), dtype=int)
            for labels in labels_for(draw, question, len(rows)):
                found = asked(rows, lengths, labels, question, person=person, share=share)
                both = size_of(found.total, "l1") <= found.l1 and size_of(found.total, "l2") <= found.l2
                assert both, name
                assert found.l2 * found.grid <= share * question.limit * (1 + 1e-12)
                bound = found.l1 if norm == "l1" else found.l2
                kind = name.split()[0]
                reach = bound * min(1.0, len(lengths) / share)
                largest[kind] = max(largest.get(kind, 0.0), size_of(found.total, norm) / reach)
    assert min(largest.values()) > 0.6, largest  # the search was not toothless


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_sum_is_that_of_everybody_alone(seed: int, norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order, in chunks and packs of any size; so removing somebody takes away exactly their own."""
    draw = np.random.default_rng(2000 + seed)
    for name, question, width in questions(seed, norm):
        rows, lengths = strange_sequences(draw, width, 20 if LONG else 6)
        everybody = np.arange(len(lengths))
        for labels in labels_for(draw, question, len(rows)):
            alone = [asked(*chosen(rows, lengths, labels, one), question).total for one in everybody[:, None]]
            for _ in range(3 if LONG else 1):
                monkeypatch.setattr(measuring, "_FRAMES", int(draw.choice([1, 40, 2**15])))
                monkeypatch.setattr(held, "CHUNK_FRAMES", int(draw.choice([1, 90, 2**16])))
                monkeypatch.setattr(held, "_PART_FRAMES", int(draw.choice([100, 2**18])))
                some = draw.permutation(everybody)[: draw.integers(1, len(everybody) + 1)]
                found = asked(*chosen(rows, lengths, labels, some), question).total
                assert (found == sum(alone[one] for one in some)).all(), name
            monkeypatch.undo()


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_have_the_same_bits_in_any_company(seed: int) -> None:
    """Before they are rounded: integers differ only once in millions of times when a last bit does."""
    draw = np.random.default_rng(3000 + seed)
    for name, question, width in questions(seed, "l2"):
        rows, lengths = strange_sequences(draw, width, 7)
        [pack] = pack_sequences(lengths)
        for labels in labels_for(draw, question, len(rows)):
            together = question.answers(rows, pack, labels)
            for one in range(len(lengths)):
                part = chosen(rows, lengths, labels, np.array([one]))
                alone = question.answers(part[0], pack_sequences(part[1])[0], part[2])
                assert (alone[:, 0] == together[:, one]).all(), name


@pytest.mark.parametrize("norm", NORMS)
def test_removing_a_person_removes_exactly_their_weighted_integers(norm: str) -> None:
    draw = np.random.default_rng(7)
    for name, question, width in questions(5, norm)[:: 1 if LONG else 4]:
        rows, lengths = strange_sequences(draw, width, 15)
        person = draw.integers(0, 4, 15)
        share = float(draw.choice([0.3, 2.5]))
        everybody = asked(rows, lengths, None, question, person=person, share=share).total
        for one in np.unique(person):
            parts = []
            for which in (np.flatnonzero(person == one), np.flatnonzero(person != one)):
                taken = chosen(rows, lengths, None, which)
                parts.append(asked(*taken, question, person=person[which], share=share).total)
            assert (everybody == parts[0] + parts[1]).all(), name


def test_hopeless_sequences_are_walked_in_logarithms_here_too() -> None:
    """The searches above reach the slow walks, beside sequences that need none."""
    draw = np.random.default_rng(3)
    reached = set()
    for kind in MODELS:
        model = symbols_of(draw, 14, 9, kind)
        rows, lengths = strange_sequences(draw, 9, 40)
        [pack] = pack_sequences(lengths)
        smoothed = model.smooth(model.view(rows, pack), SUMS)
        reached.add((smoothed.rare is not None, bool(smoothed.shares.any())))
    assert (True, True) in reached
    assert (False, True) in reached


@pytest.mark.parametrize("axis", [0, -2])
def test_sums_in_logarithms_have_the_same_bits_alone_and_among_others(axis: int) -> None:
    values = np.random.default_rng(6).normal(size=(14, 400)) * 5
    together = log_sum(values, axis)
    assert all((log_sum(values[:, [one]], axis)[0] == together[one]) for one in range(400))


def test_numbers_have_the_same_exponential_wherever_they_stand() -> None:
    """The bits rest on this, on any machine: numpy has several ways to compute it."""
    values = -np.abs(np.random.default_rng(8).normal(size=300) * 40)
    together = np.exp(values)
    for size in range(1, 40):
        for start in range(0, 300 - size, 7):
            part = values[start : start + size]
            assert (np.exp(part.copy()) == together[start : start + size]).all()
            assert (np.exp(part.reshape(1, -1)) == together[start : start + size]).all()
            assert (np.exp(part.reshape(-1, 1).copy())[:, 0] == together[start : start + size]).all()


@pytest.mark.parametrize("labelled", [False, True])
def test_long_hopeless_sequences_do_not_depend_on_their_company(labelled: bool) -> None:
    """Walks of hundreds of steps, alone and beside longer and shorter ones."""
    draw = np.random.default_rng(11)
    for states in (3, 14):
        model = symbols_of(draw, states, 9, "hopeless")
        question = CountQuestion(model, np.ones(states * (states + 10)), 50.0, "l2")
        lengths = np.array([300, 110, 3, 150, 1, 500])
        rows = draw.integers(0, 9, (int(lengths.sum()), 1))
        labels = draw.integers(-1, states, len(rows)).astype(np.intp) if labelled else None

        def total(*which: int) -> Any:
            parts = chosen(rows, lengths, labels, np.array(which))  # noqa: B023
            sequences = hold_sequences(parts[0], parts[1], states=parts[2])
            return measure(sequences, question, 1.0, "test", LocalEngine(1)).total  # noqa: B023

        alone = [total(one) for one in range(len(lengths))]
        for some in ((0, 1, 2, 3, 4, 5), (5, 0), (3, 4, 2)):
            assert (total(*some) == sum(alone[one] for one in some)).all()


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_workers_change_no_bit(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    model = symbols_of(draw, 14, 9, "usual")
    asks = [
        score_question(model, "l2", draw),
        CountQuestion(symbols_of(draw, 14, 9, "hopeless"), np.ones(14 * 24), 3.0, "l2"),
    ]
    rows, lengths = strange_sequences(draw, 9, 60)
    whole = hold_sequences(rows, lengths)
    monkeypatch.setattr(held, "_PART_FRAMES", 150)
    parts = hold_sequences(rows, lengths)
    assert len(parts.parts) > 4
    with LocalEngine(2, kind) as engine:
        for question in asks:
            one = measure(whole, question, 1.0, "test", LocalEngine(1)).total
            assert (measure(parts, question, 1.0, "test", engine).total == one).all()


class Told:
    """A question whose answers are whatever it is told."""

    def __init__(self, made: np.ndarray, limit: float, norm: Any) -> None:
        self.made, self.limit, self.norm = made, limit, norm
        self.size = self.work = len(made)

    def answers(self, rows: Any, pack: Any, states: Any) -> np.ndarray:
        return self.made[:, rows[pack.rows][pack.firsts].ravel().astype(int)].copy()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("limit", [1e-6, 1.0, 1e12])
def test_any_answer_is_bounded_even_one_that_is_no_number(norm: str, limit: float) -> None:
    """Whatever a model does with a sequence: the bound does not rest on it."""
    draw = np.random.default_rng(1)
    made = draw.normal(size=(300, 40)) * 10.0 ** draw.integers(-320, 308, 40)
    made[:, :4] = np.nan, np.inf, -np.inf, 0.0
    made[0, 4:8] = np.nan, np.inf, 1e200, -1e308
    rows = np.arange(40)[:, None]
    question: Any = Told(made, limit, norm)
    for one in range(40):
        found = asked(rows[one : one + 1], np.ones(1, dtype=np.intp), None, question)
        assert size_of(found.total, "l1") <= found.l1
        assert size_of(found.total, "l2") <= found.l2
    with np.errstate(all="raise"):  # nor is there an error that tells of it
        asked(rows, np.ones(40, dtype=np.intp), None, question)


@pytest.mark.parametrize("norm", NORMS)
def test_the_margin_for_rounding_grows_with_the_answer(norm: str) -> None:
    """Adding many numbers that are lost one by one: a fixed margin of 2**-30 is not enough for these."""
    size = 2**21 if not LONG else 2**24
    made = np.full((size, 1), 2.0**-27 * 0.999 if norm == "l2" else 2.0**-29)
    made[0] = 1.0
    question: Any = Told(made, 1.0, norm)
    found = asked(np.zeros((1, 1)), np.ones(1, dtype=np.intp), None, question)
    values = np.abs(found.total.astype(np.float64))
    if norm == "l2":
        assert float(np.sum(values[1:] ** 2)) + values[0] ** 2 <= found.l2**2
    else:
        assert float(values.sum()) <= found.l1
    assert values[1:].all()


def test_a_census_bounds_one_sequence_of_any_length() -> None:
    for norm in NORMS:
        for longest in (1, 2, 3, 64, 100):
            census = Census(length_classes(longest), norm)
            lengths = np.arange(1, longest + 1)
            [pack] = pack_sequences(lengths)
            sizes = measuring.norms(census.answers(np.zeros(0), pack, None), norm)
            assert sizes.max() <= census.limit * (1 + 1e-15)
            assert sizes.max() > 0.99 * census.limit


def test_expected_counts_of_a_sequence_are_those_of_the_plain_fit() -> None:
    """Steady arithmetic is arithmetic: the totals are those of `HMM.count`, up to rounding."""
    draw = np.random.default_rng(9)
    model = symbols_of(draw, 3, 4, "usual")
    rows, lengths = strange_sequences(draw, 4, 30)
    question = CountQuestion(model, np.ones(3 * 8), 1e4, "l2")
    found = asked(rows, lengths, None, question)
    [pack] = pack_sequences(lengths)
    plain = model.count(model.view(rows, pack))
    line = np.concatenate([plain.starts, plain.transitions.ravel(), plain.emissions.ravel()])
    assert np.allclose(found.total.astype(float) * found.grid, line, rtol=0, atol=1e-3)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_local_moments_are_those_of_the_plain_fit(kind: Any) -> None:
    """The sum over sequences of T times the averages, carried back, is what the plain E-step finds."""
    draw = np.random.default_rng(4)
    model = points_of(draw, 3, 2, kind, "usual")
    scales = Scales.choose(2, kind, "l2")
    layout = Layout(3, Pairs.of(kind, 2), scales)
    question = MomentQuestion(model, layout, False, 1e6, "l2")
    rows, lengths = strange_sequences(draw, -2, 10)
    [pack] = pack_sequences(lengths)
    answers = question.answers(rows, pack, None) @ lengths.astype(float)
    moments = layout.read(answers[: layout.size], 0.0)
    peer = HMM(model.chain, Gaussian.of(model.frame.means, model.frame.covariances, "full"))
    smoothed = peer.smooth(peer.view(rows, pack))
    assert np.allclose(moments.counts, smoothed.shares.sum(axis=1))
    local = np.einsum("kij,fkj->kfi", model.frame.inverses, rows[:, None] - model.frame.means)
    assert np.allclose(moments.first, np.einsum("kf,kfi->ki", smoothed.shares, local))
    second = np.einsum("kf,kfi,kfj->kij", smoothed.shares, local, local)
    if kind == "tied":
        second = second.sum(axis=0, keepdims=True)
    if kind in ("diag", "spherical"):
        second = second * np.eye(2)
    if kind == "spherical":
        second = np.eye(2) * np.einsum("kii->k", second)[:, None, None] / 2
    assert np.allclose(moments.second, second)
    steps = answers[layout.size :][:9].reshape(3, 3)
    assert np.allclose(steps, smoothed.transitions())


def test_a_question_is_not_changed_by_being_asked() -> None:
    """Answers may be bounded in place: two passes over the same sequences find the same."""
    draw = np.random.default_rng(2)
    for _, question, width in questions(6, "l2")[::5]:
        rows, lengths = strange_sequences(draw, width, 6)
        first, second = (asked(rows, lengths, None, question).total for _ in range(2))
        assert (first == second).all()
        assert (asked(rows, lengths, None, replace(question)).total == first).all()
