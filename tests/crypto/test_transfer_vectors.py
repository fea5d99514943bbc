"""Transfers and garbling equal a slow implementation that shares nothing with them."""

import hashlib
import json
from pathlib import Path

import make_circuits
import numpy as np
import pytest
import slow_circuits as slow

from discreet.crypto.block import derive
from discreet.crypto.circuit import Builder, bits_of_words, words_of_bits
from discreet.crypto.extension import Receiver
from discreet.crypto.garble import Garbler
from discreet.crypto.logsum import log_sum, table
from discreet.crypto.transfer import Chooser, Offer
from discreet.protocols.step import run_pair
from discreet.protocols.trellis import Trellis, Weights, hold_data, hold_model, plain
from discreet.randomness import expand, secure, seeded

VECTORS = Path(__file__).parents[1] / "vectors"


def vector(name):
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", make_circuits.MAKERS)
def test_vectors_are_what_the_slow_implementation_makes(name):
    made = json.loads(json.dumps(make_circuits.MAKERS[name]()))
    assert made == vector(name)


def test_slow_aes_and_group_are_the_published_ones():
    key, block = "2b7e151628aed2a6abf7158809cf4f3c", "6bc1bee22e409f96e93d7e117393172a"
    assert slow.aes(bytes.fromhex(key), bytes.fromhex(block)).hex() == "3ad77bb40d7a3660a89ecaf32466ef97"
    # RFC 9496, appendix A.1 and A.3
    multiple = "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919"
    assert slow.encode(slow.times(2, slow.GENERATOR)).hex() == multiple
    wide = hashlib.sha512(b"Ristretto is traditionally a short shot of espresso coffee").digest()
    hashed = "3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46"
    assert slow.encode(slow.to_group(wide)).hex() == hashed
    assert slow.gmac(bytes(16), b"").hex() == "58e2fccefa7e3061367f1d57a4e7455a"  # GCM test case 1


def test_expansion_is_the_documented_one():
    key = bytes(range(32))
    assert expand(key, "a domain").bytes(100) == slow.Stream(key, "a domain").bytes(100)


def test_base_transfers():
    told = vector("transfer")
    offer = Offer.make(seeded(1))
    chooser = Chooser(told["choices"], offer.point, make_circuits.SESSION, seeded(2))
    assert offer.point.hex() == told["offered"]
    assert chooser.points.hex() == told["points"]
    keys = offer.keys(chooser.points, make_circuits.SESSION)
    assert [[key.hex() for key in pair] for pair in keys] == told["keys"]
    chosen = [pair[choice] for pair, choice in zip(told["keys"], told["choices"], strict=True)]
    assert [key.hex() for key in chooser.keys] == chosen


def test_extension():
    told = vector("extension")
    seeds = [(hashlib.sha256(b"0%d" % i).digest(), hashlib.sha256(b"1%d" % i).digest()) for i in range(128)]
    receiver = Receiver(seeds, make_circuits.SESSION)
    columns, proof, rows = receiver.extend(np.array(told["choices"], dtype=np.uint8), seeded(3))
    assert hashlib.sha256(columns.tobytes()).hexdigest() == told["columns"]
    assert (proof.fold.hex(), proof.digest.hex()) == (told["fold"], told["digest"])
    few = [*range(8), -2, -1]
    assert [rows.blocks[j].tobytes().hex() for j in few] == told["rows"]
    assert [receiver.pads(rows)[j, 0].tobytes().hex() for j in few] == told["pads"]


def test_garbling():
    told = vector("garble")
    garbler = Garbler(bytes.fromhex(told["offset"]), make_circuits.SESSION)
    labels = {name: garbler.give(np.array(bits, dtype=np.uint8)) for name, bits in told["bits"].items()}
    tables, outputs = [], {}
    run = garbler.run(make_circuits.eight_bits(), labels)
    while True:
        try:
            tables.append(next(run))
        except StopIteration as end:
            outputs = end.value
            break
    raw = np.concatenate(tables).tobytes()
    assert raw[:64].hex() == told["first"]
    assert hashlib.sha256(raw).hexdigest() == told["tables"]
    found = {
        name: [[label.tobytes().hex() for label in row] for row in rows] for name, rows in outputs.items()
    }
    assert found == told["outputs"]


def test_garbling_over_several_keys():
    # more than 4,096 gates: the slow and the fast one must change keys at the same places
    circuit, offset = make_circuits.eight_bits(), b"\1" * 16
    bits = {name: np.random.default_rng(0).integers(0, 2, (8, 320)).astype(np.uint8) for name in ("a", "b")}
    slow_outputs, slow_tables = slow.garble(
        circuit,
        int.from_bytes(offset, "little"),
        b"keys",
        {name: rows.tolist() for name, rows in bits.items()},
    )
    garbler = Garbler(offset, b"keys")
    labels = {name: garbler.give(rows) for name, rows in bits.items()}
    tables, run = [], garbler.run(circuit, labels)
    while True:
        try:
            tables.append(next(run))
        except StopIteration as end:
            outputs = end.value
            break
    assert np.concatenate(tables).tobytes() == b"".join(row.to_bytes(16, "little") for row in slow_tables)
    assert garbler.gates == 320 * circuit.ands > 4096
    assert outputs["less"].tobytes() == b"".join(
        row.to_bytes(16, "little") for row in slow_outputs["less"][0]
    )


def test_log_sums():
    told, using = vector("logsum"), table(8, 1 / 64)
    assert [[step.start, step.start + step.length, step.value] for step in using.steps] == told["steps"]
    x, y, found = np.array(told["pairs"]).T
    assert np.array_equal(using.plain(x, y), found)
    build = Builder()
    build.output("z", log_sum(build, build.input("x", 25), build.input("y", 25), using))
    out = build.circuit().plain({"x": bits_of_words(x, 25), "y": bits_of_words(y, 25)})["z"]
    assert np.array_equal(words_of_bits(out, signed=True), found)


@pytest.mark.parametrize("kind", ["logsum", "max"])
def test_recursions(kind):
    told = vector("recursion")
    arcs = tuple((i, j) for i, j in told["arcs"])
    plan = Trellis(kind, 7, 2, arcs, low=-2000 / 256, opened="evaluator")
    parts = {
        name: np.array([model[name] for model in told["models"]])
        for name in ("start", "weights", "end", "scores")
    }
    weights = Weights(*(parts[name] / 256 for name in ("start", "weights", "end")))
    values = parts["scores"].swapaxes(0, 1)
    mask = np.uint64(2**plan.width - 1)
    first = np.frombuffer(seeded(1).bytes(8 * values.size), dtype=np.uint64).reshape(values.shape) & mask
    second = (values.astype(np.int64).view(np.uint64) - first) & mask
    roles = hold_model(plan, weights, first, secure()), hold_data(plan, second, secure())
    assert run_pair(*roles)[1].tolist() == told["totals"][kind]
    assert plain(plan, weights, values).tolist() == told["totals"][kind]


def test_derivations_are_separated():
    assert derive(b"a", b"bc") != derive(b"ab", b"c") != derive(b"abc")
    assert derive(b"a") == slow.derive(b"a")
