"""The tables of a report page, as HTML with every text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from discreet.report.paper import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from discreet.report.paper import Paper

__all__ = ["bought_table", "component_table", "fact_list"]


def bought_table(paper: Paper) -> str:
    """One line a release: its part of the budget as a bar, its noise, and the error of a count."""
    most = max(purchase.share for purchase in paper.bought)
    counted = any(purchase.error is not None for purchase in paper.bought)
    sized = all(purchase.components is not None for purchase in paper.bought)
    whose = "people" if paper.guarantee.unit == "person" and paper.guarantee.rows_per_person == 1 else "rows"
    head = ['<th class="name">release</th>', *(["<th>components</th>"] if sized else [])]
    head += ['<th class="name" colspan="2">part of the budget</th>', "<th>noise</th>"]
    head += [f"<th>error of<br>a count, {whose}</th>"] if counted else []
    rows: list[str] = []
    for purchase in paper.bought:
        name = purchase.label.partition(":")[0] if sized else purchase.label
        times = f" × {purchase.count}" if purchase.count > 1 else ""
        cells = [f'<td class="name">{escape(name + times)}</td>']
        cells += [f"<td>{purchase.components}</td>"] if sized else []
        cells.append(f"{_bar(purchase.share / most)}<td>{purchase.share:.1%}</td>")
        cells.append(f"<td>× {number(purchase.noise)}</td>")
        if counted:
            cells.append(f"<td>{'' if purchase.error is None else '± ' + number(purchase.error)}</td>")
        rows.append("".join(cells))
    return _table(head, rows)


def component_table(paper: Paper) -> str:
    """One line a component: weight, and mean and standard deviation of each column."""
    mixture, heaviest = paper.mixture, float(paper.mixture.weights.max())
    two = len(paper.columns) == 2
    head = ["<th>no.</th>", '<th class="name" colspan="2">weight</th>']
    head += [f"<th>{escape(_short(name))}</th>" for name in paper.columns]
    head += ["<th>correlation</th>"] if two else []
    rows: list[str] = []
    for k in map(int, paper.order):
        weight, spread = float(mixture.weights[k]), paper.deviations(k)
        cells = [
            f"<td>{k}</td>",
            f"{_bar(weight / heaviest)}<td>{weight:.2%}</td>",
        ]
        cells += [
            f"<td>{paper.show(float(mixture.means[k, index]), index)} ± {float(spread[index]):.2g}</td>"
            for index in range(len(paper.columns))
        ]
        if two:
            cells.append(f"<td>{mixture.covariances[k, 0, 1] / (spread[0] * spread[1]):+.2f}</td>")
        rows.append("".join(cells))
    return _table(head, rows)


def fact_list(paper: Paper) -> str:
    """The receipt: what was asked for, declared and paid."""
    receipt = paper.receipt
    domain, account = _inside(receipt, "domain"), _inside(receipt, "account")
    ledger = _inside(account, "ledger")
    facts: list[tuple[str, str]] = [
        ("Job", str(receipt.get("job", ""))),
        ("Method", _method(receipt)),
        ("Covariances", str(receipt.get("covariance_type", ""))),
        ("Rounds", str(receipt.get("rounds", ""))),
        _region(paper),
        (
            "Missing values",
            {"error": "refused", "drop": "their rows were left out"}.get(domain.get("missing", ""), ""),
        ),
    ]
    if paper.guarantee.person is not None:
        weight = f"{paper.guarantee.rows_per_person:g}"
        facts.append(("Person", f"column {paper.guarantee.person}, rows of one weigh at most {weight}"))
    if ledger:
        facts += [
            ("Charged to", f"data set {account.get('dataset')}, row {ledger.get('seq')} of the ledger"),
            ("Charged at", str(ledger.get("time", ""))),
            ("Hash of that row", str(ledger.get("hash", ""))),
        ]
    else:
        facts.append(("Charged to", "no ledger: nobody adds this up with other results"))
    versions = ", ".join(f"{name} {value}" for name, value in _inside(receipt, "versions").items())
    facts += [("Versions", versions), ("SHA-256 of the tensors", paper.digest)]
    entries = (
        f"<dt>{escape(name)}</dt><dd{' class=hash' if _is_hash(text) else ''}>{escape(text)}</dd>"
        for name, text in facts
        if text
    )
    return f'<dl class="card facts">{"".join(entries)}</dl>'


def _method(receipt: Mapping[str, Any]) -> str:
    noise = receipt.get("noise")
    return str(receipt.get("method", "")) + (f", {noise} noise" if noise not in (None, "none") else "")


def _region(paper: Paper) -> tuple[str, str]:
    """Where the rows lie, and who said so."""
    name = "Declared region" if paper.declared else "Region, seen in the rows"
    plain = paper.region.to_dict()
    if plain["kind"] == "ball":
        center = ", ".join(f"{value:g}" for value in plain["center"])
        return name, f"within {plain['radius']:g} of ({center})"
    ranges = zip(paper.columns, plain["low"], plain["high"], strict=True)
    return name, "; ".join(f"{column} from {low:g} to {high:g}" for column, low, high in ranges)


def _bar(part: float) -> str:
    return f'<td class="bar"><i style="width:{100 * part:.1f}%"></i></td>'


def _is_hash(text: str) -> bool:
    return len(text) == 64 and all(letter in "0123456789abcdef" for letter in text)


def _inside(plain: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = plain.get(name)
    return dict(found) if isinstance(found, dict) else {}


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"


def _table(head: list[str], rows: Iterable[str]) -> str:
    lines = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="card scroll"><table><thead><tr>{"".join(head)}</tr></thead>'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )
