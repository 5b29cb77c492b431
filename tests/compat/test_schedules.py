"""Schedules of agents through the SDK, and our own routes beside its four methods. `tests/unit/services/schedules` has what they
do at their times.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import Make, Served

pytestmark = pytest.mark.deployed

PAGE = Path(__file__).parents[2] / "docs" / "schedules.md"
WAKE: list[Any] = [{"role": "user", "content": "wake up"}]
NIGHTLY: Any = {"type": "recurring", "cron_expression": "0 3 * * *"}


def tomorrow() -> float:
    return (datetime.now(UTC) + timedelta(days=1)).timestamp() * 1000


@pytest.mark.manifest("schedule.create", "schedule.retrieve", "schedule.list", "schedule.delete")
def test_a_message_is_scheduled_shown_listed_and_deleted(client: Letta, new_agent: Make) -> None:
    agent, at = new_agent(), tomorrow()
    once = client.agents.schedule.create(
        agent.id,
        messages=[{"role": "user", "content": [{"text": "wake up"}], "otid": "mine"}],
        schedule={"scheduled_at": at},
        callback_url="https://example.com/done",
        include_return_message_types=["assistant_message"],
        max_steps=3,
    )
    nightly = client.agents.schedule.create(agent.id, messages=WAKE, schedule=NIGHTLY)
    shown = client.agents.schedule.retrieve(once.id, agent_id=agent.id)
    assert (shown.id, shown.agent_id, shown.next_scheduled_time) == (once.id, agent.id, once.next_scheduled_at)
    assert (shown.schedule.type, shown.schedule.scheduled_at) == ("one-time", at)  # type: ignore[union-attr]
    assert shown.message.callback_url == "https://example.com/done"
    assert (shown.message.include_return_message_types, shown.message.max_steps) == (["assistant_message"], 3)
    (message,) = shown.message.messages
    assert (message.role, message.otid, message.content[0].text) == ("user", "mine", "wake up")  # type: ignore[union-attr]
    first = client.agents.schedule.list(agent.id, limit="1")
    assert ([one.id for one in first.scheduled_messages], first.has_next_page) == ([once.id], True)
    rest = client.agents.schedule.list(agent.id, limit="1", after=once.id)
    assert ([one.id for one in rest.scheduled_messages], rest.has_next_page) == ([nightly.id], False)
    assert rest.scheduled_messages[0].schedule.cron_expression == "0 3 * * *"  # type: ignore[union-attr]
    assert (nightly.next_scheduled_at or "")[10:] == "T03:00:00.000000Z"
    assert client.agents.schedule.delete(once.id, agent_id=agent.id).success is True
    with pytest.raises(NotFoundError):
        client.agents.schedule.retrieve(once.id, agent_id=agent.id)


@pytest.mark.manifest("schedule.refusal")
@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ({"scheduled_at": 1}, "past"),
        ({"type": "recurring", "cron_expression": "0 0 31 2 *"}, "never comes"),
        ({"type": "recurring", "cron_expression": "* * * * * *"}, "Seconds"),
        ({"type": "recurring", "cron_expression": "0 9 * * *", "timezone": "Mars/Olympus"}, "time zone"),
        ({"type": "rate", "rate_expression": "30 seconds"}, "one minute"),
        ({"type": "sometimes"}, "sometimes"),
        ({"scheduled_at": "soon"}, "scheduled_at"),
    ],
)
def test_a_time_that_cannot_come_is_refused(client: Letta, new_agent: Make, schedule: Any, told: str) -> None:
    agent = new_agent()
    with pytest.raises(UnprocessableEntityError, match=told):
        client.agents.schedule.create(agent.id, messages=WAKE, schedule=schedule)
    with pytest.raises(UnprocessableEntityError):
        client.agents.schedule.create(agent.id, messages=[], schedule=NIGHTLY)
    assert client.agents.schedule.list(agent.id).scheduled_messages == []


@pytest.mark.manifest("schedule.administration")
def test_a_schedule_is_changed_paused_resumed_and_run_now(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    made = client.agents.schedule.create(agent.id, messages=WAKE, schedule=NIGHTLY)
    path = f"/v1/agents/{agent.id}/schedule/{made.id}"
    assert http.post(f"{path}/pause").json()["next_scheduled_time"] is None
    ran = http.post(f"{path}/run").json()
    assert client.runs.retrieve(ran["run_id"]).agent_id == agent.id
    assert http.post(f"{path}/resume").json()["next_scheduled_time"] == made.next_scheduled_at
    changed = http.patch(path, json={"schedule": {"type": "recurring", "cron_expression": "0 4 * * *"}}).json()
    assert changed["next_scheduled_time"].endswith("T04:00:00.000000Z")
    (outcome,) = changed["outcomes"]
    assert (outcome["run_id"], outcome["scheduled_at"]) == (ran["run_id"], None)
    assert made.id in [one["id"] for one in http.get("/v1/schedules").json()["scheduled_messages"]]
    with client.runs.messages.stream(ran["run_id"]) as ended:  # until the run has ended
        list(ended)
    (outcome,) = http.get(path).json()["outcomes"]
    assert (outcome["run_status"], outcome["stop_reason"]) == ("completed", "end_turn")
    client.agents.delete(agent.id)
    assert http.get(path).status_code == 404


@pytest.mark.manifest("schedule.extensions")
def test_a_schedule_has_a_time_zone_a_rate_or_another_action(http: httpx.Client, new_agent: Make) -> None:
    path = f"/v1/agents/{new_agent().id}/schedule"
    zoned = {"type": "recurring", "cron_expression": "0 3 * * *", "timezone": "Asia/Kathmandu"}
    assert http.post(path, json={"messages": WAKE, "schedule": zoned}).json()["next_scheduled_at"].endswith("T21:15:00.000000Z")
    rate = {"type": "rate", "rate_expression": "90 minutes"}
    made = http.post(path, json={"action": "compaction", "schedule": rate})
    assert made.status_code == 201
    assert http.get(f"{path}/{made.json()['id']}").json()["action"] == "compaction"
    sleeping = new_agent(enable_sleeptime=True)
    body = {"action": "sleeptime", "group_id": sleeping.multi_agent_group.id, "schedule": rate}
    assert http.post(path, json=body).status_code == 404, "it is another agent's group"
    assert http.post(f"/v1/agents/{sleeping.id}/schedule", json=body).status_code == 201


def test_the_program_of_the_page_runs(served: Served, client: Letta, new_agent: Make) -> None:
    (program,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    agent = new_agent()
    keyed = 'curl() { command curl -sS -H "authorization: Bearer $KEY" "$@"; }\n'
    environment = {"PATH": os.environ["PATH"], "URL": served.url, "AGENT": agent.id, "KEY": str(served.key)}
    told = subprocess.run(["bash", "-c", keyed + program], env=environment, capture_output=True, check=True, timeout=60)
    made = json.loads(told.stdout)
    (shown,) = client.agents.schedule.list(agent.id).scheduled_messages
    assert (shown.id, shown.next_scheduled_time) == (made["id"], made["next_scheduled_at"])
    assert shown.schedule.cron_expression == "0 18 * * 1-5"  # type: ignore[union-attr]
