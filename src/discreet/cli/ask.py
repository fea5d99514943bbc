"""`discreet ask`: a model and a recording, and one answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import service, terminal

__all__ = ["commands", "group", "keyword", "limits", "plain", "rehearse", "serve", "tones"]

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

_Json = Annotated[bool, typer.Option("--json", help="For machines.")]
_Ahead = Annotated[
    bool, typer.Option("--ahead", help="First what does not depend on the recordings: a shorter wait after.")
]
_Home = Annotated[
    Path | None,
    typer.Option(help="The folder with keys and cards.", envvar="DISCREET_HOME", show_default="~/.discreet"),
]
_Receipts = Annotated[
    Path | None, typer.Option(help="The folder for receipts.", show_default="receipts in the home")
]
_Name = Annotated[str, typer.Option("--as", help="Who we are: a name of `discreet party new`.")]


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
    first = f"{done.out}/test/{done.words[0]}_s0_0.wav"
    terminal.line(f"      discreet ask rehearse words {first}", "dim")


@commands.command(no_args_is_help=True)
def serve(
    bundle: Annotated[str, typer.Argument(help="The folder that `discreet fit words` has written.")],
    name: _Name,
    listen: Annotated[str, typer.Option(help="Where: HOST:PORT, 0.0.0.0 for all addresses.")],
    clients: Annotated[str | None, typer.Option(help="Only these of the parties we trust: a,b,c.")] = None,
    limit: Annotated[int | None, typer.Option(help="The most answers of a client.")] = None,
    per: Annotated[str | None, typer.Option(help="The limit is per hour, day or week.")] = None,
    answers: Annotated[
        str | None, typer.Option(help="The file that counts them.", show_default="BUNDLE.answers")
    ] = None,
    longest: Annotated[int, typer.Option(help="The longest recording, 100 frames a second.")] = 200,
    padding: Annotated[int, typer.Option(help="Lengths are shown in steps of so many frames.")] = 100,
    together: Annotated[int, typer.Option(help="The most recordings of one question.")] = 16,
    hide_words: Annotated[
        bool, typer.Option("--hide-words", help="Show the word that was said, but not the list.")
    ] = False,
    workers: Annotated[
        int, typer.Option(help="Questions at once.", show_default="one a processor", min=0)
    ] = 0,
    receipts: _Receipts = None,
    home: _Home = None,
    json: _Json = False,
) -> None:
    r"""Answer clients: which word was said? They learn the word, we learn nothing. Ctrl-C ends it.

    Each answer is counted before it is given, and no client gets more than the limit. For example:

      discreet ask serve words --as bob --listen 0.0.0.0:7300 --limit 1000
    """
    from discreet.jobs import serve_words

    serve_words(
        bundle,
        name,
        listen,
        clients=[] if clients is None else [one.strip() for one in clients.split(",")],
        limit=limit,
        per=per,
        answers=answers,
        home=home,
        receipts=receipts,
        longest=longest,
        padding=padding,
        together=together,
        hide_words=hide_words,
        workers=workers,
        opened=lambda one: service.opened(one, json),
        tell=lambda note: service.log(note, json),
    )
    if not json:
        terminal.line("Stopped. What was counted stays counted.")


@commands.command(no_args_is_help=True)
def keyword(
    audio: Annotated[list[str], typer.Argument(help="WAV or FLAC files, or folders of them.")],
    to: Annotated[str, typer.Option(help="The service: NAME@HOST:PORT, of a party that we trust.")],
    name: _Name,
    ahead: _Ahead = False,
    wait: Annotated[float, typer.Option(help="Seconds in which the service must be reached.")] = 15.0,
    receipts: _Receipts = None,
    home: _Home = None,
    json: _Json = False,
) -> None:
    r"""Ask a model owner which word is said in each recording. The owner does not hear it.

    For example:

      discreet ask keyword recording.wav --to bob@10.0.0.7:7300 --as alice
    """
    from discreet.jobs import ask_keyword

    done = ask_keyword(audio, to, name, ahead=ahead, wait=wait, home=home, receipts=receipts)
    if json:
        terminal.print_json(done.to_dict())
    else:
        service.words(done)


@commands.command(no_args_is_help=True)
def rehearse(
    bundle: Annotated[str, typer.Argument(help="The folder that `discreet fit words` has written.")],
    audio: Annotated[list[str], typer.Argument(help="WAV or FLAC files, or folders of them.")],
    ahead: _Ahead = False,
    padding: Annotated[int, typer.Option(help="Lengths are shown in steps of so many frames.", min=1)] = 1,
    json: _Json = False,
) -> None:
    """Play both parties on this machine, in two processes over TLS: what it says, takes and shows to whom.

    For example:

      discreet ask rehearse words recording.wav
    """
    from discreet.jobs import rehearse_keyword

    done = rehearse_keyword(bundle, audio, ahead=ahead, padding=padding)
    if json:
        terminal.print_json(done.to_dict())
    else:
        service.words(done)


@commands.command(no_args_is_help=True)
def limits(
    path: Annotated[str, typer.Argument(help="The file that counts answers, or the folder of the model.")],
    home: _Home = None,
    json: _Json = False,
) -> None:
    """Show how many answers each client has had of each model.

    For example:

      discreet ask limits words
    """
    from discreet.jobs import count_answers

    counted = count_answers(path, home)
    if json:
        terminal.print_json({"answers": [one.to_dict() for one in counted]})
    else:
        service.counted(counted)
