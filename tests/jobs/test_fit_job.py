"""Jobs: a plan in, a folder with papers out; a preview reads no row and spends nothing."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.ledger import Ledger
from discreet.errors import DataError, DomainError, LedgerError, OverspentError, ParameterError
from discreet.fit import GaussianMixture
from discreet.fit.mixture.scales import Scales
from discreet.jobs import fit_mixture, make_plan, new_budget, preview, show_bundle

FILES = ("MODEL_CARD.md", "model.json", "model.safetensors", "receipt.json", "report.html")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    kind = draw.integers(0, 2, 3000)
    x, y = 4.0 * kind - 2 + draw.normal(0, 0.5, 3000), draw.normal(0, 0.5, 3000)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": x, "y": y, "user": draw.integers(0, 900, 3000)}), path)
    return path


def plan(rows: Path, **more):
    least = {"data": str(rows), "components": 2, "epsilon": 1.0, "delta": 1e-6, "columns": "x,y"}
    return make_plan({**least, "bounds": "-5:5", "out": str(rows.parent / "out"), **more})


def spoil(path: Path) -> None:
    """Destroy every data page; the footer stays readable."""
    data = bytearray(path.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little")
    data[4 : len(data) - 8 - footer] = b"\xff" * (len(data) - 12 - footer)
    path.write_bytes(data)


def test_a_plan_becomes_a_folder_with_all_papers(rows):
    seen = []
    result = fit_mixture(plan(rows, person="user"), lambda done, all: seen.append((done, all)))
    assert result.files == FILES
    assert seen[-1][0] == seen[-1][1] == len(seen)
    again = GaussianMixture.load(result.out)
    assert np.array_equal(again.means_, result.model.means_)
    assert again.guarantee_ == result.model.guarantee_
    assert again.guarantee_.private
    assert result.left is None
    assert show_bundle(result.out).to_dict()["model"] == result.paper.to_dict()
    json.dumps(result.to_dict(), allow_nan=False)


def test_the_order_of_bounds_does_not_matter(rows):
    swapped = plan(rows, bounds={"y": [-3, 3], "x": [-5, 5]}, random_state=1)
    straight = plan(rows, bounds=[[-5, 5], [-3, 3]], random_state=1)
    assert np.array_equal(fit_mixture(swapped).model.means_, fit_mixture(straight).model.means_)


def test_named_bounds_name_the_columns(rows):
    result = preview(plan(rows, columns=None, bounds={"y": [-3, 3]}))
    assert result.columns == ("y",)


def test_a_preview_reads_no_row_and_spends_nothing(rows, tmp_path):
    book = tmp_path / "ledger"
    new_budget(book, "rows", "person", 2.0, 1e-6)
    wanted = plan(rows, person="user", ledger=str(book))
    pages = rows.read_bytes()
    spoil(rows)
    head, before = Ledger.open(book).head(), book.read_bytes()
    seen = preview(wanted)
    assert Ledger.open(book).head() == head
    assert book.read_bytes() == before
    assert not (rows.parent / "out").exists()
    assert seen.before is not None
    assert seen.after is not None
    with pytest.raises(DataError):
        fit_mixture(wanted)
    assert Ledger.open(book).head() == head, "rows that cannot be read cost nothing"
    rows.write_bytes(pages)
    result = fit_mixture(wanted)
    assert (result.left.spent, result.left.runs) == (seen.after.spent, 1), "a run costs what was foreseen"
    assert result.model.guarantee_ == seen.guarantee
    json.dumps(seen.to_dict(), allow_nan=False)


def test_a_ledger_with_one_data_set_needs_no_name(rows, tmp_path):
    book = tmp_path / "ledger"
    new_budget(book, "a", "row", 2.0, 1e-6)
    assert preview(plan(rows, ledger=str(book))).before.dataset == "a"
    new_budget(book, "b", "row", 2.0, 1e-6)
    with pytest.raises(ParameterError, match="several data sets") as refused:
        preview(plan(rows, ledger=str(book)))
    assert "a, b" in refused.value.wanted
    assert preview(plan(rows, ledger=str(book), dataset="b")).before.dataset == "b"


def test_a_refused_budget_leaves_no_ledger(tmp_path):
    with pytest.raises(ParameterError):
        new_budget(tmp_path / "ledger", "a", "row", math.inf, 1e-6)
    assert not list(tmp_path.iterdir())


def test_the_place_is_refused_before_anything_is_spent(rows, tmp_path):
    book, taken = tmp_path / "ledger", tmp_path / "taken"
    new_budget(book, "a", "row", 2.0, 1e-6)
    taken.mkdir()
    (taken / "thesis.tex").touch()
    for job in (preview, fit_mixture):
        with pytest.raises(ParameterError, match="place for the result is taken"):
            job(plan(rows, ledger=str(book), out=str(taken)))
    with pytest.raises(ParameterError, match="cannot be written"):
        fit_mixture(plan(rows, ledger=str(book), out=str(rows / "below-a-file")))
    assert not Ledger.open(book).entries()


def test_a_picture_that_fails_does_not_lose_the_result(rows, monkeypatch):
    def fail(paper):
        raise OSError("no fonts")

    monkeypatch.setattr("discreet.jobs.result.write_page", fail)
    with pytest.raises(OSError, match="no fonts"):
        fit_mixture(plan(rows))
    assert GaussianMixture.load(rows.parent / "out").means_.shape == (2, 2)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"columns": "x,z"}, DataError),
        ({"data": "nowhere.csv"}, DataError),
        ({"bounds": {"x": [0, 1], "z": [0, 1]}}, DomainError),
        ({"bounds": [[0, 1]]}, DomainError),
        ({"bounds": None}, DomainError),
        ({"radius": 3.0}, DomainError),
        ({"bounds": None, "radius": 3.0, "center": {"x": 0}}, DomainError),
        ({"rows_per_person": 2.0}, ParameterError),
        ({"method": "input", "person": "user"}, ParameterError),
        ({"method": "magic"}, ParameterError),
        ({"delta": None}, ParameterError),
        ({"dataset": "a"}, ParameterError),
        ({"ledger": "nowhere"}, LedgerError),
        ({"workers": 0}, ParameterError),
        ({"person": "x"}, DomainError),
    ],
)
def test_a_preview_refuses_what_the_run_would_refuse(rows, change, error):
    for job in (preview, fit_mixture):
        with pytest.raises(error):
            job(plan(rows, **change))


def test_an_overspent_ledger_refuses_the_preview_too(rows, tmp_path):
    book = tmp_path / "ledger"
    new_budget(book, "a", "row", 0.5, 1e-6)
    with pytest.raises(OverspentError):
        preview(plan(rows, ledger=str(book)))


def test_csv_needs_its_first_lines_only(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("name,x,y\n" + "a,1,2\n" * 50)
    least = {"data": str(path), "components": 1, "epsilon": 1.0, "delta": 1e-6, "bounds": "0:3"}
    with pytest.raises(DomainError, match="not named"):
        preview(make_plan(least))
    assert preview(make_plan({**least, "columns": "y"})).columns == ("y",)
    with pytest.raises(DataError):
        preview(make_plan({**least, "columns": "name,z"}))


def test_the_parts_of_the_budget_add_up_and_the_error_of_a_count_is_that_of_its_noise(rows):
    seen = preview(plan(rows, person="user", rows_per_person=3.0))
    assert math.isclose(sum(purchase.share for purchase in seen.bought), 1)
    assert [purchase.components for purchase in seen.bought[:6]] == [1, 1, 1, 1, 1, 2]
    last, event = seen.bought[-1], seen.guarantee.events[-1]
    assert last.error == pytest.approx(event.noise * 3.0 * Scales.choose(2, "full", "l2").limit)
    assert "rows" in seen.sentence
    assert "people" in preview(plan(rows, person="user")).sentence


def test_the_error_of_a_count_is_what_releases_show(rows):
    """The noise in the released counts of the last round has the standard error that the report tells."""
    from discreet.fit.mixture.request import Request, check
    from discreet.fit.mixture.run import run
    from discreet.randomness import seeded

    wanted = plan(rows, rounds=1)
    told = preview(wanted).bought[-1].error
    heard = []

    def listen(grid, layout, noisy):
        heard.append(noisy[: layout.components].sum() / layout.scales.count)

    request = GaussianMixture(
        2, epsilon=1.0, delta=1e-6, bounds=(-5, 5), columns=["x", "y"], n_rounds=1
    ).get_params()
    request.pop("random_state")
    for seed in range(30):
        run(check(Request(**request, bits=seeded(seed))), str(rows), listen=listen)
    last = np.array(heard[5::6]) - 3000  # the counts of both components together
    assert 0.6 < last.std() / (told * math.sqrt(2)) < 1.4


@pytest.mark.parametrize("change", [{"method": "published"}, {"method": "input"}, {"epsilon": "inf"}])
def test_every_method_says_what_its_budget_bought(rows, change):
    assert len(preview(plan(rows, **change)).sentence) > 40


def test_laplace_parts_are_parts_of_epsilon(rows):
    seen = preview(plan(rows, noise="laplace", delta=None))
    assert seen.bought[0].share == pytest.approx(1 / seen.bought[0].noise / seen.guarantee.epsilon)
