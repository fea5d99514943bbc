"""What parties see is uniform or declared: rows, margins and single people never appear.

Inputs with equal answers are told apart by nobody: that is `tests/contracts/test_leaks.py`, for every
protocol. Here answers differ, and those who do not receive them must not notice. False alarms: below 1e-6
together.
"""

import os
from collections import defaultdict

import numpy as np
import pytest
from joint_cases import STATES, people, private, roles, settings

from discreet.audit.wiretap import judge_difference, judge_masks
from discreet.crypto.narrow import unpack
from discreet.join import JoinPlan
from discreet.join.layout import Layout
from discreet.protocols.step import run_parties
from discreet.randomness import secure

RUNS = 120 if os.environ.get("DISCREET_LONG") == "1" else 24
DECLARED = {("join/ready", "rows"), ("join/rows", "rows"), ("join/opened", "local")}


def transcripts(plan, codes, runs=RUNS):
    found = []
    for _ in range(runs):
        given = private(plan, codes)
        steps = {name: role(given[name], plan.agreed(), secure()) for name, role in roles(plan).items()}
        found.append(run_parties(steps)[1])
    return found


def with_a_singleton(rows=24):
    """Everybody is alike, but for one person."""
    codes = {name: np.zeros(rows, dtype=np.int8) for name in STATES}
    for column in codes.values():
        column[7] = 1
    return codes


def seen(runs, ring_bits):
    """All that was received, by (receiver, message, part): as whole words, or shares in their ring."""
    found = defaultdict(list)
    for transcript in runs:
        for record in transcript:
            for key, value in record.arrays.items():
                if (record.name, key) in DECLARED:
                    continue
                flat = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value.reshape(-1)
                if record.name.startswith("families/") and flat.dtype == np.uint64:
                    words = unpack(flat, (64 * flat.size // ring_bits,), ring_bits)
                    flat = words[: -64 + 1]  # the last group may be filled with zeros
                found[record.receiver, record.name, key].append(flat)
    return {
        key: (np.concatenate(parts), None if parts[0].dtype == np.uint8 else ring_bits)
        for key, parts in found.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["helper", "three"])
@pytest.mark.parametrize("codes", [people(5, 256), with_a_singleton(256)], ids=["people", "singleton"])
def test_every_message_is_uniform_or_declared(kind, codes):
    plan = JoinPlan.of(settings(kind, to=("office",)) | {"rows": {"count": 256}})
    ring_bits = Layout(plan).sharing(256).ring_bits
    views = seen(transcripts(plan, codes), ring_bits)
    judged = 0
    for (party, name, key), (values, bits) in views.items():
        if values.size * values.dtype.itemsize >= 256:
            finding = judge_masks(values, bits=bits)
            assert not finding.leaks(1e-9), f"{party} got {key} of {name}: {finding}"
            judged += 1
    assert judged >= 8
    assert ("office", "join/opened", "shares") in views


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["helper", "three"])
def test_who_does_not_receive_cannot_tell_other_peoples_data_apart(kind):
    plan = JoinPlan.of(settings(kind, to=("office",)))
    for party in [name for name in plan.parties if name != "office"]:
        first, second = people(6), with_a_singleton()
        if party in plan.holders:
            second |= {column: first[column] for column in plan.columns_of(party)}
        finding = judge_difference(transcripts(plan, first), transcripts(plan, second), party)
        assert not finding.leaks(1e-9), f"{party}: {finding}"


def test_the_same_test_notices_what_a_receiver_gets():
    plan = JoinPlan.of(settings("helper", to=("office",)))
    one, other = (transcripts(plan, codes, 24) for codes in (people(6), with_a_singleton()))
    assert judge_difference(one, other, "office").leaks(1e-6)


def test_single_shares_and_exact_tables_do_not_go_to_those_who_do_not_receive():
    plan = JoinPlan.of(settings("helper", noisy=True, to=("south",)))
    (transcript,) = transcripts(plan, people(1), 1)
    assert {record.receiver for record in transcript if record.name == "join/opened"} == {"south"}
    north = {record.name for record in transcript.seen_by("north")}
    assert not any(name.startswith("join/opened") for name in north)
