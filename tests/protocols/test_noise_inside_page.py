"""The page on noise made inside runs as it stands, and its table says what circuits cost."""

import re
from fractions import Fraction
from pathlib import Path

from discreet.crypto.bells import bells
from discreet.protocols.draw import Draw

PAGE = Path(__file__).parents[2] / "docs" / "noise-inside.md"


def test_every_snippet_of_the_page_on_noise_runs():
    snippets = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)
    assert len(snippets) == 2
    namespace: dict[str, object] = {"__name__": "page"}
    for snippet in snippets:
        exec(compile(snippet, str(PAGE), "exec"), namespace)
    assert "noise" in namespace


def test_the_costs_on_the_page_are_those_of_the_plans():
    rows = re.findall(r"^\| ([\d.,*]+) \| ([\d,]+) \| (\d+) \| ([\d.]+) \|", PAGE.read_text(), flags=re.M)
    assert len(rows) == 6
    for name, ands, bits, size in rows:
        deviation = 2.0**30 if "**" in name else float(name.replace(",", ""))
        agreed = Draw(752, 40 if deviation > 9000 else 22, (deviation, 60), "one", "two")
        assert agreed.ands == int(ands.replace(",", ""))
        assert bells(deviation, Fraction(1, 752 << 60)).bits == int(bits)
        assert round(sum(agreed.bytes().values()) / 1e6, 1) == float(size)
