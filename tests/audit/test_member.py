"""Membership: an overfitted plain mixture gives its people away, a private one does not."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from discreet.audit.member import Membership, attack_members, attack_mixture, audit_member
from discreet.audit.mixture import request_of
from discreet.errors import ParameterError
from discreet.fit import GaussianMixture

INF = math.inf
ROWS = np.clip(np.random.default_rng(0).normal(size=(120, 4)) * 0.3, -1, 1)


class Memory:
    """A model that remembers its rows, or forgets them."""

    def __init__(self, rows: np.ndarray, good: bool) -> None:
        self.known = {tuple(row) for row in rows} if good else set()

    def log_density(self, points: Any) -> np.ndarray:
        return np.array([float(tuple(point) in self.known) for point in points])


def test_an_overfitted_plain_mixture_gives_its_people_away() -> None:
    plain = audit_member(ROWS, request_of(n_components=8, epsilon=INF, delta=None))
    assert plain.area > 0.85
    assert plain.hits > 0.1
    assert plain.advantage > 0.5
    assert plain.epsilon_lower > 1
    assert not plain.caught  # nothing was claimed


@pytest.mark.parametrize("method", ["joint", "published"])
def test_a_private_mixture_hides_its_people(method: str) -> None:
    private = audit_member(ROWS, request_of(n_components=8, epsilon=1.0, method=method, n_rounds=4))
    assert abs(private.area - 0.5) < 0.1
    assert private.advantage < private.advantage_allowed
    assert private.area < private.area_allowed
    assert not private.caught


def test_all_rows_of_a_person_are_attacked_together() -> None:
    ids = np.repeat([f"p{i:02}" for i in range(40)], 3)
    plain = audit_member(ROWS, request_of(n_components=6, epsilon=INF, delta=None), person=ids, shadows=16)
    assert plain.people == 40
    assert plain.area > 0.9
    private = audit_member(ROWS, request_of(n_components=4, epsilon=1.0, n_rounds=3), person=ids, shadows=16)
    assert abs(private.area - 0.5) < 0.2
    assert not private.caught


def test_a_false_claim_is_caught_and_a_forgetful_model_is_not() -> None:
    told = attack_members(ROWS, lambda rows, _: Memory(rows, True), claim=1.0, delta=1e-6)
    assert told.caught
    assert told.area == told.hits == told.advantage == 1.0
    untold = attack_members(ROWS, lambda rows, _: Memory(rows, False), claim=1.0, delta=1e-6)
    assert untold.area == 0.5
    assert untold.hits == untold.advantage == untold.epsilon_lower == 0.0


def test_the_bound_is_seldom_wrong() -> None:
    """Randomised response about everybody's coin: exactly epsilon, attacked by whoever knows the answers."""
    epsilon, wrong = 1.0, 0
    draw = np.random.default_rng(3)

    class Response:
        def __init__(self, rows: np.ndarray) -> None:
            known = {tuple(row) for row in rows}
            truth = np.array([tuple(row) in known for row in ROWS])
            lies = draw.random(len(ROWS)) < 1 / (1 + math.exp(epsilon))
            self.answers = {tuple(row): float(say) for row, say in zip(ROWS, truth ^ lies, strict=True)}

        def log_density(self, points: Any) -> np.ndarray:
            return np.array([self.answers[tuple(point)] for point in points])

    for seed in range(40):
        found = attack_members(
            ROWS, lambda rows, _: Response(rows), shadows=8, targets=2, claim=epsilon, random_state=seed
        )
        wrong += found.caught
        assert found.epsilon_lower < 3
    assert wrong <= 7  # 5 % of 40 are expected at most; 8 would happen once in a thousand times


def test_what_a_claim_allows_is_what_theory_says() -> None:
    def allowed(epsilon: float, delta: float) -> Membership:
        return Membership(0.5, 0.0, 0.0, 0.0, epsilon, delta, 0.95, 10, 1)

    assert allowed(1.0, 0.0).advantage_allowed == pytest.approx(math.tanh(0.5))
    assert allowed(1.0, 0.0).hits_allowed == pytest.approx(0.01 * math.e)
    assert allowed(1.0, 0.01).hits_allowed == pytest.approx(0.01 * math.e + 0.01)
    assert allowed(1.0, 0.0).area_allowed == pytest.approx(math.e / (1 + math.e))
    assert allowed(1e-9, 0.0).area_allowed == pytest.approx(0.5)
    assert allowed(INF, 0.0).area_allowed == allowed(INF, 0.0).hits_allowed == 1
    alarms = np.linspace(0, 1, 100_001)
    for epsilon, delta in ((0.3, 0.05), (2.0, 1e-3)):
        best = np.minimum(np.exp(epsilon) * alarms + delta, 1 - np.exp(-epsilon) * (1 - delta - alarms)).clip(
            0, 1
        )
        assert allowed(epsilon, delta).area_allowed == pytest.approx(np.trapezoid(best, alarms), abs=1e-5)
        assert allowed(epsilon, delta).advantage_allowed == pytest.approx((best - alarms).max(), abs=1e-4)


def test_one_mixture_is_attacked_beside_a_reference() -> None:
    members, others, third = ROWS[:40], ROWS[40:80], ROWS[80:]
    shared = {"epsilon": INF, "bounds": (-1.0, 1.0)}
    # a scorer is whatever has log_density: a `models.Mixture` or a wrapped estimator

    class Fitted:
        def __init__(self, rows: np.ndarray) -> None:
            self.log_density = GaussianMixture(6, **shared).fit(rows).score_samples

    simple = attack_mixture(Fitted(members), members, others)
    beside = attack_mixture(Fitted(members), members, others, reference=Fitted(third))
    assert simple.area > 0.75
    assert beside.area > 0.75
    assert simple.epsilon_lower == 0


def test_equal_scores_are_no_evidence() -> None:
    flat = attack_mixture(Memory(ROWS, False), ROWS[:60], ROWS[60:])
    assert (flat.area, flat.hits, flat.advantage) == (0.5, 0.0, 0.0)


def test_the_outcome_is_told_in_words_and_as_data() -> None:
    private = audit_member(ROWS, request_of(epsilon=1.0, n_rounds=1), shadows=8, targets=1)
    assert "Claimed: epsilon 1." in private.words()
    assert "guessing: 50 %; allowed: 73.1 %" in private.words()
    assert json.loads(json.dumps(private.to_dict()))["caught"] is False
    plain = audit_member(ROWS, request_of(n_components=1, epsilon=INF, delta=None), shadows=8, targets=1)
    assert "no claim to refute" in plain.words()
    assert json.loads(json.dumps(plain.to_dict()))["claim"] == "infinity"


def test_attacks_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="too little"):
        audit_member(ROWS[:5], request_of())
    with pytest.raises(ParameterError, match="does not hide who is in the data"):
        audit_member(ROWS, request_of(method="input"))
    with pytest.raises(ParameterError, match="nobody to tell apart"):
        attack_mixture(Memory(ROWS, True), ROWS, ROWS[:0])
