"""Alignments for the registry: two and three parties, told and agreed sizes, with and without shared people.

The first two choices have the same shared people; what pairs of three parties share differs between them.
"""

from case import Case

from discreet.protocols.match import Match, align
from discreet.session import Plan

__all__ = ["MATCHES"]


def _names(*numbers):
    return [b"%d" % number for number in numbers]


def _right(private, out):
    orders = [[private[name][at] for at in out[name]] for name in out]
    shared = set.intersection(*map(set, private.values()))
    return all(order == orders[0] for order in orders) and len(shared) == len(orders[0]) == len(
        set(orders[0]) & shared
    )


def _case(agreed, *inputs):
    learns = dict.fromkeys(agreed.parties, agreed.learns())
    roles = {
        name: lambda private, plain, bits, name=name: align(name, private, Match.of(plain), bits)
        for name in agreed.parties
    }
    return Case(Plan("match", 1, agreed.to_dict(), learns), roles, inputs, _right)


MATCHES = {
    "match of two": _case(
        Match(("a", "b")),
        {"a": _names(1, 2, 3, 4), "b": _names(3, 5, 2)},
        {"a": _names(4, 1, 9, 3), "b": _names(4, 7, 1)},
    ),
    "match of three, padded": _case(
        Match(("a", "b", "c"), (5, 5, 4)),
        {"a": _names(1, 2, 3, 4), "b": _names(1, 2, 3), "c": _names(1, 4)},
        {"a": _names(1, 2), "b": _names(5, 6, 7, 8, 1), "c": _names(9, 1, 7)},
    ),
}
