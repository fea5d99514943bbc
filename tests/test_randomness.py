"""The one door: uniform, unbiased, replayable when seeded, never repeated when not."""

import ast
import hashlib
import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc

from discreet.errors import ParameterError
from discreet.randomness import Bits, bits_of, expand, generator, secure, seeded

SOURCES = {"secure": secure, "seeded": lambda: seeded(11)}


def _pvalue(counts, expected):
    return chdtrc(len(counts) - 1, float(np.sum((counts - expected) ** 2 / expected)))


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("span", [2, 3, 7, 200, 256, 257, 1000])
def test_integers_are_uniform(name, span):
    drawn = SOURCES[name]().integers(-5, span - 5, 60_000)
    counts = np.bincount(drawn + 5, minlength=span)
    assert len(counts) == span
    assert _pvalue(counts, np.full(span, 60_000 / span)) > 1e-8


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("span", [2**31 + 2**30, 3 * 2**50, 2**62 + 2**61, 2**63])
def test_wide_ranges_are_uniform_without_bias(name, span):
    # a remainder instead of a rejection would double the rate of a part of the range
    drawn = SOURCES[name]().integers(0, span, 60_000)
    thirds = np.bincount(np.minimum((drawn.astype(object) * 3 // span).astype(int), 2), minlength=3)
    assert _pvalue(thirds, np.full(3, 20_000.0)) > 1e-8


@given(low=st.integers(-(2**62), 2**62), span=st.integers(1, 2**62), size=st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_integers_stay_in_their_range(low, span, size):
    drawn = seeded(3).integers(low, low + span, size)
    assert drawn.dtype == np.int64
    assert drawn.shape == (size,)
    assert all(low <= int(value) < low + span for value in drawn)


def test_a_shape_is_filled():
    assert secure().integers(0, 10, (3, 4)).shape == (3, 4)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (5, 4), (0, 2**64), (-(2**63) - 1, 0)])
def test_impossible_ranges_are_refused(low, high):
    with pytest.raises(ParameterError, match="range"):
        secure().integers(low, high, 1)


def test_seeded_bits_replay_and_secure_bits_do_not():
    assert seeded(5).bytes(64) == seeded(5).bytes(64)
    assert seeded(5).bytes(64) != seeded(6).bytes(64)
    assert secure().bytes(64) != secure().bytes(64)
    assert seeded(5).seeded
    assert not secure().seeded


def test_seeded_bits_are_the_same_on_every_machine_and_version():
    # golden values: a change breaks the replay of every saved run
    bits = seeded(2024)
    assert bits.bytes(8).hex() == "e8cad43d564803ad"
    assert bits.integers(0, 1000, 6).tolist() == [217, 931, 676, 733, 225, 337]


def test_secure_bits_differ_after_a_fork():
    context = multiprocessing.get_context("fork")
    secure().bytes(8)
    with context.Pool(2) as pool:
        first, second = pool.map(_draw_in_child, [0, 1], chunksize=1)
    assert first != second
    assert secure().bytes(16) not in (first, second)


def _draw_in_child(_index):
    return secure().bytes(16)


def test_none_is_secure_and_an_integer_is_seeded():
    assert not bits_of(None).seeded
    assert bits_of(7).bytes(16) == seeded(7).bytes(16)
    assert bits_of(np.int32(7)).bytes(16) == seeded(7).bytes(16)
    mine = seeded(1)
    assert bits_of(mine) is mine
    assert isinstance(secure(), Bits)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_numpy_generators_give_seeded_bits_and_move_on(make):
    first, second = make(3), make(3)
    assert bits_of(first).seeded
    once, again = bits_of(second).bytes(16), bits_of(second).bytes(16)
    assert bits_of(make(3)).bytes(16) == once
    assert once != again


@pytest.mark.parametrize("wrong", ["7", 1.5, True, [1]])
def test_other_random_states_are_refused(wrong):
    with pytest.raises(ParameterError, match="random_state"):
        bits_of(wrong)


def test_negative_seeds_are_refused():
    with pytest.raises(ParameterError, match="negative"):
        bits_of(-1)


def test_generators_replay_when_seeded_and_not_otherwise():
    assert np.array_equal(generator(seeded(4)).normal(size=5), generator(seeded(4)).normal(size=5))
    assert not np.array_equal(generator(secure()).normal(size=5), generator(secure()).normal(size=5))


def test_nobody_else_imports_randomness():
    source = Path(__file__).parents[1] / "src" / "discreet"
    files = [path for path in source.rglob("*.py") if path.name != "randomness.py"]
    assert files
    for path in files:
        assert not _random_names(ast.parse(path.read_text())) & {"numpy.random", "random", "secrets"}, path


def _random_names(tree):
    """Modules imported at run time (not those under TYPE_CHECKING), and np.random used as an attribute."""
    names = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("np.random", "numpy.random"):
            names.add("numpy.random")
        names |= _random_names(node)
    return names


def test_noise_code_imports_fast():
    slow = ("opendp", "dp_accounting", "scipy.stats", "sklearn", "pandas", "polars", "matplotlib")
    code = (
        "import discreet.mechanisms.noise, discreet.audit.game, discreet.audit.bits, sys;"
        f"print([name for name in {slow!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_expanded_key_is_the_same_for_all_who_hold_it():
    key = secure().bytes(16)
    one, two = expand(key, "masks"), expand(key, "masks")
    assert one.bytes(1000) == two.bytes(300) + two.bytes(700)
    assert not one.seeded
    assert expand(key, "masks", seeded=True).seeded
    assert np.array_equal(one.integers(0, 10**12, 50), two.integers(0, 10**12, 50))
    assert "masks" not in repr(one)
    assert key.hex() not in repr(one)


def test_domains_and_keys_of_an_expansion_share_no_bits():
    key = bytes(range(16))
    blocks = [
        expand(key, "a").bytes(64),
        expand(key, "b").bytes(64),
        expand(key + b"\0", "a").bytes(64),
        expand(key[::-1], "a").bytes(64),
    ]
    pieces = {block[at : at + 16] for block in blocks for at in range(0, 64, 16)}
    assert len(pieces) == 16


def test_an_expansion_is_aes_in_counter_mode_keyed_by_hmac():
    """The vector is recomputed from its parts, by another path: HMAC of hashlib, AES one block at a time."""
    key, domain = bytes(range(32)), "vector"
    inner = hashlib.sha256(
        bytes(a ^ 0x36 for a in key.ljust(64, b"\0"))
        + b"discreet expand 1\0"
        + (32).to_bytes(4, "little")
        + domain.encode()
    )
    secret = hashlib.sha256(bytes(a ^ 0x5C for a in key.ljust(64, b"\0")) + inner.digest()).digest()
    block = Cipher(algorithms.AES(secret[:16]), modes.ECB()).encryptor()
    start = int.from_bytes(secret[16:], "big")
    counters = b"".join(((start + at) % 2**128).to_bytes(16, "big") for at in range(4))
    assert expand(key, domain).bytes(64) == block.update(counters)
    assert expand(key, domain).bytes(16).hex() == "339e98a27f174c7527e0ecec15e7dd2d"


@pytest.mark.parametrize(("key", "domain"), [(b"", "a"), (bytes(15), "a"), (bytes(16), "")])
def test_short_keys_and_empty_domains_are_refused(key, domain):
    with pytest.raises(ParameterError):
        expand(key, domain)


def test_expanded_bits_are_uniform():
    counts = np.bincount(np.frombuffer(expand(bytes(16), "uniform").bytes(1 << 18), np.uint8), minlength=256)
    assert _pvalue(counts, np.full(256, 1024.0)) > 1e-8
