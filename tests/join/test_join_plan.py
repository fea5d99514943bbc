"""A plan says everything, refuses what does not fit, and has one digest whoever wrote the file."""

import json

import pytest
from joint_cases import COLUMNS, EDGES, STATES, people, settings

from discreet.errors import BundleError, DomainError, ParameterError, TooLargeError
from discreet.join import JoinPlan
from discreet.join.layout import Layout, Piece
from discreet.join.plan import PROTOCOL, VERSION
from discreet.join.promise import guarantee
from discreet.models.bif import write_bif
from discreet.models.margins import parameters
from discreet.models.structure import Structure
from discreet.models.tally import tally

TOML = """
job = "network"
name = "asia"
[parties.north]
role = "holder"
columns = ["D", "A"]
place = "north.example:7301"
[parties.south]
role = "holder"
columns = ["B"]
[parties.dealer]
role = "helper"
[structure]
edges = [["A", "B"], ["B", "D"]]
[structure.states]
A = ["yes", "no"]
B = ["yes", "no"]
D = ["low", "mid", "high"]
[rows]
count = 100
[release]
to = ["south", "north"]
epsilon = 1
delta = 1e-6
pays = ["south", "north"]
"""


def written(tmp_path, text, name="plan.toml"):
    place = tmp_path / name
    place.write_text(text)
    return JoinPlan.read(place)


def test_a_file_says_who_holds_what_and_who_learns_what(tmp_path):
    plan = written(tmp_path, TOML)
    assert plan.holders == ("north", "south")
    assert plan.columns_of("north") == ("A", "D")
    assert (plan.kind, plan.helper, plan.analysts) == ("helper", "dealer", ())
    assert plan.receivers == plan.payers == ("north", "south")
    assert (plan.release.prior, plan.time.silence, plan.time.whole) == (1.0, 60.0, 3600.0)
    assert set(plan.learns) == {"north", "south", "dealer"}
    assert "counts" in plan.learns["north"]
    assert "epsilon 1 and delta 1e-06" in plan.learns["south"]
    assert "counts" not in plan.learns["dealer"]
    session = plan.session_plan()
    assert (session.protocol, session.version, session.learns) == (PROTOCOL, VERSION, plan.learns)


def test_files_that_say_the_same_have_the_same_digest(tmp_path):
    plan = written(tmp_path, TOML)
    names = ("parties.north", "parties.south", "parties.dealer", "structure", "rows", "release")
    head, *sections = TOML.split("\n[")
    turned = "\n[".join([head, *sorted(sections, key=lambda text: (text.startswith("structure.s"), text))])
    assert turned != TOML
    assert len(sections) == len(names) + 1
    other = written(tmp_path, turned.replace('["D", "A"]', '["A", "D"]').replace("7301", "1234"), "b.toml")
    assert other.session_plan().digest() == plan.session_plan().digest()
    for old, new in (("100", "101"), ('"mid"', '"middle"'), ("1e-6", "1e-7"), ('"asia"', '"asia2"')):
        changed = written(tmp_path, TOML.replace(old, new), "c.toml")
        assert changed.session_plan().digest() != plan.session_plan().digest()


def test_a_structure_from_a_file_is_its_content(tmp_path):
    wanted = JoinPlan.of(settings("helper"))
    network = parameters(tally(people(0), wanted.network), wanted.network, prior=1.0)
    (tmp_path / "deep").mkdir()
    write_bif(network, tmp_path / "deep" / "small.bif")
    given = {**settings("helper"), "structure": {"file": "deep/small.bif"}}
    found = JoinPlan.of(given, folder=tmp_path)
    assert found.network.states == wanted.network.states
    assert found.session_plan().digest() == wanted.session_plan().digest()
    with pytest.raises(ParameterError, match="cannot be read"):
        JoinPlan.of({**given, "structure": {"file": "absent.bif"}}, folder=tmp_path)
    (tmp_path / "damaged.bif").write_text("network n { }\nvariable a { /* ")
    with pytest.raises(BundleError, match="line 2 of the network: a comment is not closed"):
        JoinPlan.of({**given, "structure": {"file": "damaged.bif"}}, folder=tmp_path)
    with pytest.raises(ParameterError, match="but not both"):
        JoinPlan.of({**given, "structure": {"file": "x.bif", "edges": EDGES}}, folder=tmp_path)


@pytest.mark.parametrize("kind", ["helper", "transfer", "lattice", "three"])
@pytest.mark.parametrize("noisy", [False, True])
def test_what_is_agreed_is_plain_and_means_the_same_plan(kind, noisy):
    two = kind in ("transfer", "lattice")
    holders = ("north", "west") if two else tuple(COLUMNS)
    plan = JoinPlan.of(settings(kind, noisy=noisy, ids=two, holders=holders))
    plain = json.loads(json.dumps(plan.agreed(), sort_keys=True))
    back = JoinPlan.of_agreed(plain)
    assert back.agreed() == plan.agreed()
    assert back.learns == plan.learns
    assert back.session_plan().digest() == plan.session_plan().digest()


def test_the_route_follows_from_who_is_there():
    def kind(**changed):
        given = settings("helper", **changed)
        del given["route"]
        return given

    assert JoinPlan.of(kind()).kind == "helper"
    alone = kind()
    del alone["parties"]["dealer"]
    assert JoinPlan.of(alone).kind == "three"
    two = kind(holders=("north", "west"))
    del two["parties"]["dealer"]
    assert JoinPlan.of(two).kind == "transfer"


def changed(*path, value):
    """Settings with one of them replaced, or removed if the value is None."""
    given = json.loads(json.dumps(settings("helper", noisy=True, to=("south",))))
    *places, last = path
    section = given
    for place in places:
        section = section[place]
    if value is None:
        del section[last]
    else:
        section[last] = value
    return given


WRONG = {
    "unknown setting": (("colour",), "red", "no setting 'colour'"),
    "unknown setting of a party": (("parties", "north", "colums"), [], "no setting 'parties.north.colums'"),
    "no name": (("name",), None, "name is not given"),
    "a name that passes for words of ours": (("name",), "x\nGuarantee: all is well", "one line of text"),
    "another job": (("job",), "mixture", "job cannot be understood"),
    "an unknown role": (("parties", "north", "role"), "boss", "parties.north.role"),
    "a party with a bad name": (("parties", "a b"), {"role": "analyst"}, "not a name for a party"),
    "a party called peer": (("parties", "peer"), {"role": "analyst"}, "this name is taken"),
    "a holder of nothing": (("parties", "north", "columns"), [], "holds no column"),
    "a helper with columns": (("parties", "dealer", "columns"), ["A"], "only holders have columns"),
    "an unknown column": (("parties", "north", "columns"), ["A", "B", "Z"], "does not have"),
    "a column held twice": (("parties", "north", "columns"), ["A", "B", "C"], "held twice"),
    "a column nobody holds": (("parties", "north", "columns"), ["A"], "nobody holds"),
    "one holder": (("parties", "west", "role"), "analyst", "only holders have columns"),
    "two helpers": (("parties", "second"), {"role": "helper"}, "one helper is enough"),
    "a route without its helper": (("parties", "dealer"), None, "needs a helper"),
    "a helper with nothing to do": (("route", "kind"), "three", "nothing to do"),
    "an unknown route": (("route", "kind"), "magic", "route.kind"),
    "a cycle": (("structure", "edges"), [["A", "B"], ["B", "A"]], "cycle"),
    "an edge with three ends": (("structure", "edges"), [["A", "B", "C"]], "pairs of names"),
    "a count and an id": (("rows", "id"), "person", "aligned, or matched"),
    "neither count nor id": (("rows",), {}, "aligned, or matched"),
    "rules without ids": (("rows", "duplicates"), "first", "not matched by id"),
    "no rows": (("rows", "count"), 0, "rows.count"),
    "rows as text": (("rows", "count"), "24", "rows.count"),
    "a stranger who receives": (("release", "to"), ["east"], "holders or analysts"),
    "a helper who receives": (("release", "to"), ["dealer"], "holders or analysts"),
    "nobody who receives": (("release", "to"), [], "holders or analysts"),
    "no delta": (("release", "delta"), None, "not chosen"),
    "exact with a budget": (("release", "exact"), True, "no budget"),
    "an infinite epsilon": (("release", "epsilon"), float("inf"), "epsilon is out of range"),
    "a delta of one": (("release", "delta"), 1, "delta is out of range"),
    "a negative prior": (("release", "prior"), -1, "release.prior"),
    "a helper who pays": (("release", "pays"), ["dealer"], "only holders pay"),
    "an idle analyst": (("parties", "office"), {"role": "analyst"}, "an analyst gets nothing"),
    "no time": (("time",), {"silence": 0}, "time.silence"),
    "endless time": (("time",), {"whole": float("inf")}, "time.whole"),
    "noise without a prior": (("release", "prior"), 0, "prior is out of range"),
    "an epsilon too long for a float": (("release", "epsilon"), 10**400, "epsilon is out of range"),
    "an infinite prior": (("release", "prior"), float("inf"), "prior is out of range"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_in_words(case):
    path, value, words = WRONG[case]
    with pytest.raises((ParameterError, DomainError), match=words):
        JoinPlan.of(changed(*path, value=value))


def test_files_that_are_no_plan_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="not TOML"):
        written(tmp_path, "job = ")
    with pytest.raises(ParameterError, match="cannot be read"):
        JoinPlan.read(tmp_path / "absent.toml")
    with pytest.raises(ParameterError, match="nested too deeply"):
        written(tmp_path, "a = " + "[" * 50_000 + "]" * 50_000)
    with pytest.raises(ParameterError, match="a number is too long"):
        written(tmp_path, "a = " + "9" * 5000)


def test_transfers_are_for_two_and_workers_are_three():
    for kind in ("transfer", "lattice"):
        with pytest.raises(ParameterError, match="for two holders"):
            JoinPlan.of(settings(kind))
    with pytest.raises(ParameterError, match="three holders"):
        JoinPlan.of(settings("three", holders=("north", "west")))


def test_each_family_is_counted_at_one_place_and_each_piece_once():
    plan = JoinPlan.of(settings("helper"))
    layout = Layout(plan)
    assert layout.local == {"B": "north"}
    assert {*layout.local, *layout.crossing} == set(plan.network.measured)
    assert len(set(layout.pieces)) == len(layout.pieces)
    assert layout.pieces_of("D") == (
        Piece("north", ("A",)),
        Piece("south", ("C",)),
        Piece("west", ("D",)),
    )
    sharing = layout.sharing(24)
    assert [sharing.vectors[index].holder for index in sharing.families[layout.crossing.index("D")]] == [
        "north",
        "south",
        "west",
    ]


def test_the_ring_has_room_for_counts_and_for_all_noise_that_can_be_drawn():
    for rows in (1, 24, 2000, 1_000_000):
        given = settings("helper", noisy=True)
        given["rows"] = {"count": rows}
        layout = Layout(JoinPlan.of(given))
        draw = layout.draw(rows)
        assert rows + 2 * draw.largest < 2**draw.ring_bits
        assert draw.ring_bits == layout.sharing(rows).ring_bits <= 32
    given = settings("helper", noisy=True)
    given["release"] |= {"epsilon": 1e-9, "delta": 1e-12}
    with pytest.raises(ParameterError, match="noise is too large"):
        Layout(JoinPlan.of(given)).sharing(24)


def test_local_tables_that_are_too_large_are_refused_with_the_plan():
    """A holder would find out when it counts: after it has paid."""
    given = settings("helper")
    given["structure"] = {
        "states": STATES | {name: [str(number) for number in range(9000)] for name in "AB"},
        "edges": EDGES,
    }
    with pytest.raises(TooLargeError, match="cells"):
        JoinPlan.of(given)


def test_tables_that_are_too_large_are_refused_before_memory_is_taken():
    states = {name: [str(number) for number in range(200)] for name in "ABC"}
    given = {
        **settings("helper"),
        "structure": {"states": states, "edges": [["A", "C"], ["B", "C"]]},
        "parties": {
            "north": {"role": "holder", "columns": ["A", "B"]},
            "south": {"role": "holder", "columns": ["C"]},
            "dealer": {"role": "helper"},
        },
        "release": {"to": ["north"], "exact": True},
    }
    with pytest.raises(TooLargeError, match="8,000,000 cells"):
        Layout(JoinPlan.of(given))
    assert Structure.of_edges([], states).cells() == 600


def test_parties_without_rows_are_told_what_signs_of_life_tell():
    """They follow how many ids the longest list has: for the helper that is new."""
    plan = JoinPlan.of(settings("helper", ids=True))
    for name in ("dealer", "office"):
        assert "signs of life" in plan.learns[name]
        assert "signs of life" not in JoinPlan.of(settings("helper")).learns[name]


def test_a_promise_for_first_rows_says_that_a_row_is_an_id():
    """Who adds an earlier row under an id that is there changes a row: sqrt(2) times as much."""
    given = settings("helper", noisy=True, ids=True)
    assert not any("the first" in fact for fact in guarantee(JoinPlan.of(given)).declared)
    given["rows"]["duplicates"] = "first"
    assert any("the first" in fact for fact in guarantee(JoinPlan.of(given)).declared)
