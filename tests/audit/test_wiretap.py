"""The wiretap finds planted leaks, and does not cry where there is none (false alarms below 1e-6 in all)."""

import demos
import numpy as np
import pytest

from discreet.audit.wiretap import (
    gather,
    judge_difference,
    judge_forms,
    judge_freshness,
    judge_masks,
    judge_times,
)
from discreet.errors import ParameterError
from discreet.protocols.step import Limit, Receive, Send, run_pair, run_parties
from discreet.randomness import secure, seeded

ALARM = 1e-8  # some twenty findings on secure bits below: less than 1e-6 together
SAME = ([1] * 6, [5] * 6, [9] * 6), ([9] * 6, [1] * 6, [5] * 6)  # other inputs, the same sum


def ring(inputs=SAME[0], bits=secure):
    roles = zip("abc", (demos.ring_a, demos.ring_b, demos.ring_c), inputs, strict=True)
    return run_parties({name: role(np.array(mine, "<u8"), {}, bits()) for name, role, mine in roles})[1]


def overlap(client=("ann", "bob"), server=("bob", "eve", "fay"), bits=secure):
    agreed = {"client": len(client), "server": len(server)}
    return run_pair(
        demos.overlap_client(client, agreed, bits()), demos.overlap_server(server, agreed, bits())
    )[2]


def show(values):
    """One message with these numbers, as a transcript."""

    def sends():
        yield Send("x", {"x": np.asarray(values)})

    def takes():
        yield Receive("x", {"x": Limit.array(np.asarray(values).dtype.str, np.shape(values))})

    return run_pair(sends(), takes())[2]


def test_masks_of_a_sum_are_uniform_in_what_each_party_sees():
    transcripts = [ring() for _ in range(900)]
    for party, name in (("b", "ring/start"), ("c", "ring/middle"), ("a", "ring/end")):
        finding = judge_masks(gather(transcripts, party, name, "x"))
        assert not finding.leaks(ALARM), finding
        assert finding.tests == 64 * 2 + 8


def noise(size, dtype="<u8"):
    return np.frombuffer(secure().bytes(size * np.dtype(dtype).itemsize), dtype).copy()


LEAKS = {
    "48 of 64 bits masked": lambda draw: (draw & np.uint64(2**48 - 1)) + np.uint64(5 << 48),
    "lowest bit not masked": lambda draw: draw | np.uint64(1),
    "one mask for two values": lambda draw: (
        np.repeat(draw[: draw.size // 2], 2) + np.tile([0, 4], draw.size // 2).astype("<u8")
    ),
    "masked by a factor": lambda draw: (draw >> np.uint64(12)) * np.uint64(12),
    "mask of floats": lambda draw: (draw.astype("<f8") / 2**64 * 2.0**53).astype("<u8") << np.uint64(11),
    "a biased byte": lambda draw: np.where(draw % np.uint64(256) == 7, draw ^ np.uint64(1), draw),
    "not random at all": lambda draw: np.zeros_like(draw),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_masks_that_do_not_hide_are_found(leak):
    finding = judge_masks(LEAKS[leak](noise(40_000)))
    assert finding.leaks(1e-9), finding


@pytest.mark.parametrize(
    ("dtype", "bits"), [("<u8", None), ("<u8", 42), ("<u4", None), ("|u1", None), ("<u2", 13)]
)
def test_uniform_values_of_any_width_pass(dtype, bits):
    values = noise(20_000, dtype)
    if bits is not None:
        values &= values.dtype.type(2**bits - 1)
    assert not judge_masks(values, bits=bits).leaks(ALARM)


def test_a_value_beyond_its_modulus_is_found():
    values = noise(20_000) & np.uint64(2**42 - 1)
    values[77] |= np.uint64(2**42)
    assert judge_masks(values, bits=42).chance == 0.0


def test_masks_that_cannot_be_judged_are_refused():
    for wrong in (np.zeros(10, "<u8"), np.zeros(100, "<i8"), np.zeros(100)):
        with pytest.raises(ParameterError):
            judge_masks(wrong)
    with pytest.raises(ParameterError, match="never saw"):
        gather([ring()], "a", "other", "x")


def test_points_are_fresh_in_every_run_and_old_ones_are_found():
    runs = [gather([overlap()], "second", "overlap/ask", "points") for _ in range(20)]
    assert not judge_freshness(np.concatenate(runs), width=32).leaks(ALARM)
    again = np.concatenate([*runs, runs[3]])
    assert judge_freshness(again, width=32).leaks(1e-9)
    assert "2 blocks" in judge_freshness(again, width=32).what
    same = [gather([overlap(bits=lambda: seeded(1))], "second", "overlap/ask", "points") for _ in range(2)]
    assert judge_freshness(np.concatenate(same), width=32).leaks(1e-9)


def test_a_collision_that_is_to_be_expected_is_no_leak():
    values = np.arange(1 << 17, dtype="<u8")  # 131072 blocks of 8 bytes: a collision has chance 5e-10
    values[5] = values[6]
    assert not judge_freshness(values, width=8).leaks(1e-10)
    with pytest.raises(ParameterError):
        judge_freshness(values, width=4)


def test_sizes_that_depend_on_inputs_are_found():
    assert not judge_forms([overlap(), overlap(("a" * 50, "b"), ("c", "d", "e"))]).leaks()
    finding = judge_forms([show(np.zeros(3, "<u8")), show(np.zeros(4, "<u8"))])
    assert finding.leaks()
    assert "(3,)" in finding.what
    assert "(4,)" in finding.what
    assert judge_forms([overlap(), ring()]).leaks()
    with pytest.raises(ParameterError):
        judge_forms([ring()])


@pytest.mark.parametrize("party", ["a", "b", "c"])
def test_inputs_with_the_same_sum_cannot_be_told_apart(party):
    first, second = ([ring(inputs) for _ in range(150)] for inputs in SAME)
    finding = judge_difference(first, second, party)
    assert not finding.leaks(ALARM), finding
    assert finding.tests > 300


def test_inputs_with_another_sum_can_be_told_apart_by_the_sum():
    first = [ring() for _ in range(60)]
    second = [ring(([2] * 6, [5] * 6, [9] * 6)) for _ in range(60)]
    finding = judge_difference(first, second, "b")
    assert finding.leaks(1e-9)
    assert "tell/sum" in finding.what


def test_the_overlap_server_cannot_tell_clients_apart():
    first, second = ([overlap(client) for _ in range(80)] for client in (("ann", "bob"), ("ida", "joe")))
    assert not judge_difference(first, second, "second").leaks(ALARM)


PLANTED = {
    "a factor as a mask": lambda secret, draw: np.array([secret * int(draw % 1000 + 1)], "<u8"),
    "a mask that is too short": lambda secret, draw: np.array([(secret << 40) + int(draw % 2**41)], "<u8"),
    "a parity": lambda secret, draw: np.array([(int(draw) & ~1) | (secret & 1)], "<u8"),
    "a sign": lambda secret, draw: np.array([(-1.0) ** secret * (1 + float(draw))], "<f8"),
}


@pytest.mark.parametrize("leak", PLANTED)
def test_messages_that_tell_inputs_apart_are_found(leak):
    draws = noise(800)
    first, second = (
        [show(PLANTED[leak](secret, draw)) for draw in draws[half]]
        for secret, half in ((3, slice(400)), (8, slice(400, 800)))
    )
    assert judge_difference(first, second, "second").leaks(1e-9)
    fair, too = ([show(PLANTED[leak](3, draw)) for draw in part] for part in (draws[:400], draws[400:]))
    assert not judge_difference(fair, too, "second").leaks(ALARM)


def test_too_few_runs_and_nothing_to_see_are_refused():
    with pytest.raises(ParameterError, match="too few runs"):
        judge_difference([ring()], [ring()], "a")
    with pytest.raises(ParameterError, match="saw nothing"):
        judge_difference([show([1])], [show([1])], "first")
    with pytest.raises(ParameterError, match="form"):
        judge_difference([show([1])], [show([1, 2])], "second")


class Clock:
    """A clock that roles can push, and that trembles like a real one."""

    def __init__(self):
        self.now = 0
        self.draw = np.random.default_rng(8)

    def __call__(self):
        self.now += int(self.draw.integers(50, 150))
        return self.now


def timed_pair(clock, extra):
    def works():
        yield Send("x", {})
        clock.now += extra
        yield Send("y", {})

    def waits():
        yield Receive("x", {})
        yield Receive("y", {})

    return {"works": works(), "waits": waits()}


@pytest.mark.parametrize(("extra", "found"), [(0, False), (40, True)])
def test_a_step_whose_time_depends_on_the_input_is_found(extra, found):
    clock = Clock()
    finding = judge_times(
        lambda choice: timed_pair(clock, extra * choice), runs=400, bits=seeded(3), clock=clock
    )
    assert finding.leaks(1e-9) == found, finding
    assert not found or "step 1" in finding.what or "step" in finding.what


def test_a_number_of_steps_that_depends_on_the_input_is_found():
    def some(count):
        for _ in range(count):
            yield Send("x", {})

    def all_of(count):
        for _ in range(count):
            yield Receive("x", {})

    finding = judge_times(lambda choice: {"a": some(1 + choice), "b": all_of(1 + choice)}, runs=30)
    assert finding.chance == 0.0


def test_the_times_of_equal_inputs_are_not_told_apart():
    inputs = [np.array(mine, "<u8") for mine in SAME[0]]

    def make(choice):
        roles = zip("abc", (demos.ring_a, demos.ring_b, demos.ring_c), inputs, strict=True)
        return {name: role(mine, {}, secure()) for name, role, mine in roles}

    assert not judge_times(make, runs=150).leaks(ALARM)
