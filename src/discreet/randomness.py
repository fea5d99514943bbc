"""The one door for randomness: secure bits, replayable bits, and a generator for released models.

Noise that protects people must be unpredictable, drawn exactly, and never drawn twice. So mechanisms ask a
`Bits` for uniform integers and build exact distributions from them; nobody else imports ``numpy.random``.

* `secure` reads the operating system at every call. It keeps no state: nothing to reseed, nothing that two
  forked processes could share, nothing to find in a memory dump. It costs some 3 ns a byte, which is little
  beside the exact sampling that follows.
* `seeded` replays: the same seed gives the same bits on every machine and numpy version, because it uses
  only the raw stream of PCG64 (which numpy keeps stable) and our own integers on top. Whoever knows or
  guesses the seed can subtract the noise, so results made with it are marked *not private (seeded)*.
* `expand` stretches a short secret key to as many bits as a protocol needs, by AES-CTR: fast, and the same
  for two parties who hold the same key. Every use names its domain, and no two domains share bits.
* `generator` is for what happens after a release: sampling from a model, shuffling public things. It draws
  in doubles, so it must never make noise (`discreet.audit.bits` shows why).
"""

from __future__ import annotations

import hmac
import math
import os
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Bits", "Generator", "RandomState", "bits_of", "expand", "generator", "secure", "seeded"]

_EXPANSION = b"discreet expand 1\0"

Size = int | tuple[int, ...]


Generator = np.random.Generator
"""The type of what `generator` makes, for those who may not import ``numpy.random``."""


@runtime_checkable
class Bits(Protocol):
    """A source of uniform bits. ``seeded`` says whether somebody could draw the same bits again."""

    @property
    def seeded(self) -> bool:
        """True if the bits can be replayed, so that noise made of them protects nobody."""
        ...

    def bytes(self, count: int) -> bytes:
        """Uniform bytes."""
        ...

    def integers(self, low: int, high: int, size: Size) -> NDArray[np.int64]:
        """Integers uniform in [low, high), without bias."""
        ...


RandomState = int | np.integer | np.random.Generator | np.random.RandomState | Bits | None
"""What scikit-learn users pass as ``random_state``, and our own bits."""


class _Secure:
    """Bits of the operating system."""

    seeded = False

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def integers(self, low: int, high: int, size: Size) -> NDArray[np.int64]:
        return _uniform(os.urandom, low, high, size)

    def __repr__(self) -> str:
        return "secure()"


class _Seeded:
    """Bits that a seed replays."""

    seeded = True

    def __init__(self, seed: int) -> None:
        self._stream = np.random.PCG64(seed)

    def bytes(self, count: int) -> bytes:
        words: NDArray[np.uint64] = self._stream.random_raw(-(-count // 8))
        return words.astype("<u8").tobytes()[:count]

    def integers(self, low: int, high: int, size: Size) -> NDArray[np.int64]:
        return _uniform(self.bytes, low, high, size)

    def __repr__(self) -> str:
        return "seeded(...)"


class _Expanded:
    """Bits of AES-128 in counter mode."""

    def __init__(self, secret: bytes, seeded: bool) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self.seeded = seeded
        self._stream = Cipher(algorithms.AES(secret[:16]), modes.CTR(secret[16:32])).encryptor()

    def bytes(self, count: int) -> bytes:
        return self._stream.update(bytes(count))

    def integers(self, low: int, high: int, size: Size) -> NDArray[np.int64]:
        return _uniform(self.bytes, low, high, size)

    def __repr__(self) -> str:
        return "expand(...)"


def secure() -> Bits:
    """Bits of the operating system, for everything that protects people.

    **Trusts** the operating system's generator.
    """
    return _Secure()


def seeded(seed: int) -> Bits:
    """Bits that the same seed gives again, for tests and reproducible runs.

    **Reveals** the noise to everybody who knows the seed: results are not private.
    """
    if seed < 0:
        raise ParameterError("a seed must not be negative", got=seed, wanted="an integer >= 0")
    return _Seeded(seed)


def expand(key: bytes, domain: str, *, seeded: bool = False) -> Bits:
    """The bits that a secret key stands for in one domain: the same for everybody who holds the key.

    **Trusts** the key: at least 16 uniform bytes, from `secure`, known to nobody else. Say ``seeded=True`` if
    it came from replayable bits. The stream moves on with every call, and a forked process would draw the
    same bits again: make one per process.

    With K, V = HMAC-SHA256(key, "discreet expand 1" || 0 || length of key || domain), the bits are those of
    AES-128-CTR under K from counter V. HMAC keeps domains apart (and pads keys with zeros, hence the
    length); the secret counter means that collecting many streams does not help to find one key. Security
    128 bits; a stream should stay below 2**40 blocks.
    """
    if len(key) < 16:
        raise ParameterError("a key to expand is too short", got=f"{len(key)} bytes", wanted="at least 16")
    if not domain:
        raise ParameterError("an expansion needs a domain", wanted="a text that no other use has")
    told = _EXPANSION + len(key).to_bytes(4, "little") + domain.encode()
    return _Expanded(hmac.digest(key, told, "sha256"), seeded)


def bits_of(random_state: RandomState) -> Bits:
    """The bits that a ``random_state`` stands for.

    None is `secure`; an integer is `seeded`; bits are themselves; a numpy generator gives a seed, so that
    the bits follow from its state and the state moves on, as scikit-learn users expect.
    """
    if random_state is None:
        return secure()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return seeded(int(random_state))
    if isinstance(random_state, np.random.Generator):
        return seeded(int(random_state.integers(0, 2**63 - 1)))
    if isinstance(random_state, np.random.RandomState):
        return seeded(int(random_state.randint(0, 2**63 - 1, dtype=np.int64)))
    if isinstance(random_state, Bits):
        return random_state
    raise ParameterError(
        "random_state is not a source of randomness",
        got=type(random_state).__name__,
        wanted="None, an integer, a numpy generator or discreet bits",
        remedy="Leave it out for a private result.",
    )


def generator(bits: Bits) -> np.random.Generator:
    """A numpy generator started from 256 of the given bits, to sample from what has been released.

    Never make noise with it: its doubles have holes that reveal the value underneath.
    """
    return np.random.Generator(np.random.PCG64(int.from_bytes(bits.bytes(32), "little")))


def _uniform(draw: Callable[[int], bytes], low: int, high: int, size: Size) -> NDArray[np.int64]:
    """Integers in [low, high): cut words to the bits that are needed, throw away those that are too large."""
    span = high - low
    if not 0 < span <= 2**63 or low < -(2**63) or high > 2**63:
        raise ParameterError("not a range of 64-bit integers", got=(low, high), wanted="low < high")
    count = size if isinstance(size, int) else math.prod(size)
    result = np.full(count, low, dtype=np.int64)
    if span > 1:
        _fill(draw, span, result)
    return result.reshape(size)


def _fill(draw: Callable[[int], bytes], span: int, result: NDArray[np.int64]) -> None:
    """Add a uniform integer below ``span`` to every element."""
    depth = (span - 1).bit_length()
    width = next(width for width in (1, 2, 4, 8) if 8 * width >= depth)
    word = np.dtype(f"<u{width}")
    mask = word.type(2**depth - 1)
    done = 0
    while done < result.size:
        wanted = result.size - done
        words = np.frombuffer(draw(width * (wanted * 2**depth // span + 1)), dtype=word) & mask
        if span < 2**depth:
            words = words[words < word.type(span)]
        words = words[:wanted]
        result[done : done + words.size] += words.astype(np.int64)
        done += words.size
