"""The sum of many members' numbers, of which nobody sees one: masks in pairs, drop-outs repaired, noise
inside.

After Bonawitz and others, "Practical secure aggregation for privacy-preserving machine learning" (2017).
Member i adds
    y_i = x_i + noise_i + F(b_i) + sum over j > i of F(s_ij) - sum over j < i of F(s_ij)    (mod 2**64),
F expanding a seed to masks. s_ij comes from the keys of i and j; b_i is i's own. Both i's mask key and b_i
are shared (Shamir) among the members, so that ``enough`` of them can take out what stays in the sum: b_i if
y_i arrived, and the masks s_ij of those who dropped out after sharing. No member gives both for the same i.

    member    -> collector  "total/keys"     two public keys           collector -> member   everybody's
    member    -> collector  "total/shares"   sealed shares for each    collector -> member   those for it
    member    -> collector  "total/masked"   y_i, tags                 collector -> member   whose y arrived
    member    -> collector  "total/lists"    tags                      collector -> member   who is left
    member    -> collector  "total/open"     shares to take out masks

The collector returns the sum and who is in it; members return who is in it.

**Drop-outs.** Whoever carries the messages throws `PeerError` into the collector's role where it waits for a
member that is gone; the collector goes on without it. With fewer than ``enough`` left it raises, and
nothing is opened. A member that sees fewer than ``enough`` survivors stops before it gives any share.
**Noise.** With a `Portion`, every member adds its own; what remains if ``colluding`` members take theirs
out is what the plan promised (`discreet.crypto.portion`), for as few as ``enough`` survivors. **Reveals**
the sum (with noise) over those who stayed to the collector, and who stayed to all. **Trusts** that the
collector passes keys on unchanged, and that at most ``colluding`` members and the collector pool what they
know. A member can falsify the sum unseen.
**Lists.** A collector that told members different lists could take one member's number out of the sum
without ever having both its secrets: some would give b_i of one list, others the keys of all its pairs. So
members seal for each other what they were told (`discreet.protocols.lists`): with y_i, who shared secrets;
then also whose y arrived. A member gives shares only if everybody in the sum counted on the same pairs, and
``enough`` were told the same arrivals. `Total` asks 2 enough > members + colluding, so there is one such
story at most, and what is opened is the sum of at least enough - colluding honest members, or nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.crypto import field
from discreet.crypto.agreement import NOTE, Agreement, opened, sealed
from discreet.crypto.block import derive
from discreet.crypto.portion import Portion
from discreet.crypto.sharing import join_shamir, masks, split_shamir
from discreet.errors import CipherError, ParameterError, PeerError, ProtocolError, RangeError
from discreet.protocols.lists import TAG, check_tags, tags_for, turned
from discreet.protocols.step import Limit, Receive, Send, domain
from discreet.randomness import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.crypto.portion import Sampler
    from discreet.protocols.step import Steps
    from discreet.randomness import Bits

    Numbers = NDArray[np.uint64]

__all__ = ["Total", "collect", "contribute"]

_VERSION = 2
_KEY = 32
_LIMBS = -(-_KEY // field.LIMB)
_SEALED = 2 * 8 * _LIMBS + NOTE


@dataclass(frozen=True)
class Total:
    """What all agree to: how many numbers, who takes part, and how many of them are enough.

    ``session`` is new for every run and separates its masks from those of other runs; ``largest`` bounds the
    size of every member's numbers, noise apart. Without a ``portion`` the sum is opened exactly.
    """

    size: int
    members: tuple[str, ...]
    enough: int
    session: bytes
    largest: int
    colluding: int = 0
    portion: Portion | None = None
    collector: str = "collector"

    def __post_init__(self) -> None:
        count = len(self.members)
        if count < 2 or len(set(self.members)) < count or self.size < 1 or not self.session:
            raise ParameterError("a total has members, each once, numbers, and a session", got=self.members)
        if not (2 * self.enough > count + self.colluding and self.enough <= count and self.colluding >= 0):
            raise ParameterError(
                "not enough members are asked to open masks", got=(self.enough, count, self.colluding),
                wanted="2 enough > members + colluding and enough <= members",
            )  # fmt: skip
        if not 1 <= self.largest * count < 2**62:
            raise ParameterError("a total could wrap around", got=self.largest, wanted=f"< {2**62 // count}")
        portion = self.portion
        if portion is not None and (portion.counted > self.enough or portion.colluding < self.colluding):
            raise ParameterError(
                "the noise promises more than the members who are enough add",
                got=(portion.counted, portion.colluding),
                wanted=f"counted <= {self.enough} and colluding >= {self.colluding}",
            )
        if portion is not None and float(portion.own) * count > 2.0**48:
            raise ParameterError(
                "the noise could wrap around", got=float(portion.own), wanted="a coarser grid"
            )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a plan that all hash."""
        portion = None if self.portion is None else asdict(self.portion)
        special = {"members": list(self.members), "session": self.session.hex(), "portion": portion}
        return {**asdict(self), **special}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Total:
        """From plain data."""
        portion = None if plain["portion"] is None else Portion(**plain["portion"])
        session = bytes.fromhex(plain["session"])
        special: dict[str, Any] = {"members": tuple(plain["members"]), "session": session, "portion": portion}
        return Total(**{**plain, **special})

    def label(self, *parts: object) -> str:
        """The domain of one derivation in this run."""
        return domain("total", _VERSION, self.session, *parts)

    def mask(self, seed: bytes, use: str) -> Numbers:
        """F: the masks that a seed stands for."""
        return masks((self.size,), expand(seed, self.label("mask", use)))


def contribute(
    name: str, numbers: NDArray[np.int64], agreed: Total, bits: Bits, sample: Sampler | None = None
) -> Steps[tuple[str, ...]]:
    """A member's role: its numbers, and a sampler if noise was agreed; returns who is in the sum."""
    own = _checked(numbers, agreed, sample)
    member = _Member(name, agreed, Agreement.draw(bits), Agreement.draw(bits), bits.bytes(_KEY))
    present, keys = yield from _everybodys_keys(member)
    ring = yield from _notes(member, {other: keys[other][0] for other in present}, bits)
    if agreed.portion is not None and sample is not None:
        own = own + agreed.portion.draw(sample, agreed.size, bits).view(np.uint64)
    masked = own + agreed.mask(member.seed, "own")
    for other in ring.secrets:
        masked = masked + _signed_mask(agreed, name, other, member.mask.shared(keys[other][1]))
    told = derive(b"pairs", *(part for other in ring.held for part in (other.encode(), *keys[other])))
    yield Send("total/masked", {"numbers": masked, "tags": ring.tags(told, "pairs")}, agreed.collector)
    return (yield from _opening(ring, told))


@dataclass(frozen=True, repr=False)
class _Member:
    """What one member keeps to itself: keys for notes and for masks, and the seed of its own mask."""

    name: str
    agreed: Total
    lock: Agreement
    mask: Agreement
    seed: bytes


@dataclass(frozen=True, repr=False)
class _Ring:
    """Those who shared their secrets: what one member holds of each, and shares with each other."""

    member: _Member
    held: dict[str, Numbers]
    secrets: dict[str, bytes]

    def tags(self, told: bytes, use: str) -> NDArray[np.uint8]:
        """What this member was told, sealed for all others."""
        agreed = self.member.agreed
        return tags_for(told, use, self.member.name, agreed.members, self.secrets, agreed.label)

    def check(self, tags: NDArray[np.uint8], told: bytes, use: str, among: tuple[str, ...]) -> None:
        """Refuse to go on if one of them was told something else."""
        agreed, name = self.member.agreed, self.member.name
        secrets = {other: self.secrets[other] for other in among if other != name}
        check_tags(tags, told, use, name, agreed.members, secrets, agreed.label)


def _everybodys_keys(member: _Member) -> Steps[tuple[tuple[str, ...], dict[str, tuple[bytes, bytes]]]]:
    """Who is there, and their keys, as the collector passed them on; one's own must be unchanged."""
    agreed, own = member.agreed, (member.lock.public, member.mask.public)
    yield Send("total/keys", {"lock": own[0], "mask": own[1]}, agreed.collector)
    rows = Limit.array("|u1", (len(agreed.members), _KEY))
    limits = {"present": _flags(agreed), "lock": rows, "mask": rows}
    told = yield Receive("total/keys", limits, agreed.collector)
    present = _named(agreed, told["present"], agreed.members, member.name)
    keys = {
        other: (told["lock"][index].tobytes(), told["mask"][index].tobytes())
        for index, other in enumerate(agreed.members)
    }
    if keys[member.name] != own:
        raise ProtocolError("the collector passed on other keys than it was given")
    return present, keys


def _notes(member: _Member, locks: dict[str, bytes], bits: Bits) -> Steps[_Ring]:
    """Hand out shares of both secrets in sealed notes; the two shares held of every member that did."""
    agreed, name = member.agreed, member.name
    shares = np.stack([_shares(secret, agreed, bits) for secret in (member.mask.secret, member.seed)], axis=1)
    secrets = {other: member.lock.shared(lock) for other, lock in locks.items() if other != name}
    notes = np.zeros((len(agreed.members), _SEALED), dtype=np.uint8)
    for other, secret in secrets.items():
        index = agreed.members.index(other)
        notes[index] = _bytes(sealed(shares[index].tobytes(), secret, agreed.label("share", name, other)))
    yield Send("total/shares", {"notes": notes}, agreed.collector)
    limits = {"present": _flags(agreed), "notes": Limit.array("|u1", notes.shape)}
    told = yield Receive("total/shares", limits, agreed.collector)
    held: dict[str, Numbers] = {}
    for other in _named(agreed, told["present"], tuple(locks), name):
        index = agreed.members.index(other)
        if other == name:
            held[other] = shares[index]
            continue
        note = opened(told["notes"][index].tobytes(), secrets[other], agreed.label("share", other, name))
        held[other] = np.frombuffer(note, dtype="<u8").reshape(2, _LIMBS)
    return _Ring(member, held, {other: secrets[other] for other in held if other != name})


def _opening(ring: _Ring, pairs: bytes) -> Steps[tuple[str, ...]]:
    """Give one share for each: of the seed of those who arrived, of the mask key of the others."""
    agreed, name = ring.member.agreed, ring.member.name
    limits = {"present": _flags(agreed), "tags": _tags(agreed)}
    told = yield Receive("total/arrived", limits, agreed.collector)
    arrived = _named(agreed, told["present"], tuple(ring.held), name)
    ring.check(told["tags"], pairs, "pairs", arrived)
    story = derive(b"arrived", pairs, *(other.encode() for other in arrived))
    yield Send("total/lists", {"tags": ring.tags(story, "arrived")}, agreed.collector)
    told = yield Receive("total/lists", limits, agreed.collector)
    ring.check(told["tags"], story, "arrived", _named(agreed, told["present"], arrived, name))
    answer = np.zeros((len(agreed.members), _LIMBS), dtype=np.uint64)
    for other, (of_key, of_seed) in ring.held.items():
        answer[agreed.members.index(other)] = of_seed if other in arrived else of_key
    yield Send("total/open", {"shares": answer}, agreed.collector)
    return arrived


def collect(agreed: Total) -> Steps[tuple[NDArray[np.int64], tuple[str, ...]]]:
    """The collector's role; returns the sum and who is in it. Raises `PeerError` if too few members stay."""
    publics = yield from _pass_keys(agreed)
    sharing = yield from _pass_notes(agreed, publics.members)
    limits = {"numbers": Limit.array("<u8", (agreed.size,)), "tags": _tags(agreed)}
    masked = yield from _gathered("total/masked", limits, sharing, agreed)
    yield from _pass_tags("total/arrived", masked, agreed)
    left = yield from _gathered("total/lists", {"tags": _tags(agreed)}, masked, agreed)
    yield from _pass_tags("total/lists", left, agreed)
    limits = {"shares": Limit.array("<u8", (len(agreed.members), _LIMBS))}
    answers = yield from _gathered("total/open", limits, left, agreed)
    total = np.zeros(agreed.size, dtype=np.uint64)
    for told in masked.values():
        total = total + told["numbers"]
    for member in sharing:
        row = agreed.members.index(member)
        points = {agreed.members.index(giver) + 1: told["shares"][row] for giver, told in answers.items()}
        secret = field.bytes_of(join_shamir(points, agreed.enough), _KEY)
        total = total - _left_behind(agreed, member, secret, tuple(masked), publics.masks)
    return total.view(np.int64), tuple(masked)


@dataclass(frozen=True)
class _Publics:
    """Who sent keys, and all their mask keys."""

    members: tuple[str, ...]
    masks: NDArray[np.uint8]


def _pass_keys(agreed: Total) -> Steps[_Publics]:
    """Everybody's public keys to everybody."""
    limits = {"lock": Limit.raw(_KEY), "mask": Limit.raw(_KEY)}
    keys = yield from _gathered("total/keys", limits, agreed.members, agreed)
    table = {part: np.zeros((len(agreed.members), _KEY), dtype=np.uint8) for part in limits}
    for member, told in keys.items():
        for part, rows in table.items():
            rows[agreed.members.index(member)] = _bytes(told[part])
    for member in keys:
        yield Send("total/keys", {"present": _present(agreed, keys), **table}, member)
    return _Publics(tuple(keys), table["mask"])


def _pass_notes(agreed: Total, members: tuple[str, ...]) -> Steps[tuple[str, ...]]:
    """Every sealed note to the member it is for; returns who sent notes."""
    count = len(agreed.members)
    limits = {"notes": Limit.array("|u1", (count, _SEALED))}
    notes = yield from _gathered("total/shares", limits, members, agreed)
    for member in notes:
        passed = np.zeros((count, _SEALED), dtype=np.uint8)
        for sender, told in notes.items():
            passed[agreed.members.index(sender)] = told["notes"][agreed.members.index(member)]
        yield Send("total/shares", {"present": _present(agreed, notes), "notes": passed}, member)
    return tuple(notes)


def _pass_tags(message: str, told: Mapping[str, Any], agreed: Total) -> Steps[None]:
    """To everybody who is there: who is there, and what each has sealed for it."""
    tables = {member: arrays["tags"] for member, arrays in told.items()}
    for member in told:
        tags = turned(tables, member, agreed.members)
        yield Send(message, {"present": _present(agreed, told), "tags": tags}, member)


def _left_behind(
    agreed: Total, member: str, secret: bytes, arrived: tuple[str, ...], publics: NDArray[np.uint8]
) -> Numbers:
    """What one member's masks left in the sum: its own if it arrived, those of its pairs if it did not."""
    if member in arrived:
        return agreed.mask(secret, "own")
    own = Agreement(secret)
    if own.public != publics[agreed.members.index(member)].tobytes():
        raise CipherError("shares do not join to the key of a member that is gone")
    total = np.zeros(agreed.size, dtype=np.uint64)
    for other in arrived:
        shared = own.shared(publics[agreed.members.index(other)].tobytes())
        total = total + _signed_mask(agreed, other, member, shared)
    return total


def _signed_mask(agreed: Total, name: str, other: str, shared: bytes) -> Numbers:
    """What ``name`` adds for the pair: the same words with opposite signs."""
    first, second = sorted((name, other), key=agreed.members.index)
    words = agreed.mask(shared, domain("pair", _VERSION, first, second))
    return words if name == first else np.uint64(0) - words


def _gathered(
    message: str, limits: Mapping[str, Limit], members: Any, agreed: Total
) -> Steps[dict[str, Any]]:
    """The same message from each member that is still there."""
    told: dict[str, Any] = {}
    for member in list(members):
        try:
            told[member] = yield Receive(message, limits, member)
        except PeerError:
            continue
    if len(told) < agreed.enough:
        raise PeerError(
            "too few members stayed to open the sum", got=len(told), wanted=f"at least {agreed.enough}"
        )
    return told


def _named(agreed: Total, flags: NDArray[np.bool_], among: tuple[str, ...], own: str) -> tuple[str, ...]:
    """The members that flags stand for. Raises `ProtocolError` if they cannot be."""
    names = tuple(member for member, there in zip(agreed.members, flags.tolist(), strict=True) if there)
    if len(names) < agreed.enough or own not in names or not set(names) <= set(among):
        wanted = f"at least {agreed.enough} known ones"
        raise ProtocolError("the collector's list of members cannot be right", got=names, wanted=wanted)
    return names


def _shares(secret: bytes, agreed: Total, bits: Bits) -> Numbers:
    return split_shamir(field.elements(secret), agreed.enough, len(agreed.members), bits)


def _checked(numbers: NDArray[np.int64], agreed: Total, sample: Sampler | None) -> Numbers:
    if numbers.shape != (agreed.size,) or numbers.dtype != np.int64:
        raise ParameterError("numbers are not as agreed", got=numbers.shape, wanted=f"int64 ({agreed.size},)")
    if not (-agreed.largest <= numbers.min() and numbers.max() <= agreed.largest):
        raise RangeError("a number is larger than agreed", wanted=f"|number| <= {agreed.largest}")
    if (sample is None) != (agreed.portion is None):
        raise ParameterError(
            "noise is agreed and sampled, or neither",
            remedy="Pass a sampler exactly if the plan has a portion.",
        )
    return numbers.view(np.uint64)


def _flags(agreed: Total) -> Limit:
    return Limit.array("|b1", (len(agreed.members),))


def _tags(agreed: Total) -> Limit:
    return Limit.array("|u1", (len(agreed.members), TAG))


def _present(agreed: Total, names: Any) -> NDArray[np.bool_]:
    return np.array([member in names for member in agreed.members])


def _bytes(raw: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(raw, dtype=np.uint8)
