"""`discreet release`: publish where somebody is, step by step, under a policy. Trust: only oneself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.jobs import Explained, Released

__all__ = ["commands", "explain", "group", "learn", "run"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

_BUDGET, _NAMES, _OUTPUT, _RULES = "Privacy", "Names of columns", "Output", "Rules"

Traces = Annotated[
    list[str], typer.Argument(help="Parquet or CSV files with a user, a time, lat and lon a row.")
]
MapFile = Annotated[str, typer.Option("--map", help="The map, from discreet release learn.")]
Words = Annotated[
    str,
    typer.Option(help="radius:1km, complete, transitions, category:COLUMN[:1km], FILE.json; join with +."),
]
Budget = Annotated[float, typer.Option(help="What one release may reveal about joined states.")]
Cut = Annotated[
    float, typer.Option(help="Only states with more probability are possible.", rich_help_panel=_RULES)
]
Delta = Annotated[
    float,
    typer.Option(help="Only the fewest states that hold 1 - delta are possible.", rich_help_panel=_RULES),
]
Repair = Annotated[
    str,
    typer.Option(
        help="area (usual), exact, nearest-euclid, nearest-l1, nearest-gauge or refuse.",
        rich_help_panel=_RULES,
    ),
]
Start = Annotated[
    str | None,
    typer.Option(help="A state or LAT,LON (usually where the map's people are).", rich_help_panel=_RULES),
]
Json = Annotated[bool, typer.Option("--json", help="For machines.", rich_help_panel=_OUTPUT)]


@commands.callback()
def group() -> None:
    """Release a moving state under a policy graph, with a promise and a report."""


@commands.command(no_args_is_help=True)
def learn(
    traces: Traces,
    cell: Annotated[str, typer.Option(help="The side of a cell: 340m.")],
    box: Annotated[str, typer.Option(help="SOUTH:NORTH,WEST:EAST in degrees, from public knowledge.")],
    out: Annotated[str, typer.Option(help="The map to write.", rich_help_panel=_OUTPUT)],
    public: Annotated[
        bool | None,
        typer.Option(
            "--public", help="The traces are public (so they are without a budget).", rich_help_panel=_BUDGET
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Per person.", rich_help_panel=_BUDGET)] = None,
    delta: Annotated[
        float | None, typer.Option(help="For Gaussian noise; without it Laplace.", rich_help_panel=_BUDGET)
    ] = None,
    moves_per_person: Annotated[
        float, typer.Option(help="The most that one person's moves weigh.", rich_help_panel=_BUDGET)
    ] = 1.0,
    ledger: Annotated[
        str | None, typer.Option(help="The ledger that is charged.", rich_help_panel=_BUDGET)
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Which budget.", rich_help_panel=_BUDGET)] = None,
    step: Annotated[
        float | None,
        typer.Option(help="Seconds between fixes of a move (usually any).", rich_help_panel=_RULES),
    ] = None,
    reach: Annotated[
        int | None, typer.Option(help="The farthest a move may go, in cells.", rich_help_panel=_RULES)
    ] = None,
    user: Annotated[str, typer.Option(rich_help_panel=_NAMES)] = "user",
    time: Annotated[str, typer.Option(rich_help_panel=_NAMES)] = "time",
    lat: Annotated[str, typer.Option(rich_help_panel=_NAMES)] = "lat",
    lon: Annotated[str, typer.Option(rich_help_panel=_NAMES)] = "lon",
    random_state: Annotated[
        int | None, typer.Option(help="A seed, for tests: NOT private.", rich_help_panel=_BUDGET)
    ] = None,
    json: Json = False,
) -> None:
    r"""Learn a map of moves from traces: public ones as they are, private ones with a budget.

      discreet release learn traces.parquet --cell 340m \
        --box 39.85:40.00,116.28:116.50 --public --out map.json

    Private traces need a budget, and a ledger if you have one:

      discreet release learn traces.parquet --cell 340m --box ... \
        --epsilon 1 --delta 1e-6 --ledger city.ledger --dataset traces --out map.json
    """
    from discreet.jobs import learn_map

    told = locals()
    named = ("public", "epsilon", "delta", "moves_per_person", "ledger", "dataset", "step", "reach")
    settings = {name: told[name] for name in (*named, "user", "time", "lat", "lon", "random_state")}
    world = learn_map(traces, out, cell=cell, box=box, **settings)
    promised = world.guarantee
    if json:
        terminal.print_json(
            {
                "out": out,
                "states": world.size,
                "transitions": int(world.transitions.nnz),
                "guarantee": None if promised is None else promised.to_dict(),
            }
        )
        return
    if promised is not None:
        terminal.promise(promised.words(), promised.private)
    else:
        terminal.line("The traces count as public: the map shows where they went.", "bold")
    terminal.line(f"{out}: {world.size:,} states, {world.transitions.nnz:,} transitions")
    terminal.line(f"\nNext: discreet release explain --map {out} --policy radius:1km --epsilon 1", "dim")


@commands.command(no_args_is_help=True)
def explain(
    map_path: MapFile,
    policy: Words,
    epsilon: Budget,
    start: Start = None,
    steps: Annotated[int, typer.Option(min=1, max=100, help="How many steps to look ahead.")] = 5,
    cut: Cut = 0.0,
    delta: Delta = 0.0,
    repair: Repair = "area",
    json: Json = False,
) -> None:
    """Say what a policy would do: hull, protection, expected error. Nothing is read, drawn or released.

    discreet release explain --map map.json --policy radius:1km --epsilon 1
    """
    from discreet.jobs import explain_release

    found = explain_release(
        map_path, policy, epsilon, start=start, steps=steps, cut=cut, delta=delta, repair=repair
    )
    terminal.print_json(found.to_dict()) if json else _explained(found)


@commands.command(no_args_is_help=True)
def run(
    traces: Traces,
    map_path: MapFile,
    policy: Words,
    epsilon: Budget,
    out: Annotated[str, typer.Option(help="The Parquet file to write.", rich_help_panel=_OUTPUT)],
    report: Annotated[
        str | None, typer.Option(help="An HTML file about one trip.", rich_help_panel=_OUTPUT)
    ] = None,
    view: Annotated[
        str,
        typer.Option(help="public, or owner: with the true trace, for nobody else.", rich_help_panel=_OUTPUT),
    ] = "public",
    person: Annotated[
        str | None, typer.Option(help="Whose trip the report shows.", rich_help_panel=_OUTPUT)
    ] = None,
    start: Start = None,
    step: Annotated[
        float | None,
        typer.Option(help="Seconds between the fixes of a trip (usually any).", rich_help_panel=_RULES),
    ] = None,
    cut: Cut = 0.0,
    delta: Delta = 0.0,
    repair: Repair = "area",
    user: Annotated[str, typer.Option(rich_help_panel=_NAMES)] = "user",
    time: Annotated[str, typer.Option(rich_help_panel=_NAMES)] = "time",
    lat: Annotated[str, typer.Option(rich_help_panel=_NAMES)] = "lat",
    lon: Annotated[str, typer.Option(rich_help_panel=_NAMES)] = "lon",
    random_state: Annotated[
        int | None, typer.Option(help="A seed, for tests: NOT private.", rich_help_panel=_RULES)
    ] = None,
    json: Json = False,
) -> None:
    r"""Release traces under a policy, and write what was released.

      discreet release run traces.parquet --map map.json --policy radius:1km \
        --epsilon 1 --step 60 --out released.parquet --report report.html
    """
    from discreet.jobs import run_release

    settings: dict[str, Any] = {"cut": cut, "delta": delta, "repair": repair}
    with terminal.follow("releasing", quiet=json) as tell:
        done = run_release(
            traces,
            map_path,
            policy,
            epsilon,
            out,
            report=report,
            view=view,
            person=person,
            start=start,
            step=step,
            columns=(user, time, lat, lon),
            random_state=random_state,
            tell=tell,
            **settings,
        )
    terminal.print_json(done.to_dict()) if json else _released(done, view)


def _explained(found: Explained) -> None:
    terminal.line("Nothing was read but the map, and nothing was drawn.", "bold")
    terminal.line(found.policy.describe())
    terminal.promise(found.promise.words(), found.promise.private)
    _warn_flat([scene.flat for scene in found.scenes])
    terminal.heading("What the first steps would be like")
    heads = (
        "step",
        "possible",
        "hull km²",
        "expected error m",
        "least hidden among",
        "usually",
        "exposed",
        "area by repair",
    )
    terminal.table(
        [(head, "right") for head in heads],
        [
            [
                str(row["step"]),
                f"{row['possible']:,}",
                f"{row['area'] / 1e6:.3g}",
                f"{row['error']:,.0f}",
                str(row["least"]),
                str(row["typical"]),
                str(row["exposed"]),
                "flat before" if row["area_ratio"] is None else f"× {row['area_ratio']:.3g}",
            ]
            for row in found.rows()
        ],
    )


def _released(done: Released, view: str) -> None:
    terminal.promise(done.promise.words(), done.promise.private)
    _warn_flat([past.scenes[0].flat for past in done.shown.past])
    terminal.heading(f"Over time, for the trip of {done.shown.name} ({len(done.shown.past)} steps)")
    for line in done.shown.leakage.words().splitlines():
        terminal.line(line, "red" if line.startswith("WARNING") else "")
    terminal.heading("For you alone: these figures depend on the true places")
    terminal.line(
        f"Mean error {done.errors.mean():,.0f} m; hidden among {_middle(done.protection):g} states "
        "(median); the "
        f"true place was not possible, and a stand-in was released, in {done.surrogates:.2%} of the steps."
    )
    terminal.heading("Written")
    terminal.line(f"{done.out}: {done.releases:,} released points of {done.trips:,} trips")
    if done.report is not None:
        secret = " It shows the true trace: keep it." if view == "owner" else ""
        terminal.line(f"{done.report}: open it in a browser.{secret}")


def _warn_flat(flat: Sequence[bool]) -> None:
    """Say so if the noise hides nothing in some direction."""
    if steps := sum(flat):
        terminal.line(
            f"WARNING: at {steps} of {len(flat)} steps the hull is flat: noise moves the answer along one "
            "line (or plane) only, and what lies off it is released exactly. Join states across it.",
            "red",
        )


def _middle(values: Any) -> float:
    """The middle value."""
    from statistics import median

    return float(median(values.tolist()))
