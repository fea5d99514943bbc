"""The demonstration: a simulated city, its hot spots fitted privately, beside the plain fit."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.ledger import Ledger
from discreet.errors import ParameterError
from discreet.jobs.city import BOUNDS, City, draw_river, simulate_city, write_city
from discreet.jobs.mixture import fit_mixture
from discreet.jobs.plan import make_plan
from discreet.report.beside import Panel, draw_beside

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.accounting.ledger import Balance
    from discreet.jobs.result import Result
    from discreet.models.mixture import Mixture

    Tell = Callable[[str, int, int], None]

__all__ = ["Demo", "run_demo"]

EPSILON, DELTA, COMPONENTS = 1.0, 1e-6, 20
_BUDGET = 2.0
_DATASET = "simulated city"
_OURS = {"city.parquet", "private", "plain", "map.png", "ledger", "ledger-wal", "ledger-shm"}


@dataclass(frozen=True)
class Demo:
    """Both fits, how well each describes people that neither has seen, and where all of it lies.

    The scores are computed from the rows of simulated people: with real ones they would be private.
    """

    out: Path
    people: int
    private: Result
    plain: Result
    private_score: float
    plain_score: float
    uniform_score: float
    left: Balance

    def to_dict(self) -> dict[str, Any]:
        """The demonstration as plain data."""
        return {
            "out": str(self.out),
            "people": self.people,
            "simulated": True,
            "held_out_log_likelihood": {
                "private": self.private_score,
                "plain": self.plain_score,
                "uniform": self.uniform_score,
            },
            "private": self.private.to_dict(),
            "plain": self.plain.to_dict(),
            "left": self.left.to_dict(),
        }


def run_demo(out: str, *, people: int = 20_000, seed: int = 0, tell: Tell | None = None) -> Demo:
    """Simulate, fit twice, draw. A demonstration that is already there starts anew, with a new ledger."""
    folder = _clear(Path(out).expanduser())
    say = tell or _silent
    say("simulating a city", 0, 1)
    city = simulate_city(people, seed)
    others = simulate_city(max(people // 10, 50), seed + 1)
    write_city(city, folder / "city.parquet")
    Ledger.create(folder / "ledger").budget(_DATASET, "person", _BUDGET, DELTA)
    say("simulating a city", 1, 1)
    paid = {"ledger": str(folder / "ledger"), "dataset": _DATASET, "delta": DELTA, "epsilon": EPSILON}
    private = fit_mixture(
        _plan(folder, "private", paid), lambda done, all: say("fitting privately", done, all)
    )
    plain = fit_mixture(
        _plan(folder, "plain", {"epsilon": "inf"}),
        lambda done, all: say("fitting without privacy", done, all),
    )
    say("drawing", 0, 1)
    scores = _score(private.paper.mixture, others), _score(plain.paper.mixture, others)
    _draw(folder / "map.png", city, private, plain, scores)
    say("drawing", 1, 1)
    area = np.prod([high - low for low, high in BOUNDS.values()])
    left = Ledger.open(folder / "ledger").left(_DATASET, "person")
    return Demo(folder, people, private, plain, *scores, -float(np.log(area)), left)


def _plan(folder: Path, name: str, more: dict[str, Any]) -> Any:
    common = {
        "data": str(folder / "city.parquet"),
        "columns": ["lat", "lon"],
        "components": COMPONENTS,
        "bounds": {name: list(limits) for name, limits in BOUNDS.items()},
        "person": "user",
        "out": str(folder / name),
    }
    return make_plan({**common, **more})


def _score(mixture: Mixture, city: City) -> float:
    """The log-likelihood of a check-in, averaged over each person's and then over people."""
    starts = np.flatnonzero(np.diff(city.user, prepend=-1))
    counts = np.diff(starts, append=len(city.user))
    return float((np.add.reduceat(mixture.log_density(city.points), starts) / counts).mean())


def _draw(path: Path, city: City, private: Result, plain: Result, scores: tuple[float, float]) -> None:
    panels = (
        Panel("The simulated city", f"{city.user[-1] + 1:,} invented people", points=city.points),
        Panel(
            f"Private: epsilon {EPSILON:g} per person",
            f"{scores[0]:.2f} log-likelihood of held-out people",
            paper=private.paper,
        ),
        Panel(
            "Plain: epsilon infinity",
            f"{scores[1]:.2f} log-likelihood of held-out people",
            paper=plain.paper,
        ),
    )
    path.write_bytes(draw_beside(panels, BOUNDS, draw_river()))


def _clear(folder: Path) -> Path:
    """Make room: only for what an earlier demonstration has written, whose data were invented."""
    if folder.exists() and not folder.is_dir():
        raise ParameterError("the place for the demonstration is a file", got=str(folder))
    found = {entry.name for entry in folder.iterdir()} if folder.exists() else set[str]()
    strange = sorted(found - _OURS)
    if strange or (found and "city.parquet" not in found):
        raise ParameterError(
            "the place for the demonstration is taken",
            got=f"{folder} holds {', '.join(strange or sorted(found))}",
            wanted="a new folder, or an older demonstration",
            remedy="Choose another with --out.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in found - {"city.parquet"}:
        entry = folder / name
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    return folder


def _silent(what: str, done: int, all: int) -> None:
    pass
