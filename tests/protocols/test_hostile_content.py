"""Messages of the right form with hostile content: every role ends with a refusal or an answer.

What carries messages refuses wrong names, types and sizes; this is about what is left. For every message of
every protocol, its content is replaced by random bytes, zeros or ones.
"""

import numpy as np
import pytest
from circuit_shares import split

from discreet.errors import ProtocolError
from discreet.protocols import order, permute, pick, trellis
from discreet.protocols.step import Send, arrays_of, run_pair
from discreet.randomness import secure

VALUES = np.array([[3, -4, 9]])
FIRST, SECOND = split(VALUES, 16)
PICK = pick.Pick("argmax", 3, 16)
ORDER = order.Order("maximum", 3, 16, opened="both")
TRELLIS = trellis.Trellis("max", 3, 1, trellis.left_right(3), low=-9, high=9, opened="both")
WEIGHTS = trellis.Weights(np.zeros((1, 3)), np.zeros((1, 3, 3)), np.zeros((1, 3)))
SCORES = split(np.zeros((3, 1, 3), dtype=np.int64), 24)
LIST = split(np.arange(5).reshape(5, 1), 64)

PROTOCOLS = {
    "pick": lambda: (pick.hold_model(PICK, FIRST, secure()), pick.hold_scores(PICK, SECOND, secure())),
    "label": lambda: (
        pick.tell_label(PICK, FIRST, np.arange(3, dtype=np.uint64).reshape(3, 1), secure()),
        pick.learn_label(PICK, SECOND, 1, secure()),
    ),
    "order": lambda: (order.hold_first(ORDER, FIRST, secure()), order.hold_second(ORDER, SECOND, secure())),
    "trellis": lambda: (
        trellis.hold_model(TRELLIS, WEIGHTS, SCORES[0], secure()),
        trellis.hold_data(TRELLIS, SCORES[1], secure()),
    ),
    "path": lambda: (
        trellis.trace_model(TRELLIS, WEIGHTS, SCORES[0], secure()),
        trellis.trace_data(TRELLIS, SCORES[1], secure()),
    ),
    "permute": lambda: (
        permute.hold_first(permute.Shuffle(5), LIST[0], secure()),
        permute.hold_second(permute.Shuffle(5), LIST[1], secure()),
    ),
}


def replaced(value, how):
    raw = {"random": secure().bytes, "zeros": bytes, "ones": lambda count: b"\xff" * count}[how]
    if isinstance(value, bytes):
        return raw(len(value))
    return np.frombuffer(raw(value.nbytes), dtype=value.dtype).reshape(value.shape)


def hostile(role, target, how):
    """A role whose message number ``target`` is replaced."""
    answer, number = None, 0
    while True:
        try:
            step = role.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(step, Send):
            if number == target:
                step = Send(
                    step.name,
                    {key: replaced(value, how) for key, value in arrays_of(step).items()},
                    step.peer,
                )
            number += 1
        answer = yield step


@pytest.mark.parametrize("how", ["random", "zeros", "ones"])
@pytest.mark.parametrize("liar", [0, 1])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_hostile_content_ends_in_a_refusal_or_an_answer(name, liar, how):
    _, _, transcript = run_pair(*PROTOCOLS[name]())
    party = ("first", "second")[liar]
    sent = [record for record in transcript if record.sender == party]
    refused = 0
    for target in range(len(sent)):
        roles = list(PROTOCOLS[name]())
        roles[liar] = hostile(roles[liar], target, how)
        try:
            run_pair(*roles)
        except ProtocolError as refusal:
            refused += 1
            assert "open" not in str(refusal)
    starts = sum(record.name in ("transfer/offer", "transfer/answer", "transfer/columns") for record in sent)
    assert refused >= starts  # points and columns are always checked
