"""These protocols with small inputs, for the tests that every protocol must pass in a session.

`cases(Plan, Case)` gives lines for the registry of contracts: plans as plain data, roles that take
(private, agreed, bits), several private inputs of the same public size, and what the outputs must be.
"""

from __future__ import annotations

import numpy as np

from discreet.crypto.layout import Matrix
from discreet.crypto.portion import Portion
from discreet.crypto.sharing import signed
from discreet.mechanisms.exact import discrete_gaussian
from discreet.protocols.draw import Draw, give_noise, take_noise
from discreet.protocols.product import Joint, Pair, be_one_of_three, help_out, hold, join_in, meet
from discreet.protocols.scores import Scores, ask, score
from discreet.protocols.total import Total, collect, contribute

SCORES = Scores(Matrix(3, 4, 2), 100, 100, 30)
PAIR = Pair(50, 2, 3)
JOINT = Joint(20, (("a", 2), ("b", 2), ("c", 2)))
TOTAL = Total(8, ("a", "b", "c"), 2, b"cases", 10**6)
DRAW = Draw(3, 12, (0.125, 40), "one", "two")  # so narrow that it is not zero once in 10**13 times
NOISY = Total(8, ("a", "b", "c"), 3, b"cases", 10**6, 1, Portion("gaussian", 100.0, 3, 1))


def cases(plan, case):
    """Lines for a registry: ``plan`` and ``case`` are its classes."""
    nothing = "a share"
    return {
        "scores": case(
            plan("scores", 1, SCORES.to_dict(), {"asker": nothing, "scorer": nothing}),
            {
                "asker": lambda private, agreed, bits: ask(private, Scores.of(agreed), bits),
                "scorer": lambda private, agreed, bits: score(private, Scores.of(agreed), bits),
            },
            tuple(
                {"asker": np.full((3, 4), x), "scorer": np.full((4, 2), w)}
                for x, w in ((0, 0), (100, -100), (7, 3))
            ),
            lambda private, out: _right(out, private["asker"] @ private["scorer"], 30),
        ),
        "pair": case(
            plan("pair", 1, PAIR.to_dict(), {"first": nothing, "second": nothing}),
            {
                "first": lambda private, agreed, bits: hold(private, Pair.of(agreed), bits),
                "second": lambda private, agreed, bits: meet(private, Pair.of(agreed), bits),
            },
            tuple({"first": np.full((50, 2), x), "second": np.full((50, 3), y)} for x, y in ((0, 1), (1, 1))),
            lambda private, out: _right(out, private["first"].T @ private["second"], 40),
        ),
        "joint with a helper": case(
            plan("joint", 1, JOINT.to_dict(), {**dict.fromkeys("abc", nothing), "helper": "nothing"}),
            {
                **{
                    name: lambda private, agreed, bits, name=name: join_in(name, private, Joint.of(agreed))
                    for name in "abc"
                },
                "helper": lambda private, agreed, bits: help_out(Joint.of(agreed), bits),
            },
            tuple({**_columns(value), "helper": None} for value in (0, 1)),
            lambda private, out: out["helper"] is None and _right(_shares(out), _table(private), 64),
        ),
        "joint among three": case(
            plan("trio", 1, JOINT.to_dict(), dict.fromkeys("abc", nothing)),
            {
                name: lambda private, agreed, bits, name=name: be_one_of_three(
                    name, private, Joint.of(agreed), bits
                )
                for name in "abc"
            },
            tuple(_columns(value) for value in (0, 1)),
            lambda private, out: _right(_shares(out), _table(private), 64),
        ),
        "draw": case(
            plan("draw", 1, DRAW.to_dict(), {"one": "a share of noise", "two": "a share of noise"}),
            {
                "one": lambda private, agreed, bits: give_noise(Draw.of(agreed), bits),
                "two": lambda private, agreed, bits: take_noise(Draw.of(agreed), bits),
            },
            ({"one": None, "two": None},),
            lambda private, out: not (sum(out.values()) % 2**12).any(),
        ),
        "total": _total(plan, case, TOTAL, None),
        "noisy total": _total(plan, case, NOISY, discrete_gaussian),
    }


def _total(plan, case, agreed, sampler):
    learns = {**dict.fromkeys("abc", "who is in the sum"), "collector": "the sum"}
    roles = {
        name: lambda private, plain, bits, name=name: contribute(
            name, private, Total.of(plain), bits, sampler
        )
        for name in "abc"
    }
    roles["collector"] = lambda private, plain, bits: collect(Total.of(plain))
    inputs = tuple({**{name: np.full(8, value) for name in "abc"}, "collector": None} for value in (0, 10**6))
    noise = 0 if sampler is None else 20 * float(agreed.portion.own)

    def check(private, out):
        total, names = out["collector"]
        return names == ("a", "b", "c") and np.abs(total - 3 * private["a"]).max() <= noise

    return case(plan("total", 1, agreed.to_dict(), learns), roles, inputs, check)


def _columns(value):
    return {name: np.full((20, 2), value) for name in "abc"}


def _shares(out):
    return {name: share for name, share in out.items() if name != "helper"}


def _table(private):
    return np.einsum("ri,rj,rk->ijk", *(private[name] for name in "abc"))


def _right(out, wanted, bits):
    total = sum(np.asarray(share, dtype=np.uint64) for share in out.values())
    return np.array_equal(signed(total & np.uint64(2**bits - 1), bits), wanted)
