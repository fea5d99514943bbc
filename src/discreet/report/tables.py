"""The tables of a report page, as HTML with every text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from discreet.report.paper import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from discreet.report.paper import Paper

__all__ = ["bar", "bought_table", "definitions", "fact_list", "inside", "table"]


def bought_table(paper: Paper) -> str:
    """One line a release: its part of the budget as a bar, its noise, and the error of a count."""
    most = max(purchase.share for purchase in paper.bought)
    counted = any(purchase.error is not None for purchase in paper.bought)
    sized = all(purchase.components is not None for purchase in paper.bought)
    head = ['<th class="name">release</th>', *(["<th>components</th>"] if sized else [])]
    head += ['<th class="name" colspan="2">part of the budget</th>', "<th>noise</th>"]
    head += [f"<th>error of<br>a count, {paper.things}</th>"] if counted else []
    rows: list[str] = []
    for purchase in paper.bought:
        name = purchase.label.partition(":")[0] if sized else purchase.label
        times = f" × {purchase.count}" if purchase.count > 1 else ""
        cells = [f'<td class="name">{escape(name + times)}</td>']
        cells += [f"<td>{purchase.components}</td>"] if sized else []
        cells.append(f"{bar(purchase.share / most)}<td>{purchase.share:.1%}</td>")
        cells.append(f"<td>× {number(purchase.noise)}</td>")
        if counted:
            cells.append(f"<td>{'' if purchase.error is None else '± ' + number(purchase.error)}</td>")
        rows.append("".join(cells))
    return table(head, rows)


def fact_list(paper: Paper, about: Sequence[tuple[str, str]]) -> str:
    """The receipt: what was asked for and declared (``about``, which differs by model), and what was paid."""
    receipt = paper.receipt
    account = inside(receipt, "account")
    ledger = inside(account, "ledger")
    facts = [("Job", str(receipt.get("job", ""))), ("Method", _method(receipt)), *about]
    if ledger:
        facts += [
            ("Charged to", f"data set {account.get('dataset')}, row {ledger.get('seq')} of the ledger"),
            ("Charged at", str(ledger.get("time", ""))),
            ("Hash of that row", str(ledger.get("hash", ""))),
        ]
    else:
        facts.append(("Charged to", "no ledger: nobody adds this up with other results"))
    versions = ", ".join(f"{name} {value}" for name, value in inside(receipt, "versions").items())
    facts += [("Versions", versions), ("SHA-256 of the tensors", paper.digest)]
    return definitions(facts)


def definitions(facts: Iterable[tuple[str, str]]) -> str:
    """Facts with their names, without those that say nothing."""
    entries = (
        f"<dt>{escape(name)}</dt><dd{' class=hash' if _is_hash(text) else ''}>{escape(text)}</dd>"
        for name, text in facts
        if text
    )
    return f'<dl class="card facts">{"".join(entries)}</dl>'


def _method(receipt: Mapping[str, Any]) -> str:
    noise = receipt.get("noise")
    return str(receipt.get("method", "")) + (f", {noise} noise" if noise not in (None, "none") else "")


def bar(part: float) -> str:
    """A cell with a bar of a part between 0 and 1."""
    return f'<td class="bar"><i style="width:{100 * part:.1f}%"></i></td>'


def _is_hash(text: str) -> bool:
    return len(text) == 64 and all(letter in "0123456789abcdef" for letter in text)


def inside(plain: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A part of a receipt, empty where it has none or another kind of thing under the name."""
    found = plain.get(name)
    return dict(found) if isinstance(found, dict) else {}


def table(head: list[str], rows: Iterable[str]) -> str:
    """A table out of cells that are HTML already."""
    lines = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="card scroll"><table><thead><tr>{"".join(head)}</tr></thead>'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )
