"""`discreet audit`: attacks, to see what a claim is worth."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal

__all__ = ["commands", "game", "group", "rotation"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@commands.callback()
def group() -> None:
    """Attack a claim of privacy, and measure what is left of it."""


@commands.command()
def game(
    epsilon: Annotated[float, typer.Option(help="What the learner claims.")] = 1.0,
    size: Annotated[int, typer.Option(help="Rows in each of the two worlds.")] = 1000,
    rounds: Annotated[int, typer.Option(help="How often to play.")] = 10_000,
    threshold: Annotated[
        float | None, typer.Option(help="Above it the adversary says: world one. Usually the best one.")
    ] = None,
    noise_scale: Annotated[
        float, typer.Option(help="1 is honest; 0.5 lets the learner cheat; 0 is no noise.")
    ] = 1.0,
    random_state: Annotated[int | None, typer.Option(help="A seed, to play the same game again.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Play the game of two worlds: guess from a noisy mean whether one person was there.

    An honest learner, and one that draws half of the noise it claims:

      discreet audit game --epsilon 1

      discreet audit game --epsilon 1 --noise-scale 0.5
    """
    from discreet.jobs import play_game

    outcome = play_game(
        epsilon, size, rounds, threshold=threshold, noise_scale=noise_scale, random_state=random_state
    )
    if json:
        terminal.print_json(outcome.to_dict())
        return
    caught = "red" if outcome.caught else "green"
    terminal.table(
        [("", "left"), ("played", "right"), ("allowed", "right")],
        [
            (
                "right guesses",
                f"{outcome.right / outcome.rounds:.1%}",
                f"{0.5 + outcome.advantage_allowed / 2:.1%}",
            ),
            ("advantage", f"{outcome.advantage:.3f}", f"{outcome.advantage_allowed:.3f}"),
            ("epsilon", f"at least {outcome.epsilon_lower:.3g}", f"{outcome.epsilon:g}"),
        ],
    )
    terminal.line(outcome.words(), caught)


@commands.command()
def rotation(
    rows: Annotated[int, typer.Option(help="How many people to invent.")] = 1000,
    random_state: Annotated[int | None, typer.Option(help="A seed, to see the same people again.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Break a published way to count columns of two sites: a secret random rotation.

    It is run as published on invented people, and read by parties who should learn counts and nothing else;
    then the same counts are taken by our protocol, and what its parties saw is searched:

      discreet audit rotation --rows 1000
    """
    from discreet.jobs import break_rotation

    found = break_rotation(rows, random_state=random_state)
    if json:
        terminal.print_json(found.to_dict())
        return
    terminal.table(
        [("attack", "left"), ("who reads", "left"), ("right", "right"), ("of", "right")],
        [(one.attack, one.who, f"{one.right:,}", f"{one.asked:,}") for one in found.breaches],
    )
    for one in found.breaches:
        terminal.line(f"{one.attack}: {one.words}", "red")
    terminal.line(found.ours.words(), "red" if found.ours.leaks else "green")
