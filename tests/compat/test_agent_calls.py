"""Agents send each other messages (digest RT 5.6), and the program of docs/teams.md runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta

from tests.compat.conftest import HANDLE, Said, calls

PAGE = (Path(__file__).parents[2] / "docs" / "teams.md").read_text(encoding="utf-8")
AND_WAIT, ONE_WAY = "send_message_to_agent_and_wait_for_reply", "send_message_to_agent_async"
BY_TAGS = "send_message_to_agents_matching_tags"


def team(client: Letta, *, tags: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """An agent with the tools, and another one."""
    lead = client.agents.create(model=HANDLE, include_base_tools=False, extra_body={"include_multi_agent_tools": True})
    return lead, client.agents.create(model=HANDLE, include_base_tools=False, tags=list(tags))


def returns(response: Any) -> list[tuple[str, str]]:
    found = [message for message in response.messages if message.message_type == "tool_return_message"]
    return [(one.status, one.tool_return) for one in found]


@pytest.mark.manifest("tools.agents.async")
def test_an_agent_tells_another_one_something(client: Letta, said: Said) -> None:
    lead, other = team(client)
    said.next(calls((ONE_WAY, {"message": "The sky is clear.", "other_agent_id": other.id})), {"content": "Good."})
    response = client.agents.messages.create(lead.id, input="Tell them.")
    assert returns(response) == [("success", "Successfully sent message")]
    runs = settled(client, other.id)
    assert [(run.metadata["calling_agent"], run.background) for run in runs] == [(lead.id, True)]
    got = [message for message in client.agents.messages.list(other.id) if message.message_type == "system_message"][-1]
    assert got.content.startswith(f"[Incoming message from agent with ID '{lead.id}'")


@pytest.mark.manifest("tools.agents.reply")
def test_the_reply_of_another_agent_is_the_return_in_one_run(client: Letta, said: Said) -> None:
    lead, other = team(client)
    asks = calls((AND_WAIT, {"message": "Which book?", "other_agent_id": other.id}))
    said.next(asks, {"content": "Moby Dick."}, {"content": "They have Moby Dick."})
    response = client.agents.messages.create(lead.id, input="Ask.")
    assert returns(response) == [("success", str({"agent_id": other.id, "response": ["Moby Dick."]}))]
    assert [message.message_type for message in response.messages][-1] == "assistant_message"
    assert response.stop_reason.stop_reason == "end_turn"
    (run,) = client.runs.list(agent_id=lead.id).items
    assert run.status == "completed"
    said.next(asks, {"content": "Moby Dick."}, {"content": "The same."})
    events = list(client.agents.messages.stream(lead.id, input="Ask again.", include_pings=True))
    kinds = [event.message_type for event in events if event.message_type != "ping"]
    assert kinds == ["tool_call_message", "tool_return_message", "assistant_message", "stop_reason", "usage_statistics"]
    said.next(calls((AND_WAIT, {"message": "Me?", "other_agent_id": lead.id})), {"content": "No."})
    ((status, text),) = returns(client.agents.messages.create(lead.id, input="Ask yourself."))
    assert (status, "your own id" in text) == ("error", True)


@pytest.mark.manifest("tools.agents.tags")
def test_agents_with_a_tag_answer(client: Letta, said: Said) -> None:
    lead, other = team(client, tags=("whales",))
    asks = calls((BY_TAGS, {"message": "Which book?", "match_all": ["whales"], "match_some": []}))
    said.next(asks, {"content": "Moby Dick."}, {"content": "Done."})
    response = client.agents.messages.create(lead.id, input="Ask.")
    ((status, text),) = returns(response)
    assert (status, ast.literal_eval(text)) == ("success", [{"agent_id": other.id, "response": ["Moby Dick."]}])


def test_the_program_of_the_page_runs(client: Letta, said: Said, capsys: pytest.CaptureFixture[str]) -> None:
    program = re.search(r"<!-- run by tests/compat/test_agent_calls.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    known: list[str] = []

    create = client.agents.create

    def made(**fields: Any) -> Any:
        agent = create(model=HANDLE, **fields)
        known.append(agent.id)
        if fields.get("tools"):
            said.next(
                calls((AND_WAIT, {"message": "Which book?", "other_agent_id": known[0]})),
                {"content": "Moby Dick."},
                {"content": "We have Moby Dick."},
            )
        return agent

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(client.agents, "create", made)
        exec(program[1].replace("from letta_client import Letta", ""), {"Letta": lambda **_: client})
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"the librarian: {{'agent_id': '{known[0]}', 'response': ['Moby Dick.']}}"
    assert told[1] == "the lead: We have Moby Dick."
    assert told[2].endswith(f"completed asked by {known[1]}")


def settled(client: Letta, agent_id: str) -> list[Any]:
    """The runs of an agent, when they have ended: the stream of a run ends with it."""
    runs = list(client.runs.list(agent_id=agent_id))
    for run in runs:
        list(client.runs.messages.stream(run.id))
    return [client.runs.retrieve(run.id) for run in runs]
