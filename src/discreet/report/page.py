"""The report of a released mixture: one HTML file that opens offline and asks nobody for anything.

**Reveals** what the model, its guarantee and its receipt reveal, and nothing else. Every text that somebody
else chose (names of columns, of data sets, of persons) is escaped, and the page forbids itself all requests
and scripts.
"""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from discreet.report.canvas import DAY, NIGHT
from discreet.report.draw import draw_mixture
from discreet.report.paper import number
from discreet.report.style import STYLE
from discreet.report.tables import bought_table, component_table, fact_list

if TYPE_CHECKING:
    from discreet.report.paper import Paper

__all__ = ["write_page"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def write_page(paper: Paper) -> str:
    """The whole page."""
    title = f"Gaussian mixture of {_listed(paper.columns)}"
    body = "\n".join(
        [
            _header(paper, title),
            _banner(paper),
            _picture(paper),
            _promise(paper),
            _bought(paper),
            _components(paper),
            "<h2>Receipt</h2>",
            fact_list(paper),
            _loading(),
            _footer(paper),
        ]
    )
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


def _header(paper: Paper, title: str) -> str:
    guarantee = paper.guarantee
    kind = "A private model" if guarantee.private else "A model that is not private"
    unit = f"per {guarantee.unit}" + (f", column {guarantee.person}" if guarantee.person else "")
    chips = [
        f"ε = {'∞' if guarantee.epsilon == float('inf') else format(guarantee.epsilon, 'g')}",
        f"δ = {guarantee.delta:g}",
        unit,
        f"{len(paper.mixture.weights)} components",
        f"method {paper.receipt.get('method', '?')}",
    ]
    items = "".join(
        f'<li class="main">{escape(chip)}</li>'
        if index < 3 and guarantee.private
        else f"<li>{escape(chip)}</li>"
        for index, chip in enumerate(chips)
    )
    return (
        f'<p class="kicker">discreet report · {escape(kind)}</p>\n<h1>{escape(title)}</h1>\n'
        f'<ul class="chips">{items}</ul>'
    )


def _banner(paper: Paper) -> str:
    if paper.guarantee.private:
        return ""
    warning = paper.guarantee.words().splitlines()[0].removeprefix("WARNING: ")
    name, _, rest = warning.partition(". ")
    name = name[:1].upper() + name[1:]
    return f'<div class="banner" role="alert"><strong>{escape(name)}</strong>{escape(rest)}</div>'


def _picture(paper: Paper) -> str:
    day, night = (_data(draw_mixture(paper, colours)) for colours in (DAY, NIGHT))
    what = _explained(paper)
    told = _told(paper)
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{night}">'
        f'<img src="{day}" alt="{escape(told)}"></picture>'
        f"<figcaption>{escape(what)} No point of the data is drawn: everything here was computed from the "
        "released parameters.</figcaption></figure>"
    )


def _explained(paper: Paper) -> str:
    """What the picture shows, for those who can see it."""
    if len(paper.columns) == 1:
        return "Its density (thick line), and what each component adds to it."
    parts = [
        "Each component as its ellipses at one and two standard deviations, the stronger the heavier; the "
        "shade is the density of the whole mixture, on a logarithmic scale."
    ]
    if len(paper.pairs) == 1:
        parts.append("Numbers are those of the table below.")
    if paper.declared:
        parts.append("A dotted line, where there is one, is the border of the declared region.")
    if len(paper.columns) > 4:
        parts.append(f"Two columns of {len(paper.columns)} are shown; the table has them all.")
    return " ".join(parts)


def _told(paper: Paper) -> str:
    """The picture in words, for those who cannot see it."""
    first = int(paper.order[0])
    place = ", ".join(
        f"{name} {paper.show(float(paper.mixture.means[first, index]), index)}"
        for index, name in enumerate(paper.columns[:4])
    )
    return (
        f"Picture of a Gaussian mixture with {len(paper.mixture.weights)} components over "
        f"{_listed(paper.columns)}. The heaviest, number {first}, holds "
        f"{float(paper.mixture.weights[first]):.1%} and lies around {place}."
    )


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


def _components(paper: Paper) -> str:
    table = component_table(paper)
    if len(paper.mixture.weights) > 40:
        table = f"<details><summary>Show all {len(paper.mixture.weights)}</summary>{table}</details>"
    return (
        f"<h2>Components</h2>\n{table}\n"
        '<p class="note">From the heaviest to the lightest; each number is its place in the tensors. '
        "± is one standard deviation. Do not read a single component as a fact about a single person.</p>"
    )


def _loading() -> str:
    return """<h2>Load it</h2>
<pre><code>from discreet.fit import GaussianMixture

model = GaussianMixture.load("this-folder")
model.predict_proba(points), model.sample(1000), model.to_sklearn()</code></pre>
<p>Without discreet:</p>
<pre><code>from safetensors.numpy import load_file

tensors = load_file("this-folder/model.safetensors")
tensors["weights"], tensors["means"], tensors["covariances"]</code></pre>"""


def _footer(paper: Paper) -> str:
    version = paper.receipt.get("versions", {}).get("discreet", "")
    return (
        f"<footer>Written by discreet {escape(str(version))} from the released model, its guarantee and its "
        "receipt. This page makes no requests and runs no scripts.</footer>"
    )


def _data(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _listed(names: tuple[str, ...]) -> str:
    shown = [name if len(name) <= 40 else name[:39] + "…" for name in names[:4]]
    if len(names) > 4:
        return ", ".join(shown) + f" and {number(len(names) - 4)} more"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]
