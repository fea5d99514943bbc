"""Walks over ragged sequences: every semiring against a loop, cuts against none, and bits that stay put."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.models import cut as cuts
from discreet.models import stretch
from discreet.models.categorical import Categorical
from discreet.models.chain import Chain, score, smooth
from discreet.models.gaussian import Gaussian
from discreet.models.hmm import HMM
from discreet.models.semiring import LogSum, Max, Reach, Sum
from discreet.models.sequences import Pack, check_lengths, pack_sequences
from discreet.models.trellis import trace_back, walk


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_packs_hold_every_frame_once_and_in_order(lengths: list[int], frames: int) -> None:
    array = np.array(lengths)
    packs = pack_sequences(array, frames)
    assert sorted(np.concatenate([pack.sequences for pack in packs]).tolist()) == list(range(len(lengths)))
    rows = np.concatenate([np.arange(sum(lengths))[pack.rows] for pack in packs])
    assert sorted(rows.tolist()) == list(range(sum(lengths)))
    for pack in packs:
        assert pack.frames <= max(frames, max(lengths))
        for places, order in ((pack.places, pack.forth), (pack.places_back, pack.back)):
            assert (order[places] == np.arange(pack.frames)).all()
        for number, (first, length) in enumerate(zip(pack.firsts, pack.lengths, strict=True)):
            rank = int(np.flatnonzero(pack.order == number)[0])
            expected = [pack.starts[t] + rank for t in range(length)]
            assert pack.places[first : first + length].tolist() == expected
            assert pack.places_back[first : first + length].tolist() == expected[::-1]


def case(seed: int, states: int = 3, sequences: int = 6, longest: int = 9) -> tuple[Any, ...]:
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, longest + 1, sequences)
    [pack] = pack_sequences(lengths)
    matrix = draw.random((states, states)) * (draw.random((states, states)) < 0.7)
    evidence = draw.random((states, pack.frames)) * (draw.random((states, pack.frames)) < 0.8)
    return pack, draw.random(states), matrix, evidence


def by_hand(pack: Pack, start: np.ndarray, matrix: np.ndarray, evidence: np.ndarray) -> np.ndarray:
    """s_t of every row, in row order, one sequence after the other."""
    states = np.zeros_like(evidence)
    for first, length in zip(pack.firsts, pack.lengths, strict=True):
        for t in range(length):
            before = start if t == 0 else matrix @ states[:, first + t - 1]
            states[:, first + t] = before * evidence[:, first + t]
    return states


@pytest.mark.parametrize("seed", range(8))
def test_sums_in_numbers_and_in_logarithms_are_those_of_a_loop(seed: int) -> None:
    pack, start, matrix, evidence = case(seed)
    expected = by_hand(pack, start, matrix, evidence)
    plain = walk(Sum(every=10**9), start[:, None], matrix, evidence[:, pack.forth], pack)
    np.testing.assert_allclose(plain.states[:, pack.places], expected, rtol=1e-12)
    with np.errstate(divide="ignore"):
        logs = [np.log(part) for part in (start[:, None], matrix, evidence[:, pack.forth])]
    exact = walk(LogSum(), *logs, pack)
    np.testing.assert_allclose(np.exp(exact.states[:, pack.places]), expected, rtol=1e-10)
    often = walk(Sum(every=1), start[:, None], matrix, evidence[:, pack.forth], pack)
    last = np.empty(len(pack.lengths))
    last[pack.order] = np.exp(often.scale)
    ends = often.states[:, pack.places[pack.lasts]] * last
    np.testing.assert_allclose(ends, expected[:, pack.lasts], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("seed", range(8))
def test_reach_says_where_the_sum_is_not_zero(seed: int) -> None:
    pack, start, matrix, evidence = case(seed)
    expected = by_hand(pack, start, matrix, evidence) > 0
    reached = walk(Reach(), start[:, None] > 0, matrix > 0, evidence[:, pack.forth] > 0, pack)
    assert (reached.states[:, pack.places] == expected).all()


def narrow(monkeypatch: pytest.MonkeyPatch, steps: int = 4, shortest: int = 2) -> None:
    """Cut walks as early as can be, so that small cases have many pieces."""
    monkeypatch.setattr(cuts, "_FEWEST_STEPS", steps)
    monkeypatch.setattr(cuts, "_SHORTEST", shortest)


@pytest.mark.parametrize("seed", range(12))
def test_a_walk_in_pieces_is_the_walk(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pack, start, matrix, evidence = case(seed, sequences=1 + seed % 5, longest=40)
    narrow(monkeypatch)
    matrix, evidence = matrix + 0.01, evidence + 0.01
    whole = (pack, start[:, None], matrix, evidence[:, pack.forth])
    uncut = walk(Sum(), *whole[1:], pack, cut=False)
    cut = walk(Sum(), *whole[1:], pack)
    assert pack.cuts[3] is not None
    same = cut.states / cut.states.sum(axis=0)
    np.testing.assert_allclose(same, uncut.states / uncut.states.sum(axis=0), rtol=1e-11)
    ends = pack.places[pack.lasts][pack.order]
    totals = [np.log(w.states[:, ends].sum(axis=0)) + w.scale for w in (cut, uncut)]
    np.testing.assert_allclose(*totals, rtol=1e-11)
    for semiring in (Max(), LogSum()):
        logs = [np.log(part) for part in whole[1:]]
        parts, one = walk(semiring, *logs, pack), walk(semiring, *logs, pack, cut=False)
        np.testing.assert_allclose(parts.states, one.states, rtol=1e-11)
        np.testing.assert_allclose(parts.predicted, one.predicted, rtol=1e-11)
    path = trace_back(walk(Max(), *logs, pack).states, logs[1], pack)
    pack.cuts[3] = None
    assert (path == trace_back(walk(Max(), *logs, pack).states, logs[1], pack)).all()
    reached = [walk(Reach(), *(part > 0.3 for part in whole[1:]), pack, cut=flag) for flag in (False, True)]
    assert (reached[0].states == reached[1].states).all()


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_counts_in_pieces_are_the_counts(seed: int, zeros: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    transition = draw.dirichlet(np.ones(3), 3)
    if zeros:
        transition = np.triu(transition) / np.triu(transition).sum(axis=1, keepdims=True)
    model = HMM(Chain(np.eye(3)[0], transition), Categorical(draw.dirichlet(np.ones(4) * 0.3, 3)))
    lengths = draw.integers(1, 120, 4)
    rows, _ = model.sample(lengths, draw)
    [pack] = pack_sequences(lengths)
    uncut = model.count(model.view(rows, pack))
    narrow(monkeypatch)
    [pack] = pack_sequences(lengths)
    cut = model.count(model.view(rows, pack))
    assert pack.cuts[3] is not None
    assert cut.log_likelihood == pytest.approx(uncut.log_likelihood, rel=1e-11)
    np.testing.assert_allclose(cut.transitions, uncut.transitions, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(cut.emissions, uncut.emissions, rtol=1e-9, atol=1e-12)


def path_score(model: HMM, rows: np.ndarray, path: np.ndarray) -> float:
    """Best paths of few symbols can tie (the same steps in another order), but then they are equally good."""
    logs = model.emission.log_density(model.emission.view(rows))
    steps = np.log(model.chain.transition[path[:-1], path[1:]]).sum()
    return float(np.log(model.chain.start[path[0]]) + steps + logs[path, np.arange(len(path))].sum())


@pytest.mark.parametrize("kind", ["categorical", "diag", "full", "left-right"])
def test_a_long_sequence_in_stretches_is_the_sequence(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    transition = draw.dirichlet(np.ones(3), 3)
    if kind == "left-right":
        transition = np.array([[0.998, 0.002, 0], [0, 0.997, 0.003], [0, 0, 1]])
    emission: Any = Categorical(draw.dirichlet(np.ones(4) * 0.3, 3))
    if kind in ("diag", "full"):
        covariances = np.ones((3, 2)) if kind == "diag" else np.repeat(np.eye(2)[None], 3, axis=0)
        emission = Gaussian.of(draw.normal(size=(3, 2)), covariances, kind)  # type: ignore[arg-type]
    model = HMM(Chain(np.array([0.5, 0.5, 0]), transition), emission)
    rows, path = model.sample(np.array([1500]), draw)
    [pack] = pack_sequences(np.array([1500]))
    labels = np.where(draw.random(1500) < 0.1, path, -1)
    views = [model.view(rows, pack), model.view(rows, pack, labels), model.look(rows, pack)]
    monkeypatch.setattr(stretch, "_STRETCH", 900)

    def all_of() -> list[Any]:
        counts = [model.count(view) for view in views[:2]]
        return [
            *((c.starts, c.transitions, c.emissions, c.log_likelihood) for c in counts),
            tuple(model.score(view)[0] for view in views),
            tuple(model.decode(view)[0] for view in views),
            [model.decode(view)[1] for view in views if kind != "categorical"],
            [path_score(model, rows, model.decode(view)[1]) for view in views],
        ]

    whole = all_of()
    monkeypatch.setattr(stretch, "_MOST", 1000)
    for one, other in zip(whole, all_of(), strict=True):
        for expected, got in zip(one, other, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_a_long_sequence_that_cannot_be_is_minus_infinity_in_stretches_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stretch, "_MOST", 1000)
    model = HMM(Chain(np.array([1.0, 0]), np.eye(2)), Categorical(np.eye(2)))
    rows = np.zeros(2000, dtype=int)
    rows[1700] = 1
    [pack] = pack_sequences(np.array([2000]))
    view = model.view(rows, pack)
    assert model.score(view)[0] == -np.inf
    counts = model.count(view)
    assert counts.possible == 0 and not counts.transitions.any() and counts.log_likelihood == 0
    assert model.decode(view)[0][0] == -np.inf


def multiply_one_by_one(matrix: np.ndarray, states: np.ndarray, out: np.ndarray) -> None:
    """A product whose columns depend on nothing but themselves, in any bit."""
    np.multiply(matrix[..., :, :1], states[..., :1, :], out=out)
    for k in range(1, matrix.shape[-1]):
        out += matrix[..., :, k : k + 1] * states[..., k : k + 1, :]


@pytest.mark.parametrize("seed", range(5))
def test_a_sequence_has_the_same_bits_in_any_company(seed: int) -> None:
    draw = np.random.default_rng(seed)
    model = HMM(
        Chain(draw.dirichlet(np.ones(4)), draw.dirichlet(np.ones(4), 4)),
        Categorical(draw.dirichlet(np.ones(5), 4)),
    )
    steady = Sum(product=multiply_one_by_one, cut=False)
    lengths = np.concatenate([[17], draw.integers(1, 400, 9)])
    rows, _ = model.sample(lengths, draw)
    alone = model.smooth(model.view(rows, pack_sequences(lengths[:1])[0]), steady)
    counted = [alone.starts_by_sequence()[0], alone.transitions_by_sequence()[0]]
    for size in (1, 3, 10):
        [pack] = pack_sequences(lengths[:size])
        view = model.view(rows, pack)
        smoothed = model.smooth(view, steady)
        assert (smoothed.shares[:, :17] == alone.shares).all()
        assert smoothed.log_likelihood[0] == alone.log_likelihood[0]
        assert (smoothed.starts_by_sequence()[0] == counted[0]).all()
        assert (smoothed.transitions_by_sequence()[0] == counted[1]).all()


def test_only_what_is_trusted_is_kept_and_the_rest_is_done_again() -> None:
    """Evidence that falls below e^-600 at every row, with a state that cannot be reached beside it."""
    chain = Chain(np.array([1.0, 0]), np.array([[1.0, 0], [0, 1]]))
    logs = np.array([[-5000.0] * 6, [0.0] * 6])
    pack = Pack(np.arange(2), np.array([4, 2]), slice(0, 6))
    from discreet.models.emission import relative

    asked: list[int] = []

    def exact(rows: np.ndarray) -> np.ndarray:
        asked.append(len(rows))
        return logs[:, rows]

    smoothed = smooth(chain, relative(logs.copy()), exact, pack)
    np.testing.assert_allclose(smoothed.log_likelihood, [-20_000, -10_000], rtol=1e-12)
    assert (smoothed.shares[0] == 1).all() and (smoothed.shares[1] == 0).all()
    assert asked == [6]
    np.testing.assert_allclose(smoothed.transitions(), [[4, 0], [0, 0]])
    np.testing.assert_allclose(smoothed.transitions_by_sequence()[:, 0, 0], [3, 1])
    weighted = smoothed.weighted(np.array([2.0, 0.5]))
    np.testing.assert_allclose(weighted.transitions(), [[6.5, 0], [0, 0]])
    np.testing.assert_allclose(weighted.starts(), [2.5, 0])
    dense = Chain(np.array([1.0, 0]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    first = np.array([[-5000.0, 0, 0], [0.0, 0, 0]])
    one = Pack(np.arange(1), np.array([3]), slice(0, 3))
    scored = score(dense, relative(first.copy()), lambda rows: first[:, rows], one)
    np.testing.assert_allclose(scored, [-5000], rtol=1e-12)


@pytest.mark.parametrize("lengths", [[1, 2], [[3]], [3.0], [], [4, -1]])
def test_lengths_that_do_not_fit_are_refused(lengths: Any) -> None:
    with pytest.raises(DataError):
        check_lengths(lengths, 4)
