"""Agents with sleep-time agents through the SDK (RT 9)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from letta_client import Letta, NotFoundError

from tests.compat.conftest import Make, Said, Served, calls
from tests.support.waiting import eventually

PAGE = Path(__file__).parents[2] / "docs" / "sleep-time.md"
FINISH = calls(("memory_finish_edits", {}))


def sleeps(said: Said, *edits: dict[str, Any]) -> None:
    """The awake agent says "Noted.", and the sleep-time agent makes the edits, one in each step, and finishes."""
    left = [*edits, FINISH]

    def script(_messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        names = {tool["function"]["name"] for tool in tools}
        return (left.pop(0) if len(left) > 1 else left[0]) if "memory_finish_edits" in names else {"content": "Noted."}

    said.server.script = script


def run_is_over(client: Letta, run_id: str) -> Any:
    def ended() -> Any:
        try:
            run = client.runs.retrieve(run_id)
        except NotFoundError:
            return None
        return run if run.status == "completed" else None

    return eventually(ended)


@pytest.mark.manifest("sleeptime.pair", "sleeptime.pair.embedding", "sleeptime.blocks", "sleeptime.deletion")
def test_a_pair_is_made_shares_blocks_and_is_parted(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent(name="Ada", enable_sleeptime=True)
    group = agent.multi_agent_group
    assert group == agent.managed_group or group.model_dump() == agent.managed_group.model_dump()
    assert (group.manager_type, group.manager_agent_id, group.description) == ("sleeptime", agent.id, "")
    assert (group.sleeptime_agent_frequency, group.turns_counter, group.last_processed_message_id) == (5, -1, None)
    sleeper = client.agents.retrieve(group.agent_ids[0], include=["agent.blocks", "agent.tools"])
    assert (sleeper.name, sleeper.agent_type) == ("Ada-sleeptime", "sleeptime_agent")
    assert {block.label for block in sleeper.blocks} == {"human", "memory_persona"}
    assert [tool.name for tool in sleeper.tools] == ["memory_replace", "memory_insert", "memory_rethink", "memory_finish_edits"]
    block = client.blocks.create(label="later", value="")
    client.agents.blocks.attach(block.id, agent_id=agent.id)
    client.agents.blocks.detach(block.id, agent_id=agent.id)
    assert client.agents.blocks.retrieve("later", agent_id=sleeper.id).id == block.id
    client.agents.delete(sleeper.id)
    again = client.agents.retrieve(agent.id, include=["agent.managed_group"])
    assert (again.enable_sleeptime, again.managed_group) == (False, None)
    assert http.get(f"/v1/groups/{group.id}").status_code == 404
    updated = client.agents.update(agent.id, enable_sleeptime=True)
    assert updated.managed_group is not None
    client.agents.delete(agent.id)
    with pytest.raises(NotFoundError):
        client.agents.retrieve(updated.managed_group.agent_ids[0])


@pytest.mark.manifest("sleeptime.turns", "sleeptime.run_ids", "sleeptime.counted", "sleeptime.transcript")
@pytest.mark.deployed
def test_the_sleeper_reads_what_was_said_and_writes_into_the_shared_block(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said
) -> None:
    agent = new_agent(name="Ada", enable_sleeptime=True)
    group_id, sleeper_id = agent.managed_group.id, agent.managed_group.agent_ids[0]
    config = {"manager_type": "sleeptime", "sleeptime_agent_frequency": 2}
    assert http.patch(f"/v1/groups/{group_id}", json={"manager_config": config}).json()["sleeptime_agent_frequency"] == 2
    sleeps(said, calls(("memory_insert", {"label": "human", "new_string": "Lives in Oslo."})))
    first = client.agents.messages.create(agent.id, input="I moved to Oslo.")
    (run_id,) = first.usage.run_ids or ()
    run = run_is_over(client, run_id)
    assert (run.agent_id, run.background) == (sleeper_id, True)
    assert run.metadata["run_type"] == "sleeptime_agent_send_message_async"
    assert (run.metadata["trigger"], run.metadata["reason"]) == ("turns", f"turn 1 of {agent.id} has ended")
    assert "Lives in Oslo." in client.agents.blocks.retrieve("human", agent_id=agent.id).value
    (change,) = http.get(f"/v1/runs/{run_id}/versions").json()
    by, (value,) = change["version"]["by"], change["changes"]
    assert (change["label"], by["run_id"], by["agent_type"], by["tools"]) == (
        "human",
        run_id,
        "sleeptime_agent",
        ["memory_insert"],
    )
    assert (value["field"], value["before"], "Lives in Oslo." in value["after"]) == ("value", "", True)
    assert client.runs.usage.retrieve(run_id).total_tokens
    told = [each.content for each in client.runs.messages.list(run_id) if each.message_type == "user_message"]
    assert [line for line in str(told[0]).splitlines() if line.startswith(("user:", "assistant:"))] == [
        "user: I moved to Oslo.",
        "assistant: Noted.",
    ]
    assert client.agents.messages.create(agent.id, input="And?").usage.run_ids is None
    streamed = list(client.agents.messages.create(agent.id, input="Well?", streaming=True))
    (usage,) = [each for each in streamed if each.message_type == "usage_statistics"]
    assert len(usage.run_ids or ()) == 1
    run_is_over(client, (usage.run_ids or [""])[0])


@pytest.mark.manifest("sleeptime.one_at_a_time")
def test_a_sleeper_works_on_one_transcript_at_a_time(client: Letta, http: httpx.Client, new_agent: Make, said: Said) -> None:
    agent = new_agent(enable_sleeptime=True)
    config = {"manager_type": "sleeptime", "sleeptime_agent_frequency": 1}
    http.patch(f"/v1/groups/{agent.managed_group.id}", json={"manager_config": config})
    sleeps(said)
    made = [client.agents.messages.create(agent.id, input=f"turn {number}").usage.run_ids or () for number in range(3)]
    runs = [run_is_over(client, run_ids[0]) for run_ids in made]
    logged = [
        each.run_id
        for each in client.agents.messages.list(agent.managed_group.agent_ids[0], order="asc", limit=100)
        if each.run_id
    ]
    assert list(dict.fromkeys(logged)) == [run.id for run in runs], "the log holds one run after the other"


def test_the_program_of_the_page_runs(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert 'base_url="http://127.0.0.1:8283", api_key="any"' in program
    program = program.replace("http://127.0.0.1:8283", served.url).replace('api_key="any"', f'api_key="{served.key}"')
    exec(compile(program, str(PAGE), "exec"), {})
    sleeper, started = capsys.readouterr().out.splitlines()
    assert sleeper.startswith("sleep-time agent: agent-")
    assert re.fullmatch(r"started: turn 1 of agent-\S+ has ended", started)
