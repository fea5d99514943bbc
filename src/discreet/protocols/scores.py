"""Linear forms of one party's numbers by another party's weights: each ends with shares of the results.

The *asker* holds features (rows x features), the *scorer* weights (features x outputs) and constants
(outputs). After one message each way both hold additive shares, modulo 2**share_bits, of features @ weights
+ constants. The same with a query and a series gives every window's correlation. Quadratic terms are
features, too.

    asker   -> scorer    "scores/query"     a public key and encrypted features
    scorer  -> asker     "scores/answer"    encrypted results, masked and flooded

**Reveals** nothing but sizes and the agreed bounds. To the scorer: encryptions. To the asker: a uniform
share and, within 2**-40 and the security of the lattice cipher, nothing of the weights
(`discreet.crypto.setting`). **Trusts** that both follow the protocol: an asker who makes errors in its
ciphertexts larger than agreed reads three bits of a weight from every result. With ``exact=False`` it does
not, whatever it sends: it sees nothing but its share, of any linear form of the weights that it likes, and
could learn only from what is later done with it. **Exact**, or in that case off by one at most: `Scores`
refuses bounds under which a result could leave its share; each party checks its own numbers against the
bounds before it draws or sends anything.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto.lattice import Answer, Cipher, PublicKey, Table, draw_masks, keys, share_of
from discreet.crypto.layout import Correlation, Matrix
from discreet.crypto.setting import Setting
from discreet.errors import ParameterError, RangeError
from discreet.protocols.step import Limit, Receive, Send, domain
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.protocols.step import Arrays, Steps
    from discreet.randomness import Bits

__all__ = ["Asking", "Masks", "Scores", "ask", "prepared", "score"]

_VERSION = 1
_SEED = 32


@dataclass(frozen=True)
class Scores:
    """What both agree to: the job, and how large numbers may be.

    ``largest`` and ``heaviest`` bound the sizes of the asker's and the scorer's integers, ``constant`` that
    of the constants, and ``total``, if given, what the sizes of the weights of one result add up to. Raises
    `ParameterError` if a result could leave ``share_bits`` bits with a sign. Unless ``exact``, shares join to
    the result, one more or one less, and nothing is trusted of the asker.
    """

    layout: Matrix | Correlation
    largest: int
    heaviest: int
    share_bits: int
    constant: int = 0
    total: int = 0
    exact: bool = True

    def __post_init__(self) -> None:
        if min(self.largest, self.heaviest) < 1 or min(self.constant, self.total) < 0:
            raise ParameterError("bounds are positive", got=(self.largest, self.heaviest, self.constant))
        reach = self.largest * self._weight + self.constant + (not self.exact)
        if reach >= 1 << (self.share_bits - 1):
            raise ParameterError(
                "a result could leave its share", got=self.share_bits,
                wanted=f"share_bits >= {reach.bit_length() + 1}",
                remedy="Take more share bits or coarser numbers.",
            )  # fmt: skip
        _ = self.setting

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a plan that both sides hash."""
        kind = "matrix" if isinstance(self.layout, Matrix) else "correlation"
        sizes = {"largest": self.largest, "heaviest": self.heaviest, "constant": self.constant}
        more = {"share_bits": self.share_bits, "total": self.total, "exact": self.exact}
        return {"kind": kind, **asdict(self.layout), **sizes, **more}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Scores:
        """From plain data."""
        names = ("largest", "heaviest", "share_bits", "constant", "total", "exact")
        sizes = {name: plain[name] for name in names}
        made = Matrix if plain["kind"] == "matrix" else Correlation
        rest = {name: plain[name] for name in plain if name not in sizes and name != "kind"}
        return Scores(made(**rest), **sizes)

    @property
    def terms(self) -> int:
        """How many products are summed in a result."""
        return self.layout.inner if isinstance(self.layout, Matrix) else self.layout.query

    @cached_property
    def setting(self) -> Setting:
        """The lattice's sizes."""
        layout, weight = self.layout, self.layout.weight(self.heaviest)
        if self.total:
            weight = min(weight, layout.together * self.total)
        return Setting(self.share_bits, weight, layout.opened, layout.degree, self.exact)

    @property
    def _weight(self) -> int:
        """The most that weights of a result add up to."""
        each = self.terms * self.heaviest
        return min(each, self.total) if self.total else each

    @property
    def query(self) -> dict[str, Limit]:
        """What the asker's message holds."""
        primes, degree = len(self.setting.ring.moduli), self.setting.degree
        rows, inner, _ = self.layout.counts
        return {
            "key_seed": Limit.raw(_SEED),
            "key_low": Limit.array("<u2", (primes, degree)),
            "key_high": Limit.array("|u1", (primes, degree)),
            "seed": Limit.raw(_SEED),
            "low": Limit.array("<u2", (primes, rows, inner, degree)),
            "high": Limit.array("|u1", (primes, rows, inner, degree)),
        }

    @property
    def answer(self) -> dict[str, Limit]:
        """What the scorer's message holds."""
        rows, _, outputs = self.layout.counts
        width, positions = self.setting.wire_bytes, self.layout.positions.size
        return {
            "mask": Limit.array("|u1", (rows, outputs, self.setting.degree, width)),
            "body": Limit.array("|u1", (rows, outputs, positions, width)),
        }


class Asking:
    """The asker's role in two halves, so that several jobs may be under way; features as for `ask`."""

    def __init__(self, features: NDArray[np.int64], agreed: Scores, bits: Bits) -> None:
        polynomials = agreed.layout.left(_checked(features, agreed.largest))
        own = expand(bits.bytes(32), domain("scores", _VERSION, "ask"), seeded=bits.seeded)
        self._agreed = agreed
        self._secret, public = keys(agreed.setting, own)
        self._message = _message(public, self._secret.encrypt(polynomials, own))

    def __repr__(self) -> str:
        return "Asking(...)"

    def send(self) -> Steps[None]:
        """Send the question."""
        yield Send("scores/query", self._message)
        self._message = {}

    def receive(self) -> Steps[NDArray[np.uint64]]:
        """Wait for the answer; the asker's shares."""
        told = yield Receive("scores/answer", self._agreed.answer)
        layout = self._agreed.layout
        return layout.read(self._secret.open(Answer(told["mask"], told["body"]), layout.positions))


def ask(features: NDArray[np.int64], agreed: Scores, bits: Bits) -> Steps[NDArray[np.uint64]]:
    """The asker's role: its features (rows x features), or its query; returns its shares."""
    asking = Asking(features, agreed, bits)
    yield from asking.send()
    return (yield from asking.receive())


@dataclass(frozen=True, eq=False)
class Masks:
    """What hides the results of one job, drawn before it is asked: so the scorer's share is known by then."""

    agreed: Scores
    values: NDArray[Any]

    def __repr__(self) -> str:
        return "Masks(...)"

    @staticmethod
    def draw(agreed: Scores, bits: Bits) -> Masks:
        """Fresh masks, for one job only."""
        rows, _, outputs = agreed.layout.counts
        shape = (rows, outputs, agreed.layout.positions.size)
        return Masks(agreed, draw_masks(agreed.setting, shape, bits))

    def share(self, constants: NDArray[np.int64] | None = None) -> NDArray[np.uint64]:
        """The scorer's shares of the job in which these masks will be used."""
        return _shifted(self.agreed, share_of(self.agreed.setting, self.values), constants)


def score(
    weights: NDArray[np.int64] | Table,
    agreed: Scores,
    bits: Bits,
    constants: NDArray[np.int64] | None = None,
    masks: Masks | None = None,
) -> Steps[NDArray[np.uint64]]:
    """The scorer's role: its weights (features x outputs), series or `prepared` table; returns its shares."""
    table = weights if isinstance(weights, Table) else prepared(weights, agreed)
    if masks is not None and masks.agreed != agreed:
        raise ParameterError("masks were drawn for another job")
    if constants is not None:
        _checked(constants, agreed.constant)
    own = expand(bits.bytes(32), domain("scores", _VERSION, "score"), seeded=bits.seeded)
    told = yield Receive("scores/query", agreed.query)
    public = PublicKey(agreed.setting, told["key_seed"], told["key_low"], told["key_high"])
    cipher = Cipher(told["seed"], told["low"], told["high"])
    drawn = None if masks is None else masks.values
    answer, shares = public.compute(cipher, table, agreed.layout.positions, own, drawn)
    yield Send("scores/answer", {"mask": answer.mask, "body": answer.body})
    return _shifted(agreed, shares, constants)


def prepared(weights: NDArray[np.int64], agreed: Scores) -> Table:
    """The scorer's weights, transformed once for many askers. Raises `RangeError` if they are too large."""
    if agreed.total and weights.ndim == 2 and (np.abs(weights).sum(axis=0) > agreed.total).any():
        raise RangeError("weights of a result add up to more than agreed", wanted=f"<= {agreed.total}")
    return Table.of(agreed.setting, agreed.layout.right(_checked(weights, agreed.heaviest)))


def _shifted(
    agreed: Scores, shares: NDArray[np.uint64], constants: NDArray[np.int64] | None
) -> NDArray[np.uint64]:
    """Shares in the order of the job, constants added."""
    offset = np.zeros((), dtype=np.int64) if constants is None else _checked(constants, agreed.constant)
    whole = agreed.layout.read(shares) + offset.view(np.uint64)
    return whole & np.uint64((1 << agreed.share_bits) - 1)


def _checked(values: NDArray[np.int64], largest: int) -> NDArray[np.int64]:
    if values.dtype != np.int64:
        raise ParameterError(
            "numbers must be int64", got=str(values.dtype), remedy="Put them on a grid first."
        )
    if values.size and not (-largest <= values.min() and values.max() <= largest):
        raise RangeError("a number is larger than agreed", wanted=f"|number| <= {largest}")
    return values


def _message(public: PublicKey, cipher: Cipher) -> Arrays:
    message: dict[str, Any] = {"key_seed": public.seed, "key_low": public.low, "key_high": public.high}
    return message | {"seed": cipher.seed, "low": cipher.low, "high": cipher.high}
