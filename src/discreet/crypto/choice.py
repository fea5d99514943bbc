"""Chosen messages by transfer: 1 of 2, 1 of n, many words each, all transfers at once.

For 1 of 2 the sender masks both messages with the two pads of a row (`discreet.crypto.extension`), and the
receiver's pad takes off the mask of the chosen one. For 1 of n, ceil(log2 n) rows give keys k_(l,0), k_(l,1),
one pair for each bit l of the number; message i is masked by the exclusive or over l of H(k_(l, bit l of i),
i) (Naor and Pinkas 1999), which nobody can make who misses one of its keys.

**Assumes** what the extension assumes; a position is hashed n times, which takes log2 n bits off the 112 of
`discreet.crypto.block`. **Reveals** the number and length of messages. **Does not** stop a sender from
offering other messages than agreed, nor make it use the same messages in several transfers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.crypto.block import hash_blocks
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.crypto.block import Blocks, Tweaks
    from discreet.crypto.extension import Receiver, Rows, Sender

__all__ = ["choice_bits", "mask", "rows_needed", "unmask"]

_MOST = 2**16


def rows_needed(options: int) -> int:
    """Rows of the extension for one transfer of 1 of so many."""
    if not 2 <= options <= _MOST:
        raise ParameterError("a choice has 2 to 65536 options", got=options)
    return (options - 1).bit_length()


def choice_bits(choices: NDArray[Any], options: int) -> NDArray[np.uint8]:
    """Choices (n,) as the bits of all their rows (n times `rows_needed`)."""
    places = np.arange(rows_needed(options))
    if choices.size and not (int(choices.min()) >= 0 and int(choices.max()) < options):
        raise ParameterError("a choice is not among the options", wanted=f"0 to {options - 1}")
    return (choices.astype(np.int64)[:, None] >> places & 1).astype(np.uint8).ravel()


def mask(sender: Sender, rows: Rows, messages: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What the sender sends for messages (n, options, words)."""
    count, options, words = messages.shape
    width = -(-words // 2)
    pads = sender.pads(rows, width if options == 2 else 1)
    if options == 2:
        return messages ^ pads.reshape(2, count, 2 * width).transpose(1, 0, 2)[:, :, :words]
    keys = pads.reshape(2, count, rows_needed(options), 2)
    masked = messages.copy()
    for option in range(options):
        signs = option >> np.arange(rows_needed(options)) & 1
        chosen = np.where(signs[None, :, None] == 1, keys[1], keys[0])
        numbers = np.full(count, option)
        masked[:, option] ^= _stream(sender.choices, rows, chosen, numbers, width)[:, :words]
    return masked


def unmask(
    receiver: Receiver, rows: Rows, choices: NDArray[Any], masked: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """The chosen messages (n, words)."""
    count, options, words = masked.shape
    width = -(-words // 2)
    chosen = masked[np.arange(count), choices.astype(np.intp)]
    pads = receiver.pads(rows, width if options == 2 else 1)
    if options == 2:
        return chosen ^ pads.reshape(count, 2 * width)[:, :words]
    keys = pads.reshape(count, rows_needed(options), 2)
    return chosen ^ _stream(receiver.choices, rows, keys, choices, width)[:, :words]


def _stream(
    tweaks: Tweaks, rows: Rows, keys: Blocks, numbers: NDArray[Any], width: int
) -> NDArray[np.uint64]:
    """The mask of option ``numbers[j]`` from the keys (n, bits, 2) of transfer j: (n, 2 width) words."""
    count, depth, _ = keys.shape
    flat = keys.reshape(-1, 2)
    each = np.repeat(numbers.astype(np.uint64) * np.uint64(width), depth)
    parts = [hash_blocks(tweaks, flat, rows.first, each + np.uint64(part)) for part in range(width)]
    return np.bitwise_xor.reduce(np.stack(parts, axis=1).reshape(count, depth, 2 * width), axis=1)
