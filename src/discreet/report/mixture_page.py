"""What a report says of a mixture: its picture, its components, and where the rows lie."""

from __future__ import annotations

from functools import partial
from html import escape

from discreet.report.draw import draw_mixture
from discreet.report.face import Face, figure, listed, long_table, snippet
from discreet.report.mixture import MixturePaper
from discreet.report.paper import short
from discreet.report.tables import bar, inside, table

__all__ = ["face_mixture", "place_words"]

_LOADING = """from discreet.fit import GaussianMixture

model = GaussianMixture.load("this-folder")
model.predict_proba(points), model.sample(1000), model.to_sklearn()"""


def face_mixture(paper: MixturePaper) -> Face:
    """The face of a mixture."""
    return Face(
        f"Gaussian mixture of {listed(paper.columns)}",
        f"{len(paper.mixture.weights)} components",
        figure(partial(draw_mixture, paper), _told(paper), _explained(paper)),
        _components(paper),
        _facts(paper),
        snippet(_LOADING, 'tensors["weights"], tensors["means"], tensors["covariances"]'),
    )


def _facts(paper: MixturePaper) -> tuple[tuple[str, str], ...]:
    receipt, domain = paper.receipt, inside(paper.receipt, "domain")
    missing = {"error": "refused", "drop": "their rows were left out"}.get(domain.get("missing", ""), "")
    facts = [
        ("Covariances", str(receipt.get("covariance_type", ""))),
        ("Rounds", str(receipt.get("rounds", ""))),
        place_words(paper),
        ("Missing values", missing),
    ]
    if paper.guarantee.person is not None:
        weight = f"{paper.guarantee.rows_per_person:g}"
        facts.append(("Person", f"column {paper.guarantee.person}, rows of one weigh at most {weight}"))
    return tuple(facts)


def _explained(paper: MixturePaper) -> str:
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


def _told(paper: MixturePaper) -> str:
    """The picture in words, for those who cannot see it."""
    first = int(paper.order[0])
    place = ", ".join(
        f"{name} {paper.show(float(paper.mixture.means[first, index]), index)}"
        for index, name in enumerate(paper.columns[:4])
    )
    return (
        f"Picture of a Gaussian mixture with {len(paper.mixture.weights)} components over "
        f"{listed(paper.columns)}. The heaviest, number {first}, holds "
        f"{float(paper.mixture.weights[first]):.1%} and lies around {place}."
    )


def _components(paper: MixturePaper) -> str:
    return (
        f"<h2>Components</h2>\n{long_table(_component_table(paper), len(paper.mixture.weights))}\n"
        '<p class="note">From the heaviest to the lightest; each number is its place in the tensors. '
        "± is one standard deviation. Do not read a single component as a fact about a single person.</p>"
    )


def _component_table(paper: MixturePaper) -> str:
    """One line a component: weight, and mean and standard deviation of each column."""
    mixture, heaviest = paper.mixture, float(paper.mixture.weights.max())
    two = len(paper.columns) == 2
    head = ["<th>no.</th>", '<th class="name" colspan="2">weight</th>']
    head += [f"<th>{escape(short(name))}</th>" for name in paper.columns]
    head += ["<th>correlation</th>"] if two else []
    rows: list[str] = []
    for k in map(int, paper.order):
        weight, spread = float(mixture.weights[k]), paper.deviations(k)
        cells = [
            f"<td>{k}</td>",
            f"{bar(weight / heaviest)}<td>{weight:.2%}</td>",
        ]
        cells += [
            f"<td>{paper.show(float(mixture.means[k, index]), index)} ± {float(spread[index]):.2g}</td>"
            for index in range(len(paper.columns))
        ]
        if two:
            cells.append(f"<td>{mixture.covariances[k, 0, 1] / (spread[0] * spread[1]):+.2f}</td>")
        rows.append("".join(cells))
    return table(head, rows)


def place_words(paper: MixturePaper) -> tuple[str, str]:
    """Where the rows lie, and who said so."""
    name = "Declared region" if paper.declared else "Region, seen in the rows"
    plain = paper.region.to_dict()
    if plain["kind"] == "ball":
        center = ", ".join(f"{value:g}" for value in plain["center"])
        return name, f"within {plain['radius']:g} of ({center})"
    ranges = zip(paper.columns, plain["low"], plain["high"], strict=True)
    return name, "; ".join(f"{column} from {low:g} to {high:g}" for column, low, high in ranges)
