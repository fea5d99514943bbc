"""A party that dies, stalls, has other rows, other states or another plan: all end with an error, nobody has
tables. Every fault at every message is in `tests/contracts/test_faults.py`; here they meet real processes."""

import asyncio

import numpy as np
import pytest
from clock import play
from joint_cases import ROWS, people, private, roles, settings

from discreet.errors import DataError, ParameterError, PartyError, PeerError, PlanError
from discreet.join import JoinPlan, rehearse
from discreet.protocols.step import run_parties
from discreet.randomness import secure
from discreet.session import Outcome, Part, run
from discreet.session.rehearsal import rehearse as play_parts
from discreet.wire.channel import Channel
from discreet.wire.memory import pipe


def parts(plan, codes, **replaced):
    """Real roles as processes, but for some."""
    given = private(plan, codes)
    found = {}
    for name, role in roles(plan).items():
        found[name] = Part(replaced.get(name, f"discreet.join.roles:{role.__name__}"), given[name])
    return found


@pytest.mark.parametrize("who", ["dies", "dies_before_the_end"])
def test_a_holder_that_is_killed_ends_the_run_for_all(who):
    plan = JoinPlan.of(settings("helper", to=("north",)))
    with pytest.raises(PeerError, match="went away"):
        play_parts(plan.session_plan(), parts(plan, people(1), west=f"joint_parties:{who}"))


def test_a_holder_that_stalls_ends_the_run_for_all():
    plan = JoinPlan.of(settings("helper", to=("north",)))
    with pytest.raises(PeerError, match=r"silent|gave up|went away"):
        play_parts(plan.session_plan(), parts(plan, people(1), west="joint_parties:stalls"), silence=1.0)


def test_nobody_has_tables_when_the_last_word_is_missing():
    """One holder has everything and opens nothing: no role returns, though other shares have been sent."""
    plan = JoinPlan.of(settings("three", to=("north", "office")))
    given = private(plan, people(1))
    steps = {name: role(given[name], plan.agreed(), secure()) for name, role in roles(plan).items()}
    ended = []

    def noted(name, inner):
        result = yield from inner
        ended.append((name, "tables" in result))
        return result

    def leaves(inner):
        asked = next(inner)
        while asked.name != "join/opened":
            asked = inner.send((yield asked))
        inner.close()
        raise PeerError("it went away")

    watched = {name: noted(name, one) for name, one in steps.items()}
    with pytest.raises(PeerError):
        run_parties({**watched, "west": leaves(steps["west"])})
    assert not any(tables for _, tables in ended)


def test_shares_are_opened_only_after_all_have_said_that_they_are_done():
    plan = JoinPlan.of(settings("helper", noisy=True, to=("north", "office")))
    given = private(plan, people(1))
    steps = {name: role(given[name], plan.agreed(), secure()) for name, role in roles(plan).items()}
    names = [record.name for record in run_parties(steps)[1]]
    first = names.index("join/opened")
    assert set(names[first:]) <= {"join/opened", "join/done"}
    senders = [record for record in run_parties_again(plan) if record.name in ("join/done", "join/opened")]
    for record in senders:
        if record.name == "join/opened":
            break
        assert record.name == "join/done"


def run_parties_again(plan):
    given = private(plan, people(2))
    return run_parties({n: r(given[n], plan.agreed(), secure()) for n, r in roles(plan).items()})[1]


def test_another_plan_is_refused_before_any_role_has_started():
    plan = JoinPlan.of(settings("transfer", holders=("north", "west"), to=("north",)))
    changed = settings("transfer", holders=("north", "west"), to=("north",))
    changed["structure"] = {
        **changed["structure"],
        "states": {**changed["structure"]["states"], "E": ["a", "z"]},
    }
    other = JoinPlan.of(changed)
    started = []

    def role(name, plan):
        started.append(name)
        given = private(plan, people(1))[name]
        yield from roles(plan)[name](given, plan.agreed(), secure())

    async def go():
        ends = [Channel(end, silence=30.0) for end in pipe()]
        return await asyncio.gather(
            run(plan.session_plan(), "north", role("north", plan), {"west": ends[0]}),
            run(other.session_plan(), "west", role("west", other), {"north": ends[1]}),
            return_exceptions=True,
        )

    ended = play(go())
    assert all(isinstance(one, PartyError) and not isinstance(one, Outcome) for one in ended)
    assert any(isinstance(one, PlanError) for one in ended)
    assert started == []


def table(plan, name, codes):
    return {c: np.array(plan.network.states[c])[codes[c]] for c in plan.columns_of(name)}


def test_tables_that_do_not_fit_the_plan_are_refused_before_anybody_is_called():
    plan = JoinPlan.of(settings("helper"))
    data = {name: table(plan, name, people(1)) for name in plan.holders}
    few = {**data, "west": table(plan, "west", people(1, ROWS - 1))}
    with pytest.raises(DataError, match="as many rows as the plan says") as caught:
        rehearse(plan, few)
    assert str(ROWS - 1) not in str(caught.value)
    strange = {**data["north"], "A": np.array(["a"] * (ROWS - 1) + ["hidden"])}
    with pytest.raises(DataError, match="not among its declared states") as caught:
        rehearse(plan, {**data, "north": strange})
    assert "hidden" not in str(caught.value)
    lacking = {column: values for column, values in data["north"].items() if column != "A"}
    with pytest.raises((DataError, ParameterError), match="A"):
        rehearse(plan, {**data, "north": lacking})
    with pytest.raises(ParameterError, match="every holder brings a table"):
        rehearse(plan, {"north": data["north"]})


def test_a_refusal_says_whose_table_it_is_and_what_a_joint_run_can_do():
    plan = JoinPlan.of(settings("helper"))
    data = {name: table(plan, name, people(1)) for name in plan.holders}
    gaps = {**data["west"], "E": np.array([None, *data["west"]["E"][1:]], dtype=object)}
    with pytest.raises(DataError, match="in the table of 'west', column 'E' has a missing value") as caught:
        rehearse(plan, {**data, "west": gaps})
    assert "missing='drop'" not in caught.value.remedy  # there is no such setting in a plan
    assert "Declare a state" in caught.value.remedy


def test_what_is_printed_of_a_result_holds_no_counts():
    plan = JoinPlan.of(settings("helper", to=("north",)))
    joined = rehearse(plan, {name: table(plan, name, people(1)) for name in plan.holders})
    assert repr(joined).startswith("Joined('small', Network(")
    assert "array" not in repr(joined)
    assert len(repr(joined)) < 200


def test_a_role_refuses_other_rows_before_it_sends_anything():
    plan = JoinPlan.of(settings("helper"))
    given = private(plan, people(1, ROWS + 1))
    steps = roles(plan)["north"](given["north"], plan.agreed(), secure())
    with pytest.raises(DataError, match="as many rows"):
        next(steps)
