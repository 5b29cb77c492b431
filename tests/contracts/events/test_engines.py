"""Threads, Lambda and EventBridge behind the ports of events: what they hand over, and what becomes of a refusal."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from hibernaut.adapters.due_threads import DueThreads
from hibernaut.adapters.events.event_bridge import MOST_ENTRIES, EventBridgeBus
from hibernaut.adapters.events.lambda_function import AT_ONCE, LambdaEventDelivery, places_in
from hibernaut.domain.events import OutboundEvent
from hibernaut.ports.events.event_bus import NO_EVENT_BUS, BusFailure
from hibernaut.ports.events.event_delivery import NO_EVENT_DELIVERY
from hibernaut.ports.storage.table import Key

NOW = datetime(2026, 11, 23, 5, tzinfo=UTC)
REFUSALS = (
    ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "PutEvents"),
    ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "no bus"}}, "PutEvents"),
    ClientError({"Error": {"Code": "InternalException", "Message": "later"}}, "PutEvents"),
    EndpointConnectionError(endpoint_url="https://events.invalid"),
)


def event(number: int) -> OutboundEvent:
    return OutboundEvent(f"evt-{number}", "run.finished", "2026-11-23T05:00:00.000000Z", "default", {"run_id": "run-1"})


@dataclass
class Amazon:
    """The used part of both clients. PutEvents takes at most ten entries, as its reference says."""

    fails: Exception | None = None
    refused: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)

    def put_events(self, **request: Any) -> Any:
        assert 1 <= len(request["Entries"]) <= 10
        self._asked(request)
        entries = [{"ErrorCode": self.refused} if self.refused else {"EventId": "1"} for _ in request["Entries"]]
        return {"FailedEntryCount": len(entries) if self.refused else 0, "Entries": entries}

    def invoke(self, **request: Any) -> Any:
        assert len(request["Payload"]) <= 1024 * 1024
        self._asked(request)

    def _asked(self, request: dict[str, Any]) -> None:
        self.asked.append(request)
        if self.fails is not None:
            raise self.fails


def test_events_are_entries_of_the_bus_ten_at_a_time() -> None:
    amazon = Amazon()
    EventBridgeBus("hibernaut-dev", amazon).put([event(number) for number in range(MOST_ENTRIES + 1)])
    assert [len(request["Entries"]) for request in amazon.asked] == [10, 1]
    (entry,) = amazon.asked[1]["Entries"]
    assert {name: entry[name] for name in ("EventBusName", "Source", "DetailType", "Time")} == {
        "EventBusName": "hibernaut-dev",
        "Source": "hibernaut",
        "DetailType": "run.finished",
        "Time": NOW,
    }
    assert json.loads(entry["Detail"]) == event(10).json()


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda error: str(error)[:40])
def test_a_bus_that_refuses_has_not_taken_the_events(refusal: Exception) -> None:
    with pytest.raises(BusFailure):
        EventBridgeBus("b", Amazon(fails=refusal)).put([event(1)])


def test_one_refused_entry_is_a_failure_and_names_its_code() -> None:
    with pytest.raises(BusFailure, match="1 entries refused: ThrottlingException"):
        EventBridgeBus("b", Amazon(refused="ThrottlingException")).put([event(1)])
    NO_EVENT_BUS.put([event(1)])


def test_due_work_is_handed_over_in_invocations_that_nobody_waits_for() -> None:
    amazon, places = Amazon(), [Key(f"default#OUTBOX#evt-{number}", "OUTBOX") for number in range(AT_ONCE + 1)]
    LambdaEventDelivery("deliver", amazon).start(places)
    assert [(request["FunctionName"], request["InvocationType"]) for request in amazon.asked] == [("deliver", "Event")] * 2
    assert [place for request in amazon.asked for place in places_in(json.loads(request["Payload"]))] == places


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda error: str(error)[:40])
def test_a_refused_invocation_is_logged_and_left_to_the_next_sweep(refusal: Exception, caplog: pytest.LogCaptureFixture) -> None:
    amazon = Amazon(fails=refusal)
    LambdaEventDelivery("deliver", amazon).start([Key("p", "s")] * 50)
    assert len(amazon.asked) == 1
    assert caplog.messages == ["events not handed over"]


def test_threads_handle_each_item_once_and_outlive_its_failure(caplog: pytest.LogCaptureFixture) -> None:
    handled, over, held = list[Key](), threading.Event(), threading.Event()
    threads = DueThreads("events", 4, "event not passed on")

    def handle(place: Key) -> None:
        held.wait(20)
        handled.append(place)
        if place.pk == "last":
            over.set()
        if place.pk == "bad":
            raise ValueError("SECRET")

    threads.bind(handle)
    with caplog.at_level(logging.ERROR):
        busy = [Key(str(number), "s") for number in range(4)]
        threads.start(busy)
        for _ in range(3):
            threads.start([Key("bad", "s")])
        threads.start([Key("last", "s")])
        held.set()
        assert over.wait(20)
        threads.close()
    assert sorted(handled) == sorted([*busy, Key("bad", "s"), Key("last", "s")])
    assert caplog.messages == ["event not passed on"]
    assert "SECRET" not in caplog.text
    threads.start([Key("late", "s")])
    NO_EVENT_DELIVERY.start([Key("late", "s")])
    assert Key("late", "s") not in handled
