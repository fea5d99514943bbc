"""Keywords between two organisations: serve, ask, rehearse, and who has had how many answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.ask.answers import Allowance, Answers
from discreet.ask.rehearsal import Answer, rehearse
from discreet.ask.serving import LONGEST, PADDING, TOGETHER, answers_of, ask, serve
from discreet.bundle import read_vocabulary
from discreet.errors import ParameterError
from discreet.jobs.recordings import find_audio
from discreet.session.limits import Limits
from discreet.speech import read_sound
from discreet.wire.identity import Home, default_home
from discreet.wire.tls import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.ask.answers import Tally
    from discreet.session.receipt import Receipt
    from discreet.session.service import Note

__all__ = [
    "PERIODS",
    "Asked",
    "Counted",
    "Opened",
    "ask_keyword",
    "count_answers",
    "rehearse_keyword",
    "serve_words",
]

PERIODS = {"hour": 3600.0, "day": 86400.0, "week": 604800.0}
"""What a limit may be for, in seconds; without one it is for ever."""


@dataclass(frozen=True)
class Opened:
    """A service that has begun: where, for whom, what is offered, and where answers are counted."""

    place: Place
    clients: tuple[str, ...]
    words: int
    longest: int
    padding: int
    allowance: Allowance
    answers: Path
    receipts: Path

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "place": f"{self.place.host}:{self.place.port}",
            "clients": list(self.clients),
            "words": self.words,
            "longest": self.longest,
            "padding": self.padding,
            "limit": self.allowance.most,
            "seconds": self.allowance.period,
            "answers": str(self.answers),
            "receipts": str(self.receipts),
        }


@dataclass(frozen=True)
class Asked:
    """The words of some recordings, and what it took."""

    files: tuple[Path, ...]
    answer: Answer
    receipt: Path | None

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the words are private to whoever asked."""
        phases = self.answer.phases
        return {
            "words": {str(path): word for path, word in zip(self.files, self.answer.words, strict=True)},
            "seconds": self.answer.seconds,
            "bytes": self.answer.bytes,
            "phases": {
                name: {"seconds": phases[name], "bytes": size} for name, size in self.answer.sizes.items()
            },
            "learned": dict(self.answer.learned),
            "receipt": None if self.receipt is None else str(self.receipt),
        }


@dataclass(frozen=True)
class Counted:
    """The answers that one client has had; its name if its card is trusted here."""

    name: str
    tally: Tally

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"name": self.name, **self.tally.to_dict()}


def serve_words(
    bundle: str,
    name: str,
    listen: str,
    *,
    clients: Sequence[str] = (),
    limit: int | None = None,
    per: str | None = None,
    answers: str | None = None,
    home: Path | None = None,
    receipts: Path | None = None,
    longest: int = LONGEST,
    padding: int = PADDING,
    together: int = TOGETHER,
    hide_words: bool = False,
    workers: int = 0,
    opened: Callable[[Opened], None] | None = None,
    tell: Callable[[Note], None] | None = None,
) -> None:
    """Answer clients until interrupted; all those whom we trust, or those that are named.

    **Reveals** what `discreet.ask.serving` says. **Costs** a process a worker.
    """
    allowance = _allowance(limit, per)
    where = Home(home or default_home())
    me, folder = where.identity(name), receipts or where.folder / "receipts"
    cards = [where.card(client) for client in clients] or where.trusted()
    vocabulary = read_vocabulary(bundle)
    counted = Path(answers) if answers else answers_of(bundle)
    limits = Limits(workers=workers)

    def ready(place: Place) -> None:
        names = tuple(card.name for card in cards)
        if opened is not None:
            words = len(vocabulary.words)
            steps = min(padding, longest)
            opened(Opened(place, names, words, longest, steps, allowance, counted, folder))

    serve(
        vocabulary,
        me,
        cards,
        _place(listen),
        answers=counted,
        allowance=allowance,
        limits=limits,
        ready=ready,
        keep=lambda card, receipt: _save(receipt, folder, card.name) and None,
        tell=tell,
        longest=longest,
        padding=padding,
        together=together,
        show_words=not hide_words,
    )


def ask_keyword(
    audio: Sequence[str],
    to: str,
    name: str,
    *,
    ahead: bool = False,
    home: Path | None = None,
    receipts: Path | None = None,
    wait: float = 15.0,
) -> Asked:
    """Ask the service of a model owner, written NAME@HOST:PORT, which word is said in each sound file.

    **Reveals** the words to us; to the owner how many recordings there are, and their padded lengths.
    """
    where = Home(home or default_home())
    me, files = where.identity(name), find_audio(list(audio))
    owner, _, place = to.rpartition("@")
    if not owner:
        raise ParameterError("not a service", got=to[:100], wanted="NAME@HOST:PORT")
    for path in files:
        read_sound(path)  # what cannot be read is found before anybody is asked
    answer = ask(files, where.card(owner), Place.of(place), me, ahead=ahead, wait=wait)
    folder = receipts or where.folder / "receipts"
    return Asked(tuple(files), answer, _save(answer.receipts["data"], folder, owner))


def rehearse_keyword(bundle: str, audio: Sequence[str], *, ahead: bool = False, padding: int = 1) -> Asked:
    """Both parties on this machine, in two processes over TLS: what it says, takes and shows to whom.

    **Trusts** this machine with everything.
    """
    vocabulary, files = read_vocabulary(bundle), find_audio(list(audio))
    return Asked(tuple(files), rehearse(vocabulary, files, ahead=ahead, padding=padding), None)


def count_answers(path: str, home: Path | None = None) -> list[Counted]:
    """The answers of every client so far; of a file that counts them, or of the folder of a model."""
    place = Path(path).expanduser()
    answers = Answers.open(answers_of(place) if place.is_dir() else place)
    names = {card.fingerprint: card.name for card in Home(home or default_home()).trusted()}
    return [Counted(names.get(tally.client, ""), tally) for tally in answers.tallies()]


def _place(listen: str) -> Place:
    """Where to listen; port 0 takes a free one."""
    host, colon, port = listen.rpartition(":")
    return Place(host.strip("[]"), 0) if colon and host and port == "0" else Place.of(listen)


def _allowance(limit: int | None, per: str | None) -> Allowance:
    if per is not None and (limit is None or per not in PERIODS):
        raise ParameterError(
            "a limit is for a period", got=per, wanted=f"a limit, and one of {', '.join(PERIODS)}"
        )
    return Allowance(limit, None if per is None else PERIODS[per])


def _save(receipt: Receipt, folder: Path, other: str) -> Path:
    """Keep a receipt under the name of the other party and of the session."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{receipt.plan.protocol}-{other}-{receipt.session[:16]}.json"
    receipt.save(path)
    return path
