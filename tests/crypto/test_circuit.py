"""Circuits compute what plain arithmetic does, at the edges of their ranges too, and cost what they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.crypto.circuit import ONE, ZERO, Builder, bits_of_words, words_of_bits
from discreet.crypto.logsum import log_sum, table
from discreet.crypto.words import add, argmax, choose, equal, fold, less, maximum, subtract
from discreet.errors import ParameterError


def run(build, words, widths, signed=False):
    """Run a finished builder on arrays of integers; the outputs as integers."""
    circuit = build.circuit()
    told = {name: bits_of_words(np.asarray(words[name]), widths[name]) for name in circuit.inputs}
    return circuit, {name: words_of_bits(bits, signed=signed) for name, bits in circuit.plain(told).items()}


def edges(width, seed=0, count=60):
    """Pairs of words: every pair of extremes, and some at random."""
    few = [0, 1, 2, 2**width - 1, 2**width - 2, 2 ** (width - 1), 2 ** (width - 1) - 1]
    few = sorted({value % 2**width for value in few})
    pairs = np.array([(a, b) for a in few for b in few], dtype=np.uint64)
    random = np.random.default_rng(seed).integers(0, 2**width, (count, 2), dtype=np.uint64, endpoint=False)
    return np.concatenate([pairs, random]).T


def signed(words, width):
    return np.array([int(word) - (int(word) >> (width - 1) << width) for word in words])


@pytest.mark.parametrize("width", [1, 2, 3, 8, 24, 31, 33, 63])
def test_words_are_added_subtracted_compared_and_chosen(width):
    a, b = edges(width)
    build = Builder()
    x, y = build.input("x", width), build.input("y", width)
    build.output("add", add(build, x, y))
    build.output("more", add(build, x, y, ONE))
    build.output("subtract", subtract(build, x, y))
    build.output("equal", [equal(build, x, y)])
    build.output("less", [less(build, x, y)])
    build.output("below", [less(build, x, y, signed=False)])
    build.output("larger", choose(build, less(build, x, y), y, x))
    build.output("maximum", maximum(build, [x, y, x]))
    _, found = run(build, {"x": a, "y": b}, {"x": width, "y": width})
    exact = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    assert found["add"].tolist() == [(p + q) % 2**width for p, q in exact]
    assert found["more"].tolist() == [(p + q + 1) % 2**width for p, q in exact]
    assert found["subtract"].tolist() == [(p - q) % 2**width for p, q in exact]
    assert found["equal"].tolist() == [p == q for p, q in exact]
    assert found["below"].tolist() == [p < q for p, q in exact]
    p, q = signed(a, width), signed(b, width)
    assert found["less"].tolist() == (p < q).tolist()
    assert signed(found["larger"], width).tolist() == np.maximum(p, q).tolist()
    assert found["larger"].tolist() == found["maximum"].tolist()


@given(width=st.integers(1, 20), count=st.integers(1, 9), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_the_first_of_the_largest_is_found(width, count, seed):
    words = np.random.default_rng(seed).integers(0, 2 ** min(width, 3), (count, 30)).astype(np.uint64)
    words = words * np.uint64(2 ** max(0, width - 3)) % np.uint64(2**width)
    build = Builder()
    inputs = [build.input(f"x{i}", width) for i in range(count)]
    number, value = argmax(build, inputs)
    build.output("number", number)
    build.output("value", value)
    _, found = run(build, {f"x{i}": words[i] for i in range(count)}, {f"x{i}": width for i in range(count)})
    plain = np.stack([signed(row, width) for row in words])
    assert found["number"].tolist() == plain.argmax(axis=0).tolist()
    assert signed(found["value"], width).tolist() == plain.max(axis=0).tolist()


def test_gates_are_as_few_as_documented():
    def cost(make, width=24, count=2):
        build = Builder()
        build.output("out", make(build, [build.input(f"x{i}", width) for i in range(count)]))
        return build.circuit().ands

    assert cost(lambda b, x: add(b, *x)) == cost(lambda b, x: subtract(b, *x)) == 23
    assert cost(lambda b, x: [less(b, *x)]) == 24
    assert cost(lambda b, x: choose(b, x[0][0], *x)) == 24
    assert cost(lambda b, x: maximum(b, x), count=10) == 48 * 9
    assert 48 * 9 - 24 <= cost(lambda b, x: argmax(b, x)[0], count=10) <= 48 * 9 + 40
    assert cost(lambda b, x: log_sum(b, *x, table(8, 1 / 48))) <= 110


def test_constants_cost_nothing_and_equal_gates_are_shared():
    build = Builder()
    x, y = build.input("x", 1)[0], build.input("y", 1)[0]
    assert build.both(x, ZERO) == ZERO
    assert build.both(x, ONE) == build.both(ONE, x) == build.both(x, x) == x
    assert build.xor(x, x) == ZERO
    assert build.xor(x, ZERO) == build.xor(ZERO, x) == x
    assert build.invert(build.invert(ONE)) == ONE
    assert build.both(x, y) == build.both(y, x)
    build.both(x, build.invert(y))  # not needed by any output
    build.output("x", [build.both(x, y), ZERO, ONE, build.any([x, y, ZERO]), build.all([])])
    circuit = build.circuit()
    assert circuit.ands == 2
    assert repr(circuit) == f"Circuit(2 AND gates, 1 deep, {circuit.wires} wires)"
    bits = {"x": np.array([[0, 0, 1, 1]]), "y": np.array([[0, 1, 0, 1]])}
    rows = [[0, 0, 0, 1], [0] * 4, [1] * 4, [0, 1, 1, 1], [1] * 4]
    assert circuit.plain(bits)["x"].tolist() == rows


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_circuits_equal_gate_by_gate_evaluation(data):
    build, random = Builder(), np.random.default_rng(data.draw(st.integers(0, 2**32)))
    wires = dict(zip(build.input("x", 4), random.integers(0, 2, (4, 9)), strict=True))
    given_bits = np.stack(list(wires.values()))
    wires |= {ONE: np.ones(9, dtype=int), ZERO: np.zeros(9, dtype=int)}
    for _ in range(data.draw(st.integers(1, 40))):
        a, b = (list(wires)[random.integers(len(wires))] for _ in range(2))
        kind = random.integers(3)
        made = (build.xor, build.both, build.either)[kind](a, b)
        plain = (wires[a] ^ wires[b], wires[a] & wires[b], wires[a] | wires[b])[kind]
        assert made not in wires or np.array_equal(wires[made], plain)
        wires[made] = plain
    chosen = list(wires)
    build.output("out", chosen)
    found = build.circuit().plain({"x": given_bits})["out"]
    assert np.array_equal(found, np.stack([wires[wire] for wire in chosen]))


@pytest.mark.parametrize("fraction", [1, 4, 8, 12])
@pytest.mark.parametrize("error", [0.5, 1 / 16, 1 / 48, 1 / 200])
def test_log_sum_is_off_by_no_more_than_it_states(fraction, error):
    if error < 1.5 * 2.0**-fraction:
        with pytest.raises(ParameterError, match="table"):
            table(fraction, error)
        return
    using = table(fraction, error)
    assert using.error <= error
    # every difference that matters, both signs, and a little beyond; then everywhere in a wide word
    apart = np.arange(-(2 ** (using.reach + 1)), 2 ** (using.reach + 1) + 1)
    random = np.random.default_rng(0)
    x = np.concatenate([apart, random.integers(-(2**40), 2**40, 500)])
    y = np.concatenate([np.zeros_like(apart), x[apart.size :] + random.integers(apart[0], apart[-1], 500)])
    added = np.log1p(np.exp(-np.abs(x - y) / 2**fraction))
    found = using.plain(x, y)
    assert np.abs((found - np.maximum(x, y)) / 2**fraction - added).max() <= using.error + 1e-9
    build = Builder()
    build.output("z", log_sum(build, build.input("x", 44), build.input("y", 44), using))
    _, circuit = run(build, {"x": x, "y": y}, {"x": 44, "y": 44}, signed=True)
    assert np.array_equal(circuit["z"], found)


def test_log_sum_may_wrap_as_long_as_differences_fit():
    using = table(8, 1 / 48)
    x = np.arange(0, 2**16, 97)
    y = (x + np.random.default_rng(1).integers(-1000, 1000, x.size)) % 2**16
    build = Builder()
    build.output("z", log_sum(build, build.input("x", 16), build.input("y", 16), using))
    _, found = run(build, {"x": x, "y": y}, {"x": 16, "y": 16})
    base = x[0] * 0 + signed((x - y) % 2**16, 16)
    wanted = (using.plain(base, np.zeros_like(base)) + y) % 2**16
    assert np.array_equal(found["z"], wanted.astype(np.uint64))


def test_bad_circuits_are_refused():
    build = Builder()
    with pytest.raises(ParameterError, match="outputs"):
        build.circuit()
    x = build.input("x", 3)
    with pytest.raises(ParameterError, match="inputs"):
        build.input("x", 3)
    with pytest.raises(ParameterError, match="differ"):
        add(build, x, x[:2])
    with pytest.raises(ParameterError, match="narrow"):
        log_sum(build, x, x, table(8, 1 / 48))
    with pytest.raises(ParameterError, match="constant"):
        build.constant(9, 3)
    with pytest.raises(ParameterError, match="nothing"):
        fold([], add)
    build.output("x", [build.both(x[0], x[1])])
    with pytest.raises(ParameterError, match="inputs"):
        build.input("y", 3)
    with pytest.raises(ParameterError, match="outputs"):
        build.output("x", x)
    circuit = build.circuit()
    with pytest.raises(ParameterError, match="shape"):
        circuit.plain({"x": np.zeros((2, 1), dtype=np.uint8)})
    with pytest.raises(ParameterError, match="missing"):
        circuit.plain({})
    with pytest.raises(ParameterError, match="no such input"):
        circuit.check("z", (1, 1))


@given(width=st.integers(1, 63), seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_words_and_bits_go_back_and_forth(width, seed):
    words = np.random.default_rng(seed).integers(0, 2**width, (3, 2), dtype=np.uint64)
    bits = bits_of_words(words, width)
    assert bits.shape == (width, 3, 2)
    assert np.array_equal(words_of_bits(bits), words)
    assert np.array_equal(words_of_bits(bits, signed=True).ravel(), signed(words.ravel(), width))
