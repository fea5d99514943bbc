"""Taking part as one of the parties, with identities of one's own, over TLS."""

import socket
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joint_cases import people, pooled, settings

from discreet.accounting.ledger import Ledger
from discreet.errors import IdentityError, ParameterError, PartyError
from discreet.join import JoinPlan, run
from discreet.wire.identity import Home


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def placed(given):
    """The same settings with a place for every party."""
    parties = {
        name: {**party, "place": f"127.0.0.1:{free_port()}"} for name, party in given["parties"].items()
    }
    return {**given, "parties": parties}


def homes(folder, names):
    """A folder for each party, in which it trusts all others."""
    for name in names:
        Home(folder / name).new(name)
    for name in names:
        for other in names:
            if other != name:
                Home(folder / name).trust(folder / other / "me" / f"{other}.party")


def table(plan, name, codes):
    return {c: np.array(plan.network.states[c])[codes[c]] for c in plan.columns_of(name)}


def together(plans, folder, codes, ledgers=None):
    """All parties at once, each with its own copy of the plan: what each got, or its error."""

    def one(name):
        plan = JoinPlan.of(plans[name])
        data = table(plan, name, codes) if name in plan.holders else None
        try:
            return run(plan, name, data, home=folder / name, ledger=(ledgers or {}).get(name), wait=20.0)
        except PartyError as error:
            return error

    with ThreadPoolExecutor(len(plans)) as pool:
        return dict(zip(plans, pool.map(one, plans), strict=True))


def test_each_party_gets_what_the_plan_says_and_a_receipt(tmp_path):
    given = placed(settings("helper", to=("south", "office")))
    plan = JoinPlan.of(given)
    homes(tmp_path, plan.parties)
    ended = together(dict.fromkeys(plan.parties, given), tmp_path, people(4))
    wanted = pooled(plan, people(4))
    for name, joined in ended.items():
        assert set(joined.receipts) == {name}
        assert joined.session == ended["north"].session
        if name in ("south", "office"):
            assert all(np.array_equal(joined.tables[node], one) for node, one in wanted.items())
            assert joined.model.cpt("D").shape == (2, 2, 3)
        else:
            assert joined.model is None
            assert joined.tables is None
        fingerprints = joined.receipts[name]["parties"]
        assert fingerprints[name] == Home(tmp_path / name).identity(name).fingerprint


def test_whoever_has_another_plan_stops_everybody(tmp_path):
    given = placed(settings("transfer", holders=("north", "west"), to=("north",)))
    homes(tmp_path, given["parties"])
    other = {**given, "release": {**given["release"], "prior": 2.0}}
    ended = together({"north": given, "west": other}, tmp_path, people(4))
    assert all(isinstance(error, PartyError) for error in ended.values())
    assert any("do not agree" in str(error) for error in ended.values())


def test_a_payer_charges_its_own_ledger(tmp_path):
    given = placed(settings("transfer", noisy=True, holders=("north", "west"), to=("north",)))
    given["release"] = {**given["release"], "pays": ["west"]}
    homes(tmp_path, given["parties"])
    book = Ledger.create(tmp_path / "west.ledger")
    book.budget("clinic", "row", 4.0, 1e-5)
    plans = dict.fromkeys(given["parties"], given)
    ended = together(plans, tmp_path, people(4), {"west": (book, "clinic")})
    (entry,) = book.entries("clinic")
    assert entry.digest == ended["west"].session == ended["north"].session
    assert ended["west"].tables is None
    assert ended["north"].guarantee.private


def test_what_a_party_lacks_is_said_before_anybody_is_called(tmp_path):
    given = placed(settings("helper", noisy=True, to=("south",)))
    given["release"] = {**given["release"], "pays": ["north"]}
    plan = JoinPlan.of(given)
    data = table(plan, "north", people(1))
    with pytest.raises(ParameterError, match="no such party"):
        run(plan, "east", home=tmp_path)
    with pytest.raises(IdentityError, match="no such party here"):
        run(plan, "north", data, home=tmp_path)
    homes(tmp_path, plan.parties)
    with pytest.raises(ParameterError, match="'north' pays, and has no ledger"):
        run(plan, "north", data, home=tmp_path / "north")
    with pytest.raises(ParameterError, match="'south' has a ledger, and does not pay"):
        run(plan, "south", table(plan, "south", people(1)), home=tmp_path / "south", ledger="x")
    with pytest.raises(ParameterError, match="'dealer' brings no table"):
        run(plan, "dealer", data, home=tmp_path / "dealer")
    with pytest.raises(ParameterError, match="brings no table"):
        run(plan, "south", home=tmp_path / "south")
    Home(tmp_path / "alone").new("north")
    with pytest.raises(IdentityError, match="not trusted"):
        run(plan, "north", data, home=tmp_path / "alone")
