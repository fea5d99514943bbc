"""`discreet fit`: models of private rows. Trust: whoever runs the command sees the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import setting, terminal
from discreet.cli.fitted import foresee, report

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.jobs import JobPlan

__all__ = ["commands", "group", "hmm", "mixture", "network", "words"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

_OTHERS = ("plan", "dry_run", "json")


@commands.callback()
def group() -> None:
    """Fit a model of people's rows, with a guarantee and a receipt."""


@commands.command(no_args_is_help=True)
def mixture(
    data: setting.Data = None,
    columns: setting.Columns = None,
    components: Annotated[int | None, typer.Option(help="How many Gaussians.")] = None,
    plan: setting.Plan = None,
    epsilon: setting.Epsilon = None,
    delta: setting.Delta = None,
    person: setting.Person = None,
    rows_per_person: Annotated[
        float | None,
        typer.Option(
            help="The most that one person's rows weigh (usually 1).", rich_help_panel=setting.BUDGET
        ),
    ] = None,
    ledger: setting.Ledger = None,
    dataset: setting.Dataset = None,
    bounds: setting.Bounds = None,
    radius: setting.Radius = None,
    center: setting.Center = None,
    method: Annotated[
        str | None, typer.Option(help="joint (usual), published or input.", rich_help_panel=setting.HOW)
    ] = None,
    noise: setting.Noise = None,
    covariance: Annotated[
        str | None,
        typer.Option(help="full (usual), tied, diag or spherical.", rich_help_panel=setting.HOW),
    ] = None,
    rounds: setting.Rounds = None,
    missing: Annotated[
        str | None, typer.Option(help="error (usual), or drop such rows.", rich_help_panel=setting.HOW)
    ] = None,
    workers: setting.Workers = None,
    random_state: setting.RandomState = None,
    out: setting.Out = None,
    dry_run: setting.DryRun = False,
    json: setting.Json = False,
) -> None:
    r"""Fit a mixture of Gaussians with differential privacy.

    Hot spots of check-ins, protecting each user with all their rows:

      discreet fit mixture 'checkins/*.parquet' --columns lat,lon \
        --bounds lat=40.4:40.9,lon=-74.3:-73.7 --components 20 \
        --person user --epsilon 1 --delta 1e-6 \
        --ledger city.ledger --out hot-spots

    Add --dry-run to see what it would reveal and cost: nothing is read but the schema, nothing is spent.
    """
    options = {name: value for name, value in locals().items() if name not in _OTHERS}
    options["covariance_type"] = options.pop("covariance")
    from discreet.jobs import FitMixture, fit_mixture

    _run(FitMixture, fit_mixture, plan, options, dry_run, json, "weights, means and covariances")


@commands.command(no_args_is_help=True)
def hmm(
    data: setting.Data = None,
    states: Annotated[int | None, typer.Option(help="How many hidden states.")] = None,
    symbols: Annotated[
        str | None, typer.Option(help="How many symbols (numbered from 0), or what they are called: a,b,c.")
    ] = None,
    points: Annotated[bool, typer.Option("--points", help="Rows are points, not symbols.")] = False,
    skeleton: Annotated[
        str | None, typer.Option(help="A JSON file: where the fit starts, and which steps can be at all.")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(help="The longest length that counts, publicly known.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="The column of the symbols, or of the points.")] = None,
    sequence: Annotated[
        str | None, typer.Option(help="The column that says which sequence a row belongs to.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="The column of the time; else rows are in order already.")
    ] = None,
    states_column: Annotated[
        str | None, typer.Option(help="The column of the hidden states, where they are known.")
    ] = None,
    plan: setting.Plan = None,
    epsilon: setting.Epsilon = None,
    delta: setting.Delta = None,
    person: setting.Person = None,
    sequences_per_person: Annotated[
        float | None,
        typer.Option(
            help="The most that one person's sequences weigh (usually 1).", rich_help_panel=setting.BUDGET
        ),
    ] = None,
    ledger: setting.Ledger = None,
    dataset: setting.Dataset = None,
    bounds: setting.Bounds = None,
    radius: setting.Radius = None,
    center: setting.Center = None,
    method: Annotated[
        str | None,
        typer.Option(help="auto (usual), score, iterate, moments or labelled.", rich_help_panel=setting.HOW),
    ] = None,
    noise: setting.Noise = None,
    topology: Annotated[
        str | None, typer.Option(help="left-right: stay, or go to the next.", rich_help_panel=setting.HOW)
    ] = None,
    covariance: Annotated[
        str | None,
        typer.Option(help="diag (usual), full, tied or spherical.", rich_help_panel=setting.HOW),
    ] = None,
    rounds: setting.Rounds = None,
    workers: setting.Workers = None,
    random_state: setting.RandomState = None,
    out: setting.Out = None,
    dry_run: setting.DryRun = False,
    json: setting.Json = False,
) -> None:
    r"""Fit a hidden Markov model with differential privacy.

    A skeleton that somebody sent, answered from the visits of patients, each protected with all visits:

      discreet fit hmm visits.parquet --columns ward --order time --person patient \
        --states 3 --symbols ward,icu,home --skeleton skeleton.json --max-length 30 \
        --epsilon 1 --delta 1e-6 --ledger clinic.ledger --out answer

    Points instead of symbols:

      discreet fit hmm 'walks/*.csv' --points --columns x,y --bounds=-10:10 --sequence walk \
        --states 5 --topology left-right --max-length 100 --epsilon 1 --delta 1e-6

    Add --dry-run to see what it would reveal and cost: nothing is read but the schema and the skeleton.
    """
    options = {name: value for name, value in locals().items() if name not in _OTHERS}
    options["covariance_type"] = options.pop("covariance")
    options["points"] = points or None
    from discreet.jobs import FitHMM, fit_hmm

    _run(FitHMM, fit_hmm, plan, options, dry_run, json, "start, transitions and emissions")


@commands.command(no_args_is_help=True)
def network(
    data: setting.Data = None,
    structure: Annotated[
        str | None, typer.Option(help="A BIF file: the nodes, their states and their parents.")
    ] = None,
    plan: setting.Plan = None,
    epsilon: setting.Epsilon = None,
    delta: setting.Delta = None,
    person: setting.Person = None,
    rows_per_person: Annotated[
        int | None,
        typer.Option(
            help="So many first rows of each person count (usually 1).", rich_help_panel=setting.BUDGET
        ),
    ] = None,
    ledger: setting.Ledger = None,
    dataset: setting.Dataset = None,
    prior: Annotated[
        float | None,
        typer.Option(
            help="Imaginary rows for each configuration of parents (usually 1).", rich_help_panel=setting.HOW
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="refuse (usual), drop, or the state that a missing value stands for.",
            rich_help_panel=setting.HOW,
        ),
    ] = None,
    random_state: setting.RandomState = None,
    out: setting.Out = None,
    dry_run: setting.DryRun = False,
    json: setting.Json = False,
) -> None:
    r"""Fit the tables of a Bayesian network with differential privacy.

    The structure and the states are public; the rows have one column a node:

      discreet fit network visits.parquet --structure asia.bif --person patient \
        --epsilon 1 --delta 1e-6 --ledger clinic.ledger --out asia

    Add --dry-run to see what it would reveal and cost: nothing is read but the schema and the structure.
    """
    options = {name: value for name, value in locals().items() if name not in _OTHERS}
    from discreet.jobs import FitNetwork, fit_network

    _run(FitNetwork, fit_network, plan, options, dry_run, json, "one table a node, in their order")


@commands.command(no_args_is_help=True)
def words(
    data: Annotated[list[str] | None, typer.Argument(help="The folder of the recordings.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="names (WORD_SPEAKER_TAKE.wav, usual), folders (one a word), or index (index.csv)."
        ),
    ] = None,
    word: Annotated[str | None, typer.Option(help="The column of an index that says the word.")] = None,
    speaker: Annotated[str | None, typer.Option(help="The column of an index that says who spoke.")] = None,
    where: Annotated[str | None, typer.Option(help="Which rows of an index: split=train.")] = None,
    words: Annotated[str | None, typer.Option(help="The words: yes,no. Private fits need them.")] = None,
    rate: Annotated[int | None, typer.Option(help="Samples a second: 8000 (usual) or 16000.")] = None,
    plan: setting.Plan = None,
    epsilon: setting.Epsilon = None,
    delta: setting.Delta = None,
    person: Annotated[
        str | None,
        typer.Option(help="speaker: protects speakers, not recordings.", rich_help_panel=setting.BUDGET),
    ] = None,
    recordings_per_person: Annotated[
        float | None,
        typer.Option(
            help="One person's recordings of a word weigh at most this.", rich_help_panel=setting.BUDGET
        ),
    ] = None,
    words_per_person: Annotated[
        int | None,
        typer.Option(
            help="One person weighs as much as so many words at most.", rich_help_panel=setting.BUDGET
        ),
    ] = None,
    max_frames: Annotated[
        int | None,
        typer.Option(
            help="The longest recording, publicly known: 100 a second.", rich_help_panel=setting.BUDGET
        ),
    ] = None,
    ledger: setting.Ledger = None,
    dataset: setting.Dataset = None,
    states: Annotated[
        int | None, typer.Option(help="Hidden states a word (usually 5).", rich_help_panel=setting.HOW)
    ] = None,
    covariance: Annotated[
        str | None,
        typer.Option(
            help="full (usual without privacy), tied, diag, spherical.", rich_help_panel=setting.HOW
        ),
    ] = None,
    mixtures: Annotated[
        int | None, typer.Option(help="Gaussians a state, without privacy.", rich_help_panel=setting.HOW)
    ] = None,
    topology: Annotated[
        str | None, typer.Option(help="left-right (usual) or full.", rich_help_panel=setting.HOW)
    ] = None,
    ceps: Annotated[
        int | None, typer.Option(help="Cepstra a frame (13).", rich_help_panel=setting.HOW)
    ] = None,
    deltas: Annotated[
        int | None, typer.Option(help="Slopes: 0, 1 or 2.", rich_help_panel=setting.HOW)
    ] = None,
    normalise: Annotated[
        str | None, typer.Option(help="mean, mean-variance or none.", rich_help_panel=setting.HOW)
    ] = None,
    depth: Annotated[
        float | None,
        typer.Option(help="Leave out frames so many dB below the loudest.", rich_help_panel=setting.HOW),
    ] = None,
    codebook: Annotated[
        int | None, typer.Option(help="Replace frames by so many codewords.", rich_help_panel=setting.HOW)
    ] = None,
    noise: setting.Noise = None,
    rounds: setting.Rounds = None,
    random_state: setting.RandomState = None,
    out: setting.Out = None,
    dry_run: setting.DryRun = False,
    json: setting.Json = False,
) -> None:
    r"""Fit word models to labelled recordings: which word was said?

    Without privacy, from files WORD_SPEAKER_TAKE.wav (see `discreet ask tones` for some to try):

      discreet fit words tones/train --epsilon inf --out words

    With one budget for all words, protecting every recording:

      discreet fit words digits --labels index --word digit --words 0,1,2,3,4,5,6,7,8,9 \
        --max-frames 100 --epsilon 4 --delta 1e-5 --ledger digits.ledger --out words

    Then `discreet ask plain words recording.wav` says what was said.
    """
    options = {name: value for name, value in locals().items() if name not in _OTHERS}
    options["covariance_type"] = options.pop("covariance")
    from discreet.jobs import FitWords, fit_words

    _run(FitWords, fit_words, plan, options, dry_run, json, "one hidden Markov model a word")


def _run(
    kind: type[JobPlan],
    fit: Callable[[Any, Any], Any],
    plan: str | None,
    options: dict[str, Any],
    dry_run: bool,
    json: bool,
    tensors: str,
) -> None:
    from discreet.jobs import make_plan, read_plan

    given = {name: value for name, value in options.items() if value is not None}
    checked = make_plan({**(read_plan(plan) if plan else {}), **given}, kind)
    if dry_run:
        from discreet.jobs import preview

        seen = preview(checked)
        terminal.print_json(seen.to_dict()) if json else foresee(seen)
        return
    with terminal.follow("fitting", quiet=json) as progress:
        result = fit(checked, progress)
    terminal.print_json(result.to_dict()) if json else report(result, tensors)
