"""Noise made inside: the exact law, shares that say nothing, and no party that could subtract it."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from circuit_shares import is_uniform, joined, refused_at_once, seen
from scipy.special import chdtrc

from discreet.audit.wiretap import judge_difference
from discreet.errors import ParameterError, PartyError, PeerError, ProtocolError
from discreet.protocols import draw
from discreet.protocols.address import address
from discreet.protocols.draw import Draw, give_noise, take_noise
from discreet.protocols.step import Limit, Receive, Send, run_parties
from discreet.randomness import seeded

SMALL = Draw(3000, 32, (5.5, 40), "garbler", "evaluator")


def run(agreed, seeds=(1, 2)):
    """Both shares and the transcript, from seeds."""
    out, transcript = run_parties(
        {"garbler": give_noise(agreed, seeded(seeds[0])), "evaluator": take_noise(agreed, seeded(seeds[1]))}
    )
    return out["garbler"], out["evaluator"], transcript


def noise_of(agreed, seeds=(1, 2)):
    return joined(*run(agreed, seeds)[:2], agreed.ring_bits)


def fits(values, deviation):
    """Whether values pass a chi-square test against the discrete Gaussian: a right sampler fails 1e-6."""
    reach = math.ceil(5 * deviation)
    chances = np.exp(-(np.arange(-20 * reach, 20 * reach + 1) ** 2) / (2 * deviation**2))
    chances /= chances.sum()
    edges = np.arange(-reach, reach + 1, max(1, reach // 12))
    places = np.searchsorted(edges, np.arange(-20 * reach, 20 * reach + 1))
    expected = np.bincount(places, chances, len(edges) + 1) * len(values)
    counts = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    wide = expected > 5
    assert wide.sum() > 5
    return chdtrc(wide.sum() - 1, float(((counts - expected)[wide] ** 2 / expected[wide]).sum())) > 1e-6


@pytest.mark.parametrize("deviation", [1.0, 5.5, 32.5078125, 1000.0])
def test_the_noise_has_the_law_of_the_plan(deviation):
    agreed = Draw(4000, 40, (deviation, 60), "garbler", "evaluator")
    values = noise_of(agreed)
    assert fits(values, deviation)
    assert not fits(values, deviation * 1.2)  # the test would see noise of another size
    assert np.abs(values).max() <= agreed.largest


def test_cells_are_independent():
    values = noise_of(SMALL).astype(float)
    for lag in (1, 2, 3):
        assert abs(np.corrcoef(values[:-lag], values[lag:])[0, 1]) < 6 / math.sqrt(len(values))


@pytest.mark.parametrize("lazy", ["garbler", "evaluator"])
@pytest.mark.parametrize("constant", [0, 1])
def test_a_party_whose_bits_are_not_uniform_changes_nothing(monkeypatch, lazy, constant):
    turns, uniform = iter(["garbler", "evaluator"]), draw._uniform
    order = {}

    def lopsided(bits, shape):
        party = order.setdefault(id(bits), next(turns, None))
        return np.full(shape, constant, dtype=np.uint8) if party == lazy else uniform(bits, shape)

    monkeypatch.setattr(draw, "_uniform", lopsided)
    assert fits(noise_of(SMALL), SMALL.law[0])
    assert set(order.values()) == {"garbler", "evaluator"}


def known(agreed, monkeypatch, ignored=None):
    """How well each party's own bits predict the noise: correlations, by party.

    With ``ignored`` a bug is planted: that party's bits are not used, so the other party knows all.
    """
    kept, uniform = {}, draw._uniform

    def watched(bits, shape):
        party = bits.party
        kept[party] = uniform(bits, shape)
        return np.zeros(shape, dtype=np.uint8) if party == ignored else kept[party]

    class Named:
        def __init__(self, party, seed):
            self.party, self.own = party, seeded(seed)

        def __getattr__(self, name):
            return getattr(self.own, name)

    monkeypatch.setattr(draw, "_uniform", watched)
    out, _ = run_parties(
        {
            "garbler": give_noise(agreed, Named("garbler", 3)),
            "evaluator": take_noise(agreed, Named("evaluator", 4)),
        }
    )
    values = joined(out["garbler"], out["evaluator"], agreed.ring_bits)
    guesses = {
        party: [agreed.noise.pick(sum(int(bit) << at for at, bit in enumerate(cell))) for cell in bits.T]
        for party, bits in kept.items()
    }
    return {party: np.corrcoef(values, guess)[0, 1] for party, guess in guesses.items()}


def test_no_party_alone_can_predict_the_noise(monkeypatch):
    for correlation in known(SMALL, monkeypatch).values():
        assert abs(correlation) < 6 / math.sqrt(SMALL.cells)


@pytest.mark.parametrize(("ignored", "knows"), [("garbler", "evaluator"), ("evaluator", "garbler")])
def test_bits_of_a_party_that_are_ignored_would_be_noticed(monkeypatch, ignored, knows):
    assert known(SMALL, monkeypatch, ignored)[knows] > 0.999


def test_shares_are_uniform_and_say_nothing_of_the_noise():
    agreed = Draw(6000, 64, (5.5, 40), "garbler", "evaluator")
    first, second, transcript = run(agreed)
    values = joined(first, second, 64)
    for share in (first, second):
        assert is_uniform(share.tobytes())
        for sign in (values > 0, values < 0):  # and uniform where the noise is known to be on one side
            assert is_uniform(share[sign].tobytes())
    for party in ("garbler", "evaluator"):
        assert is_uniform(seen(transcript, party, skip=("point", "points", "fold", "digest")))


RUNS = 160 if os.environ.get("DISCREET_LONG") == "1" else 60


@pytest.mark.slow
def test_what_a_party_sees_does_not_tell_large_noise_from_small():
    """One cell a run; runs are sorted by their noise, which no message may give away."""
    agreed = Draw(1, 16, (4.0, 20), "garbler", "evaluator")
    runs = [run(agreed, (2 * seed, 2 * seed + 1)) for seed in range(RUNS)]
    values = np.array([joined(first, second, 16)[0] for first, second, _ in runs])
    order = np.argsort(values, kind="stable")
    low, high = ([runs[at][2] for at in half] for half in (order[: RUNS // 2], order[RUNS // 2 :]))
    for party in ("garbler", "evaluator"):
        finding = judge_difference(low, high, party)
        assert not finding.leaks(1e-9), f"{party}: {finding}"


@pytest.mark.parametrize("cells", [1, 2, 500])
def test_bytes_and_rounds_are_those_announced(cells, monkeypatch):
    monkeypatch.setattr(draw, "_LABELS", 7_000)  # several blocks
    agreed = Draw(cells, 21, (3.25, 30), "garbler", "evaluator")
    first, second, transcript = run(agreed)
    sent, ways = {}, []
    for record in transcript:
        way = (record.sender, record.receiver)
        sent[way] = sent.get(way, 0) + record.size
        ways.append(way)
    assert sent == agreed.bytes()
    assert agreed.rounds() == 2 + 2 * len(agreed.blocks()) == sum(name in BACK for name in names(transcript))
    assert sum(agreed.blocks()) == cells == len(first) == len(second)
    assert (len(agreed.blocks()) > 2) == (cells > 100)


BACK = {"transfer/offer", "transfer/answer", "transfer/columns", "open/colours"}


def names(transcript):
    return [record.name for record in transcript]


def test_what_is_sent_depends_on_the_plan_alone():
    forms = {
        tuple(run(Draw(20, 21, (3.0, 30), "garbler", "evaluator"), (s, s + 1))[2].forms) for s in range(4)
    }
    assert len(forms) == 1


def test_the_noise_of_alarm_is_cheap():
    """752 cells with a deviation of 32.5: the targets were 400 MB and 2 seconds."""
    agreed = Draw(752, 22, (32.5, 60), "helper", "north")
    assert agreed.ands < 440
    assert sum(agreed.bytes().values()) < 13e6
    assert agreed.distance <= Fraction(1, 2**60)
    assert agreed.rounds() == 4


def test_delta_is_what_the_distance_costs():
    agreed = Draw(100, 22, (10.0, 30), "a", "b")
    assert agreed.distance <= Fraction(1, 2**30)
    for epsilon in (0.1, 1.0, 4.0):
        exact = (1 + math.exp(epsilon)) * float(agreed.distance)
        assert exact < agreed.delta(epsilon) < exact * (1 + 1e-9)


def test_plans_survive_plain_data():
    import json

    assert Draw.of(json.loads(json.dumps(SMALL.to_dict()))) == SMALL
    assert Draw.of(json.loads(json.dumps(SMALL.to_dict()))).context == SMALL.context
    assert Draw(3000, 32, (5.5, 41), "garbler", "evaluator").context != SMALL.context
    assert Draw(9, 32, (6, 40), "a", "b").context == Draw(9, 32, (6.0, 40), "a", "b").context


@pytest.mark.parametrize(
    "other", [{"law": (5.75, 40)}, {"law": (5.5, 41)}, {"garbler": "evaluator", "evaluator": "garbler"}]
)
def test_parties_with_other_plans_do_not_end(other):
    mine = Draw(10, 32, (5.5, 40), "garbler", "evaluator")
    theirs = Draw(**{**vars(mine), **other})
    role = take_noise if theirs.evaluator == "evaluator" else give_noise
    with pytest.raises(PartyError):
        run_parties({"garbler": give_noise(mine, seeded(1)), "evaluator": role(theirs, seeded(2))})


@pytest.mark.parametrize(
    "wrong",
    [
        {"cells": 0},
        {"cells": 2**33},
        {"ring_bits": 0},
        {"ring_bits": 65},
        {"law": (0.0, 40)},
        {"law": (math.nan, 40)},
        {"law": (2.0**41, 40)},
        {"law": (1.0, 0)},
        {"law": (1.0, 201)},
        {"law": (1.0,)},
        {"evaluator": "garbler"},
    ],
)
def test_plans_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ParameterError):
        Draw(**{**vars(SMALL), **wrong})


def test_noise_is_drawn_by_two_among_several():
    agreed = Draw(50, 20, (2.0, 40), "one", "two")

    def bystander():
        told = yield Receive("chat", {"x": Limit.array("<u8", (1,))}, "one")
        return told["x"]

    def one():
        yield Send("chat", {"x": np.ones(1, dtype=np.uint64)}, "three")
        return (yield from give_noise(agreed, seeded(1)))

    out, transcript = run_parties({"one": one(), "two": take_noise(agreed, seeded(2)), "three": bystander()})
    assert np.abs(joined(out["one"], out["two"], 20)).max() <= agreed.largest
    assert {record.receiver for record in transcript if record.name != "chat"} == {"one", "two"}


def test_a_lost_peer_reaches_the_role_behind_an_address():
    def role():
        try:
            yield Receive("a", {})
        except PeerError:
            yield Send("b", {}, "third")
            return "went on"

    addressed = address(role(), "other")
    asked = next(addressed)
    assert asked.peer == "other"
    asked = addressed.throw(PeerError("gone"))
    assert (asked.name, asked.peer) == ("b", "third")
    with pytest.raises(StopIteration) as end:
        addressed.send(None)
    assert end.value.value == "went on"


def test_a_role_behind_an_address_is_closed_with_it():
    closed = []

    def role():
        try:
            yield Receive("a", {})
        finally:
            closed.append(True)

    addressed = address(role(), "other")
    next(addressed)
    addressed.close()
    assert closed == [True]


def test_false_answers_are_refused_by_the_garbler():
    role = give_noise(Draw(4, 20, (2.0, 40), "garbler", "evaluator"), seeded(1))
    assert refused_at_once(role) is None
    transcript = run(Draw(4, 20, (2.0, 40), "garbler", "evaluator"))[2]
    told = {record.name: record.arrays for record in transcript.seen_by("garbler")}
    spoilt = {**told["transfer/columns"], "fold": bytes(16)}
    role = give_noise(Draw(4, 20, (2.0, 40), "garbler", "evaluator"), seeded(1))
    next(role)
    role.send(told["transfer/offer"])
    role.send(None)
    with pytest.raises((ProtocolError, PartyError)):
        role.send(spoilt)
