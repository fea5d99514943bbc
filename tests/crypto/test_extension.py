"""The extension: correlated rows, pads that hide, and a cheating receiver that is caught."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc

from discreet.crypto import extension
from discreet.crypto.block import (
    EPOCH,
    Tweaks,
    derive,
    hash_blocks,
    pack_bits,
    transpose_bits,
    unpack_bits,
)
from discreet.crypto.choice import choice_bits, mask, rows_needed, unmask
from discreet.crypto.extension import COLUMNS, LOT, Receiver, Sender, columns_shape
from discreet.errors import ParameterError, ProtocolError
from discreet.randomness import secure, seeded

RANDOM = np.random.default_rng(4)


def ends(offset=None, session=b"s"):
    """A receiver and a sender that hold seeds as base transfers would have given them."""
    offset = offset or bytes([os.urandom(1)[0] | 1]) + os.urandom(15)
    signs = unpack_bits(np.frombuffer(offset, dtype=np.uint8), COLUMNS)
    seeds = [(os.urandom(32), os.urandom(32)) for _ in range(COLUMNS)]
    chosen = [pair[sign] for pair, sign in zip(seeds, signs, strict=True)]
    return Receiver(seeds, session), Sender(offset, chosen, session), signs


def bits(count):
    return RANDOM.integers(0, 2, count).astype(np.uint8)


def bytes_are_uniform(raw, least=1e-8):
    counts = np.bincount(np.frombuffer(raw, dtype=np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert expected > 20
    assert chdtrc(255, float(((counts - expected) ** 2 / expected).sum())) > least


@pytest.mark.parametrize("counts", [[1], [7, 130], [128], [127, 1, 129], [5000, 64], [LOT]])
def test_rows_differ_by_the_offset_where_the_choice_is_one(counts):
    receiver, sender, _ = ends()
    for count in counts:
        choices = bits(count)
        columns, proof, told = receiver.extend(choices, secure())
        rows = sender.extend(columns, proof, count)
        assert columns.shape == columns_shape(count)
        assert len(rows) == len(told) == count
        assert rows.first == told.first
        difference = rows.blocks ^ told.blocks
        assert np.array_equal(difference, choices[:, None].astype(np.uint64) * sender.offset)
        both, mine = sender.pads(rows, 2), receiver.pads(told, 2)
        assert np.array_equal(np.where(choices[:, None, None] == 1, both[1], both[0]), mine)
        assert not (both[0] == both[1]).all(axis=-1).any()


def test_rows_and_pads_do_not_repeat():
    receiver, sender, _ = ends()
    seen = []
    for _ in range(3):
        columns, proof, _ = receiver.extend(np.zeros(300, dtype=np.uint8), secure())
        seen.append(sender.pads(sender.extend(columns, proof, 300)).reshape(-1, 2))
    assert len(np.unique(np.concatenate(seen), axis=0)) == 3 * 600


class Cheat(Receiver):
    """A receiver that uses other choices in some columns, and then proves as well as it can."""

    def cheat(self, choices, change):
        """``change`` (128, bytes) is added to the columns sent; the proof is made for what was sent."""
        packed = np.frombuffer(secure().bytes(columns_shape(len(choices))[1]), dtype=np.uint8).copy()
        packed[: len(choices) // 8] = pack_bits(choices)
        zero, one = (
            extension._columns([pair[side] for pair in self._streams], len(packed)) for side in (0, 1)
        )
        sent = zero ^ one ^ packed
        sent[:, : change.shape[1]] ^= change
        fold = extension._Fold(self._session, self._next, sent)
        rows = self._rows(zero, len(choices))
        return sent, extension.Proof(fold.linear(packed), derive(*fold.tags(zero))), rows


def cheats(offset=None):
    receiver, sender, signs = ends(offset)
    receiver.__class__ = Cheat
    return receiver, sender, signs


@pytest.mark.parametrize("change", [1, 255])
def test_a_receiver_that_cheats_in_one_column_passes_only_if_it_guessed_the_bit(change):
    passed = set()
    for column in range(0, COLUMNS, 9):
        receiver, sender, signs = cheats(b"\x55" * 16)
        flipped = np.zeros((COLUMNS, 8), dtype=np.uint8)
        flipped[column, 3] = change
        columns, proof, _ = receiver.cheat(bits(504), flipped)
        if signs[column]:
            with pytest.raises(ProtocolError, match="same choices"):
                sender.extend(columns, proof, 504)
        else:  # the sender uses nothing of this column: the guess would have cost half of all tries
            sender.extend(columns, proof, 504)
        passed.add(int(signs[column]))
    assert passed == {0, 1}


def test_the_cheat_is_otherwise_honest():
    receiver, sender, _ = cheats()
    choices = bits(504)
    columns, proof, told = receiver.cheat(choices, np.zeros((COLUMNS, 1), dtype=np.uint8))
    rows = sender.extend(columns, proof, 504)
    assert np.array_equal(rows.blocks ^ told.blocks, choices[:, None].astype(np.uint64) * sender.offset)


@pytest.mark.parametrize("cheated", [40, 64, 128])
def test_a_receiver_that_cheats_in_many_columns_is_caught_and_the_session_ends(cheated):
    receiver, sender, _ = cheats()
    change = np.zeros((COLUMNS, 1), dtype=np.uint8)
    chosen = RANDOM.choice(COLUMNS, cheated, replace=False)
    change[chosen, 0] = 1 + np.arange(cheated) % 255
    columns, proof, _ = receiver.cheat(bits(504), change)
    with pytest.raises(ProtocolError, match="same choices"):
        sender.extend(columns, proof, 504)
    honest, proof, _ = receiver.extend(bits(500), secure())
    with pytest.raises(ProtocolError, match="caught"):
        sender.extend(honest, proof, 500)


def test_columns_changed_after_the_proof_are_caught_in_every_column():
    for column in range(0, COLUMNS, 17):
        receiver, sender, _ = ends()
        columns, proof, _ = receiver.extend(bits(500), secure())
        columns[column, 0] ^= 1
        with pytest.raises(ProtocolError, match="same choices"):
            sender.extend(columns, proof, 500)


@pytest.mark.parametrize("part", ["fold", "digest"])
def test_a_wrong_proof_is_caught(part):
    receiver, sender, _ = ends()
    columns, proof, _ = receiver.extend(bits(500), secure())
    wrong = bytearray(getattr(proof, part))
    wrong[5] ^= 4
    with pytest.raises(ProtocolError, match="same choices"):
        sender.extend(columns, replace(proof, **{part: bytes(wrong)}), 500)


def test_another_session_or_another_order_is_caught():
    receiver, sender, _ = ends()
    first = receiver.extend(bits(200), secure())
    second = receiver.extend(bits(200), secure())
    with pytest.raises(ProtocolError):
        sender.extend(second[0], second[1], 200)
    del first
    _, other, _ = ends(session=b"t")
    with pytest.raises(ProtocolError):
        other.extend(*receiver.extend(bits(200), secure())[:2], 200)


def test_columns_of_another_shape_are_refused():
    receiver, sender, _ = ends()
    columns, proof, _ = receiver.extend(bits(200), secure())
    with pytest.raises(ProtocolError, match="shape"):
        sender.extend(columns[:, :-1], proof, 200)
    with pytest.raises(ProtocolError, match="shape"):
        sender.extend(columns, replace(proof, fold=b"x"), 200)
    for count in (0, LOT + 1):
        with pytest.raises(ParameterError, match="lot"):
            columns_shape(count)
    with pytest.raises(ParameterError, match="128"):
        Receiver([(bytes(32), bytes(32))] * 127, b"s")


@pytest.mark.parametrize("choice", [0, 1])
def test_what_the_sender_sees_is_uniform_whatever_the_choices(choice):
    receiver, _, _ = ends()
    columns, proof, _ = receiver.extend(np.full(4000, choice, dtype=np.uint8), secure())
    bytes_are_uniform(columns.tobytes())
    folds = [receiver.extend(np.full(8, choice, dtype=np.uint8), secure())[1].fold for _ in range(400)]
    bytes_are_uniform(b"".join(folds))
    assert len(proof.digest) == 32


@given(
    count=st.integers(1, 40), options=st.integers(2, 17), words=st.integers(1, 5), seed=st.integers(0, 2**32)
)
@settings(max_examples=40, deadline=None)
def test_one_of_many_messages_is_taken(count, options, words, seed):
    receiver, sender, _ = ends()
    random = np.random.default_rng(seed)
    messages = random.integers(0, 2**63, (count, options, words)).astype(np.uint64)
    choices = random.integers(0, options, count)
    columns, proof, told = receiver.extend(choice_bits(choices, options), secure())
    rows = sender.extend(columns, proof, count * rows_needed(options))
    masked = mask(sender, rows, messages)
    assert np.array_equal(unmask(receiver, told, choices, masked), messages[np.arange(count), choices])
    others = unmask(receiver, told, (choices + 1) % options, masked)
    assert not (others == messages[np.arange(count), (choices + 1) % options]).any()


@pytest.mark.parametrize("options", [2, 5])
def test_messages_not_taken_look_uniform(options):
    receiver, sender, _ = ends()
    choices = np.zeros(3000, dtype=np.int64)
    columns, proof, told = receiver.extend(choice_bits(choices, options), secure())
    rows = sender.extend(columns, proof, 3000 * rows_needed(options))
    masked = mask(sender, rows, np.zeros((3000, options, 1), dtype=np.uint64))
    assert not unmask(receiver, told, choices, masked).any()
    bytes_are_uniform(masked[:, 1:].tobytes())


def test_choices_outside_the_options_are_refused():
    with pytest.raises(ParameterError, match="options"):
        choice_bits(np.array([3]), 3)
    with pytest.raises(ParameterError, match="options"):
        choice_bits(np.array([-1]), 3)
    with pytest.raises(ParameterError, match="options"):
        rows_needed(1)


@pytest.mark.parametrize("length", [8, 64, 1000])
def test_bits_are_transposed(length):
    columns = RANDOM.integers(0, 256, (128, length), dtype=np.uint8)
    found = transpose_bits(columns).view(np.uint8).reshape(-1, 16)
    wanted = np.unpackbits(columns, axis=1, bitorder="little").T
    assert np.array_equal(np.unpackbits(found, axis=1, bitorder="little"), wanted)
    assert np.array_equal(unpack_bits(pack_bits(wanted[0]), 128), wanted[0])


def test_what_cannot_be_transposed_is_refused():
    with pytest.raises(ParameterError, match="bits"):
        transpose_bits(np.zeros((127, 8), dtype=np.uint8))


def test_hashes_depend_on_position_part_and_nonce():
    blocks = np.zeros((3 * EPOCH, 2), dtype=np.uint64)
    tweaks = Tweaks(bytes(16))
    hashes = [
        hash_blocks(tweaks, blocks, 0),
        hash_blocks(tweaks, blocks, 0, 1),
        hash_blocks(Tweaks(b"\1" * 16), blocks, 0),
    ]
    assert len(np.unique(np.concatenate(hashes), axis=0)) == 9 * EPOCH
    later = hash_blocks(tweaks, blocks[:100], EPOCH - 50)
    assert np.array_equal(later, hashes[0][EPOCH - 50 : EPOCH + 50])


def test_seeded_bits_replay_an_extension():
    receiver, _, _ = ends()
    assert repr(receiver) == "Receiver(...)"
    a = receiver.extend(bits(5), seeded(1))[0]
    assert a.shape == (128, 32)
