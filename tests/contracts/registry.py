"""The protocols that every fault, size and transcript test is run over. A new protocol adds a line."""

import demos
from case import Case
from cases import cases
from circuits import CIRCUITS
from family_cases import family_cases
from joint_cases import joint_cases
from keywords import keywords
from matches import MATCHES

from discreet.session import Plan

__all__ = ["PROTOCOLS", "Case"]

_LEARNS_SUM = {"a": "the sum", "b": "the sum", "c": "the sum"}

PROTOCOLS: dict[str, Case] = {
    "ring sum": Case(
        Plan("demo ring", 1, {}, _LEARNS_SUM),
        {"a": demos.ring_a, "b": demos.ring_b, "c": demos.ring_c},
        (
            {"a": [1] * 6, "b": [2] * 6, "c": [3, 4, 5, 6, 7, 8]},
            {"a": [6, 7, 8, 9, 10, 11], "b": [0] * 6, "c": [0] * 6},
            {"a": [2**64 - 1] * 6, "b": [7] * 6, "c": [2**63] * 6},
        ),
        lambda private, out: all(
            [int(value) for value in out[name]]
            == [sum(column) % 2**64 for column in zip(*private.values(), strict=True)]
            for name in out
        ),
    ),
    "overlap": Case(
        Plan("demo overlap", 1, {"client": 4, "server": 5}, {"client": "a count", "server": "nothing"}),
        {"client": demos.overlap_client, "server": demos.overlap_server},
        (
            {"client": ["ann", "bob", "cid", "dan"], "server": ["eve", "bob", "dan", "fay", "gus"]},
            {"client": ["ann", "bob", "cid", "dan"], "server": ["ann", "hal", "ida", "cid", "gus"]},
            {"client": ["a" * 99, "b", "c", "d"], "server": ["a" * 99, "b", "c", "d", "e"]},
        ),
        lambda private, out: out["client"] == len(set(private["client"]) & set(private["server"])),
    ),
    "stream": Case(
        Plan("demo stream", 1, {"size": 1 << 12, "rounds": 3}, {"talker": "the sum", "listener": "the sum"}),
        {"talker": demos.talker, "listener": demos.listener},
        ({"talker": None, "listener": None},),
        lambda private, out: out["talker"] is True and out["listener"] is True,
    ),
    "long messages": Case(
        Plan("demo stream", 1, {"size": 5 << 19, "rounds": 2}, {"talker": "the sum", "listener": "the sum"}),
        {"talker": demos.talker, "listener": demos.listener},
        ({"talker": None, "listener": None},),
        lambda private, out: out["talker"] is True and out["listener"] is True,
    ),
}

PROTOCOLS |= {
    name: Case(Plan(f"demo {name}", 1, {}, learns), roles, inputs, check)
    for name, (learns, roles, inputs, check) in CIRCUITS.items()
}

PROTOCOLS |= cases(Plan, Case)

PROTOCOLS |= MATCHES

PROTOCOLS |= joint_cases(Case)
PROTOCOLS |= family_cases(Plan, Case)
PROTOCOLS |= keywords(Case)
