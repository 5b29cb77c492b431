"""The deployed stack over scripted models and tools, with a clock that a test can advance. Tests call it over HTTP, as its
clients do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.services.per_tenant import PerTenant
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.aws_parts.app import app_of
from hibernaut.wiring.settings import AwsSettings
from tests.support.clocks import LaterClock
from tests.support.frozen import freeze_if_dead
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, Streamed, calls, nothing, says
from tests.support.tables import CountingTable

SOURCE = 'def knock(door: str) -> str:\n    """Knock.\n\n    Args:\n        door: Which.\n    """\n    return door\n'
ENDED = {"completed", "failed", "cancelled"}


class Deployment:
    """The deployed stack. `at` is called before and after every outside call. Environments of functions may die, and are
    replaced.
    """

    def __init__(self, aws: OfflineAws, at: Callable[[str], None] = nothing) -> None:
        self.aws, self.at, self.clock = aws, at, LaterClock()
        self.knocks: list[str] = []
        self.say: Callable[[ModelRequest], ModelReply | Streamed] = knocks_once
        self.models = ScriptedModels(lambda request, _number: self.say(request), at=self._at)
        self.runner = ScriptedRunner(self.knock, at=self._at)
        self.outside, self.inside = self.composition(), self.composition(in_execution=True)
        self.serve()

    def _at(self, place: str) -> None:
        freeze_if_dead()
        self.at(place)

    def knock(self, job: ToolJob) -> ToolOutcome:
        self.knocks.append(str(job.args["door"]))
        return ToolOutcome("success", "nobody")

    def composition(self, *, in_execution: bool = False, waits: bool = False, **settings: Any) -> wiring.Composition:
        """The parts of a function. `settings` override those of the stack."""
        overrides = wiring.AwsOverrides(
            table=lambda table: CountingTable(table, lambda _, place: self._at(place)),
            clock=self.clock,
            models=self.models,
            runner=self.runner,
        )
        return wiring.compose(
            replace(AwsSettings.from_environment(), **settings), overrides, in_execution=in_execution, waits=waits
        )

    def drive_for_callers(self, **settings: Any) -> None:
        """Serve `stream` as it is deployed: it drives the runs of its callers. Otherwise it leaves them to the state machine."""
        self.aws.lambdas.deps["stream"] = app_of(self.composition(waits=True, **settings))

    def serve(self) -> None:
        """Build every function from its parts."""
        inside, outside = self.inside.engines, self.outside.engines
        self.aws.lambdas.deps |= dict.fromkeys(("api", "stream"), app_of(self.outside))
        self.aws.lambdas.deps |= {
            "advance_turn": inside,
            "summarize": inside,
            "request_approval": PerTenant(lambda tenant: inside.of(tenant).approvals),
            "close_run": inside,
            "sweep_runs": outside.sweep,
        }

    def some_minutes(self) -> None:
        """Advance the clock by two minutes. Measured durations do not change."""
        self.clock.ahead += timedelta(minutes=2)

    def replace_environments(self) -> None:
        """Replace the environments of the workflow's functions, as after their death."""
        self.inside = self.composition(in_execution=True)
        self.serve()

    def starts_are_lost(self, *, in_execution: bool) -> None:
        """Make every start of an execution fail: the functions get the name of a state machine that does not exist."""
        nowhere = self.aws.state_machine.replace("heartbeat", "elsewhere")
        composition = self.composition(in_execution=in_execution, state_machine=nowhere)
        if in_execution:
            self.inside = composition
        else:
            self.outside = composition
        self.serve()

    def ask(self, method: str, path: str, body: Any = None, *, query: str = "") -> tuple[int, Any]:
        headers = [("Content-Type", "application/json"), ("Host", "localhost")]
        payload = json.dumps(body).encode() if body is not None else b""
        answer = self.aws.gateway.answer(GatewayRequest(method, path, query, headers, payload))
        return answer.status, json.loads(answer.body)

    def agent(self, **fields: Any) -> str:
        _, tool = self.ask("PUT", "/v1/tools/", {"source_code": SOURCE})
        _, agent = self.ask("POST", "/v1/agents/", {"tool_ids": [tool["id"]], "include_base_tools": False, **fields})
        return str(agent["id"])

    def send(self, agent: str, text: str, **fields: Any) -> tuple[int, Any]:
        body = {"messages": [{"role": "user", "content": text}], **fields}
        return self.ask("POST", f"/v1/agents/{agent}/messages", body)

    def begin(self, agent: str, text: str) -> str:
        """Send a message in the background; returns the run's id."""
        body = {"messages": [{"role": "user", "content": text}]}
        return str(self.ask("POST", f"/v1/agents/{agent}/messages/async", body)[1]["id"])

    def run(self, run_id: str) -> Any:
        return self.ask("GET", f"/v1/runs/{run_id}")[1]

    def messages(self, agent: str) -> list[Any]:
        _, messages = self.ask("GET", f"/v1/agents/{agent}/messages", query="order=asc&limit=100")
        return list(messages)

    def go_on_later(self, minutes: int = 20) -> None:
        """Replace dead environments, and advance the clock by twenty minutes: all leases have expired, and all open runs are
        due.
        """
        self.replace_environments()
        self.clock.ahead += timedelta(minutes=minutes)
        assert not self.aws.fire_schedule().failed
        self.aws.wait_for_all()

    def check(self, agent: str) -> None:
        """Checks that every run has ended, every call has one return, and the next message is answered."""
        _, runs = self.ask("GET", "/v1/runs/", query=f"agent_id={agent}")
        assert {run["status"] for run in runs} <= ENDED
        check_calls_are_answered(self.messages(agent))
        self.say = knocks_once
        status, reply = self.send(agent, "And now?")
        assert (status, reply["stop_reason"]["stop_reason"]) == (200, "end_turn"), reply
        assert [one["content"] for one in reply["messages"] if one["message_type"] == "assistant_message"] == ["Knocked."]


def knocks_once(request: ModelRequest) -> ModelReply:
    return calls(("knock", {"door": "front"})) if "anybody" in request.messages[-1].text() else says("Knocked.")


def check_calls_are_answered(messages: list[Any]) -> None:
    """Checks that each call has exactly one return, directly after it, or after the answer that it waited for."""
    kinds = [one["message_type"] for one in messages if one["message_type"] != "approval_response_message"]
    asked = ("tool_call_message", "approval_request_message")
    for place, kind in enumerate(kinds):
        if kind in asked:
            assert kinds[place + 1] == "tool_return_message"
    assert sum(map(kinds.count, asked)) == kinds.count("tool_return_message")
