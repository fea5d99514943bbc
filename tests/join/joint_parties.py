"""Holders who do not do what they should, for rehearsals in processes of their own."""

import os
import time

from discreet.join import roles


def dies(private, agreed, bits):
    """Goes away without a word at its eighth message."""
    return (yield from _until(8, roles.holder(private, agreed, bits), lambda: os._exit(1)))


def stalls(private, agreed, bits):
    """Says nothing any more after its eighth message."""
    return (yield from _until(8, roles.holder(private, agreed, bits), lambda: time.sleep(3)))


def dies_before_the_end(private, agreed, bits):
    """Has all shares, and goes away instead of opening them."""
    steps = roles.holder(private, agreed, bits)
    asked = next(steps)
    while not asked.name.startswith("join/opened"):
        asked = steps.send((yield asked))
    os._exit(1)


def _until(count, steps, then):
    answer = None
    while True:
        try:
            asked = steps.send(answer)
        except StopIteration as end:
            return end.value
        if count == 0:
            then()
        count -= 1
        answer = yield asked
