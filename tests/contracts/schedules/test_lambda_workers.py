"""Lambda behind the port `ScheduleWorkers`."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hibernaut.adapters.schedules.lambda_function import AT_ONCE, LambdaScheduleWorkers, places_in
from hibernaut.ports.storage.table import Key
from hibernaut.store.schedules import schedule_keys

PLACES = [schedule_keys.schedule("acme", f"schedule-{number}") for number in range(AT_ONCE + 1)]


class Amazon:
    def __init__(self, fails: Exception | None = None) -> None:
        self.fails = fails
        self.asked: list[dict[str, Any]] = []

    def invoke(self, **request: Any) -> None:
        self.asked.append(request)
        if self.fails is not None:
            raise self.fails


def test_due_schedules_are_handed_over_twenty_at_a_time() -> None:
    amazon = Amazon()
    LambdaScheduleWorkers("fire", amazon).start(PLACES)
    assert [request["InvocationType"] for request in amazon.asked] == ["Event", "Event"]
    assert [place for request in amazon.asked for place in places_in(json.loads(request["Payload"]))] == PLACES


def test_a_refusal_leaves_them_to_the_next_sweep(caplog: pytest.LogCaptureFixture) -> None:
    amazon = Amazon(ClientError({"Error": {"Code": "TooManyRequestsException", "Message": "no"}}, "Invoke"))
    with caplog.at_level(logging.ERROR):
        LambdaScheduleWorkers("fire", amazon).start(PLACES)
    assert (len(amazon.asked), caplog.records[0].message) == (1, "schedules not handed over")


def test_the_event_of_an_alarm_names_the_place_of_its_schedule() -> None:
    assert places_in({"tenant": "acme", "schedule_id": "schedule-1", "at": "x"}) == [Key(*PLACES[1])]
