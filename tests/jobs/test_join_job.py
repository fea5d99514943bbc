"""Joint networks as jobs: a demonstration, a look, a rehearsal, and the folder that each party keeps."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from discreet.accounting.ledger import Ledger
from discreet.bundle import is_receipt, load_bundle, load_receipt, save_bundle, save_receipt, tensor_digest
from discreet.errors import BundleError, DiscreetError, ParameterError
from discreet.fit import BayesianNetwork
from discreet.jobs import check_join, demo_join, new_join, rehearse_join, show_bundle
from discreet.jobs.hospitals import asia
from discreet.jobs.joint import joint_paper, receipt_paper
from discreet.join import JoinPlan
from discreet.models.bif import read_bif


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hospitals") / "demo"
    plan = demo_join(str(folder), people=300)
    ledgers = {name: str(folder / f"{name}.ledger") for name in ("north", "south")}
    stages = []
    done = rehearse_join(
        str(plan), {}, str(folder / "out"), ledgers=ledgers, tell=lambda what, at, all: stages.append(what)
    )
    return done, folder, stages


def test_every_party_keeps_a_folder_of_its_own(kept):
    done, folder, _ = kept
    found = {path.name: sorted(file.name for file in path.iterdir()) for path in (folder / "out").iterdir()}
    result = [
        "MODEL_CARD.md",
        "model.json",
        "model.safetensors",
        "network.bif",
        "receipt.json",
        "report.html",
    ]
    assert found == {"north": result, "south": result, "dealer": ["receipt.json", "report.html"]}
    assert done.place("north") == folder / "out" / "north"
    assert set(done.papers) == {"north", "south", "dealer"}


def test_both_hospitals_get_the_same_network_and_it_is_near_the_truth(kept):
    done, folder, _ = kept
    north, south = (read_bif(folder / "out" / name / "network.bif") for name in ("north", "south"))
    assert all(np.array_equal(north.tables[node], south.tables[node]) for node in north.tables)
    assert all(np.allclose(north.tables[node], done.joined.model.tables[node]) for node in north.tables)
    assert asia().divergence(north) < 1.0  # 300 people at epsilon 1; independent coins would be at 2.6


def test_ledgers_are_charged_once_and_the_receipt_says_so(kept):
    done, folder, _ = kept
    for name in ("north", "south"):
        left = Ledger.open(folder / f"{name}.ledger").left("asia")
        assert left.runs == 1
        assert done.left[name] == left
        receipt = json.loads((folder / "out" / name / "receipt.json").read_text())
        assert receipt["account"]["dataset"] == "asia"
        assert receipt["account"]["ledger"]["seq"] >= 1
    dealer = load_receipt(folder / "out" / "dealer")
    assert dealer["account"]["digest"] is None
    assert "ledger" not in dealer["account"]


def test_what_a_folder_holds_can_be_shown_again(kept):
    done, folder, _ = kept
    shown = show_bundle(folder / "out" / "north")
    assert shown.kind == "joint-network"
    paper, before = shown.paper, done.papers["north"]
    assert paper.name == "north"
    assert paper.to_dict() == before.to_dict()
    assert all(
        np.array_equal(paper.network.tables[node], before.network.tables[node])
        for node in paper.network.tables
    )
    assert shown.to_dict()["words"] == done.joined.guarantee.words()
    helper = show_bundle(folder / "out" / "dealer")
    assert helper.paper.network is None
    assert not helper.paper.receives
    assert helper.paper.to_dict()["cpts"] is None


def test_what_a_party_kept_loads_as_a_bayesian_network(kept, tmp_path):
    done, folder, _ = kept
    model = BayesianNetwork.load(folder / "out" / "north")
    joined = done.joined
    assert model.network_.structure == joined.plan.network
    assert all(np.array_equal(model.cpt(node), joined.model.tables[node]) for node in joined.model.tables)
    assert model.guarantee_ == joined.guarantee
    assert (model.epsilon, model.prior) == (1.0, joined.plan.release.prior)
    assert np.isclose(model.query(["lung"], {"smoke": "yes"}).sum(), 1.0)
    assert len(model.sample(5, random_state=1)["lung"]) == 5
    written = model.to_bif(tmp_path / "again.bif").read_bytes()
    assert written == (folder / "out" / "north" / "network.bif").read_bytes()
    with pytest.raises(BundleError, match="Copy the folder"):
        model.save(tmp_path / "again")
    with pytest.raises(BundleError, match="is missing"):
        BayesianNetwork.load(folder / "out" / "dealer")


@pytest.mark.parametrize("damage", ["prior", "guarantee", "tensor", "shape"])
def test_a_joint_bundle_of_a_stranger_is_checked_before_it_is_loaded(kept, tmp_path, damage):
    bundle = load_bundle(kept[1] / "out" / "north")
    receipt, tensors = json.loads(json.dumps(bundle.receipt)), dict(bundle.tensors)
    description = json.loads(json.dumps(bundle.description))
    if damage == "prior":
        receipt["plan"]["agreed"]["release"]["prior"] = "many"
    elif damage == "guarantee":
        description["guarantee"] = receipt["account"]["guarantee"] = {}
    elif damage == "tensor":
        del tensors["cpt/lung"]
    else:
        tensors["cpt/lung"] = tensors["cpt/lung"][:1]
    receipt["account"]["digest"] = tensor_digest(tensors)
    save_bundle(tmp_path / "out", replace(bundle, receipt=receipt, tensors=tensors, description=description))
    with pytest.raises(BundleError):
        BayesianNetwork.load(tmp_path / "out")


def test_the_helper_keeps_no_number_of_the_result(kept):
    _, folder, _ = kept
    text = (folder / "out" / "dealer" / "receipt.json").read_text()
    receipt = json.loads(text)
    assert "tables" not in text
    assert "cpt" not in text
    assert set(receipt["plan"]["learns"]) == {"north", "south", "dealer"}


def test_what_was_counted_is_near_what_was_announced(kept):
    done, _, _ = kept
    for paper in done.papers.values():
        for flow in paper.flows:
            mine = paper.name in (flow.sender, flow.receiver)
            assert (flow.counted is not None) == mine
            if mine:
                assert abs(flow.counted - flow.announced) <= 0.05 * flow.announced + 400
    one, other = done.papers["north"], done.papers["south"]
    assert one.flow("north", "south").counted == other.flow("north", "south").counted


def test_stages_are_told(kept):
    _, _, stages = kept
    assert stages[0].startswith("reading")
    assert any("3 parties" in stage for stage in stages)
    assert stages[-1].startswith("writing")


def test_a_look_costs_nothing_and_names_everybody(kept):
    _, folder, _ = kept
    found = check_join(str(folder / "plan.toml"), 330)
    assert set(found.learns) == {"north", "south", "dealer"}
    assert found.rows == 330
    assert found.guarantee.epsilon == 1.0
    assert json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_three_hospitals_need_no_helper(tmp_path):
    plan = demo_join(str(tmp_path / "demo"), hospitals=3, people=200)
    done = rehearse_join(str(plan), {}, str(tmp_path / "out"))
    assert set(done.papers) == {"north", "south", "east"}
    assert all(paper.receives for paper in done.papers.values())
    assert done.joined.rows == 200


def test_exact_counts_are_marked_as_not_private(kept, tmp_path):
    _, folder, _ = kept
    lines = (folder / "plan.toml").read_text().splitlines()
    lines = ["exact = true" if line.startswith("epsilon") else line for line in lines]
    lines = [line for line in lines if not line.startswith(("delta", "pays"))]
    (folder / "exact.toml").write_text("\n".join(lines))
    done = rehearse_join(str(folder / "exact.toml"), {}, str(tmp_path / "out"))
    paper = done.papers["north"]
    assert not paper.guarantee.private
    assert "not private" in paper.sentence
    page = (tmp_path / "out" / "north" / "report.html").read_text()
    assert "Nothing is promised" in page
    assert 'class="banner"' in page


def test_a_damaged_folder_is_refused(kept, tmp_path):
    _, folder, _ = kept
    for name, file, change in (
        ("north", "model.json", lambda plain: plain["structure"]["nodes"][0].update(name="other")),
        ("north", "receipt.json", lambda plain: plain.update(role="nobody")),
        ("north", "receipt.json", lambda plain: plain["plan"]["agreed"].pop("structure")),
        ("dealer", "receipt.json", lambda plain: plain["plan"]["learns"].update(dealer="nothing at all")),
        ("dealer", "receipt.json", lambda plain: plain.update(traffic=None)),
        ("dealer", "receipt.json", lambda plain: plain.update(rows="many")),
        ("dealer", "receipt.json", lambda plain: plain.update(versions="1")),
        ("dealer", "receipt.json", lambda plain: plain.update(seconds=10**400)),
        ("dealer", "receipt.json", lambda plain: plain["account"]["guarantee"].update(trusts=7)),
        ("dealer", "receipt.json", lambda plain: plain["account"]["guarantee"].update(reveals=[7])),
    ):
        place = tmp_path / "copy"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder / "out" / name, place)
        plain = json.loads((place / file).read_text())
        change(plain)
        (place / file).write_text(json.dumps(plain))
        with pytest.raises(BundleError):
            show_bundle(place)


def test_tensors_that_are_no_network_are_refused(kept):
    _, folder, _ = kept
    bundle = load_bundle(folder / "out" / "north")
    tensors = {**bundle.tensors, "cpt/smoke": np.array([0.7, 0.7])}
    from dataclasses import replace

    with pytest.raises(BundleError, match="do not fit"):
        joint_paper(replace(bundle, tensors=tensors))


def test_receipts_alone_are_told_from_bundles(kept, tmp_path):
    _, folder, _ = kept
    assert is_receipt(folder / "out" / "dealer")
    assert not is_receipt(folder / "out" / "north")
    receipt = load_receipt(folder / "out" / "dealer")
    place = save_receipt(tmp_path / "again", receipt, {"report.html": "x"})
    assert receipt_paper(load_receipt(place)).name == "dealer"
    save_receipt(place, receipt, {})
    assert [file.name for file in place.iterdir()] == ["receipt.json"]
    (place / "receipt.json").write_text("[]")
    with pytest.raises(BundleError, match="damaged"):
        load_receipt(place)
    (place / "notes.txt").write_text("mine")
    with pytest.raises(BundleError, match="taken"):
        save_receipt(place, receipt, {})


def test_a_plan_to_start_from_is_never_written_over_a_file(tmp_path):
    path = new_join(str(tmp_path / "plan.toml"))
    assert JoinPlan.read(path).holders == ("clinic", "registry")
    with pytest.raises(ParameterError, match="a file of this name"):
        new_join(str(path))
    with pytest.raises(ParameterError, match="cannot be written"):
        new_join(str(tmp_path / "no" / "plan.toml"))
    with pytest.raises(ParameterError, match="taken"):
        demo_join(str(tmp_path))


def test_missing_tables_and_strange_names_are_refused_before_anything_starts(kept, tmp_path):
    _, folder, _ = kept
    plan = str(folder / "plan.toml")
    new_join(str(tmp_path / "plan.toml"))
    with pytest.raises(ParameterError, match="no table is given for 'clinic'"):
        rehearse_join(str(tmp_path / "plan.toml"), {}, str(tmp_path / "out"))
    with pytest.raises(ParameterError, match="every holder"):
        rehearse_join(plan, {"nobody": "x.csv"}, str(tmp_path / "out"))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "north").write_text("mine")
    with pytest.raises(BundleError, match="taken"):
        rehearse_join(plan, {}, str(tmp_path / "taken"))
    with pytest.raises(DiscreetError):
        rehearse_join(plan, {"north": str(folder / "south.csv")}, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
