"""A ledger is charged before anything private moves, and is not given anything back when a run fails."""

import numpy as np
import pytest
from joint_cases import people, private, roles, settings

from discreet.accounting.ledger import Ledger
from discreet.errors import BudgetError, LedgerError, OverspentError, ParameterError, PeerError, ProtocolError
from discreet.join import JoinPlan, rehearse
from discreet.join.payment import Payment, Purse, finish
from discreet.join.promise import guarantee
from discreet.protocols import families
from discreet.protocols.step import Receive, Send, run_parties
from discreet.randomness import secure


def paying(*names, ids=False):
    given = settings("helper", noisy=True, to=("south",), ids=ids)
    given["release"]["pays"] = list(names)
    return JoinPlan.of(given)


def ledger(folder, name, epsilon=4.0):
    made = Ledger.create(folder / f"{name}.ledger")
    made.budget("small", "row", epsilon, 1e-5)
    return made


def steps_of(plan, purses, codes=None, ids=None):
    given = private(plan, people(1) if codes is None else codes, ids)
    for name, purse in purses.items():
        given[name]["purse"] = purse.to_dict()
    return {name: role(given[name], plan.agreed(), secure()) for name, role in roles(plan).items()}


def spent(*books):
    return [len(book.entries()) for book in books]


def test_every_holder_that_pays_records_the_same_event(tmp_path):
    plan, books = paying("north", "west"), [ledger(tmp_path, name) for name in ("north", "west")]
    purses = {name: Purse.of(book, plan) for name, book in zip(("north", "west"), books, strict=True)}
    out, transcript = run_parties(steps_of(plan, purses))
    entries = [book.entries()[0] for book in books]
    assert entries[0].guarantee == entries[1].guarantee == guarantee(plan)
    assert entries[0].label == entries[1].label
    assert plan.session_plan().digest()[:16] in entries[0].label
    assert out["north"]["account"]["ledger"]["hash"] == entries[0].hash
    assert out["south"]["account"]["ledger"] is None
    paid = [(record.sender, record.receiver) for record in transcript if record.name == "join/paid"]
    assert sorted(paid) == [("north", "south"), ("north", "west"), ("west", "north"), ("west", "south")]


def test_ledgers_are_charged_before_a_private_byte_is_sent(tmp_path):
    """Stop every role at every message: as soon as one is not about readiness, all ledgers are charged."""
    plan, books = paying("north", "west"), [ledger(tmp_path, name) for name in ("north", "west")]
    purses = {name: Purse.of(book, plan) for name, book in zip(("north", "west"), books, strict=True)}
    seen = []

    def watched(steps):
        answer = None
        while True:
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(asked, Send):
                seen.append((asked.name, sum(spent(*books))))
            answer = yield asked

    run_parties({name: watched(steps) for name, steps in steps_of(plan, purses).items()})
    for name, charged in seen:
        if name == "join/ready":
            continue
        assert charged >= 1 if name == "join/paid" else charged == 2, name
    assert seen[0][1] == 0


def test_what_a_failed_run_has_charged_stays_charged(tmp_path):
    plan, book = paying("north"), ledger(tmp_path, "north")
    steps = steps_of(plan, {"north": Purse.of(book, plan)})

    def fails(inner):
        asked = next(inner)
        while not asked.name.startswith("families/"):
            asked = inner.send((yield asked))
        inner.close()
        raise PeerError("it went away")

    with pytest.raises(PeerError):
        run_parties({**steps, "south": fails(steps["south"])})
    assert spent(book) == [1]
    assert book.entries()[0].digest is None


def test_a_ledger_that_refuses_stops_the_run_before_any_other_is_charged(tmp_path):
    plan, books = paying("north", "west"), [ledger(tmp_path, "north"), ledger(tmp_path, "west", 0.1)]
    purses = {name: Purse.of(book, plan) for name, book in zip(("north", "west"), books, strict=True)}
    with pytest.raises(OverspentError):
        run_parties(steps_of(plan, purses))
    assert spent(*books) == [0, 0]
    with pytest.raises(OverspentError):
        rehearse(plan, dict.fromkeys(plan.holders), ledgers=purses)
    with pytest.raises(BudgetError, match="no budget for this data set"):
        Payment(plan, Purse.of((books[0], "another"), plan), seeded=False).quote()
    assert spent(*books) == [0, 0]


def test_other_rows_than_the_plan_says_charge_nothing(tmp_path):
    plan, book = paying("north"), ledger(tmp_path, "north")
    steps = steps_of(plan, {"north": Purse.of(book, plan)})

    def tells_another_number(inner):
        asked = next(inner)
        while True:
            if isinstance(asked, Send) and asked.name == "join/ready":
                asked = Send(asked.name, {"rows": np.array(23, "<u8")}, asked.peer)
            asked = inner.send((yield asked))

    with pytest.raises(ProtocolError, match="another number of rows"):
        run_parties({**steps, "west": tells_another_number(steps["west"])})
    assert spent(book) == [0]


def test_rows_that_cannot_be_counted_are_refused_before_anybody_pays(tmp_path, monkeypatch):
    plan, book = paying("north"), ledger(tmp_path, "north")
    monkeypatch.setattr(families, "_MOST_ROWS", 23)  # instead of billions of rows
    steps = steps_of(plan, {"north": Purse.of(book, plan)})
    with pytest.raises(ParameterError, match="rows are out of range"):
        run_parties(steps)
    assert spent(book) == [0]


def test_a_rehearsal_charges_and_finishes_the_ledgers_it_is_given(tmp_path):
    plan, book = paying("north"), ledger(tmp_path, "north")
    codes = people(2)
    data = {
        name: {column: _words(plan, codes, column) for column in plan.columns_of(name)}
        for name in plan.holders
    }
    joined = rehearse(plan, data, ledgers={"north": (book, "small")})
    (entry,) = book.entries()
    assert entry.digest == joined.session
    assert joined.receipts["north"]["account"]["ledger"]["seq"] == entry.seq
    assert joined.receipts["north"]["account"]["plan"][0]["drawn"] == 1
    assert joined.guarantee.private
    with pytest.raises(LedgerError, match="is gone"):
        finish(Purse.of(book, plan), {"ledger": {"seq": 99, "hash": "0"}}, "x")
    with pytest.raises(ParameterError, match="only those who pay"):
        rehearse(plan, data, ledgers={"west": book})


def test_a_role_waits_for_all_who_pay():
    plan = paying("north")
    role = steps_of(plan, {})["south"]
    answer, waits = None, []
    while not waits or waits[-1] != "join/paid":
        asked = role.send(answer)
        answer = None
        if isinstance(asked, Receive):
            waits.append(asked.name)
            answer = {"rows": np.array(24, "<u8")}
    assert waits == ["join/ready", "join/ready", "join/paid"]
    role.close()


def _words(plan, codes, column):
    return np.array(plan.network.states[column])[codes[column]]
