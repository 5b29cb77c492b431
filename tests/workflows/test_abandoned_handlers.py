"""Handlers abandoned at every call to the outside world: whatever dies, the run ends, its message is kept once, the next one works."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from hibernaut.adapters.clock import SystemClock
from hibernaut.local.aws_offline.gateway_events import Request
from hibernaut.local.aws_offline.lambdas import abandon
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.tool_runner import ToolJob, ToolOutcome
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.settings import AwsSettings
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, calls, says
from tests.support.tables import CountingTable

SOURCE = 'def knock(door: str) -> str:\n    """Knock.\n\n    Args:\n        door: Which.\n    """\n    return door\n'
OUTSIDE = ("write", "model", "tool")
ENDED = {"completed", "failed", "cancelled"}


class LaterClock(SystemClock):
    """The machine's clock, which a test can put forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


class Fate:
    """Abandons the handler that is the n-th to be at the edge of an outside call, before or after it; none for 0."""

    def __init__(self) -> None:
        self.decide(0)

    def decide(self, doomed: int) -> None:
        self.doomed = doomed
        self.passed: list[str] = []

    @property
    def met(self) -> bool:
        return 0 < self.doomed == len(self.passed)

    def at(self, place: str) -> None:
        if self.met or not place.endswith(OUTSIDE):
            return
        self.passed.append(place)
        if self.met:
            abandon()


class Deployment:
    """The functions over scripted models and tools, with fate at their table. Its environments die and are replaced."""

    def __init__(self, aws: OfflineAws) -> None:
        self.aws, self.fate, self.clock = aws, Fate(), LaterClock()
        self.knocks: list[str] = []
        self.models = ScriptedModels(self.say, at=self.fate.at)
        self.runner = ScriptedRunner(self.knock, at=self.fate.at)
        self.outside = self.house()
        aws.lambdas.deps |= dict.fromkeys(("api", "stream"), wiring.app_of(self.outside))
        self.replace_environments()

    def say(self, request: ModelRequest, _number: int) -> ModelReply:
        asked = request.messages[-1]
        return calls(("knock", {"door": "front"})) if "anybody" in asked.text() else says("Knocked.")

    def knock(self, job: ToolJob) -> ToolOutcome:
        self.knocks.append(str(job.args["door"]))
        return ToolOutcome("success", "nobody")

    def house(self, *, in_execution: bool = False) -> wiring.House:
        overrides = wiring.Overrides(
            table=lambda table: CountingTable(table, lambda _, place: self.fate.at(place)),
            clock=self.clock,
            models=self.models,
            runner=self.runner,
        )
        return wiring.house(AwsSettings.from_environment(), overrides, in_execution=in_execution)

    def replace_environments(self) -> None:
        inside = self.house(in_execution=True)
        self.aws.lambdas.deps |= {
            "advance_turn": inside.chain,
            "summarize": inside.chain.compactions,
            "request_approval": inside.chain.approvals,
            "close_run": inside.chain.endings,
            "sweep_runs": self.outside.chain.sweep,
        }

    def ask(self, method: str, path: str, body: Any = None, *, query: str = "") -> tuple[int, Any]:
        headers = [("Content-Type", "application/json"), ("Host", "offline")]
        payload = json.dumps(body).encode() if body is not None else b""
        answer = self.aws.gateway.answer(Request(method, path, query, headers, payload))
        return answer.status, json.loads(answer.body)

    def agent(self) -> str:
        _, tool = self.ask("POST", "/v1/tools/", {"source_code": SOURCE})
        _, agent = self.ask("POST", "/v1/agents/", {"tool_ids": [tool["id"]], "include_base_tools": False})
        return str(agent["id"])

    def send(self, agent: str, text: str) -> tuple[int, Any]:
        return self.ask("POST", f"/v1/agents/{agent}/messages", {"messages": [{"role": "user", "content": text}]})

    def messages(self, agent: str) -> list[Any]:
        _, messages = self.ask("GET", f"/v1/agents/{agent}/messages", query="order=asc&limit=100")
        return list(messages)

    def go_on_later(self) -> None:
        """The dead environments are replaced, and in twenty minutes every lease has run out and every open run is due."""
        self.replace_environments()
        self.clock.ahead += timedelta(minutes=20)
        assert not self.aws.fire_schedule().failed
        self.aws.wait_for_all()


def met_at(here: Deployment, point: int) -> str | None:
    """Send one message with the handler at this point abandoned, and check what must hold. Where that was; None past the last point."""
    agent = here.agent()
    here.knocks.clear()
    here.fate.decide(point)
    status, _ = here.send(agent, "Is anybody there?")
    here.aws.wait_for_all()
    met = here.fate.passed[-1] if here.fate.met else None
    here.fate.decide(0)
    here.go_on_later()
    runs = here.ask("GET", "/v1/runs/", query=f"agent_id={agent}")[1]
    assert {run["status"] for run in runs} <= ENDED
    said = [one for one in here.messages(agent) if one["message_type"] == "user_message"]
    assert [one["content"] for one in said] == ["Is anybody there?"] * len(runs)
    assert status == 200 or met
    assert len(here.knocks) <= 1
    check_calls_are_answered(here.messages(agent))
    status, reply = here.send(agent, "And now?")
    assert status == 200, reply
    assert reply["stop_reason"]["stop_reason"] == "end_turn"
    assert [one["content"] for one in reply["messages"] if one["message_type"] == "assistant_message"] == ["Knocked."]
    return met


def check_calls_are_answered(messages: list[Any]) -> None:
    """Each call has exactly one return, right behind it."""
    kinds = [one["message_type"] for one in messages]
    for place, kind in enumerate(kinds):
        if kind == "tool_call_message":
            assert kinds[place + 1] == "tool_return_message"
    assert kinds.count("tool_call_message") == kinds.count("tool_return_message")


def test_a_run_survives_the_death_of_a_handler_at_any_outside_call(offline: OfflineAws) -> None:
    here = Deployment(offline)
    places: list[str] = []
    while (place := met_at(here, len(places) + 1)) is not None:
        places.append(place)
    assert set(places) == {f"{when} {what}" for when in ("before", "after") for what in OUTSIDE}
    assert places.count("before write") >= 7
