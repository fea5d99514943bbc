"""The page about counting together runs as it stands, from top to bottom."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "toolkit-counts.md"


def test_every_snippet_of_the_page_about_counts_runs():
    snippets = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)
    assert len(snippets) >= 4
    namespace: dict[str, object] = {"__name__": "page"}
    for snippet in snippets:
        exec(compile(snippet, str(PAGE), "exec"), namespace)
    assert namespace["moved"]
