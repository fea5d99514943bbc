"""Plans of joint networks to start from: TOML with a comment for every decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["START", "Draft", "plan_text"]


@dataclass(frozen=True)
class Draft:
    """What a plan is written from. ``structure`` is TOML: a file, or edges and states."""

    name: str
    holders: Mapping[str, tuple[str, ...]]
    helper: str | None
    structure: str
    rows: str
    pays: tuple[str, ...]


START = Draft(
    name="my-study",
    holders={"clinic": ("smoker", "cough"), "registry": ("diagnosis",)},
    helper="dealer",
    structure="""# Either a file in BIF, of which only nodes, states and arrows are used:
#   file = "network.bif"
# or the arrows, from parent to child, and the states of every column:
edges = [["smoker", "cough"], ["diagnosis", "cough"], ["smoker", "diagnosis"]]

[structure.states]
smoker = ["yes", "no"]
cough = ["none", "some", "strong"]
diagnosis = ["healthy", "ill", "unknown"]""",
    rows="""# Rows are matched by ids that nobody shows. Every holder has such a column; it learns how many
# people all holders have, and which of its own they are.
id = "patient"
duplicates = "refuse"            # an id in two rows: refuse, drop (all of them) or first (keep one)
missing = "refuse"               # a row without an id: refuse or drop
# Or, if all files have the same rows in the same order already, instead of the three lines above:
#   count = 2000""",
    pays=("clinic", "registry"),
)
"""Three columns, two holders and a helper."""


def plan_text(draft: Draft) -> str:
    """The plan as a file. `discreet.join.JoinPlan` reads it."""
    parties = [_holder(name, columns, 7301 + at) for at, (name, columns) in enumerate(draft.holders.items())]
    if draft.helper is not None:
        parts = (f"[parties.{draft.helper}]", 'role = "helper"', _place(draft.helper, 7301 + len(parties)))
        parties.append("\n".join(parts))
    data = " ".join(f"--data {name}={name}.csv" for name in draft.holders)
    first = next(iter(draft.holders))
    return f"""# A plan for a joint network. Every party keeps this file; parties whose plans say different
# things stop before anything private moves.
#
#   discreet join check plan.toml                 what it reveals to whom, and what it costs
#   discreet join rehearse plan.toml {data}
#                                                 all parties on this machine, to try it
#   discreet join run plan.toml --as {first} --data {first}.csv --ledger {first}.ledger
#                                                 one party, on its own machine; a ledger if it pays

job = "network"
name = "{draft.name}"{_gap(9 + len(draft.name))}# also the name of the budget in ledgers

# Who takes part. A holder has columns. A helper deals random masks and learns nothing but how many rows there
# are, as long as it pools what it has with nobody. An analyst only receives: role = "analyst".
# The place is where others reach a party in a run; a rehearsal does not need it.

{_joined(parties)}

# The network whose probabilities are wanted. All of it is public.
[structure]
{draft.structure}

[rows]
{draft.rows}

# How families whose columns lie with several holders are counted: "helper", "transfer" (no helper; slower) or
# "three" (three holders or more, no two of whom may pool what they have). Usually by who is there.
#   [route]
#   kind = "helper"

# Who gets the result, and what it may tell of single people. There is no default.
[release]
to = [{_listed(draft.holders)}]
epsilon = 1.0                    # around 1 is usual
delta = 1e-6                     # well below one over the number of people
prior = 1.0                      # added to every cell before probabilities are taken
pays = [{_listed(draft.pays)}]{_gap(len(_listed(draft.pays)) + 9)}# whose ledgers are charged, with --ledger
# Exact counts instead of epsilon, delta and pays (they can tell of single people):
#   exact = true

[time]
silence = 60                     # seconds without a word after which a party is given up
whole = 3600                     # seconds for everything
"""


def _holder(name: str, columns: tuple[str, ...], port: int) -> str:
    return f'[parties.{name}]\nrole = "holder"\ncolumns = [{_listed(columns)}]\n{_place(name, port)}'


def _place(name: str, port: int) -> str:
    return f'place = "{name}.example:{port}"'


def _listed(names: Mapping[str, object] | tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _joined(parts: list[str]) -> str:
    return "\n\n".join(parts)


def _gap(used: int) -> str:
    """Blanks up to the column of comments, at least two."""
    return " " * max(2, 33 - used)
