"""Derived keys and masks are those of the labels written here: a change would part old and new versions.

Expansion is done by hand (HMAC-SHA256, then AES-128 in counter mode), not by `expand`.
"""

import hmac

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.crypto.agreement import Agreement, sealed
from discreet.crypto.ring import Ring
from discreet.crypto.trio import zero
from discreet.crypto.triple import Form, expanded
from discreet.protocols.step import domain
from discreet.protocols.total import Total
from discreet.randomness import expand, seeded

KEY = bytes(range(32))


def stream(key, label, count):
    told = b"discreet expand 1\0" + len(key).to_bytes(4, "little") + label.encode()
    made = hmac.digest(key, told, "sha256")
    return Cipher(algorithms.AES(made[:16]), modes.CTR(made[16:])).encryptor().update(bytes(count))


def words(key, label, count):
    return np.frombuffer(stream(key, label, 8 * count), dtype="<u8")


def test_a_dealers_seed_stands_for_these_words():
    form = Form("pairs", 3, 2, 2)
    triple = expanded(form, KEY, 5)
    drawn = words(KEY, "discreet/triple/1/5/pairs/3/2/2", 24)
    assert (
        np.concatenate([part.ravel() for part in (triple.a, triple.b, triple.c)]).tolist() == drawn.tolist()
    )


def test_shares_of_zero_are_differences_of_these_words():
    other = KEY[::-1]
    got = zero((4,), KEY, other, 9)
    assert (
        got.tolist() == (words(KEY, "discreet/trio/1/9", 4) - words(other, "discreet/trio/1/9", 4)).tolist()
    )


def test_masks_of_a_total_are_these_words():
    agreed = Total(5, ("a", "b"), 2, b"\x01\x02", 10)
    label = "discreet/5:total/1:2/4:0102/4:mask/3:own"
    assert agreed.label("mask", "own") == label
    assert agreed.mask(KEY, "own").tolist() == words(KEY, label, 5).tolist()
    assert domain("pair", 1, "a", "b") == "discreet/4:pair/1:1/1:a/1:b"


def test_a_note_is_sealed_under_this_key():
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    secret = Agreement(KEY).shared(Agreement(KEY[::-1]).public)
    assert sealed(b"note", secret, "a label") == AESGCM(stream(secret, "a label", 32)).encrypt(
        bytes(12), b"note", None
    )


def test_uniform_polynomials_are_cut_from_these_words():
    """23 bits of each four bytes, thrown away if not below the prime, then centred."""
    ring = Ring.of(1024, 1)
    prime = ring.moduli[0]
    drawn = np.frombuffer(stream(KEY, "a label", 1 << 15), dtype="<u4").astype(np.int64) & (2**23 - 1)
    wanted = drawn[drawn < prime][:1024] - prime // 2
    assert ring.uniform(1, expand(KEY, "a label"))[0, 0].tolist() == wanted.tolist()


def test_seeds_replay_whole_roles():
    assert Agreement.draw(seeded(3)).public == Agreement.draw(seeded(3)).public
