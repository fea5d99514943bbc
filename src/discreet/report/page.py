"""The report of a released model: one HTML file that opens offline and asks nobody for anything.

**Reveals** what the model, its guarantee and its receipt reveal, and nothing else. Every text that somebody
else chose (names of columns, of data sets, of persons) is escaped, and the page forbids itself all requests
and scripts.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from discreet.report.hmm import HMMPaper
from discreet.report.hmm_page import face_hmm
from discreet.report.join import JoinPaper
from discreet.report.join_page import face_join
from discreet.report.mixture import MixturePaper
from discreet.report.mixture_page import face_mixture
from discreet.report.network import NetworkPaper
from discreet.report.network_page import face_network
from discreet.report.style import STYLE
from discreet.report.tables import bought_table, fact_list
from discreet.report.words import WordsPaper
from discreet.report.words_page import face_words

if TYPE_CHECKING:
    from discreet.report.face import Face
    from discreet.report.paper import Paper

__all__ = ["frame", "write_page"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def write_page(paper: Paper) -> str:
    """The whole page."""
    face = _face(paper)
    body = "\n".join(
        [
            _header(paper, face),
            _banner(paper),
            face.picture,
            _promise(paper),
            _bought(paper),
            face.parts,
            "<h2>Receipt</h2>",
            fact_list(paper, face.facts),
            face.loading,
            _footer(paper),
        ]
    )
    return frame(face.title, body)


def frame(title: str, body: str) -> str:
    """A page around its body, which is HTML; it asks nobody for anything."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _face(paper: Paper) -> Face:
    if isinstance(paper, MixturePaper):
        return face_mixture(paper)
    if isinstance(paper, JoinPaper):
        return face_join(paper)
    if isinstance(paper, NetworkPaper):
        return face_network(paper)
    if isinstance(paper, WordsPaper):
        return face_words(paper)
    assert isinstance(paper, HMMPaper)
    return face_hmm(paper)


def _header(paper: Paper, face: Face) -> str:
    guarantee = paper.guarantee
    thing = "joint run" if isinstance(paper, JoinPaper) else "model"
    kind = f"A private {thing}" if guarantee.private else f"A {thing} that is not private"
    unit = f"per {guarantee.unit}" + (f", column {guarantee.person}" if guarantee.person else "")
    chips = [
        f"ε = {'∞' if guarantee.epsilon == float('inf') else format(guarantee.epsilon, 'g')}",
        f"δ = {guarantee.delta:g}",
        unit,
        face.size,
        f"method {paper.receipt.get('method', '?')}",
    ]
    items = "".join(
        f'<li class="main">{escape(chip)}</li>'
        if index < 3 and guarantee.private
        else f"<li>{escape(chip)}</li>"
        for index, chip in enumerate(chips)
    )
    return (
        f'<p class="kicker">discreet report · {escape(kind)}</p>\n<h1>{escape(face.title)}</h1>\n'
        f'<ul class="chips">{items}</ul>'
    )


def _banner(paper: Paper) -> str:
    if paper.guarantee.private:
        return ""
    warning = paper.guarantee.words().splitlines()[0].removeprefix("WARNING: ")
    name, _, rest = warning.partition(". ")
    name = name[:1].upper() + name[1:]
    return f'<div class="banner" role="alert"><strong>{escape(name)}</strong>{escape(rest)}</div>'


def _promise(paper: Paper) -> str:
    entries: list[str] = []
    for line in paper.guarantee.words().splitlines():
        name, colon, text = line.partition(": ")
        if not colon or name in ("WARNING", "Noise"):
            continue  # the banner and the table below say it
        entries.append(f"<dt>{escape(name)}</dt><dd>{escape(text[:1].upper() + text[1:])}</dd>")
    title = "What is promised" if paper.guarantee.private else "Nothing is promised"
    return f'<h2>{title}</h2>\n<dl class="card promise">{"".join(entries)}</dl>'


def _bought(paper: Paper) -> str:
    sentence = f'<p class="lead">{escape(paper.sentence)}</p>'
    if not paper.bought:
        return f"<h2>What the budget bought</h2>\n{sentence}"
    pure = all(purchase.mechanism == "laplace" for purchase in paper.bought)
    what = "epsilon" if pure else "the squared strength of Gaussian privacy, which adds up"
    return (
        f"<h2>What the budget bought</h2>\n{sentence}\n{bought_table(paper)}\n"
        f'<p class="note">Each part is one of {what}. Noise is in multiples of what one '
        f"{paper.guarantee.unit} can change in a release. The rounds were fixed before a row was read.</p>"
    )


def _footer(paper: Paper) -> str:
    version = paper.receipt.get("versions", {}).get("discreet", "")
    return (
        f"<footer>Written by discreet {escape(str(version))} from the released model, its guarantee and its "
        "receipt. This page makes no requests and runs no scripts.</footer>"
    )
