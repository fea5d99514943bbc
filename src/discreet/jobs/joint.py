"""The folder that a party keeps of a joint run: the network, if it receives it, a receipt and a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.guarantee import Guarantee
from discreet.bundle import Bundle, save_bundle, save_receipt, tensor_digest
from discreet.errors import BundleError
from discreet.fit.network.card import CPT, JOINT, read_network
from discreet.join.layout import Layout
from discreet.join.plan import JoinPlan
from discreet.join.traffic import announced, node_bytes
from discreet.models.bif import bif_text
from discreet.report.join import Flow, JoinPaper, Node, size_of
from discreet.report.page import write_page

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from discreet.join import Joined

__all__ = ["joint_paper", "keep", "receipt_paper", "size_of"]

_COUNT = "count/"


def keep(joined: Joined, name: str, place: Path) -> JoinPaper:
    """Write what one party keeps: the result, then the report, which no failure of a picture can undo."""
    receipt: dict[str, Any] = {**joined.receipts[name], "method": joined.plan.kind}
    account: dict[str, Any] = {"digest": None, **(receipt.get("account") or {})}
    account["guarantee"] = joined.guarantee.to_dict()
    if name not in joined.plan.receivers:
        receipt["account"] = account
        paper = receipt_paper(receipt)
        save_receipt(place, receipt, {})
        save_receipt(place, receipt, {"report.html": write_page(paper)})
        return paper
    bundle = _bundle(joined, receipt, account)
    save_bundle(place, bundle)
    paper = joint_paper(bundle)
    save_bundle(place, replace(bundle, pages={**bundle.pages, "report.html": write_page(paper)}))
    return paper


def _bundle(joined: Joined, receipt: Mapping[str, Any], account: Mapping[str, Any]) -> Bundle:
    """What a receiver gets, ready to be written: probabilities, and the counts as they were opened."""
    assert joined.model is not None
    assert joined.tables is not None
    tensors = {CPT + node: table for node, table in joined.model.tables.items()}
    tensors |= {_COUNT + node: np.asarray(counts, np.float64) for node, counts in joined.tables.items()}
    digest = tensor_digest(tensors)
    return Bundle(
        kind=JOINT,
        tensors=tensors,
        description={
            "structure": joined.plan.network.to_dict(),
            "plan": receipt["digest"],
            "guarantee": joined.guarantee.to_dict(),
        },
        receipt={**receipt, "account": {**account, "digest": digest}},
        card=_card(joined, digest),
        pages={"network.bif": bif_text(joined.model)},
    )


def joint_paper(bundle: Bundle) -> JoinPaper:
    """What a report may show of a receiver's folder, which may come from strangers."""
    paper = receipt_paper(bundle.receipt)
    if bundle.description.get("structure") != paper.plan.network.to_dict():
        raise BundleError("the structure of the network is not that of its plan")
    return replace(paper, network=read_network(bundle), digest=tensor_digest(bundle.tensors))


def receipt_paper(receipt: Mapping[str, Any]) -> JoinPaper:
    """What a report may show of a receipt alone, which may come from strangers."""
    try:
        plan = JoinPlan.of_agreed(receipt["plan"]["agreed"])
        name, rows = str(receipt["role"]), int(receipt["rows"])
        guarantee = Guarantee.from_dict(receipt["account"]["guarantee"])
        if name not in plan.parties or rows < 1 or dict(receipt["plan"]["learns"]) != plan.learns:
            raise BundleError("the receipt does not fit its plan")
        flows, shared = _flows(plan, name, rows, receipt["traffic"]["peers"])
        _ = receipt["total"]["messages"], receipt["total"]["rounds"], float(receipt["seconds"])
        parties, versions = dict(receipt["parties"]), dict(receipt["versions"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise BundleError("the receipt of the joint run is damaged") from None
    return JoinPaper(
        guarantee=guarantee,
        receipt={**receipt, "parties": parties, "versions": versions},
        digest="",
        bought=(),
        sentence=_sentence(plan),
        plan=plan,
        name=name,
        rows=rows,
        network=None,
        flows=flows,
        nodes=_nodes(plan, rows),
        shared=shared,
    )


def _flows(
    plan: JoinPlan, name: str, rows: int, peers: Mapping[str, Mapping[str, Any]]
) -> tuple[tuple[Flow, ...], int]:
    """Every pair of parties, and what crossing families take together."""
    phases = announced(plan, rows)
    parties = sorted(plan.parties, key=lambda one: (plan.parties[one].role != "helper", one))
    flows: list[Flow] = []
    for sender in parties:
        for receiver in parties:
            if sender == receiver:
                continue
            told = sum(pairs.get((sender, receiver), 0) for pairs in phases.values())
            counted = None
            if sender == name:
                counted, told = (int(peers[receiver][key]) for key in ("sent", "sent_announced"))
            elif receiver == name:
                counted, told = (int(peers[sender][key]) for key in ("received", "received_announced"))
            flows.append(Flow(sender, receiver, told, counted))
    return tuple(flows), sum(phases.get("families", {}).values())


def _nodes(plan: JoinPlan, rows: int) -> tuple[Node, ...]:
    """The families that were counted, and where."""
    layout, taken = Layout(plan), node_bytes(plan, rows)
    structure = plan.network
    return tuple(
        Node(
            name=node,
            parents=structure.parents[node],
            cells=structure.cells([node]),
            where=tuple(piece.holder for piece in layout.pieces_of(node)),
            paper=taken.get(node, {}).get("paper", 0),
            ours=taken.get(node, {}).get("bytes", 0),
        )
        for node in structure.measured
    )


def _sentence(plan: JoinPlan) -> str:
    """What the budget bought, in one sentence."""
    families = len(plan.network.measured)
    law = Layout(plan).law
    if law is None:
        return "Nothing: the counts are exact, and the result is not private. Hand it out to nobody else."
    counted = "family" if families == 1 else "families"
    return (
        f"The counts of {families} {counted}, each with noise of a standard deviation of {law.sigma:.3g} "
        "rows. Nobody knows the noise of what several holders counted together."
    )


def _card(joined: Joined, digest: str) -> str:
    """The model card, in Markdown."""
    plan, guarantee = joined.plan, joined.guarantee
    words = "\n\n".join(_plain(line) for line in guarantee.words().splitlines())
    held = "\n".join(
        f"* `{_plain(name)}` held {', '.join(f'`{_plain(column)}`' for column in plan.columns_of(name))}"
        for name in plan.holders
    )
    return f"""# A Bayesian network: {_plain(plan.name)}

{len(plan.network.nodes)} nodes, from {joined.rows:,} rows whose columns different parties hold. None of
them saw the columns of the others.

{held}

## Guarantee

**{guarantee.summary()}**

{words}

## Intended use

Questions about the population behind the rows. Do not read rare configurations as facts about single persons.

## Loading

```python
from discreet.fit import BayesianNetwork

model = BayesianNetwork.load("this-folder")
model.cpt("node"), model.query(["node"], {{"other": "state"}}), model.sample(1000)
```

`model.safetensors` holds the same probabilities (`{CPT}NODE`) and the counts as they were opened
(`{_COUNT}NODE`). Other programs read the BIF file beside it.

SHA-256 of the tensors: `{digest}`
"""


def _plain(name: str) -> str:
    """Words in which a name cannot pass for Markdown or HTML."""
    return "".join(letter if letter.isprintable() and letter not in "`<>" else "?" for letter in name)
