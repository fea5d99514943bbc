"""Parties that the plan allows to leave: the others go on, the lost one has an error, receipts say who."""

from dataclasses import replace

import demos
import pytest
from clock import play
from registry import Case
from sabotage import END, FAULTS, LAST, Target, perform

from discreet.errors import ParameterError, PartyError, ProtocolError
from discreet.protocols.step import Send
from discreet.session import Outcome, Plan, Receipt

ROLES = {
    "collector": demos.collects,
    "m1": demos.contributes,
    "m2": demos.contributes,
    "m3": demos.contributes,
}
PLAN = Plan(
    "gathering",
    1,
    {"members": ["m1", "m2", "m3"]},
    dict.fromkeys(ROLES, "the total"),
    may_leave=("m1", "m2", "m3"),
)
PATIENCE = {"collector": 10.0}  # who waits for those who may leave must be the first to give up
INPUTS = ({"collector": None, "m1": 1, "m2": 10, "m3": 100},)
CASE = Case(PLAN, ROLES, INPUTS, lambda private, out: True)


def test_without_losses_everybody_is_in_the_total():
    ended = play(perform(CASE, None, None))
    assert {outcome.output for outcome in ended.values()} == {111}
    assert all(outcome.receipt.left == () for outcome in ended.values())


@pytest.mark.parametrize("fault", sorted(set(FAULTS) - {"repeated"}))
def test_a_member_that_is_lost_at_its_number_is_left_out(fault):
    ended = play(perform(CASE, Target("m2", "collector", "number"), FAULTS[fault], patience=PATIENCE))
    assert isinstance(ended["m2"], PartyError)
    for role in ("collector", "m1", "m3"):
        assert isinstance(ended[role], Outcome), ended[role]
        assert ended[role].output == 101
        assert ended[role].receipt.left == ("m2",)
    receipt = ended["m1"].receipt
    assert "left before the end: m2" in receipt.words()
    assert Receipt.of(receipt.to_dict()) == receipt


@pytest.mark.parametrize("name", [END, LAST])
@pytest.mark.parametrize("fault", ["killed", "stalls", "random"])
def test_a_member_that_is_lost_in_the_end_is_in_the_total(name, fault):
    ended = play(perform(CASE, Target("m2", "collector", name), FAULTS[fault], patience=PATIENCE))
    assert ended["collector"].output == 111
    assert ended["collector"].receipt.left == ("m2",)


@pytest.mark.parametrize("fault", ["killed", "stalls", "truncated", "renamed"])
def test_the_loss_of_a_party_that_may_not_leave_ends_the_run(fault):
    ended = play(perform(CASE, Target("collector", "m1", "total"), FAULTS[fault], patience=PATIENCE))
    assert isinstance(ended["m1"], PartyError)
    fixed = replace(CASE, plan=replace(PLAN, may_leave=()))
    ended = play(perform(fixed, Target("m2", "collector", "number"), FAULTS[fault], patience=PATIENCE))
    assert all(isinstance(outcome, PartyError) for outcome in ended.values())


def test_a_role_may_say_that_too_many_have_left():
    roles = {name: ROLES[name] for name in ("collector", "m1", "m2")}
    plan = replace(
        PLAN, agreed={"members": ["m1", "m2"]}, learns=dict.fromkeys(roles, ""), may_leave=("m1", "m2")
    )
    few = replace(CASE, plan=plan, roles=roles)
    ended = play(perform(few, Target("m2", "collector", "number"), FAULTS["killed"], patience=PATIENCE))
    assert all(isinstance(outcome, PartyError) for outcome in ended.values())
    assert "too few members stayed" in str(ended["collector"])


def test_a_mistake_of_a_role_is_not_the_loss_of_another():
    def careless(private, agreed, bits):
        yield Send("total", {"x": [1, 2]}, "m1")

    ended = play(perform(replace(CASE, roles={**ROLES, "collector": careless}), None, None))
    assert isinstance(ended["collector"], ProtocolError)
    assert "cannot be sent" in str(ended["collector"])
    assert all(isinstance(outcome, PartyError) for outcome in ended.values())


@pytest.mark.parametrize("wrong", [("m1", "stranger"), tuple(ROLES)])
def test_plans_where_nobody_stays_are_refused(wrong):
    with pytest.raises(ParameterError, match="may leave"):
        replace(PLAN, may_leave=wrong)
