"""The suite that every mechanism passes. A new mechanism joins by adding a `Case` to CASES.

A mechanism turns a private answer into a published one. Whatever its noise, it asks its account before it
draws, draws nothing when refused, publishes on a grid that does not depend on the rows, never draws less
noise than it charges for, replays when seeded, and never replays when not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from discreet.accounting.account import Account
from discreet.accounting.event import Event
from discreet.accounting.guarantee import Guarantee
from discreet.errors import ParameterError, UnplannedError
from discreet.mechanisms import noise
from discreet.mechanisms.noise import plan_noise, release
from discreet.randomness import secure, seeded
from discreet.statistic import Statistic

SIZE = 400


def _statistic(value: int = 0, size: int = SIZE, grid: float = 2.0**-20) -> Statistic:
    return Statistic(np.array([value] * size, dtype=object), grid, 3.0 * 2**20, 2.0**20, "a test")


@dataclass(frozen=True)
class Case:
    """One mechanism: how to run it on a total, the grid it publishes on, and what it claims."""

    name: str
    run: Callable[[int, Any, Any], np.ndarray]  # (total, account, bits) -> what is published
    event: Event  # what one run costs
    grid: float
    claimed_deviation: float  # standard deviation of what is published, at least


def _account(*events: Event) -> Account:
    """An account without a ledger, for a guarantee that is loose enough for any of these events."""
    return Account(Guarantee(1e6, 0.5, "row", events, "the analyst", (), ()))


def _release_case(event: Event) -> Case:
    plan = plan_noise(_statistic(), event)
    bound = 1.0 if event.mechanism == "gaussian" else 3.0
    spread = event.noise * bound * (1.0 if event.mechanism == "gaussian" else np.sqrt(2))
    return Case(
        name=f"release-{event.mechanism}-{event.noise:g}",
        run=lambda total, account, bits: release(_statistic(total), event, account, bits),
        event=event,
        grid=plan.grid,
        claimed_deviation=spread,
    )


CASES = [
    _release_case(Event(mechanism, noise_over_bound))
    for mechanism in ("gaussian", "laplace")
    for noise_over_bound in (0.5, 20.0, 3e4)
]


class Journal:
    """Writes down in which order the account was asked and randomness was drawn."""

    guarantee = None

    def __init__(self, account: Account | None = None) -> None:
        self.lines: list[str] = []
        self.account = account

    def draw(self, event):
        self.lines.append("asked")
        if self.account is not None:
            self.account.draw(event)

    def bits(self, source):
        return _Watched(source, self.lines)


class _Watched:
    def __init__(self, source, lines):
        self.source, self.lines, self.seeded = source, lines, source.seeded

    def bytes(self, count):
        self.lines.append("drew")
        return self.source.bytes(count)

    def integers(self, low, high, size):
        self.lines.append("drew")
        return self.source.integers(low, high, size)


@pytest.fixture(params=["seeded", "secure"])
def source(request):
    return (lambda: seeded(17)) if request.param == "seeded" else secure


@pytest.fixture
def journal(monkeypatch):
    """A journal that also sees what OpenDP draws, which no bits of ours can watch."""
    page = Journal()
    measurement = noise._measurement

    def watched(*arguments):
        real = measurement(*arguments)

        class Spy:
            def map(self, bound):
                return real.map(bound)

            def __call__(self, values):
                page.lines.append("drew")
                return real(values)

        return Spy()

    monkeypatch.setattr(noise, "_measurement", watched)
    return page


each_mechanism = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each_mechanism
def test_the_account_is_asked_before_noise_is_drawn(case, source, journal):
    case.run(0, journal, journal.bits(source()))
    assert journal.lines[0] == "asked"
    assert "drew" in journal.lines
    assert journal.lines.count("asked") == 1


@each_mechanism
def test_an_unplanned_release_is_refused_and_draws_nothing(case, source, journal):
    journal.account = _account(case.event.scaled(1.01))  # less noise was used than was planned
    with pytest.raises(UnplannedError):
        case.run(0, journal, journal.bits(source()))
    assert journal.lines == ["asked"]


@each_mechanism
def test_a_plan_covers_its_releases_and_no_more(case):
    account = _account(case.event, case.event)
    case.run(0, account, secure())
    case.run(0, account, secure())
    with pytest.raises(UnplannedError):
        case.run(0, account, secure())


@each_mechanism
def test_seeded_bits_are_refused_under_a_private_guarantee(case):
    with pytest.raises(ParameterError, match="seed"):
        case.run(0, _account(case.event), seeded(1))


@each_mechanism
def test_output_lies_on_a_grid_that_does_not_depend_on_the_rows(case, source):
    for total in (0, 1, 123_456_789):
        published = case.run(total, Journal(), source())
        assert published.dtype == np.float64
        assert np.all(np.isfinite(published))
        assert np.array_equal(np.rint(published / case.grid) * case.grid, published)


@each_mechanism
def test_the_noise_is_never_smaller_than_the_claim(case, source):
    published = case.run(0, Journal(), source())
    # the variance of 400 Laplace values errs by 11 % (one deviation); a third is beyond any chance
    assert np.std(published) > case.claimed_deviation * (2 / 3)
    assert np.std(published) < case.claimed_deviation * 1.6


@each_mechanism
def test_the_noise_does_not_depend_on_the_total(case):
    at_zero = case.run(0, Journal(), seeded(3))
    elsewhere = case.run(2**30, Journal(), seeded(3))
    assert np.allclose(elsewhere - at_zero, 2.0**10, atol=case.grid, rtol=0)


@each_mechanism
def test_seeded_runs_replay(case):
    assert np.array_equal(case.run(5, Journal(), seeded(8)), case.run(5, Journal(), seeded(8)))
    assert not np.array_equal(case.run(5, Journal(), seeded(8)), case.run(5, Journal(), seeded(9)))


@each_mechanism
def test_unseeded_runs_differ(case):
    assert not np.array_equal(case.run(5, Journal(), secure()), case.run(5, Journal(), secure()))


@each_mechanism
def test_no_total_is_refused_for_its_size(case, source):
    published = case.run(2**100, Journal(), source())
    assert np.allclose(published, 2.0**80)
