"""`discreet ask`: a model and a recording, and one answer."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal

__all__ = ["commands", "group", "plain", "tones"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@commands.callback()
def group() -> None:
    """Ask a model about a recording: which word was said?"""


@commands.command(no_args_is_help=True)
def plain(
    bundle: Annotated[str, typer.Argument(help="The folder that `discreet fit words` has written.")],
    audio: Annotated[list[str], typer.Argument(help="WAV or FLAC files, or folders of them.")],
    method: Annotated[
        str, typer.Option(help="forward (all paths, usual) or viterbi (the best).")
    ] = "forward",
    named: Annotated[
        bool, typer.Option("--named", help="Compare with the words in the names: WORD_SPEAKER_TAKE.wav.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Say which word is in each recording, where models and recordings are in one hand.

    The margin is how many nats the next likely word is behind. For example:

      discreet ask plain words recording.wav

      discreet ask plain words tones/test --named
    """
    from discreet.jobs import recognise

    done = recognise(bundle, list(audio), method=method, named=named)
    if json:
        terminal.print_json(done.to_dict())
        return
    columns = [
        ("recording", "left"),
        ("word", "left"),
        ("margin, nats", "right"),
        ("next", "left"),
        ("frames", "right"),
    ]
    rows = [
        [
            one.path.name,
            one.word,
            "" if one.margin is None else f"{one.margin:.1f}",
            one.second or "",
            str(one.frames),
            *([] if not named else ["right" if one.word == one.said else "WRONG"]),
        ]
        for one in done.heard
    ]
    terminal.table([*columns, *([("", "left")] if named else [])], rows)
    if named:
        terminal.line(f"{done.right} of {done.known} right ({done.right / done.known:.1%}).", "bold")


@commands.command(no_args_is_help=True)
def tones(
    folder: Annotated[str, typer.Argument(help="A new or empty folder.")],
    words: Annotated[int, typer.Option(help="How many words, up to 20.")] = 10,
    speakers: Annotated[int, typer.Option(help="How many speakers.")] = 4,
    takes: Annotated[
        int, typer.Option(help="How often each says each word; the first take is for tests.")
    ] = 5,
    noise: Annotated[float, typer.Option(help="How many decibels noise lies below the tones.")] = 10.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same files.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Make recordings of words that do not exist: melodies of tones and bursts of noise, to try things with.

    For example:

      discreet ask tones tones

      discreet fit words tones/train --epsilon inf --out words

      discreet ask plain words tones/test --named
    """
    from discreet.jobs import make_tones

    with terminal.follow("making tones", quiet=json) as progress:
        done = make_tones(
            folder, words=words, speakers=speakers, takes=takes, noise=noise, seed=seed, tell=progress
        )
    if json:
        terminal.print_json(done.to_dict())
        return
    terminal.line(
        f"{len(done.words)} words that do not exist, said by {done.speakers} voices of a computer.", "bold"
    )
    terminal.files(
        str(done.out), [("train/", f"{done.train} recordings"), ("test/", f"{done.test} recordings")]
    )
    terminal.line(f"\nNext: discreet fit words {done.out}/train --epsilon inf --out words", "dim")
    terminal.line(f"      discreet ask plain words {done.out}/test --named", "dim")
