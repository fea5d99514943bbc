"""Noise circuits: exactly the law their tables say, that law within the proven distance of the true one."""

import json
import math
from collections import Counter
from fractions import Fraction

import make_draw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.crypto.bell import Bell, depth_of
from discreet.crypto.bells import bells, off_by
from discreet.crypto.circuit import Builder, bits_of_words, words_of_bits
from discreet.crypto.lookup import decode, look_up
from discreet.crypto.number import exponential
from discreet.crypto.urn import Urn
from discreet.crypto.words import add
from discreet.errors import ParameterError


def circuit_of(noise, width):
    build = Builder()
    word, carry = noise.draw(build, build.input("uniform", noise.bits), width)
    build.output("noise", add(build, word, build.constant(0, width), carry))
    return build.circuit()


def drawn(noise, uniform, width):
    """What the circuit makes of bits (bits, instances)."""
    return words_of_bits(circuit_of(noise, width).plain({"uniform": uniform})["noise"], signed=True)


def exact_law(noise):
    """The law of the circuit from its tables, as fractions: every term's, added up."""
    law = {0: Fraction(1)}
    for at, bell in enumerate(noise.terms):
        units, after = Fraction(1, 2 ** (bell.urn.bits + 1)), Counter()
        step = {}
        for value, weight in enumerate(bell.urn.weights):
            for sign in (value, -value):
                step[sign << noise.shift * at] = step.get(sign << noise.shift * at, 0) + weight
        for one, chance in law.items():
            for other, weight in step.items():
                if weight:
                    after[one + other] += chance * weight * units
        law = after
    return law


def true_law(deviation, reach):
    """The discrete Gaussian to 150 digits, by magnitude."""
    return make_draw.masses(Fraction(deviation) ** 2, reach + 1)


@given(depth=st.integers(1, 6), seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_tables_are_looked_up(depth, seed):
    table = np.random.default_rng(seed).integers(0, 2**9, 2**depth).tolist()
    build = Builder()
    lines = decode(build, build.input("index", depth))
    build.output("lines", lines)
    build.output("entry", look_up(build, lines, table, 9))
    circuit = build.circuit()
    out = circuit.plain({"index": bits_of_words(np.arange(2**depth), depth)})
    assert np.array_equal(out["lines"], np.eye(2**depth))
    assert words_of_bits(out["entry"]).tolist() == table
    assert circuit.ands == 2**depth - 2


def test_tables_that_do_not_fit_are_refused():
    build = Builder()
    lines = decode(build, build.input("index", 2))
    for table, width in (([1, 2, 3], 4), ([1, 2, 3, 16], 4), ([1, 2, 3, -1], 4)):
        with pytest.raises(ParameterError, match="table"):
            look_up(build, lines, table, width)


@given(depth=st.integers(1, 4), width=st.integers(1, 4), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_an_urn_has_the_law_of_its_weights_exactly(depth, width, seed):
    draw = np.random.default_rng(seed)
    whole, count = 2 ** (depth + width), 2**depth
    cuts = np.sort(draw.integers(0, whole + 1, count - 1))
    weights = np.diff(np.concatenate([[0], cuts, [whole]])).tolist()
    urn = Urn.fill(weights, depth, width)
    picked = Counter(urn.pick(column, level) for column in range(count) for level in range(2**width))
    assert [picked[value] for value in range(count)] == weights == list(urn.weights)
    build = Builder()
    build.output("value", urn.draw(build, build.input("uniform", urn.bits)))
    circuit = build.circuit()
    values = words_of_bits(circuit.plain({"uniform": bits_of_words(np.arange(whole), urn.bits)})["value"])
    assert np.bincount(values.astype(int), minlength=count).tolist() == weights
    assert circuit.ands <= 2**depth - 2 + width + depth


def test_urns_that_are_not_full_are_refused():
    for weights in ([3, 4], [9, -1], [4, 2, 2]):
        with pytest.raises(ParameterError, match="urn"):
            Urn.fill(weights, 1, 2)
    for keep, other in (((1,), (0, 1)), ((4, 0), (0, 1)), ((1, 0), (0, 2)), ((-1, 0), (0, 1))):
        with pytest.raises(ParameterError, match="urn"):
            Urn(1, 2, keep, other)


@given(
    numerator=st.integers(0, 10**30), denominator=st.integers(1, 10**30), places=st.sampled_from([8, 64, 200])
)
@settings(max_examples=60, deadline=None)
def test_exponentials_are_enclosed(numerator, denominator, places):
    from decimal import Decimal, localcontext

    exponent = -Fraction(numerator, denominator) % 90
    low, high = exponential(-exponent, places)
    with localcontext() as context:
        context.prec = 200
        true = (-Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
    assert low <= Fraction(true) * 2**places <= high <= low + 2


@pytest.mark.parametrize("deviation", [0.125, 0.4, 1, 2.7, 6.5, 13, 60])
@pytest.mark.parametrize("closeness", [3, 24, 72])
def test_a_bell_is_as_near_to_the_true_law_as_is_proven(deviation, closeness):
    bell = Bell.of(Fraction(deviation) ** 2, Fraction(1, 2**closeness))
    true = true_law(deviation, bell.largest)
    units = 2**bell.urn.bits
    inside = sum(
        abs(Fraction(one, units) - chance) for one, chance in zip(bell.urn.weights, true, strict=True)
    )
    distance = (inside + 1 - sum(true)) / 2
    assert distance <= bell.distance <= Fraction(1, 2**closeness)
    assert bell.distance <= distance + Fraction(1, units << 36)  # proven, and hardly more than needed
    assert bell.bits == bell.urn.bits + 1


@pytest.mark.parametrize(
    ("deviation", "closeness"), [(8.0, 4), (12.0, 2), (12.0, 4), (32.5, 72), (77.77, 30)]
)
def test_a_sum_of_bells_is_as_near_to_the_true_law_as_is_proven(deviation, closeness):
    noise = bells(deviation, Fraction(1, 2**closeness))
    assert len(noise.terms) == 2
    law = exact_law(noise)
    assert sum(law.values()) == 1 and noise.largest >= max(law) == -min(law)
    true = true_law(deviation, noise.largest)
    inside = sum(abs(law[value] - true[abs(value)] / (1 + (value != 0))) for value in law)
    distance = (inside + 1 - sum(true[abs(v)] / (1 + (v != 0)) for v in law)) / 2
    assert distance <= noise.distance <= Fraction(1, 2**closeness)


def test_narrow_bells_do_not_make_a_bell():
    """The bound is needed: where it is large the law is far off, and the distance measured is near it."""
    first = second = Fraction(1)
    bound, factor = off_by(first, second, 2), 2
    law = Counter()
    true = true_law(1, 40)
    for x in range(-40, 41):
        for y in range(-40, 41):
            law[x + factor * y] += true[abs(x)] / (1 + (x != 0)) * true[abs(y)] / (1 + (y != 0))
    wide = make_draw.masses(first + factor**2 * second, 121)
    off = sum(abs(law[z] - wide[abs(z)] / (1 + (z != 0))) for z in range(-120, 121)) / 2
    assert bound / 4 < off <= bound
    with pytest.raises(ParameterError, match="narrow"):
        off_by(Fraction(1, 4), Fraction(1, 4), 2)


@pytest.mark.parametrize(("deviation", "closeness"), [(0.5, 1), (1.0, 4), (3.0, 4), (12.0, 2), (12.0, 4)])
def test_the_circuit_has_the_law_of_its_tables_by_trying_every_input(deviation, closeness):
    noise = bells(deviation, Fraction(1, 2**closeness))
    assert noise.bits <= 18
    uniform = bits_of_words(np.arange(2**noise.bits), noise.bits)
    found = drawn(noise, uniform, noise.largest.bit_length() + 1)
    assert found.tolist() == [noise.pick(one) for one in range(2**noise.bits)]
    counts = {value: Fraction(count, 2**noise.bits) for value, count in Counter(found.tolist()).items()}
    assert counts == {value: chance for value, chance in exact_law(noise).items() if chance}


@pytest.mark.parametrize("deviation", [0.3, 1.0, 15.1, 32.5, 1000.0, 12345.678, 2.0**20 + 0.5, 2.0**40])
def test_circuits_pick_what_the_tables_say_at_full_precision(deviation):
    noise = bells(deviation, Fraction(1, 2**70))
    random = np.random.default_rng(1)
    uniform = random.integers(0, 2, (noise.bits, 200), dtype=np.uint8)
    uniform[:, 0], uniform[:, 1] = 0, 1
    wanted = [noise.pick(sum(int(bit) << at for at, bit in enumerate(column))) for column in uniform.T]
    assert drawn(noise, uniform, 60).tolist() == wanted
    narrow = [(value + 128) % 256 - 128 for value in wanted]
    assert drawn(noise, uniform, 8).tolist() == narrow  # shares wrap, the law does not change
    assert noise.variance == Fraction(deviation) ** 2
    assert noise.distance <= Fraction(1, 2**70)


@pytest.mark.parametrize("deviation", [1.0, 6.5, 32.5, 300.0])
def test_many_draws_have_the_true_law(deviation):
    from scipy.special import chdtrc

    noise = bells(deviation, Fraction(1, 2**70))
    uniform = np.random.default_rng(7).integers(0, 2, (noise.bits, 40_000), dtype=np.uint8)
    found = drawn(noise, uniform, 40)
    step = max(1, round(deviation / 3))
    reach = round(4 * deviation)
    edges = np.arange(-reach, reach + 1, step)
    true = np.array([float(one) for one in true_law(deviation, math.ceil(12 * deviation))])
    true[1:] /= 2
    spread = np.concatenate([true[:0:-1], true])
    values = np.arange(len(spread)) - (len(true) - 1)
    expected = np.bincount(np.searchsorted(edges, values), spread, len(edges) + 1) * len(found)
    counts = np.bincount(np.searchsorted(edges, found), minlength=len(edges) + 1)
    wide = expected > 5
    distance = ((counts - expected)[wide] ** 2 / expected[wide]).sum()
    assert chdtrc(wide.sum() - 1, distance) > 1e-6


def test_costs_are_as_documented():
    for deviation, most in ((1.0, 130), (32.5, 460), (1e4, 1150), (2.0**30, 3500)):
        assert circuit_of(bells(deviation, Fraction(1, 2**70)), 40).ands < most


def test_laws_that_cannot_be_drawn_are_refused():
    for deviation in (0.0, -1.0, 0.1, 2.0**41, math.nan, math.inf):
        with pytest.raises(ParameterError, match="deviation"):
            bells(deviation, Fraction(1, 2**60))
    with pytest.raises(ParameterError, match="wide"):
        depth_of(Fraction(10**8), Fraction(1, 2**60))
    for variance, distance in ((0, Fraction(1, 2)), (1, 0), (1, 1)):
        with pytest.raises(ParameterError, match="Gaussian"):
            Bell.of(Fraction(variance), Fraction(distance))


def test_the_vectors_of_long_decimals_are_met():
    for law in json.loads(make_draw.PATH.read_text()):
        noise = bells(law["deviation"], Fraction(1, 2 ** law["closeness"]))
        terms = [
            {"variance": str(bell.variance), "depth": bell.urn.depth, "width": bell.urn.width}
            for bell in noise.terms
        ]
        assert (noise.shift, terms) == (law["shift"], law["terms"])
        assert [f"{one:x}" for one in noise.terms[0].urn.weights] == law["weights"]
        for draw in law["draws"]:
            uniform = np.array([[int(bit)] for bit in draw["bits"]], dtype=np.uint8)
            assert drawn(noise, uniform, 30)[0] == draw["noise"]
