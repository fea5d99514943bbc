"""What a report says of one kind of model, as HTML with every text escaped; the page adds the rest."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from discreet.report.canvas import DAY, NIGHT
from discreet.report.paper import number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.report.canvas import Colours

__all__ = ["Face", "figure", "listed", "long_table", "snippet"]

_LONG = 40


@dataclass(frozen=True)
class Face:
    """The title, how large the model is, its picture, its parts, facts for the receipt, and how to load it.

    ``title``, ``size`` and ``facts`` are text; the others are HTML.
    """

    title: str
    size: str
    picture: str
    parts: str
    facts: tuple[tuple[str, str], ...]
    loading: str


_DRAWN = "No point of the data is drawn: everything here was computed from the released parameters."


def figure(draw: Callable[[Colours], bytes], told: str, shown: str, drawn: str = _DRAWN) -> str:
    """A picture for day and night; ``told`` is for those who cannot see it, ``shown`` for those who can.

    ``drawn`` says what the picture was made from.
    """
    day, night = (_data(draw(colours)) for colours in (DAY, NIGHT))
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{night}">'
        f'<img src="{day}" alt="{escape(told)}"></picture>'
        f"<figcaption>{escape(shown)} {escape(drawn)}</figcaption></figure>"
    )


def long_table(table: str, rows: int) -> str:
    """A table that is folded away if it is long."""
    if rows <= _LONG:
        return table
    return f"<details><summary>Show all {rows}</summary>{table}</details>"


def snippet(lines: str, without: str) -> str:
    """How to load a model: with discreet, and without."""
    return f"""<h2>Load it</h2>
<pre><code>{escape(lines, quote=False)}</code></pre>
<p>Without discreet:</p>
<pre><code>from safetensors.numpy import load_file

tensors = load_file("this-folder/model.safetensors")
{escape(without, quote=False)}</code></pre>"""


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    shown = [name if len(name) <= 40 else name[:39] + "…" for name in names[:4]]
    if len(names) > 4:
        return ", ".join(shown) + f" and {number(len(names) - 4)} more"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def _data(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()
