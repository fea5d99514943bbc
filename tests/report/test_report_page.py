"""The report: one file that asks for nothing, shows nothing that was not released, and escapes every name."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.jobs import fit_mixture, make_plan, new_budget, show_bundle
from discreet.report.page import write_page

OUTLIER = 4.718281
EVIL = '"><script>alert(1)</script>&<img src=x onerror=y>'


class Reader(HTMLParser):
    """Collects tags, what they refer to, and whether all of them are closed."""

    EMPTY = frozenset({"meta", "img", "source", "br"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.refers: list[str] = []
        self.open: list[str] = []
        self.alts: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "href", "action", "data", "background", "poster"):
                self.refers.append(value or "")
            assert not name.startswith("on"), f"{tag} has {name}"
            if name == "alt":
                self.alts.append(value or "")
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def fitted(folder: Path, columns: dict[str, np.ndarray] | None = None, **more):
    draw = np.random.default_rng(0)
    found = columns or {"lat": draw.normal(0, 1, 2000), "lon": draw.normal(0, 1, 2000)}
    pq.write_table(pa.table(found), folder / "rows.parquet")
    least = {"data": str(folder / "rows.parquet"), "components": 2, "epsilon": 1.0, "delta": 1e-6}
    return fit_mixture(make_plan({**least, "bounds": "-5:5", "out": str(folder / "out"), **more}))


def page_of(result) -> str:
    return (result.out / "report.html").read_text()


def test_the_page_refers_to_nothing_outside_itself(tmp_path):
    page = page_of(fitted(tmp_path))
    reader = Reader(page)
    assert not reader.open
    assert reader.refers
    assert all(place.startswith("data:image/png;base64,") for place in reader.refers)
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & set(reader.tags)
    assert "default-src 'none'" in page
    without = re.sub(r"data:image/png;base64,[A-Za-z0-9+/=]+", "", page)
    assert not re.search(r"https?:|//|@import|url\(", without)
    assert all(len(alt) > 60 for alt in reader.alts)
    assert len(page) < 4_000_000


def test_no_row_value_and_no_count_of_rows_is_on_the_page(tmp_path):
    rows = np.random.default_rng(0).normal(0, 0.1, (1237, 2))
    rows[77] = OUTLIER, -OUTLIER
    result = fitted(tmp_path, {"lat": rows[:, 0], "lon": rows[:, 1]})
    for file in result.out.iterdir():
        content = file.read_bytes()
        for word in ("4.718", "4.72", "1237", "1,237"):
            pattern = rb"(?<![0-9a-f.])" + re.escape(word).encode()
            plain = re.sub(rb"base64,[A-Za-z0-9+/=]+|[0-9a-f]{64}", b"", content)
            assert file.suffix == ".safetensors" or not re.search(pattern, plain), (file.name, word)
        assert np.float64(OUTLIER).tobytes() not in content


def test_names_that_are_html_are_escaped_everywhere(tmp_path):
    draw = np.random.default_rng(0)
    people = np.arange(2000) // 4
    book = tmp_path / "ledger"
    new_budget(book, EVIL + "dataset", "person", 2.0, 1e-6)
    columns = {EVIL: draw.normal(0, 1, 2000), "$x_{": draw.normal(0, 1, 2000), EVIL + "person": people}
    result = fitted(tmp_path, columns, person=EVIL + "person", ledger=str(book))
    page = page_of(result)
    assert "<script" not in page
    assert "onerror=y>" not in page
    reader = Reader(page)
    assert not reader.open
    assert "script" not in reader.tags
    assert reader.tags.count("img") == 1
    assert EVIL in reader.text, "the name is shown as it is"
    assert EVIL + "dataset" in reader.text


def test_a_private_result_has_no_banner_and_says_what_was_bought(tmp_path):
    result = fitted(tmp_path)
    page = page_of(result)
    assert 'class="banner"' not in page
    text = Reader(page).text
    assert result.paper.sentence in text
    assert "What is protected" in text
    for purchase in result.paper.bought:
        assert purchase.label.partition(":")[0] in text
    assert result.paper.digest in text
    assert text.count("± ") >= 4


@pytest.mark.parametrize(
    "change", [{"random_state": 1}, {"epsilon": "inf"}, {"epsilon": "inf", "bounds": None}]
)
def test_what_is_not_private_has_a_red_banner(tmp_path, change):
    page = page_of(fitted(tmp_path, **change))
    assert '<div class="banner" role="alert">' in page
    assert "Not private (" in Reader(page).text


def test_the_page_is_made_from_the_bundle_alone(tmp_path):
    result = fitted(tmp_path)
    (tmp_path / "rows.parquet").unlink()
    assert write_page(show_bundle(result.out).paper) == page_of(result)


@pytest.mark.parametrize("method", ["published", "input"])
def test_every_method_has_its_page(tmp_path, method):
    assert not Reader(page_of(fitted(tmp_path, method=method))).open
