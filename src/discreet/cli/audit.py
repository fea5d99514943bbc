"""`discreet audit`: attacks, to see what a claim is worth."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal

__all__ = ["commands", "game", "group"]

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
