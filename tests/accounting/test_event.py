"""Events: frozen, hashable, exact in JSON, and always for adding or removing one unit."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent, SelfComposedDpEvent
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.event import Event
from discreet.errors import ParameterError

EVENTS = st.builds(
    Event,
    st.sampled_from(["gaussian", "laplace"]),
    st.floats(1e-300, 1e300),
    st.integers(1, 10**9),
    st.text(st.characters(codec="utf-8")),
)


@given(EVENTS)
def test_an_event_survives_json_exactly(event: Event) -> None:
    again = Event.from_dict(json.loads(json.dumps(event.to_dict())))
    assert again == event
    assert hash(again) == hash(event)


@pytest.mark.parametrize(
    "bad",
    [
        {"mechanism": "uniform", "noise": 1.0},
        {"mechanism": "gaussian", "noise": 0.0},
        {"mechanism": "gaussian", "noise": -1.0},
        {"mechanism": "gaussian", "noise": math.inf},
        {"mechanism": "gaussian", "noise": math.nan},
        {"mechanism": "gaussian", "noise": "1"},
        {"mechanism": "gaussian", "noise": True},
        {"mechanism": "gaussian", "noise": 1.0, "count": 0},
        {"mechanism": "gaussian", "noise": 1.0, "count": 1.5},
        {"mechanism": "gaussian", "noise": 1.0, "count": True},
    ],
)
def test_an_event_without_a_finite_cost_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Event(**bad)


@pytest.mark.parametrize(
    "plain", [{}, {"mechanism": "gaussian", "noise": 1.0, "count": 1, "label": "", "x": 1}]
)
def test_other_data_is_not_read_as_an_event(plain: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="not an event"):
        Event.from_dict(plain)


def test_an_event_is_frozen_and_scales_its_noise_only() -> None:
    event = Event("gaussian", np.float64(2.0), np.int64(3), "moments")  # type: ignore[arg-type]
    assert (type(event.noise), type(event.count)) == (float, int)
    assert event.scaled(1.5) == Event("gaussian", 3.0, 3, "moments")
    with pytest.raises(FrozenInstanceError):
        event.noise = 1.0  # type: ignore[misc]


def test_other_accountants_can_read_an_event() -> None:
    assert Event("laplace", 2.0).to_dp_event() == LaplaceDpEvent(2.0)
    assert Event("gaussian", 2.0, 5).to_dp_event() == SelfComposedDpEvent(GaussianDpEvent(2.0), 5)
