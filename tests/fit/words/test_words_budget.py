"""One budget for all words: no speaker changes all sums together by more than was charged for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.accountant import epsilon_of
from discreet.fit import GaussianHMM, WordModels
from discreet.fit.hmm.data import Sequences
from discreet.fit.hmm.measure import Census, measure
from discreet.fit.hmm.run import prepare
from discreet.fit.words import budget, request
from discreet.fit.words.recordings import read_labels

LONG = 8
WORDS = 6


def models(**more: Any) -> WordModels:
    """Word models of points in the unit square, private per speaker unless said otherwise."""
    settings: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "input": "points",
        "bounds": ([-1, -1], [1, 1]),
        "max_frames": LONG,
        "vocabulary": [f"w{number}" for number in range(WORDS)],
        "person": "speaker",
        "covariance_type": "diag",
    }
    return WordModels(2, **(settings | more))


def changes(spoken: int, each: int, wanted: request.Request) -> np.ndarray:
    """By how much of a part's bound the census of each word changes with a speaker of so many words."""
    crowd = [(f"w{word}", f"other {take}") for word in range(WORDS) for take in range(3)]
    canary = [(f"w{word}", "canary") for word in range(spoken) for _ in range(each)]
    found = [_sums(crowd + extra, wanted) for extra in ([], canary)]
    return np.array([np.linalg.norm(after - before) for before, after in zip(*found, strict=True)])


def _sums(said: list[tuple[str, str]], wanted: request.Request) -> list[np.ndarray]:
    """The exact integer sums of every word, over the bound of one part."""
    recordings = [np.zeros((LONG, 2)) for _ in said]
    labels = read_labels(recordings, [word for word, _ in said], [who for _, who in said], wanted.vocabulary)
    factors = budget.factors_of(wanted, labels)
    sums = []
    norm: Any = "l1" if wanted.noise == "laplace" else "l2"
    for word in range(WORDS):
        here = labels.of(word)
        data = Sequences(np.zeros((LONG * len(here), 2)), np.full(len(here), LONG, dtype=np.intp))
        people = np.array([labels.speakers[at] for at in here])  # type: ignore[index]
        ready = prepare(
            request.hmm_request(wanted, 0),
            data,
            person=people,
            factors=None if factors is None else factors[here],
        )
        statistic = measure(
            ready.task.sequences, Census(np.array([LONG]), norm), ready.task.per_person, "census"
        )
        bound = statistic.l1 if norm == "l1" else statistic.l2
        sums.append(np.array([float(value) for value in statistic.total]) / bound)
    return sums


@pytest.mark.parametrize("touched", [1, 2, 4, None])
@pytest.mark.parametrize("spoken", [1, 3, WORDS])
@pytest.mark.parametrize("each", [1, 5])
def test_one_speaker_changes_all_words_together_by_no_more_than_was_charged(
    touched: int | None, spoken: int, each: int
) -> None:
    wanted = models(words_per_person=touched)._request()
    moved = changes(spoken, each, wanted)
    paid = touched or WORDS
    whole = float(np.square(moved).sum())
    assert whole <= paid
    assert whole >= 0.999 * min(paid, spoken), "and the weights use what was paid for"
    assert not moved[spoken:].any()


def test_weights_that_ignore_the_other_words_would_break_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: what this file measures is what a wrong weight would change."""
    wanted = models(words_per_person=2)._request()
    monkeypatch.setattr(budget, "factors_of", lambda *_: None)
    assert float(np.square(changes(WORDS, 1, wanted)).sum()) > 2.9 * 2


def test_laplace_noise_bounds_the_sum_of_all_changes() -> None:
    wanted = models(words_per_person=2, noise="laplace", delta=None)._request()
    for spoken in (1, 2, 5):
        answers = changes(spoken, 2, wanted) * math.sqrt(2)  # the census gives two equal numbers: L1 from L2
        assert 0.999 * min(2, spoken) <= answers.sum() <= 2


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_slack_of_the_factors_pays_for_discreteness(law: str) -> None:
    """k (s b + c)^2 <= m (b + c)^2 (sums for Laplace) in exact numbers, for the largest c there can be."""
    bound, slack = Fraction(1), Fraction(1, 2**19)
    for words in (2, 3, 10, 20, 1000):
        for touched in {1, 2, words // 2, words - 1} - {0}:
            wanted = models(
                noise=law, delta=None if law == "laplace" else 1e-6, words_per_person=touched
            )._request()
            for spoken in range(touched + 1, min(words, touched + 40) + 1):
                share = Fraction(budget._share(wanted, words, spoken))
                assert share > 0
                if law == "gaussian":
                    assert spoken * (share * bound + slack) ** 2 <= touched * (bound + slack) ** 2
                else:
                    assert spoken * (share * bound + slack) <= touched * (bound + slack)


def test_per_recording_all_words_cost_what_one_word_costs() -> None:
    many = models(person=None).plan()
    one = models(person=None, vocabulary=["w0"]).plan()
    alone = GaussianHMM(
        2, epsilon=1.0, delta=1e-6, bounds=(-1.0, 1.0), max_length=LONG, topology="left-right", n_rounds=2
    ).plan()
    assert many.events == one.events == alone.events and many.unit == "sequence"


def test_per_speaker_the_whole_costs_the_budget_and_no_more() -> None:
    for touched in (None, 1, 3):
        planned = models(words_per_person=touched).plan()
        cost = epsilon_of(planned.events, 1e-6)
        assert cost <= 1.0 and cost == pytest.approx(1.0, rel=1e-6)
        assert {event.count for event in planned.events} == {touched or WORDS}
        assert planned.unit == "person" and planned.person == "speaker"


def test_speakers_are_told_apart_by_type_as_well() -> None:
    from discreet.errors import DataError

    recordings = [np.zeros((3, 2))] * 2
    with pytest.raises(DataError, match="speakers"):
        read_labels(recordings, ["a", "b"], [1, "1"], None)
    with pytest.raises(DataError):
        read_labels(recordings, ["a", "b"], ["x", None], None)
    with pytest.raises(DataError, match="one for each"):
        read_labels(recordings, ["a", "b"], ["x"], None)
