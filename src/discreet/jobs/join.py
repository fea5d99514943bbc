"""Joint networks: write a plan, look at it, rehearse it, take part in it. What `discreet join` calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.bundle import check_place
from discreet.errors import ParameterError
from discreet.jobs.hospitals import ID, asia, sites, write_hospitals
from discreet.jobs.joint import keep
from discreet.jobs.ledger import new_budget, open_ledger
from discreet.jobs.template import START, Draft, plan_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.accounting.ledger import Balance
    from discreet.join import Joined
    from discreet.join.cost import Cost
    from discreet.report.join import JoinPaper

    Tell = Callable[[str, int, int], None]

__all__ = ["Kept", "check_join", "demo_join", "new_join", "rehearse_join", "run_join"]

_DEMO_EPSILON, _DEMO_DELTA = 4.0, 1e-5
_FILES = (".csv", ".parquet")


@dataclass(frozen=True)
class Kept:
    """What parties kept of a run: where, and what each may show. In a rehearsal all of them, else one.

    ``left`` is what is left in the ledgers that paid.
    """

    out: Path
    joined: Joined
    papers: Mapping[str, JoinPaper]
    left: Mapping[str, Balance]

    def place(self, name: str) -> Path:
        """The folder of one party."""
        return self.out / name if len(self.papers) > 1 else self.out

    def to_dict(self) -> dict[str, Any]:
        """As plain data: for each party only what it got."""
        found = {
            name: {"out": str(self.place(name)), **paper.to_dict(), "receipt": dict(paper.receipt)}
            for name, paper in self.papers.items()
        }
        left = {name: balance.to_dict() for name, balance in self.left.items()}
        return {"out": str(self.out), "session": self.joined.session, "parties": found, "left": left}


def new_join(path: str) -> Path:
    """Write a plan to start from; never over a file that is there."""
    place = Path(path).expanduser()
    if place.exists():
        raise ParameterError("there is a file of this name", got=str(place), remedy="Choose another name.")
    try:
        place.write_text(plan_text(START), encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"the plan cannot be written: {error.strerror}", got=str(place)) from None
    return place


def demo_join(path: str, *, hospitals: int = 2, people: int = 2000, seed: int = 0) -> Path:
    """A folder with a plan, a structure, simulated tables and ledgers: all that a rehearsal needs."""
    from discreet.models.bif import write_bif

    held = sites(hospitals)
    folder = Path(path).expanduser()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(
            "the place for the demonstration is taken", got=str(folder), wanted="a new folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_hospitals(folder, hospitals, people, seed)
    write_bif(asia(), folder / "asia.bif")
    for name in held:
        new_budget(folder / f"{name}.ledger", "asia", "row", _DEMO_EPSILON, _DEMO_DELTA)
    draft = Draft(
        name="asia",
        holders=held,
        helper="dealer" if hospitals == 2 else None,
        structure='file = "asia.bif"                # its nodes, states and arrows; not its probabilities',
        rows=START.rows.replace('"patient"', f'"{ID}"'),
        pays=tuple(held),
    )
    (folder / "plan.toml").write_text(plan_text(draft), encoding="utf-8")
    return folder / "plan.toml"


def check_join(plan: str, rows: int | None = None) -> Cost:
    """What a plan reveals to whom, and what it costs; reads no table and calls nobody."""
    from discreet.join.cost import cost
    from discreet.join.plan import JoinPlan

    return cost(JoinPlan.read(plan), rows)


def rehearse_join(
    plan: str,
    data: Mapping[str, str],
    out: str,
    *,
    ledgers: Mapping[str, str] | None = None,
    seed: int | None = None,
    tell: Tell | None = None,
) -> Kept:
    """All parties as processes on this machine; every party's folder under ``out``.

    A holder without a file gets NAME.csv or NAME.parquet beside the plan.
    """
    from discreet.join import rehearse
    from discreet.join.plan import JoinPlan

    say = tell or _silent
    say("reading the plan and the tables", 0, 1)
    agreed = JoinPlan.read(plan)
    folder = Path(out).expanduser()
    places = {name: check_place(folder / name) for name in agreed.parties}
    tables = {name: data[name] if name in data else _beside(Path(plan), name) for name in agreed.holders}
    say(f"{len(agreed.parties)} parties at work", 0, 1)
    joined = rehearse(agreed, {**data, **tables}, ledgers=ledgers, seed=seed)
    return _kept(joined, folder, places, ledgers or {}, say)


def run_join(
    plan: str,
    name: str,
    out: str,
    *,
    data: str | None = None,
    ledger: str | None = None,
    home: Path | None = None,
    wait: float = 60.0,
    tell: Tell | None = None,
) -> Kept:
    """One party of a run with the others, each on its own machine; its folder is ``out``."""
    from discreet.join import run
    from discreet.join.plan import JoinPlan

    say = tell or _silent
    say("reading the plan and the table", 0, 1)
    agreed = JoinPlan.read(plan)
    place = check_place(out)
    say("with the other parties", 0, 1)
    joined = run(agreed, name, data, home=home, ledger=ledger, wait=wait)
    return _kept(joined, place, {name: place}, {} if ledger is None else {name: ledger}, say)


def _kept(
    joined: Joined, out: Path, places: Mapping[str, Path], ledgers: Mapping[str, str], say: Tell
) -> Kept:
    papers: dict[str, JoinPaper] = {}
    for done, (name, place) in enumerate(places.items()):
        say("writing results and reports", done, len(places))
        papers[name] = keep(joined, name, place)
    say("writing results and reports", len(places), len(places))
    unit = joined.guarantee.unit
    left = {name: open_ledger(path).left(joined.plan.name, unit) for name, path in ledgers.items()}
    return Kept(out, joined, papers, left)


def _beside(plan: Path, name: str) -> str:
    """The table of a holder that lies beside the plan under its name."""
    found = [file for ending in _FILES if (file := plan.parent / f"{name}{ending}").is_file()]
    if len(found) != 1:
        raise ParameterError(
            f"no table is given for {name!r}",
            got=f"{len(found)} files of its name beside the plan",
            remedy=f"Say where it is: --data {name}=FILE.",
        )
    return str(found[0])


def _silent(what: str, done: int, all: int) -> None:
    pass
