"""The state machine and its functions over scripted use cases: plays of the ways through the machine, and the calls that they
make.

A call is what the state machine sent to a function and what it was answered. Knows Step Functions and the functions' scripted use
cases; must not know a table.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from hibernaut.adapters.workflow.step_functions import StepFunctions
from hibernaut.local.aws_offline.lambdas import Reply, abandon
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.ports.storage.table import Contended
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.services.steps.step_lease import AdvanceResult
from infra.constructs.workflow import DEFINITION
from infra.stack_functions import TASKS
from tests.workflows.test_step_functions import (
    RUN,
    Answer,
    NotedApprovals,
    NotedEndings,
    ScriptedCompactions,
    ScriptedTurns,
    Steps,
)

MACHINE, CALLS = "heartbeat.asl.json", "calls.json"
TOKEN = "the token of the wait"


class Play(NamedTuple):
    """One way through the state machine: what the steps and the summaries answer. `ends_wait`: the approval is answered."""

    steps: Sequence[Answer]
    summary: Exception | Callable[[], Json] | None = None
    ends_wait: bool = False


PLAYS: dict[str, Play] = {
    "three steps": Play(["advance", "advance", "finished"]),
    "in the queue": Play(["waiting"]),
    "another attempt holds the step": Play(["busy", "finished"]),
    "the platform fails once": Play([Contended("busy table"), "finished"]),
    "the platform fails for long": Play([Contended("busy table")] * 7),
    "the step fails": Play(["advance", ValueError("ours")]),
    "one worker dies": Play([abandon, "finished"]),
    "two workers die": Play([abandon, abandon]),
    "a summary": Play(["compact", "finished"]),
    "a summary that fails": Play(["compact", "busy", "finished"], summary=MemoryError("too much")),
    "a summary that dies": Play(["compact", "finished"], summary=abandon),
    "an approval that is answered": Play([AdvanceResult("approval", 1, 604_800)], ends_wait=True),
    "an approval that nobody answers": Play([AdvanceResult("approval", 1, 1)]),
}


def definition() -> str:
    """The state machine of this checkout, as it is written."""
    return DEFINITION.read_text(encoding="utf-8")


def deploy(offline: OfflineAws, written: str) -> None:
    """Give the deployed state machine another definition. Executions under way keep theirs."""
    text = re.sub(r"\$\{(\w+)\}", lambda name: offline.lambdas.of(_folder(name[1])).arn, written)
    client("stepfunctions").update_state_machine(stateMachineArn=offline.state_machine, definition=text)


def _folder(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def played(offline: OfflineAws, name: str) -> str:
    """Play this way with the functions of this checkout; returns the status of the execution, which has the number of the
    play.
    """
    play = PLAYS[name]
    turns, endings = ScriptedTurns(play.steps), NotedEndings()
    answered = StepFunctions(offline.state_machine).end_wait
    approvals = NotedApprovals(answered=(lambda token: answered(RUN, token)) if play.ends_wait else None)
    summary = ScriptedCompactions(*[play.summary] if play.summary else [])  # type: ignore[list-item]
    offline.lambdas.deps |= {
        "advance_turn": Steps(turns, approvals),
        "close_run": endings,
        "request_approval": approvals,
        "summarize": summary,
    }
    execution = f"{RUN.run_id}.{secrets.token_hex(4)}"
    StepFunctions(offline.state_machine).start(RUN, name=execution)
    return offline.wait_for_run(execution)


def driven(offline: OfflineAws, order: JsonObject) -> str:
    """Start an execution with the input of another release; returns its status at the end."""
    execution = f"{RUN.run_id}.{secrets.token_hex(4)}"
    client("stepfunctions").start_execution(stateMachineArn=offline.state_machine, name=execution, input=json.dumps(order))
    return offline.wait_for_run(execution)


@contextmanager
def noted(offline: OfflineAws, replies: Sequence[JsonObject] | None = None) -> Iterator[list[JsonObject]]:
    """The calls of the state machine. `replies`: recorded calls, whose answers stand for the functions of another release."""
    invoke, calls = offline.lambdas.invoke, list[JsonObject]()

    def invoked(name: str, event: Json, *, timeout: float | None = None) -> Reply:
        function = offline.lambdas.of(name).folder
        if function not in TASKS:
            return invoke(name, event, timeout=timeout)
        if replies is None:
            reply = invoke(name, event, timeout=timeout)
        else:
            answer = replies[len(calls)]
            reply = Reply(answer["reply"]) if "reply" in answer else Reply(answer["error"], failed=True)
        calls.append({"function": function, "event": _shown(event), **_answer(reply)})
        return reply

    offline.lambdas.invoke = invoked  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        offline.lambdas.invoke = invoke  # type: ignore[method-assign]


def _shown(event: JsonObject) -> JsonObject:
    """An event without the text of an error and the name of a wait, which differ from play to play."""
    failure = {"failure": {"Error": event["failure"]["Error"]}} if "failure" in event else {}
    return {**event, **failure, **({"token": TOKEN} if "token" in event else {})}


def _answer(reply: Reply) -> JsonObject:
    """An answer without the trace of an error, which names files."""
    if not reply.failed:
        return {"reply": reply.payload}
    return {"error": {name: reply.payload[name] for name in ("errorType", "errorMessage")}}
