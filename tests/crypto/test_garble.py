"""Garbled circuits: the same as plain ones; tables uniform, unique and of a size that says nothing."""

import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc

from discreet.crypto import garble
from discreet.crypto.circuit import Builder
from discreet.crypto.garble import BLOCK, Evaluator, Garbler, colours
from discreet.crypto.words import add, argmax, less
from discreet.errors import ParameterError

RANDOM = np.random.default_rng(8)


def ends():
    offset, session = bytearray(os.urandom(16)), os.urandom(16)
    offset[0] |= 1
    return Garbler(bytes(offset), session), Evaluator(session)


def through(circuit, inputs, pair=None, change=None):
    """Garble and evaluate: the outputs' bits, and the tables in blocks."""
    garbler, evaluator = pair or ends()
    labels = {name: garbler.give(bits) for name, bits in inputs.items()}
    held = {name: evaluator.take(bits.shape) for name, bits in inputs.items()}
    making, using = garbler.run(circuit, labels), evaluator.run(circuit, held)
    blocks, tables = [], None
    while True:
        try:
            gates = using.send(tables)
        except StopIteration as end:
            found = end.value
            break
        tables = next(making)
        assert tables.size == 4 * gates <= 4 * BLOCK
        blocks.append(tables)
        if change is not None:
            tables = change(tables)
    with pytest.raises(StopIteration) as end:
        next(making)
    made = end.value.value
    assert garbler.gates == evaluator.gates
    return {name: colours(made[name]) ^ colours(found[name]) for name in made}, blocks, made, found


def sums(width=8):
    build = Builder()
    x, y = build.input("x", width), build.input("y", width)
    build.output("sum", add(build, x, y))
    build.output("less", [less(build, x, y)])
    return build.circuit()


def random_bits(circuit, batch):
    return {
        name: RANDOM.integers(0, 2, (part.stop - part.start, batch)).astype(np.uint8)
        for name, part in circuit.inputs.items()
    }


@pytest.mark.parametrize("batch", [1, 2, 100, 4095, 4096, 4097, 9000])
def test_garbled_circuits_compute_what_plain_ones_do(batch):
    circuit = sums()
    inputs = random_bits(circuit, batch)
    found, blocks, _, _ = through(circuit, inputs)
    plain = circuit.plain(inputs)
    assert all(np.array_equal(found[name], plain[name]) for name in plain)
    assert sum(block.nbytes for block in blocks) == 32 * circuit.ands * batch


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_random_circuits_garbled_equal_plain_ones(data):
    build, random = Builder(), np.random.default_rng(data.draw(st.integers(0, 2**32)))
    wires = [-1, 0, *build.input("x", 3), *build.input("y", 2)]
    for _ in range(data.draw(st.integers(1, 60))):
        a, b = random.choice(len(wires), 2)
        wires.append((build.xor, build.both, build.either)[random.integers(3)](wires[a], wires[b]))
    build.output("out", wires[-12:])
    circuit = build.circuit()
    inputs = random_bits(circuit, data.draw(st.sampled_from([1, 3, 50])))
    assert np.array_equal(through(circuit, inputs)[0]["out"], circuit.plain(inputs)["out"])


def test_layers_wider_than_a_key_and_than_a_block():
    build = Builder()
    x, y = build.input("x", 230), build.input("y", 200)
    build.output("out", [build.sum([build.both(a, b) for b in y]) for a in x])
    circuit = build.circuit()
    assert circuit.ands == 46_000 > BLOCK
    inputs = random_bits(circuit, 2)
    found, blocks, _, _ = through(circuit, inputs)
    assert np.array_equal(found["out"], circuit.plain(inputs)["out"])
    assert len(blocks) > 2


def test_one_session_runs_many_circuits_and_keeps_labels():
    pair, circuit = ends(), sums()
    inputs = random_bits(circuit, 5)
    _, _, made, found = through(circuit, inputs, pair)
    second = {"x": made["sum"], "y": pair[0].give(inputs["y"])}
    held = {"x": found["sum"], "y": pair[1].take(inputs["y"].shape)}
    making, using = pair[0].run(circuit, second), pair[1].run(circuit, held)
    next(using)
    with pytest.raises(StopIteration) as end:
        using.send(next(making))
    shown = colours(end.value.value["sum"])
    with pytest.raises(StopIteration) as end:
        next(making)
    first = circuit.plain(inputs)["sum"]
    wanted = circuit.plain({"x": first, "y": inputs["y"]})["sum"]
    assert np.array_equal(shown ^ colours(end.value.value["sum"]), wanted)


def test_no_pair_of_key_and_tweak_is_used_twice(monkeypatch):
    seen, keys = [], []
    place = garble._Machine._place

    def spy(machine, count):
        where = place(machine, count)
        seen.append((machine._epoch, where.start, where.stop))
        keys.append(machine._aes)
        return where

    monkeypatch.setattr(garble._Machine, "_place", spy)
    garbler, evaluator = ends()
    circuit = sums()
    for batch in (1, 700, 4096, 5000):
        through(circuit, random_bits(circuit, batch), (garbler, evaluator))
    used = [(epoch, at) for epoch, start, stop in seen for at in range(start, stop)]
    assert len(used) == 2 * garbler.gates  # the spy saw both ends
    assert len(set(used)) == garbler.gates
    assert max(at for _, at in used) < 4096


@pytest.mark.parametrize("bit", [0, 1])
def test_what_the_evaluator_sees_is_uniform_whatever_the_inputs(bit):
    circuit = sums()
    inputs = {name: np.full((8, 300), bit, dtype=np.uint8) for name in ("x", "y")}
    _, blocks, _, found = through(circuit, inputs)
    for raw in (np.concatenate(blocks).tobytes(), found["sum"].tobytes()):
        counts = np.bincount(np.frombuffer(raw, dtype=np.uint8), minlength=256)
        expected = counts.sum() / 256
        assert chdtrc(255, float(((counts - expected) ** 2 / expected).sum())) > 1e-8


def test_colours_say_nothing_about_values():
    # all values are 1; the evaluator's colours must be balanced all the same (2000 fair coins)
    circuit = sums()
    inputs = {name: np.ones((8, 2000), dtype=np.uint8) for name in ("x", "y")}
    _, _, _, found = through(circuit, inputs)
    for row in colours(found["sum"]):
        assert abs(int(row.sum()) - 1000) < 6 * 23


def test_sizes_do_not_depend_on_values():
    circuit = sums()
    sizes = [
        [block.size for block in through(circuit, {name: np.full((8, 50), bit) for name in ("x", "y")})[1]]
        for bit in (0, 1)
    ]
    assert sizes[0] == sizes[1]


def test_changed_tables_give_labels_that_do_not_exist():
    circuit = sums()
    inputs = {"x": np.ones((8, 40), dtype=np.uint8), "y": np.ones((8, 40), dtype=np.uint8)}

    pair = ends()
    _, _, made, found = through(circuit, inputs, pair, lambda tables: tables ^ np.uint64(2**40))
    difference = made["sum"] ^ found["sum"]
    valid = (difference == 0).all(axis=-1) | (difference == pair[0].offset).all(axis=-1)
    assert valid[0].all()  # the lowest bit of a sum takes no AND gate
    assert not valid[-1].all()


def test_memory_does_not_grow_with_the_instances():
    build = Builder()
    number, _ = argmax(build, [build.input(f"x{i}", 16) for i in range(8)])
    build.output("number", number)
    circuit = build.circuit()
    peaks = []
    for batch in (8192, 32768):
        garbler, _ = ends()
        labels = {name: np.zeros((16, batch, 2), dtype=np.uint64) for name in circuit.inputs}
        tracemalloc.start()
        for _ in garbler.run(circuit, labels):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    outputs = 3 * 16 * (32768 - 8192)
    assert peaks[1] - peaks[0] < outputs + 2**20


def test_bad_requests_are_refused():
    with pytest.raises(ParameterError, match="odd"):
        Garbler(bytes(16), b"s")
    with pytest.raises(ParameterError, match="odd"):
        Garbler(b"\1" * 15, b"s")
    garbler, _ = ends()
    circuit = sums()
    with pytest.raises(ParameterError, match="missing"):
        next(garbler.run(circuit, {"x": np.zeros((8, 1, 2), dtype=np.uint64)}))
    wrong = {name: np.zeros((7, 1, 2), dtype=np.uint64) for name in ("x", "y")}
    with pytest.raises(ParameterError, match="shape"):
        next(garbler.run(circuit, wrong))
    assert repr(garbler) == "Garbler(0 gates)"
