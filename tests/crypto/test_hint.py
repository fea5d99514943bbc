"""Tables of hints: right for the maker's keys, random for all others, uniform whatever the keys are."""

import numpy as np
import pytest
from uniform import assert_uniform, bits_of

from discreet.crypto.hint import NONCE, Hint
from discreet.errors import ParameterError
from discreet.randomness import secure, seeded


def words(count, bits=None):
    raw = (bits or secure()).bytes(16 * count)
    return np.frombuffer(raw, "<u8").astype(np.uint64).reshape(-1, 2)


def names(count, prefix="key"):
    return [f"{prefix}{i}".encode() for i in range(count)]


def slow_read(hint, key, nonce, cells):
    """One key by the equation of the docstring, with integers."""
    import hashlib

    raw = hashlib.blake2b(key, key=nonce, digest_size=24, person=b"discreet/1/hint").digest()
    start = int.from_bytes(raw[:8], "little") % (hint.cells - 128 + 1)
    band = int.from_bytes(raw[8:], "little") | 1
    total = 0
    for j in range(128):
        if band >> j & 1:
            total ^= int.from_bytes(cells[start + j].astype("<u8").tobytes(), "little")
    return total


@pytest.mark.parametrize("count", [0, 1, 2, 60, 700])
@pytest.mark.parametrize("spare", [0, 300])
def test_keys_get_their_values(count, spare):
    hint, values = Hint(max(1, count + spare)), words(count)
    nonce, cells = hint.write(names(count), values, secure())
    assert len(nonce) == NONCE
    assert cells.shape == (hint.cells, 2)
    assert np.array_equal(hint.read(names(count), nonce, cells), values)


def test_reading_is_the_equation_that_the_docstring_says():
    hint, values = Hint(50), words(50)
    nonce, cells = hint.write(names(50), values, secure())
    slow = [slow_read(hint, key, nonce, cells) for key in [*names(50), b"other"]]
    fast = hint.read([*names(50), b"other"], nonce, cells)
    assert [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in fast] == slow


def test_other_keys_get_random_values():
    hint = Hint(400)
    nonce, cells = hint.write(names(400), words(400), secure())
    read = hint.read(names(3000, "other"), nonce, cells)
    assert_uniform(read, 2.0**64)
    assert len({row.tobytes() for row in read}) == 3000


@pytest.mark.parametrize("count", [0, 20, 100])
def test_a_table_is_uniform_whatever_its_keys_are(count):
    hint = Hint(100)
    tables = [hint.write(names(count), words(count), secure())[1] for _ in range(60)]
    assert_uniform(np.stack(tables), 2.0**64)
    share = np.mean([bits_of(table) for table in tables], axis=0)  # of ones, for each bit of the table
    assert np.abs(share - 0.5).max() < 8 * 0.5 / np.sqrt(60)


def test_the_same_bits_write_the_same_table():
    values = words(30)
    one, two = (Hint(30).write(names(30), values, seeded(4)) for _ in range(2))
    assert one[0] == two[0]
    assert np.array_equal(one[1], two[1])


class Counted:
    """Replayed bits that count how often a nonce is drawn."""

    seeded = True

    def __init__(self):
        self.source, self.nonces = seeded(7), 0

    def bytes(self, count):
        self.nonces += count == NONCE
        return self.source.bytes(count)

    def integers(self, low, high, size):
        return self.source.integers(low, high, size)


@pytest.mark.parametrize(("width", "again"), [(16, True), (128, False)])
def test_a_nonce_without_solution_is_drawn_again(width, again):
    hint, values, bits = Hint(500, width), words(500), Counted()
    for _ in range(20):
        nonce, cells = hint.write(names(500), values, bits)
        assert np.array_equal(hint.read(names(500), nonce, cells), values)
    assert (bits.nonces > 20) == again


def test_bits_that_are_not_random_are_noticed():
    class Stuck(Counted):
        def bytes(self, count):
            return bytes(count)

    hint = Hint(400, 8)
    with pytest.raises(ParameterError, match="cannot be written"):
        hint.write(names(400), words(400), Stuck())


def test_repeated_keys_too_many_keys_and_other_shapes_are_refused():
    for keys, values in ((names(3) * 2, words(6)), (names(11), words(11)), (names(3), words(4))):
        with pytest.raises(ParameterError, match="repeat, or are too many"):
            Hint(10).write(keys, values, secure())
    for count, width in ((0, 128), (5, 129), (5, 12), (5, 136)):
        with pytest.raises(ParameterError, match="not a table"):
            Hint(count, width)
