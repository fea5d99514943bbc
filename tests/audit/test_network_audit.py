"""The audit of a private network stays below its claim, and every planted bug is caught."""

from __future__ import annotations

import os

import pytest

from discreet.audit.network import NETWORK_BUGS, audit_network, invent_network
from discreet.errors import BudgetError, ParameterError

LONG = os.environ.get("DISCREET_LONG") == "1"
RUNS = 2000 if LONG else 300


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["row", "person"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_an_honest_network_stays_below_its_claim(unit: str, epsilon: float) -> None:
    # false alarm: 1e-7 by the confidence of the bound, whatever the runs
    finding = audit_network(unit=unit, epsilon=epsilon, runs=RUNS, confidence=1 - 1e-7)
    assert not finding.caught and not finding.overspent
    assert finding.spent > 0.99  # the canary is as bad as it gets: the audit is not toothless
    assert f"one {unit} added or removed" in finding.words()


@pytest.mark.slow
@pytest.mark.parametrize("bug", NETWORK_BUGS)
def test_a_planted_bug_exceeds_the_claim(bug: str) -> None:
    finding = audit_network(bug=bug, runs=max(RUNS, 600), nodes=12)
    assert finding.caught and finding.overspent, finding.words()
    assert bug in finding.words()


def test_no_canary_spends_more_than_the_budget_with_real_noise() -> None:
    for unit in ("row", "person"):
        finding = audit_network(unit=unit, runs=6, random_state=None)
        assert 0.99 < finding.spent <= 1


def test_opendp_refuses_the_noise_of_one_table_for_many() -> None:
    with pytest.raises(BudgetError, match="OpenDP"):
        audit_network(bug="one table", runs=6, random_state=None)


def test_what_cannot_be_audited_is_refused() -> None:
    for wrong in ({"unit": "house"}, {"bug": "none"}, {"runs": 2}):
        with pytest.raises(ParameterError):
            audit_network(**wrong)  # pyright: ignore


def test_progress_is_told_and_replays_are_the_same() -> None:
    seen: list[tuple[int, int]] = []
    one = audit_network(runs=8, progress=lambda done, all: seen.append((done, all)))
    assert seen[-1] == (8, 8)
    assert one == audit_network(runs=8)
    assert len(invent_network(9).structure.measured) == 7
