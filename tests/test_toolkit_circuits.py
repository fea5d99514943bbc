"""Every snippet of the toolkit page runs as it stands, one after the other."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "toolkit-circuits.md"


def test_the_snippets_of_the_toolkit_page_run():
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(snippets) >= 6
    names: dict[str, object] = {}
    for number, snippet in enumerate(snippets, start=1):
        exec(compile(snippet, f"{PAGE.name}, snippet {number}", "exec"), names)
